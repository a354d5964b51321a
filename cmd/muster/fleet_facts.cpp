// Facts of nodes from files and --set.
#include "fleet_facts.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "ingest/foreign_facts.h"
#include "say.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

std::size_t left_out = 0;  // files of this run, as a whole or in part

void leave_out(const std::string& what) {
  ++left_out;
  say(fmt::format("left out: {}", printable(what)));
}

// The files of a folder, in order; a file is itself. What of it nobody may read, and links that lead nowhere, are told of.
Result<std::vector<std::string>> files_of(const std::string& name) {
  std::error_code why;
  if (!fs::is_directory(name, why)) return std::vector<std::string>{name};
  std::vector<std::string> out;
  for (fs::recursive_directory_iterator it(name, fs::directory_options::skip_permission_denied, why), end; !why && it != end;
       it.increment(why)) {
    std::error_code gone;
    if (it->is_directory(gone) && it->is_symlink(gone)) leave_out(it->path().string() + ": a link to a folder is not followed");
    if (it->is_directory(gone) && ::access(it->path().c_str(), R_OK | X_OK) != 0)
      leave_out(file_error("read", it->path().string(), errno).what);
    const bool leads_nowhere = it->is_symlink(gone) && !it->exists(gone);  // whoever reads it says so
    if ((leads_nowhere || it->is_regular_file(gone)) && it->path().filename().string().front() != '.')
      out.push_back(it->path().string());
  }
  if (why) return tl::unexpected(file_error("read", name, why.value()));
  if (out.empty()) return fail(Code::bad_input, name + ": no files in this folder", "name the folder that holds the facts");
  std::sort(out.begin(), out.end());
  return out;
}

void put_one(FactTable& table, std::size_t node, const std::string& part, const std::string& key, const std::string& value) {
  value.empty() ? table.put_absent(node, part, key) : table.put(node, part, key, value);
}

// A key that nobody knows is the site's own, or a slip of the pen.
void warn_of_unknown(const std::string& word, const std::string& key, const FactTable& table) {
  if (fact_book().find(key) != nullptr || !table.columns_of(key).empty()) return;
  std::vector<std::string> keys;
  for (const FactMeaning& m : fact_book().rows) keys.push_back(m.key);
  const auto meant = nearest(key, keys);
  say(fmt::format("warning: --set {}: {} is no fact that is known, and taken for one of your own{}", printable(word),
                  printable(key), meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

// Columns of a part, of its kind alone: a name may stand for an interface and for a device.
std::vector<std::size_t> columns_of_part(const FactTable& table, std::string_view part, const FactMeaning* meaning) {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const FactColumn& column = table.columns()[c];
    const FactMeaning* its = column.entity == part ? fact_book().find(column.key) : nullptr;
    if (column.entity == part && (meaning == nullptr || (its != nullptr && its->of == meaning->of))) out.push_back(c);
  }
  return out;
}

// "gpu0, gpu1": parts of that kind, of all nodes.
std::string parts_of(const FactTable& table, const FactMeaning& meaning) {
  std::vector<std::string> out;
  for (const FactColumn& c : table.columns()) {
    const FactMeaning* its = c.entity.empty() ? nullptr : fact_book().find(c.key);
    if (its != nullptr && its->of == meaning.of && std::find(out.begin(), out.end(), c.entity) == out.end())
      out.push_back(c.entity);
  }
  return compress_node_list(std::move(out));
}

class Setting {
 public:
  Setting(const std::string& word, FactTable& table) : word_(word), table_(table) {}

  Result<void> apply() {
    const auto is = word_.find('=');
    if (is == std::string::npos || is == 0) return bad("no KEY=VALUE");
    const auto words = split(std::string_view(word_).substr(0, is), ':');
    key_ = words.back();
    if (key_.empty() || words.size() > 3) return bad("no KEY=VALUE");
    meaning_ = fact_book().find(key_);
    const bool of_part = meaning_ != nullptr && !meaning_->of.empty();
    std::string_view nodes = words.size() > 1 ? words[0] : std::string_view{};
    if (words.size() == 3) {
      part_ = words[1];
    } else if (words.size() == 2 && of_part && !names_nodes(words[0])) {
      part_ = words[0];
      nodes = {};
    }
    if (of_part && part_.empty()) {
      const std::string parts = parts_of(table_, *meaning_);
      const auto end = parts.find_first_of("[,");
      const std::string part = parts.empty() || (end != std::string::npos && parts[end] == '[')
                                   ? (parts.empty() ? meaning_->of : parts.substr(0, end)) + "0"
                                   : parts.substr(0, end);
      return bad(fmt::format("{} is of a part: say which, such as {}{}:{}", key_, nodes.empty() ? "" : printable(nodes) + ":",
                             printable(part), key_));
    }
    if (!part_.empty() && meaning_ != nullptr && !of_part)
      return bad(fmt::format("{} is of a node and of no part of it: write {}:{}", key_, printable(words[0]), key_));
    warn_of_unknown(word_, key_, table_);
    value_ = word_.substr(is + 1);
    return nodes.empty() && words.size() < 3 ? set_all() : set_some(nodes);
  }

 private:
  tl::unexpected<Error> bad(const std::string& why) const {
    return fail(
        Code::bad_input, fmt::format("--set {}: {}", printable(word_), why),
        "write KEY=VALUE, NODES:KEY=VALUE, PART:KEY=VALUE or NODES:PART:KEY=VALUE; muster fleet probe --list has the keys");
  }
  tl::unexpected<Error> missing(const std::string& why, const std::string& next) const {
    return fail(Code::not_found, fmt::format("--set {}: {}", printable(word_), why), next);
  }
  bool names_nodes(std::string_view list) const {
    const auto names = expand_node_list(list);
    return names && std::any_of(names->begin(), names->end(), [&](const std::string& n) { return table_.find_node(n) >= 0; });
  }
  std::string known_parts() const {
    const std::string known = meaning_ != nullptr ? parts_of(table_, *meaning_) : std::string();
    return known.empty() ? "the facts tell of no such parts" : "the facts tell of " + printable(known);
  }

  Result<void> set_all() {
    const auto columns = columns_of_part(table_, part_, meaning_);
    std::size_t set = 0;
    for (std::size_t n = 0; n < table_.nodes().size(); ++n) {
      if (!part_.empty() && !has(columns, n)) continue;
      put_one(table_, n, part_, key_, value_);
      ++set;
    }
    if (set > 0 || part_.empty()) return {};
    return missing(fmt::format("no node has a part {}", printable(part_)), known_parts());
  }
  Result<void> set_some(std::string_view list) {
    const auto names = expand_node_list(list);
    if (!names) return bad(names.error().what);
    const auto columns = columns_of_part(table_, part_, meaning_);
    std::vector<std::size_t> nodes;
    for (const std::string& name : *names) {
      const std::ptrdiff_t n = table_.find_node(name);
      if (n < 0) return missing(fmt::format("there is no node {}", printable(name)), "muster fleet inventory FACTS lists them");
      if (!part_.empty() && !has(columns, static_cast<std::size_t>(n)))
        return missing(fmt::format("{} has no part {}", printable(name), printable(part_)), known_parts());
      nodes.push_back(static_cast<std::size_t>(n));
    }
    for (const std::size_t n : nodes) put_one(table_, n, part_, key_, value_);
    return {};
  }
  bool has(const std::vector<std::size_t>& columns, std::size_t node) const {
    return std::any_of(columns.begin(), columns.end(),
                       [&](std::size_t c) { return table_.columns()[c].code(node) != kFactUnknown; });
  }

  const std::string& word_;
  FactTable& table_;
  std::string key_, part_, value_;
  const FactMeaning* meaning_ = nullptr;
};

// Adds the text of one file; an error has what to do. `again`: what it leaves out was told.
Result<void> load_text(const std::string& text, const std::string& file, FactTable& table, bool again = false) {
  auto cut_off = read_any_facts(text, file, table);
  if (!cut_off) {
    Error e = std::move(cut_off.error());
    if (e.next.empty()) e.next = "write it anew, or leave the file out";
    return tl::unexpected(std::move(e));
  }
  if (!cut_off->empty() && !again) leave_out(*cut_off + ": the last line is cut off: its node is not told of");
  return {};
}

// `alone`: whether anything is in it is told of by who reads nothing else.
Result<std::string> text_of(const std::string& file, bool alone) {
  auto text = read_fabric_file(file == "-" ? "/dev/stdin" : file);
  if (text && !alone && trim(*text).empty())
    return fail(Code::bad_input, file + ": nothing is in it", "gather it anew, or leave the file out");
  return text;
}

Result<void> load_file(const std::string& file, FactTable& table, bool alone) {
  const auto text = text_of(file, alone);
  if (!text) return tl::unexpected(text.error());
  return load_text(*text, file, table);
}

// Nodes of which an older probe came behind a newer one.
void say_passed_over(const FactTable& table) {
  std::vector<std::string> names;
  for (const std::size_t n : table.passed_over()) names.push_back(table.nodes()[n].name);
  if (names.empty()) return;
  std::string list = compress_node_list(std::move(names));
  constexpr std::size_t kShown = 400;
  if (list.size() > kShown) list = std::string(clipped(list, kShown)) + "...";
  say(fmt::format("an older probe came behind a newer one and was passed over: {}", printable(list)));
}

struct NamedText {
  std::string file, text;
  bool tried = false;  // it was read before
};

// A line of facts of one node, where it stands.
struct OwnLine {
  std::size_t file = 0, begin = 0, end = 0;
  Time at;
  std::string installation;  // of machine and boot; empty: it does not say
};

void find_lines(std::string_view text, std::size_t file, const std::string& node, std::vector<OwnLine>& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = text.substr(begin, end - begin);
    FactTable alone;
    if (row.starts_with('{') && row.find(node) != std::string_view::npos && read_facts(row, "", alone)) {
      if (const std::ptrdiff_t n = alone.find_node(node); n >= 0) {
        const auto at = static_cast<std::size_t>(n);
        OwnLine line{file, begin, end, alone.nodes()[at].at, ""};
        for (const char* key : {"node.machine_id", "node.boot_id"}) {
          const std::string* v = alone.value(at, "", key);
          line.installation += (v == nullptr ? std::string() : *v) + "/";
        }
        out.push_back(std::move(line));
      }
    }
    begin = end + 1;
  }
}

// Of several lines of one node all but the newest are made blank; says when an older one told of another installation, 0: none.
Time blank_older(std::vector<NamedText>& texts, const std::string& node) {
  std::vector<OwnLine> lines;
  for (std::size_t i = 0; i < texts.size(); ++i) find_lines(texts[i].text, i, node, lines);
  const auto newest =
      std::max_element(lines.begin(), lines.end(), [](const OwnLine& a, const OwnLine& b) { return a.at <= b.at; });
  Time another;
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (line == newest) continue;
    if (line->installation != newest->installation) another = std::max(another, line->at);
    std::fill_n(texts[line->file].text.begin() + static_cast<std::ptrdiff_t>(line->begin), line->end - line->begin, ' ');
  }
  return another;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

Result<void> set_facts(const std::vector<std::string>& set, FactTable& table) {
  for (const std::string& word : set) {
    if (auto ok = Setting(word, table).apply(); !ok) return ok;
  }
  return {};
}

Result<FactTable> load_facts_newest(const FactsChoice& choice, const std::string& node, Time& another) {
  std::vector<NamedText> texts;
  for (const std::string& name : choice.files) {
    const auto files = files_of(name);
    if (!files) return tl::unexpected(files.error());
    std::size_t bad = 0;
    for (const std::string& file : *files) {
      auto text = text_of(file, file == name && choice.files.size() == 1);
      if (!text && file == name) return tl::unexpected(text.error());
      // Whether a file is left out has to be known before the newest line is looked for.
      FactTable alone;
      const auto ok = !text          ? Result<void>(tl::unexpected(text.error()))
                      : file == name ? Result<void>()
                                     : load_text(*text, file, alone);
      if (ok) {
        texts.push_back({file, std::move(*text), file != name});
        continue;
      }
      if (++bad == files->size()) return tl::unexpected(ok.error());
      leave_out(ok.error().what);
    }
  }
  another = blank_older(texts, node);
  FactTable table;
  for (const NamedText& t : texts) {
    if (trim(t.text).empty()) continue;
    if (auto ok = load_text(t.text, t.file, table, t.tried); !ok) return tl::unexpected(ok.error());
  }
  if (auto set = set_facts(choice.set, table); !set) return tl::unexpected(set.error());
  return table;
}

Result<FactTable> load_facts(const FactsChoice& choice, bool may_be_empty) {
  FactTable table;
  for (const std::string& name : choice.files) {
    const auto files = files_of(name);
    if (!files) return tl::unexpected(files.error());
    std::size_t bad = 0;
    for (const std::string& file : *files) {
      auto ok = load_file(file, table, file == name && choice.files.size() == 1);
      if (ok) continue;
      // One of many in a folder holds nobody up.
      if (file == name || ++bad == files->size()) return tl::unexpected(ok.error());
      leave_out(ok.error().what);
    }
  }
  say_passed_over(table);
  if (auto set = set_facts(choice.set, table); !set) return tl::unexpected(set.error());
  // Of no node at all nothing is wrong, which nobody should take for good news.
  if (table.nodes().empty() && !choice.files.empty() && !may_be_empty)
    return fail(Code::bad_input, fmt::format("there are no nodes in {}", printable(join(choice.files, ", "))),
                "gather facts first: muster fleet inventory --ssh NODES --out facts.jsonl");
  return table;
}

int facts_exit(int code) {
  if (code != 0 || left_out == 0) return code;
  return say_error({Code::unreachable,
                    fmt::format("{} file{} of facts {} left out, as a whole or in part", left_out, left_out == 1 ? "" : "s",
                                left_out == 1 ? "was" : "were"),
                    "what is said holds for the others; gather these anew, or take them out of the folder"});
}

}  // namespace muster::cmd
