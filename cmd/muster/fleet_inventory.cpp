// muster fleet inventory: what the nodes of a fleet are and run, from files and from the nodes themselves.
#include <fmt/core.h>
#include <unistd.h>

#include "adapters/facts/gather.h"
#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "fleet_facts.h"
#include "fleet_inventory_shown.h"
#include "fleet_options.h"
#include "ingest/facts_file.h"
#include "say.h"

namespace muster::cmd {
namespace {

// What a node may use of its CPU for it: more than a sweep that nobody asked for.
constexpr const char* kProbe = " fleet probe --cpu 50ms --node ";
constexpr std::size_t kTroublesShown = 20;

// As one word of a shell.
std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// Runs the probe from a copy of this program that comes over standard input, and leaves nothing behind.
std::string sent_along(const std::string& node) {
  return "d=$(mktemp -d) || exit 1; trap 'rm -rf \"$d\"' EXIT; cat > \"$d/muster\" && chmod 700 \"$d/muster\" && \"$d/muster\"" +
         (kProbe + quoted(node));
}

struct Asked {
  std::vector<facts::Errand> errands;
  bool send = false;
};

Result<Asked> errands_of(const FleetInventoryOptions& o) {
  const bool ssh = !o.ssh.empty();
  const auto nodes = expand_node_list(ssh ? o.ssh : o.srun, 100'000);
  if (!nodes) return tl::unexpected(nodes.error());
  Asked out;
  out.send = o.program.empty();
  for (const std::string& node : *nodes) {
    // A name that begins so would be an option of ssh.
    if (node.front() == '-') return fail(Code::bad_input, fmt::format("{} is no name of a node", printable(node)));
    const std::string script = out.send ? sent_along(node) : quoted(o.program) + kProbe + quoted(node);
    facts::Errand e{node, {}};
    if (ssh) {
      e.argv = {"ssh", "-o", "BatchMode=yes", "-o", fmt::format("ConnectTimeout={}", static_cast<int>(o.deadline_s) + 1)};
      for (const std::string_view word : split(o.ssh_options, ' ')) {
        if (!word.empty()) e.argv.emplace_back(word);
      }
      e.argv.insert(e.argv.end(), {"--", node, "sh -c " + quoted(script)});
    } else {
      e.argv = {"srun", "--quiet", "--nodes=1", "--ntasks=1", "--nodelist=" + node, "sh", "-c", script};
    }
    out.errands.push_back(std::move(e));
  }
  return out;
}

// "gpu001" and "gpu001.cluster.local".
bool same_host(std::string_view a, std::string_view b) {
  const std::string x = lower(a), y = lower(b);
  return x == y || x.starts_with(y + ".") || y.starts_with(x + ".");
}

// Adds the lines with facts, among what a login may print; returns what is wrong with them. Whoever asked for a node wants to be
// told of it under the name that was asked for, and of no other.
std::string take_answer(const facts::Answer& a, FactTable& table) {
  std::string lines;
  for (const std::string_view line : split(a.out, '\n')) {
    if (!line.starts_with("{\"node\"")) continue;
    FactTable said;
    if (const auto read = read_facts(std::string(line) + "\n", "its answer", said); !read) return read.error().what;
    const std::string name = said.nodes().front().name;
    const std::string plain = "{\"node\":\"" + name + "\"";
    if (name != a.node && (!same_host(name, a.node) || !line.starts_with(plain))) return "answered as " + name;
    lines += name == a.node ? std::string(line) : "{\"node\":\"" + a.node + "\"" + std::string(line.substr(plain.size()));
    lines += '\n';
  }
  if (lines.empty()) return "says nothing that are facts";
  const auto read = read_facts(lines, "its answer", table);
  return read ? std::string() : read.error().what;
}

struct Gathered {
  NodeTroubles failed;
  std::vector<std::string> answered;
};

Result<Gathered> ask_nodes(const FleetInventoryOptions& o, FactTable& table) {
  const auto asked = errands_of(o);
  if (!asked) return tl::unexpected(asked.error());
  std::string program;
  if (asked->send) {
    auto self = read_fabric_file("/proc/self/exe");
    if (!self) return tl::unexpected(self.error());
    program = std::move(*self);
  }
  Gathered out;
  facts::GatherOptions g;
  g.at_once = o.at_once;
  g.deadline_s = o.deadline_s;
  g.input = program;
  facts::gather(asked->errands, g, [&](const facts::Answer& a) {
    const std::string why = a.trouble.empty() ? take_answer(a, table) : a.trouble;
    if (why.empty()) {
      out.answered.push_back(a.node);
      return;
    }
    out.failed.emplace_back(a.node, why);
    if (out.failed.size() <= kTroublesShown) say(fmt::format("{}: {}", printable(a.node), printable(why)));
  });
  if (out.failed.size() > kTroublesShown) say(fmt::format("and {} more nodes", out.failed.size() - kTroublesShown));
  return out;
}

// As a list, which may be long where the names follow no order.
std::string shown_list(std::vector<std::string> names) {
  constexpr std::size_t kShown = 400;
  std::string out = printable(compress_node_list(std::move(names)));
  return out.size() <= kShown ? out : out.substr(0, out.rfind(',', kShown)) + ",...";
}

// Whose facts there are and whose not, after nodes were asked.
int say_failed(const FleetInventoryOptions& o, const Gathered& asked, const FactTable& table) {
  std::vector<std::string> failed, older;
  for (const auto& [node, why] : asked.failed) (table.find_node(node) < 0 ? failed : older).push_back(node);
  const std::string where = o.out.empty() ? "what is shown" : o.out;
  std::vector<std::string> all = failed;
  all.insert(all.end(), older.begin(), older.end());
  const std::size_t count = all.size();
  std::string what = fmt::format("{} node{} did not answer: {}", count, count == 1 ? "" : "s", shown_list(std::move(all)));
  if (asked.answered.empty()) {
    what += table.nodes().empty() ? "; nothing came back" : "; what there is comes from the files";
  } else {
    what += fmt::format("; {} has the facts of {}", where, shown_list(asked.answered));
  }
  if (!older.empty()) what += fmt::format(", and of {} those of the files", shown_list(std::move(older)));
  if (!o.out.empty() && table.nodes().empty()) what += fmt::format("; {} is as it was", o.out);
  return say_error({Code::unreachable, what, "ask these again, or leave them out"});
}

int show(const FleetInventoryOptions& o, const FactTable& table, const NodeTroubles& failed) {
  if (!o.against.empty()) {
    const auto next = load_facts({{o.against}, {}}, true);
    if (!next) return say_error(next.error());
    const ShownBoot boot = show_boot_changes(table, *next, o.format);
    if (next->nodes().empty() || !boot.missing.empty())
      return say_error({Code::not_found,
                        fmt::format("{}: no facts of {}", o.against, boot.missing.empty() ? "any node" : printable(boot.missing)),
                        "give the facts of one image, or a line for each node"});
    put(boot.text);
    say(fmt::format("{} of {} nodes would change", boot.changed, table.nodes().size()));
    const int out = finish_output();
    constexpr int kFindings = 6;
    return out != 0 ? out : boot.changed > 0 ? kFindings : 0;
  }
  put(o.fingerprints ? show_fingerprints(table, o.format) : show_inventory(table, failed, o.format));
  return finish_output();
}

}  // namespace

int run_fleet_inventory(const FleetInventoryOptions& o) {
  const bool ask = !o.ssh.empty() || !o.srun.empty();
  if (!ask && o.facts.files.empty())
    return say_error({Code::bad_input, "inventory needs facts: files, --ssh NODES or --srun NODES",
                      "muster fleet inventory --ssh 'gpu[001-064]' --out facts.jsonl"});
  if (!o.ssh.empty() && !o.srun.empty())
    return say_error({Code::bad_input, "--ssh and --srun ask the same: use one of them", ""});
  if (!o.out.empty()) {
    if (auto ok = check_writable(o.out); !ok) return say_error(ok.error());
  }
  auto table = load_facts({o.facts.files, {}}, true);
  if (!table) return say_error(table.error());
  Gathered asked;
  if (ask) {
    auto all = ask_nodes(o, *table);
    if (!all) return say_error(all.error());
    asked = std::move(*all);
  }
  if (table->nodes().empty() && !asked.failed.empty()) {
    const int out = show(o, *table, asked.failed);
    return out != 0 ? out : say_failed(o, asked, *table);
  }
  if (auto set = set_facts(o.facts.set, *table); !set) return say_error(set.error());
  if (!o.out.empty()) {
    if (table->nodes().empty())
      return say_error(
          {Code::not_found, fmt::format("no facts of any node; {} is as it was", o.out), "name files that hold some"});
    if (auto ok = replace_file(o.out, show_inventory(*table, {}, report::Format::jsonl)); !ok) return say_error(ok.error());
  }
  const int out = show(o, *table, asked.failed);
  return asked.failed.empty() || out != 0 ? out : say_failed(o, asked, *table);
}

}  // namespace muster::cmd
