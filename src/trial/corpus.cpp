#include "trial/corpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/text.h"

namespace muster::trial {
namespace {

constexpr std::string_view kPci[] = {"1b", "2c", "3d", "4e", "9b", "ac", "bd", "ce"};
constexpr std::string_view kPciUpper[] = {"1B", "2C", "3D", "4E", "9B", "AC", "BD", "CE"};
constexpr std::uint32_t kSlots = 8;
constexpr std::uint32_t kNodesMax = 256;
constexpr Duration kWatchOn = minutes(4);  // after the last input, unless the case says otherwise

std::vector<std::string> words_of(std::string_view s) {
  std::vector<std::string> out;
  std::size_t i = 0;
  while (i < s.size()) {
    while (i < s.size() && s[i] == ' ') ++i;
    const std::size_t begin = i;
    while (i < s.size() && s[i] != ' ') ++i;
    if (i > begin) out.emplace_back(s.substr(begin, i - begin));
  }
  return out;
}

std::string trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return std::string(s);
}

template <class T>
bool read(std::string_view s, T& out) {
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return !s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size();
}

// "90s", "5m", "2h", "1d".
std::optional<Duration> read_time(std::string_view s) {
  double v = 0;
  if (s.size() < 2 || !read(s.substr(0, s.size() - 1), v) || v < 0 || v > 1e6) return std::nullopt;
  const std::string_view units = "smhd";
  constexpr double kSeconds[] = {1, 60, 3600, 86400};
  const std::size_t u = units.find(s.back());
  if (u == std::string_view::npos) return std::nullopt;
  return from_seconds(v * kSeconds[u]);
}

// A series' values: "0 5 7", "3*10" (ten times 3), "0..90/10" (ten steps from 0 to 90), "-" (no scrape).
bool read_values(const std::vector<std::string>& words, std::size_t from, std::vector<std::optional<double>>& out) {
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string_view w = words[i];
    const std::size_t star = w.find('*');
    const std::size_t dots = w.find("..");
    double a = 0, b = 0;
    std::uint32_t n = 0;
    if (w == "-") {
      out.emplace_back(std::nullopt);
    } else if (dots != std::string_view::npos) {
      const std::size_t slash = w.find('/');
      if (slash == std::string_view::npos || !read(w.substr(0, dots), a) || !read(w.substr(dots + 2, slash - dots - 2), b) ||
          !read(w.substr(slash + 1), n) || n < 2 || n > 10000)
        return false;
      for (std::uint32_t k = 0; k < n; ++k) out.emplace_back(a + (b - a) * k / (n - 1));
    } else if (star != std::string_view::npos) {
      const bool gap = w.substr(0, star) == "-";
      if ((!gap && !read(w.substr(0, star), a)) || !read(w.substr(star + 1), n) || n > 10000) return false;
      for (std::uint32_t k = 0; k < n; ++k) out.push_back(gap ? std::nullopt : std::optional(a));
    } else {
      if (!read(w, a)) return false;
      out.emplace_back(a);
    }
  }
  return !out.empty();
}

// The line an exporter would print.
std::string exposition(std::string_view series, NodeId node, int slot, bool new_labels, double value) {
  std::string labels;
  if (series.substr(0, 5) == "DCGM_") {
    labels = fmt::format(
        "{{gpu=\"{}\",UUID=\"GPU-{:08x}-0000-4000-8000-{:012x}\",pci_bus_id=\"00000000:{}:00.0\",device=\"nvidia{}\","
        "modelName=\"NVIDIA H200\",{}=\"n{}\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"}}",
        slot, node.v * 8 + static_cast<std::uint32_t>(slot), slot, kPciUpper[slot], slot, new_labels ? "hostname" : "Hostname",
        node.v);
  } else if (series.substr(0, 16) == "node_infiniband_") {
    labels = fmt::format("{{device=\"mlx5_{}\",port=\"1\"}}", slot);
  } else if (series == "ipmi_temperature_celsius") {
    labels = "{id=\"4\",name=\"Inlet Temp\"}";
  } else if (series == "muster_probe_hung") {
    labels = "{probe=\"nvml\"}";
  }
  return fmt::format("{}{} {}\n", series, labels, value);
}

struct Place {
  std::uint32_t node_first = 0, node_last = 0;
  int slot_first = -1, slot_last = -1;
};

class Reader {
 public:
  Reader(std::string_view file, std::vector<Case>& out) : file_(file), out_(out) {}

  // The lines of one case, variables replaced.
  Result<void> read_case(const std::vector<std::pair<std::uint32_t, std::string>>& lines);

 private:
  Result<void> bad(std::uint32_t line, std::string what) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, line, what), "see tests/corpus/README.md for the format");
  }
  bool place(std::string_view s, Place& out) const;
  bool labels(const std::vector<std::string>& w, std::vector<Label>& into) const;
  bool agent(const std::vector<std::string>& w, std::string_view rest);
  bool directive(const std::vector<std::string>& w, std::string_view rest);
  bool series(const std::vector<std::string>& w);
  bool job(const std::vector<std::string>& w, std::string_view rest);
  void add(Input i) { now_->inputs.push_back(std::move(i)); }
  void add_block(Input i);
  void flush();

  std::string_view file_;
  std::vector<Case>& out_;
  Case* now_ = nullptr;
  Duration at_;
  bool new_labels_ = false;
  bool ended_ = false;
  std::map<JobId, std::uint32_t> attempt_;
  std::map<JobId, std::int64_t> saved_ms_;                                 // writing checkpoints, of this attempt
  std::optional<Input> block_;                                             // kmsg or scrape whose lines follow
  std::uint32_t block_last_ = 0;                                           // last node it is of
  std::map<std::pair<std::int64_t, std::uint32_t>, std::string> scrapes_;  // of series: (time, node) -> text
};

// "n0", "n0-31", "n0/3", "n0/*", "*/*".
bool Reader::place(std::string_view s, Place& out) const {
  const std::size_t slash = s.find('/');
  const std::string_view node = s.substr(0, slash);
  if (node == "*") {
    out.node_last = now_->nodes - 1;
  } else {
    const std::size_t dash = node.find('-');
    if (node.size() < 2 || node[0] != 'n' ||
        !read(node.substr(1, dash == std::string_view::npos ? dash : dash - 1), out.node_first))
      return false;
    out.node_last = out.node_first;
    if (dash != std::string_view::npos && !read(node.substr(dash + 1), out.node_last)) return false;
    if (out.node_first > out.node_last || out.node_last >= now_->nodes) return false;
  }
  if (slash == std::string_view::npos) return true;
  const std::string_view slot = s.substr(slash + 1);
  if (slot == "*") {
    out.slot_first = 0;
    out.slot_last = static_cast<int>(kSlots) - 1;
    return true;
  }
  if (!read(slot, out.slot_first) || out.slot_first < 0 || out.slot_first >= static_cast<int>(kSlots)) return false;
  out.slot_last = out.slot_first;
  return true;
}

bool Reader::labels(const std::vector<std::string>& w, std::vector<Label>& into) const {
  Label out;
  if (w.size() < 3 || !parse_name(w[1], out.kind)) return false;
  for (std::size_t i = 3; i < w.size(); ++i) out.subject += (i > 3 ? " " : "") + w[i];
  if (w[2] == "site") return into.push_back(out), true;
  if (w[2].substr(0, 4) == "row:") {
    if (!read(std::string_view(w[2]).substr(4), out.slot)) return false;
    return into.push_back(out), true;
  }
  if (w[2].substr(0, 4) == "job:") {
    if (!read(std::string_view(w[2]).substr(4), out.job.number)) return false;
    return into.push_back(out), true;
  }
  Place p;
  if (!place(w[2], p)) return false;
  for (std::uint32_t n = p.node_first; n <= p.node_last; ++n) {
    for (int s = p.slot_first; s <= p.slot_last; ++s) {
      out.node = NodeId{n};
      out.slot = static_cast<std::int16_t>(s);
      into.push_back(out);
    }
  }
  return true;
}

// @series n0/3 NAME every 30s 0 5 10
bool Reader::series(const std::vector<std::string>& w) {
  Place p;
  std::vector<std::optional<double>> values;
  const auto every = w.size() > 5 && w[3] == "every" ? read_time(w[4]) : std::nullopt;
  if (!every || every->ns <= 0 || !place(w[1], p) || !read_values(w, 5, values)) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const std::int64_t t = at_.ns + static_cast<std::int64_t>(i) * every->ns;
    for (std::uint32_t n = p.node_first; n <= p.node_last; ++n) {
      std::string& text = scrapes_[{t, n}];
      for (int s = p.slot_first; s <= p.slot_last; ++s) text += exposition(w[2], NodeId{n}, s, new_labels_, *values[i]);
    }
  }
  return true;
}

// @job 1 starts n0 n1 | @job 1 ends completed|app_failed|node_failed TEXT | @job 1 steps 2.5 | @job 1 saves 30 (seconds)
bool Reader::job(const std::vector<std::string>& w, std::string_view rest) {
  JobId id;
  if (w.size() < 4 || !read(w[1], id.number)) return false;
  Input i;
  i.at = at_;
  i.kind = Input::Kind::event;
  if (w[2] == "steps") {
    i.kind = Input::Kind::step;
    i.job = id;
    if (!read(w[3], i.step_s)) return false;
  } else if (w[2] == "saves") {
    double took_s = 0;
    if (!read(w[3], took_s) || took_s < 0 || took_s > 1e6) return false;
    saved_ms_[id] += static_cast<std::int64_t>(took_s * 1000);
    JobProgressed b{id, attempt_[id], {}};
    b.progress.checkpoint_ms = saved_ms_[id];
    i.event = std::move(b);
  } else if (w[2] == "starts") {
    const bool again = ++attempt_[id] > 1;
    saved_ms_[id] = 0;
    JobStarted b{id, attempt_[id], {}, {}};
    for (std::size_t k = 3; k < w.size(); ++k) {
      Place p;
      if (!place(w[k], p)) return false;
      b.nodes.push_back(NodeId{p.node_first});
      const bool all = p.slot_first < 0;
      std::uint16_t mask = 0;
      for (int s = all ? 0 : p.slot_first; s <= (all ? static_cast<int>(kSlots) - 1 : p.slot_last); ++s)
        mask = static_cast<std::uint16_t>(mask | 1u << s);
      b.slots.push_back(mask);
    }
    Input submitted = i;
    JobSpec spec;
    spec.name = "job";
    spec.nodes = static_cast<std::uint32_t>(b.nodes.size());
    submitted.event = JobSubmitted{id, spec};
    if (again) submitted.event = JobRequeued{id};
    add(std::move(submitted));
    i.event = std::move(b);
  } else {
    JobEnded b{id, attempt_[id], JobEnd::completed, {}, {}};
    if (w[2] != "ends" || !parse_name(w[3], b.end)) return false;
    b.detail = trimmed(rest.substr(std::min(rest.size(), rest.find(w[3]) + w[3].size())));
    i.event = std::move(b);
  }
  add(std::move(i));
  return true;
}

// @agent n0-3 mount_stalled /lustre TEXT
bool Reader::agent(const std::vector<std::string>& w, std::string_view rest) {
  Place p;
  AgentSaid said;
  if (w.size() < 4 || !place(w[1], p) || !parse_name(w[2], said.word)) return false;
  said.subject = w[3];
  said.text = trimmed(rest.substr(std::min(rest.size(), rest.find(w[3]) + w[3].size())));
  for (std::uint32_t n = p.node_first; n <= p.node_last; ++n) {
    said.node = NodeId{n};
    Input i;
    i.kind = Input::Kind::event;
    i.at = at_;
    i.event = said;
    add(std::move(i));
  }
  return true;
}

bool Reader::directive(const std::vector<std::string>& w, std::string_view rest) {
  const std::string& d = w[0];
  Place p;
  if (d == "@note") return true;
  if (d == "@nodes") return w.size() == 2 && read(w[1], now_->nodes) && now_->nodes >= 1 && now_->nodes <= kNodesMax;
  if (d == "@per_rack") return w.size() == 2 && read(w[1], now_->per_rack);
  if (d == "@per_leaf") return w.size() == 2 && read(w[1], now_->per_leaf);
  if (d == "@per_row") return w.size() == 2 && read(w[1], now_->per_row);
  if (d == "@expect") return labels(w, now_->expected);
  if (d == "@may") return labels(w, now_->allowed);
  if (d == "@agent") return agent(w, rest);
  if (d == "@labels") return w.size() == 2 && (w[1] == "old" || w[1] == "new") && (new_labels_ = w[1] == "new", true);
  if (d == "@series") return series(w);
  if (d == "@job") return job(w, rest);
  if (d == "@at" || d == "@end") {
    const auto t = w.size() == 2 ? read_time(w[1]) : std::nullopt;
    if (!t) return false;
    if (d == "@at") at_ = *t;
    if (d == "@end") now_->length = *t, ended_ = true;
    return true;
  }
  if (d == "@log") {
    Input i;
    i.kind = Input::Kind::log;
    i.at = at_;
    if (w.size() != 2 || !read(w[1], i.job.number)) return false;
    block_ = std::move(i);
    return true;
  }
  if (w.size() != 2 || !place(w[1], p)) return false;
  Input i;
  i.at = at_;
  if (d == "@silent" || d == "@back") {
    i.kind = d == "@silent" ? Input::Kind::up_stops : Input::Kind::up_again;
    for (std::uint32_t n = p.node_first; n <= p.node_last; ++n) {
      i.node = NodeId{n};
      add(i);
    }
    return true;
  }
  if (d != "@kmsg" && d != "@scrape" && d != "@logfile") return false;
  i.kind = d == "@kmsg" ? Input::Kind::kmsg : d == "@scrape" ? Input::Kind::scrape : Input::Kind::logfile;
  i.node = NodeId{p.node_first};
  block_last_ = p.node_last;
  block_ = std::move(i);
  return true;
}

// Adds what the block holds, once for each of its nodes.
void Reader::add_block(Input i) {
  if (i.kind == Input::Kind::log) return add(std::move(i));
  for (; i.node.v <= block_last_; ++i.node.v) add(i);
}

void Reader::flush() {
  if (block_ && block_->kind == Input::Kind::scrape) add_block(*block_);
  block_.reset();
}

Result<void> Reader::read_case(const std::vector<std::pair<std::uint32_t, std::string>>& lines) {
  Case c;
  c.file = file_;
  c.line = lines.front().first;
  now_ = &c;
  at_ = Duration{};
  new_labels_ = ended_ = false;
  scrapes_.clear();
  attempt_.clear();
  saved_ms_.clear();
  for (const auto& [number, text] : lines) {
    if (text.empty() || text[0] != '@') {
      if (!block_) {
        if (trimmed(text).empty() || text[0] == '#') continue;
        return bad(number, "text outside of @kmsg, @scrape and @log");
      }
      if (block_->kind == Input::Kind::scrape)
        block_->text += text + "\n";
      else if (!text.empty()) {
        Input i = *block_;
        i.text = text + "\n";
        add_block(std::move(i));
      }
      continue;
    }
    flush();
    const std::vector<std::string> w = words_of(text);
    if (w[0] == "@case") {
      c.name = trimmed(std::string_view(text).substr(5));
      continue;
    }
    if (!directive(w, text)) return bad(number, fmt::format("not understood: {}", text));
  }
  flush();
  for (auto& [key, text] : scrapes_) {
    Input i;
    i.kind = Input::Kind::scrape;
    i.at = Duration{key.first};
    i.node = NodeId{key.second};
    i.text = std::move(text);
    add(std::move(i));
  }
  std::stable_sort(c.inputs.begin(), c.inputs.end(), [](const Input& a, const Input& b) { return a.at < b.at; });
  if (!ended_) c.length = (c.inputs.empty() ? Duration{} : c.inputs.back().at) + kWatchOn;
  now_ = nullptr;
  out_.push_back(std::move(c));
  return {};
}

using Lines = std::vector<std::pair<std::uint32_t, std::string>>;

void replace_all(std::string& s, const std::string& what, const std::string& with) {
  for (std::size_t i = s.find(what); i != std::string::npos; i = s.find(what, i + with.size())) s.replace(i, what.size(), with);
}

// A case with a table (@with NAMES, then a line "| value | value" for each) stands for as many cases as it has rows.
Result<void> expand(const Lines& lines, Reader& reader, std::string_view file) {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  Lines body;
  for (const auto& line : lines) {
    const std::string& text = line.second;
    if (text.substr(0, 6) == "@with ") {
      names = words_of(std::string_view(text).substr(6));
    } else if (!names.empty() && text.substr(0, 2) == "| ") {
      std::vector<std::string> row;
      std::size_t begin = 1;
      while (begin <= text.size()) {
        const std::size_t bar = std::min(text.find(" | ", begin), text.size());
        row.push_back(trimmed(std::string_view(text).substr(begin, bar - begin)));
        begin = bar + 2;
      }
      if (row.size() != names.size())
        return fail(Code::bad_input, fmt::format("{}:{}: {} values for {} names", file, line.first, row.size(), names.size()));
      rows.push_back(std::move(row));
    } else {
      body.push_back(line);
    }
  }
  if (names.empty()) return reader.read_case(lines);
  for (const auto& row : rows) {
    Lines one = body;
    for (auto& [number, text] : one) {
      for (std::size_t i = 0; i < names.size(); ++i) replace_all(text, "{" + names[i] + "}", row[i]);
    }
    std::erase_if(one, [](const auto& l) { return l.second.substr(0, 7) == "@expect" && words_of(l.second).size() == 1; });
    if (auto r = reader.read_case(one); !r) return r;
  }
  return {};
}

}  // namespace

std::string render(const Label& l) {
  if (!l.subject.empty()) {
    Label bare = l;
    bare.subject.clear();
    return render(bare) + " " + l.subject;
  }
  if (l.job.some()) return fmt::format("{} job:{}", name_of(l.kind), muster::render(l.job));
  if (!l.node.some() && l.slot >= 0) return fmt::format("{} row:{}", name_of(l.kind), l.slot);
  if (!l.node.some()) return fmt::format("{} site", name_of(l.kind));
  if (l.slot < 0) return fmt::format("{} n{}", name_of(l.kind), l.node.v);
  return fmt::format("{} n{}/{}", name_of(l.kind), l.node.v, l.slot);
}

Site corpus_site(const Case& c) {
  Site site;
  site.name = "corpus";
  site.gpu_model = "H200";
  for (const std::string_view bus : kPci) site.gpu_pci.push_back(fmt::format("0000:{}:00", bus));
  const std::uint32_t per_rack = c.per_rack == 0 ? c.nodes : c.per_rack, per_leaf = c.per_leaf == 0 ? c.nodes : c.per_leaf;
  for (std::uint32_t i = 0; i < c.nodes; ++i) site.nodes.push_back({fmt::format("n{}", i), i / per_rack, i / per_leaf, 0, i});
  for (std::uint32_t r = 0; r <= (c.nodes - 1) / per_rack; ++r) site.racks.push_back(fmt::format("r{}", r));
  for (std::size_t r = 0; c.per_row != 0 && r < site.racks.size(); ++r)
    site.rack_row.push_back(static_cast<std::uint32_t>(r) / c.per_row);
  site.leaves = (c.nodes - 1) / per_leaf + 1;
  site.pods = 1;
  site.domains = c.nodes;
  return site;
}

Result<std::vector<Case>> parse_corpus(std::string_view text, std::string_view file) {
  std::vector<Case> out;
  Reader reader(file, out);
  Lines lines;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const std::size_t nl = text.find('\n');
    std::string line(text.substr(0, nl));
    text.remove_prefix(nl == std::string_view::npos ? text.size() : nl + 1);
    ++number;
    if (line.substr(0, 6) == "@case " && !lines.empty()) {
      if (auto r = expand(lines, reader, file); !r) return tl::unexpected(r.error());
      lines.clear();
    }
    if (!lines.empty() || line.substr(0, 6) == "@case ") lines.emplace_back(number, std::move(line));
  }
  if (!lines.empty()) {
    if (auto r = expand(lines, reader, file); !r) return tl::unexpected(r.error());
  }
  return out;
}

}  // namespace muster::trial
