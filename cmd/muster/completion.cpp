// `muster completion`: scripts for the shells, generated from the parser's own tables, so that they cannot fall behind
// it.
#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "say.h"

namespace muster::cmd {
namespace {

struct Place {
  std::string path;  // "muster get nodes"
  const CommandHelp* help;
};

void collect(const CommandHelp& help, const std::string& path, std::vector<Place>& out) {
  out.push_back({path, &help});
  for (const auto& c : help.commands) collect(c, path + " " + c.name, out);
}

std::vector<std::string> option_names(const CommandHelp& help) {
  std::vector<std::string> out;
  for (const auto& o : help.options) out.insert(out.end(), o.names.begin(), o.names.end());
  return out;
}

std::vector<std::string> with_aliases(const CommandHelp& c) {
  std::vector<std::string> out{c.name};
  out.insert(out.end(), c.aliases.begin(), c.aliases.end());
  return out;
}

// In single quotes; every shell but fish ends and reopens them to write one.
std::string quoted(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish) out += "\\\\";
    else out += c;
  }
  return out + "'";
}

// Which words open a further command: shared by bash and zsh, whose `case` is the same.
std::string steps(const std::vector<Place>& places) {
  std::string out;
  for (const auto& p : places) {
    for (const auto& c : p.help->commands) {
      for (const auto& name : with_aliases(c))
        out += fmt::format("      '{} {}') at='{} {}' ;;\n", p.path, name, p.path, c.name);
    }
  }
  return out;
}

std::string bash_words(const WordHelp& word) {
  std::string out;
  if (!word.choices.empty()) {
    out = fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"))", quoted(join(word.choices, " ")));
  }
  const auto add = [&](std::string_view more) { out += (out.empty() ? "" : "; ") + std::string(more); };
  switch (word.kind) {
    case WordKind::file: add("COMPREPLY+=($(compgen -f -- \"$cur\"))"); break;
    case WordKind::directory: add("COMPREPLY+=($(compgen -d -- \"$cur\"))"); break;
    case WordKind::node: add("_muster_names nodes"); break;
    case WordKind::job: add("_muster_names jobs"); break;
    case WordKind::none:
    case WordKind::choice: break;
  }
  return out.empty() ? ":" : out;
}

std::string for_bash(const std::vector<Place>& places) {
  std::string out =
      "# muster completion for bash: source <(muster completion bash)\n"
      "# compgen -W expands what it is given, so names with anything but these characters are left out.\n"
      "_muster_names() {\n"
      "  local names\n"
      "  names=\"$(muster get \"$1\" -o name 2>/dev/null | grep -E '^[A-Za-z0-9._-]+$')\"\n"
      "  COMPREPLY+=($(compgen -W \"$names\" -- \"$cur\"))\n"
      "}\n"
      "_muster() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" at=muster i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"$at ${COMP_WORDS[i]}\" in\n" +
      steps(places) +
      "    esac\n"
      "  done\n"
      "  case \"$at $prev\" in\n";
  for (const auto& p : places) {
    for (const auto& o : p.help->options) {
      if (!o.takes_value) continue;
      std::vector<std::string> patterns;
      for (const auto& n : o.names) patterns.push_back(quoted(p.path + " " + n));
      out += fmt::format("    {}) {}; return ;;\n", join(patterns, "|"), bash_words(o));
    }
  }
  out += "  esac\n  case \"$at\" in\n";
  for (const auto& p : places) {
    std::vector<std::string> commands;
    for (const auto& c : p.help->commands) {
      const auto names = with_aliases(c);
      commands.insert(commands.end(), names.begin(), names.end());
    }
    out += fmt::format(
        "    {})\n      if [[ \"$cur\" == -* ]]; then\n        COMPREPLY=($(compgen -W {} -- \"$cur\"))\n      else\n",
        quoted(p.path), quoted(join(option_names(*p.help), " ")));
    if (!commands.empty()) {
      out += fmt::format("        COMPREPLY=($(compgen -W {} -- \"$cur\"))\n", quoted(join(commands, " ")));
    } else {
      std::string any;
      for (const auto& word : p.help->positionals) any += "        " + bash_words(word) + "\n";
      out += any.empty() ? "        :\n" : any;
    }
    out += "      fi ;;\n";
  }
  return out + "  esac\n}\ncomplete -F _muster muster\n";
}

std::string described(std::string name, const std::string& about) {
  std::string escaped;
  for (const char c : name) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
  return quoted(escaped + ":" + about);
}

std::string zsh_words(const WordHelp& word) {
  std::string out;
  const auto add = [&](std::string_view more) { out += (out.empty() ? "" : "; ") + std::string(more); };
  if (!word.choices.empty()) {
    std::vector<std::string> words;
    for (const auto& c : word.choices) words.push_back(quoted(c));
    add("compadd -- " + join(words, " "));
  }
  switch (word.kind) {
    case WordKind::file: add("_files"); break;
    case WordKind::directory: add("_files -/"); break;
    case WordKind::node: add("compadd -- ${(f)\"$(muster get nodes -o name 2>/dev/null)\"}"); break;
    case WordKind::job: add("compadd -- ${(f)\"$(muster get jobs -o name 2>/dev/null)\"}"); break;
    case WordKind::none:
    case WordKind::choice: break;
  }
  return out.empty() ? ":" : out;
}

std::string for_zsh(const std::vector<Place>& places) {
  std::string out =
      "#compdef muster\n"
      "_muster() {\n"
      "  local at=muster cur=\"${words[CURRENT]}\" prev=\"${words[CURRENT-1]}\"\n"
      "  local -a list\n"
      "  integer i\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at ${words[i]}\" in\n" +
      steps(places) +
      "    esac\n"
      "  done\n"
      "  case \"$at $prev\" in\n";
  for (const auto& p : places) {
    for (const auto& o : p.help->options) {
      if (!o.takes_value) continue;
      std::vector<std::string> patterns;
      for (const auto& n : o.names) patterns.push_back(quoted(p.path + " " + n));
      out += fmt::format("    {}) {}; return ;;\n", join(patterns, "|"), zsh_words(o));
    }
  }
  out += "  esac\n  case \"$at\" in\n";
  for (const auto& p : places) {
    out += fmt::format("    {})\n      if [[ \"$cur\" == -* ]]; then\n        list=(", quoted(p.path));
    for (const auto& o : p.help->options) {
      for (const auto& n : o.names) out += "\n          " + described(n, o.about);
    }
    out += ")\n        _describe option list\n      else\n";
    if (!p.help->commands.empty()) {
      out += "        list=(";
      for (const auto& c : p.help->commands) out += "\n          " + described(c.name, c.about);
      out += ")\n        _describe command list\n";
    } else {
      std::string any;
      for (const auto& word : p.help->positionals) any += "        " + zsh_words(word) + "\n";
      out += any.empty() ? "        :\n" : any;
    }
    out += "      fi ;;\n";
  }
  return out +
         "  esac\n}\nif [ \"$funcstack[1]\" = \"_muster\" ]; then _muster \"$@\"; else compdef _muster muster; fi\n";
}

std::string fish_words(const WordHelp& word) {
  std::string words = join(word.choices, " ");
  if (word.kind == WordKind::node) words += "(muster get nodes -o name 2>/dev/null)";
  if (word.kind == WordKind::job) words += "(muster get jobs -o name 2>/dev/null)";
  if (word.kind == WordKind::directory) words += "(__fish_complete_directories)";
  return words.empty() ? "" : " -a " + quoted(words, true);
}

std::string for_fish(const std::vector<Place>& places) {
  std::string out =
      "# muster completion for fish\n"
      "function __muster_at\n"
      "  set -l at muster\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$at $word\"\n";
  for (const auto& p : places) {
    for (const auto& c : p.help->commands) {
      for (const auto& name : with_aliases(c)) {
        out += fmt::format("      case {}\n        set at {}\n", quoted(p.path + " " + name, true),
                           quoted(p.path + " " + c.name, true));
      }
    }
  }
  out += "    end\n  end\n  test \"$at\" = \"$argv\"\nend\ncomplete -c muster -f\n";
  for (const auto& p : places) {
    const auto here = fmt::format("complete -c muster -n {}", quoted("__muster_at " + p.path, true));
    for (const auto& c : p.help->commands) out += fmt::format("{} -a {} -d {}\n", here, c.name, quoted(c.about, true));
    for (const auto& o : p.help->options) {
      out += here;
      for (const auto& n : o.names) out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      if (o.takes_value) out += (o.kind == WordKind::file ? " -r -F" : " -x") + fish_words(o);
      out += fmt::format(" -d {}\n", quoted(o.about, true));
    }
    for (const auto& word : p.help->positionals) {
      if (word.kind == WordKind::file) out += here + " -F\n";
      else if (const auto words = fish_words(word); !words.empty()) out += here + words + "\n";
    }
  }
  return out;
}

}  // namespace

int run_completion(const CompletionOptions& options) {
  const auto tree = command_tree();
  std::vector<Place> places;
  collect(tree, "muster", places);
  switch (options.shell) {
    case Shell::bash: put(for_bash(places)); break;
    case Shell::zsh: put(for_zsh(places)); break;
    case Shell::fish: put(for_fish(places)); break;
  }
  return 0;
}

}  // namespace muster::cmd
