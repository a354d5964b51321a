#include "ingest/installed_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/node_list.h"
#include "base/text.h"
#include "ingest/cluster_file.h"
#include "ingest/gres_text.h"

namespace muster {
namespace {

constexpr const char* kAskNodes = "write it with: scontrol -o show node > nodes.txt";
constexpr const char* kAskEvents =
    "write it with: sacctmgr -P show event Start=2026-01-01 format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason > events.txt";

// The value of "Key=value" that begins a word; empty: it is not there.
std::string_view word_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool begins = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t';
    if (!begins || at + key.size() >= line.size() || line[at + key.size()] != '=') continue;
    const std::string_view rest = line.substr(at + key.size() + 1);
    return rest.substr(0, rest.find_first_of(" \t\r\n"));
  }
  return {};
}

class Installed {
 public:
  explicit Installed(std::string_view file) : file_(file) {}

  Result<void> add(std::string_view list, std::string_view gres, int line) {
    const auto names = expand_node_list(list);
    if (!names) return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, line, names.error().what), kAskNodes);
    const GresGpus g = parse_gres(gres);
    if (g.wrong)
      return fail(Code::bad_input, fmt::format("{}:{}: {} is no list of GPUs", file_, line, printable(clipped(gres, 80))),
                  kAskNodes);
    for (const std::string& name : *names) {
      const auto [known, fresh] = seen_.emplace(name, g.milli);
      if (!fresh) {
        ++out_.twice;
        out_.differ += known->second != g.milli ? 1 : 0;
      } else if (g.milli == 0) {
        ++out_.without_gpus;
      } else {
        out_.nodes.push_back({name, g.type, g.milli});
      }
    }
    return {};
  }
  Result<InstalledFile> finish() {
    if (out_.nodes.empty())
      return fail(Code::bad_input,
                  fmt::format("{}: {}", file_, out_.without_gpus > 0 ? "none of its nodes has a GPU (Gres=gpu:...)" : "no nodes"),
                  kAskNodes);
    return std::move(out_);
  }

 private:
  std::string_view file_;
  InstalledFile out_;
  std::map<std::string, std::int64_t> seen_;  // and how many GPUs it has
};

// Lines "NodeName=gpu[001-064] Gres=gpu:h200:8 ...", or records that go on over indented lines.
Result<InstalledFile> from_records(std::string_view text, std::string_view file) {
  Installed out(file);
  std::string record;
  int line = 0, first = 0;
  const auto close = [&]() -> Result<void> {
    const std::string_view name = word_of(record, "NodeName");
    if (name.empty() || name == "DEFAULT") return {};
    return out.add(name, word_of(record, "Gres"), first);
  };
  for (std::string_view l : split(text, '\n')) {
    ++line;
    const bool goes_on = !l.empty() && (l.front() == ' ' || l.front() == '\t');
    if (!goes_on) {
      if (auto r = close(); !r) return tl::unexpected(r.error());
      record.clear();
      first = line;
    }
    // A reason is a person's text: what follows it is not read.
    record += fmt::format(" {}", l.substr(0, std::min(l.find("Reason="), l.find('#'))));
  }
  if (auto r = close(); !r) return tl::unexpected(r.error());
  return out.finish();
}

// Lines of a name and what it has: "gpu001 gpu:h200:8(S:0-1)", with blanks or bars between.
Result<InstalledFile> from_rows(std::string_view text, std::string_view file) {
  Installed out(file);
  int line = 0;
  for (const std::string_view l : split(text, '\n')) {
    ++line;
    std::vector<std::string_view> words;
    for (const std::string_view w : split(trim(l), trim(l).find('|') == std::string_view::npos ? ' ' : '|')) {
      if (!trim(w).empty()) words.push_back(trim(w));
    }
    if (words.empty() || words[0].front() == '#' || words[0] == "NODELIST" || words[0] == "HOSTNAMES") continue;
    if (words.size() < 2)
      return fail(Code::bad_input, fmt::format("{}:{}: a node's name, and not what it has", file, line), kAskNodes);
    // Of `sinfo -N` with other columns in between, what looks like GPUs counts.
    const auto gres = std::find_if(words.begin() + 1, words.end(),
                                   [](std::string_view w) { return w.find("gpu") == 0 || w.find("gres") == 0 || w == "(null)"; });
    if (gres == words.end())
      return fail(Code::bad_input, fmt::format("{}:{}: there is no word like gpu:h200:8", file, line), kAskNodes);
    if (auto r = out.add(words[0], *gres, line); !r) return tl::unexpected(r.error());
  }
  return out.finish();
}

Result<InstalledFile> from_cluster(std::string_view text, std::string_view file) {
  const auto site = parse_cluster(text, file);
  if (!site) return tl::unexpected(site.error());
  InstalledFile out;
  for (const NodeSpec& n : site->nodes)
    out.nodes.push_back({n.name, lower(n.gpu_model.empty() ? site->gpu_model : n.gpu_model),
                         static_cast<std::int64_t>(site->gpus_per_node) * 1000});
  return out;
}

enum class Out : std::uint8_t { no, down, drained };

// "DOWN*", "IDLE+DRAIN", "DOWN+DRAIN", "MIXED+MAINT", "DOWN$".
Out out_of_service(std::string_view state) {
  Out out = Out::no;
  for (std::string_view s : split(state, '+')) {
    while (!s.empty() && std::string_view("*~#!%$@^-").find(s.back()) != std::string_view::npos) s.remove_suffix(1);
    const std::string word = lower(s);
    if (word == "down" || word == "fail" || word == "failed" || word == "failing" || word == "unknown" || word == "error" ||
        word == "not_responding")
      return Out::down;
    if (word.rfind("drain", 0) == 0 || word.rfind("maint", 0) == 0 || word.rfind("res", 0) == 0 || word.rfind("reboot", 0) == 0 ||
        word == "invalid" || word == "inval")
      out = Out::drained;
  }
  return out;
}

}  // namespace

Result<InstalledFile> parse_installed(std::string_view text, std::string_view file) {
  if (text.find("NodeName=") != std::string_view::npos) return from_records(text, file);
  const std::string_view first = trim(text.substr(0, text.find('\n', text.find_first_not_of(" \t\r\n"))));
  const bool yaml = text.find("\nnodes:") != std::string_view::npos || text.find("\nracks:") != std::string_view::npos ||
                    (!first.empty() && (first.back() == ':' || first.find(": ") != std::string_view::npos));
  return yaml ? from_cluster(text, file) : from_rows(text, file);
}

Result<OutageFile> parse_outages(std::string_view text, std::string_view file, const ZoneOffsets& zone) {
  enum { node, start, end, state, reason, kColumns };
  constexpr std::array<std::array<std::string_view, 3>, kColumns> kNames = {{{"nodename", "node", "nodes"},
                                                                             {"timestart", "start", "time start"},
                                                                             {"timeend", "end", "time end"},
                                                                             {"state", "stateraw", ""},
                                                                             {"reason", "", ""}}};
  std::array<int, kColumns> at;
  at.fill(-1);
  OutageFile out;
  int line = 0;
  std::size_t columns = 0;
  for (std::string_view l : split(text, '\n')) {
    ++line;
    if (!l.empty() && l.back() == '\r') l.remove_suffix(1);
    if (trim(l).empty() || (columns == 0 && l.front() == '#')) continue;
    const auto cells = split(l, '|');
    if (columns == 0) {
      columns = cells.size();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string name = lower(trim(cells[i]));
        for (std::size_t c = 0; c < kColumns; ++c) {
          if (at[c] < 0 && !name.empty() && std::find(kNames[c].begin(), kNames[c].end(), name) != kNames[c].end())
            at[c] = static_cast<int>(i);
        }
      }
      for (const int c : {node, start, end, state}) {
        if (at[static_cast<std::size_t>(c)] < 0)
          return fail(Code::bad_input,
                      fmt::format("{}:{}: there is no column {}", file, line,
                                  c == node    ? "NodeName"
                                  : c == start ? "TimeStart"
                                  : c == end   ? "TimeEnd"
                                               : "State"),
                      kAskEvents);
      }
      continue;
    }
    const auto cell = [&](int c) -> std::string_view {
      const int i = at[static_cast<std::size_t>(c)];
      return i < 0 || static_cast<std::size_t>(i) >= cells.size() ? std::string_view() : trim(cells[static_cast<std::size_t>(i)]);
    };
    if (cell(node).empty()) {
      ++out.of_cluster;
      continue;
    }
    const Out what = out_of_service(cell(state));
    if (what == Out::no) {
      if (out.other_states++ == 0) out.some_state = cell(state);
      continue;
    }
    const RecordTime from = parse_record_time(cell(start), zone), to = parse_record_time(cell(end), zone);
    const bool wrong = from.at.ns == 0 || to.is == TimeIs::wrong || (to.at.ns != 0 && to.at < from.at);
    if (wrong) {
      if (out.wrong++ == 0) out.first_wrong = static_cast<std::uint64_t>(line);
      continue;
    }
    for (const RecordTime& t : {from, to}) out.unsure_times += t.is == TimeIs::ambiguous || t.is == TimeIs::skipped ? 1 : 0;
    const auto names = expand_node_list(cell(node));
    if (!names) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, names.error().what), kAskEvents);
    for (const std::string& n : *names) out.outages.push_back({n, from.at, to.at, what == Out::down, std::string(cell(reason))});
  }
  if (columns == 0) return fail(Code::bad_input, fmt::format("{}: the file is empty", file), kAskEvents);
  return out;
}

}  // namespace muster
