#include "report/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/nccl_sizes.h"
#include "model/fields.h"
#include "report/table.h"

namespace muster::report {
namespace {

using diagnose::BusVerdict;
using diagnose::JudgedRun;
using diagnose::JudgedSeries;
using diagnose::JudgedSize;
using diagnose::size_words;
using diagnose::time_words;

constexpr std::size_t kSizesShown = 16;

std::string head_of(const JudgedRun& r) {
  std::string out = r.what;
  if (r.ranks > 0) out += fmt::format(", {} GPUs", r.ranks);
  if (r.nodes > 1) out += fmt::format(" of {} nodes", r.nodes);
  if (!r.gpu.empty()) out += ", " + r.gpu;
  return out;
}

// A verdict is of most sizes: those that are slow beside one that says otherwise are told of in the same breath.
std::string slow_sizes(const JudgedRun& r) {
  std::size_t slow = 0, known = 0;
  double least = 0, most = 0;
  for (const JudgedSize& z : r.sizes) {
    known += z.expected.has_value();
    if (!z.slow) continue;
    least = slow == 0 ? z.bytes : std::min(least, z.bytes);
    most = std::max(most, z.bytes);
    ++slow;
  }
  if (slow == 0) return "";
  return fmt::format(", but for {} of {} sizes ({})", slow, known,
                     slow == 1 ? size_words(most) : fmt::format("{} to {}", size_words(least), size_words(most)));
}

// How far off what is expected may be, where it is rough: of some sizes only, or of all.
std::string rough_words(const JudgedRun& r) {
  double most = 0, largest = 0;  // factors: the widest, and that of the largest size
  std::size_t rough = 0, known = 0;
  for (const JudgedSize& z : r.sizes) {
    if (!z.expected || z.slow_above_us <= 0) continue;
    ++known;
    rough += z.rough();
    largest = z.slow_above_us / (z.expected->s * 1e6);
    if (z.rough()) most = std::max(most, largest);
  }
  if (rough == 0) return "";
  if (rough < known)
    return fmt::format("; what is expected is rough at {} of {} sizes: to a factor of {:.2g}", rough, known, most);
  if (most < 1.2 * largest) return fmt::format("; what is expected is rough: to a factor of {:.2g}", most);
  return fmt::format("; what is expected is rough: to a factor of {:.2g} at large sizes, {:.2g} at others", largest, most);
}

std::string verdict_of(const JudgedRun& r) {
  std::string out(name_of(r.verdict));
  if (r.verdict == BusVerdict::not_known) return r.why.empty() ? out : fmt::format("{}: {}", out, r.why);
  if (r.verdict == BusVerdict::as_expected) out += slow_sizes(r);
  if (r.large_share > 0) out += fmt::format("; {:.0f} % of the expected bandwidth at large sizes", r.large_share * 100);
  out += rough_words(r);
  if (!r.why.empty()) out += fmt::format(" ({})", r.why);
  return out;
}

// Every so many, the largest among them.
std::vector<const JudgedSize*> shown(const std::vector<JudgedSize>& sizes, bool wide) {
  std::vector<const JudgedSize*> out;
  const std::size_t step = wide ? 1 : (sizes.size() + kSizesShown - 1) / kSizesShown;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (step <= 1 || (sizes.size() - 1 - i) % step == 0) out.push_back(&sizes[i]);
  }
  return out;
}

// Of a rough expectation the interval, and no share of its middle: that would look like a failure where there is none.
std::vector<Cell> cells_of(const JudgedSize& z) {
  const auto& e = z.expected;
  std::vector<Cell> out = {Cell(size_words(z.bytes)), Cell(time_words(z.time_us)), Cell(fmt::format("{:.2f}", z.bus_gb_s))};
  if (!e) {
    for (int i = 0; i < 3; ++i) out.emplace_back("-");
  } else if (z.rough()) {
    const double us = e->s * 1e6, low_us = e->low_s > 0 ? e->low_s * 1e6 : us;
    out.emplace_back(fmt::format("{} to {}", time_words(low_us), time_words(z.slow_above_us)));
    out.emplace_back(fmt::format("{:.2f} to {:.2f}", e->bus_gb_s * us / z.slow_above_us, e->bus_gb_s * us / low_us));
    out.emplace_back(z.slow ? fmt::format("{:.0f} %", z.share() * 100) : z.time_us < low_us ? "faster" : "in range");
  } else {
    out.emplace_back(time_words(e->s * 1e6));
    out.emplace_back(fmt::format("{:.2f}", e->bus_gb_s));
    out.emplace_back(fmt::format("{:.0f} %", z.share() * 100));
  }
  out.emplace_back(z.slow ? "slow" : "");
  return out;
}

void add_table(std::vector<std::string>& out, const JudgedRun& run, bool wide) {
  Table t;
  t.columns = {
      {"SIZE", true}, {"TIME", true}, {"BUS_GB_S", true}, {"EXPECTED", true}, {"EXPECTED_GB_S", true}, {"SHARE", true}, {""}};
  for (const JudgedSize* z : shown(run.sizes, wide)) t.rows.push_back(cells_of(*z));
  const std::string text = render_table(t, {});
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.push_back("  " + std::string(line));
  }
}

void write_run(JsonWriter& w, const JudgedRun& r) {
  w.field("operation", r.what).field("file", r.file).field("line", r.line).field("gpus", r.ranks).field("nodes", r.nodes);
  w.field("gpu", r.gpu).field("verdict", name_of(r.verdict)).field("why", r.why);
  w.key("share_large");
  r.large_share > 0 ? w.value(r.large_share) : w.null();
  w.key("share_small");
  r.small_share > 0 ? w.value(r.small_share) : w.null();
  w.field("wrong_values", r.wrong).key("sizes").array();
  for (const JudgedSize& z : r.sizes) {
    w.object().field("bytes", z.bytes).field("time_us", z.time_us).field("bus_gb_s", z.bus_gb_s);
    if (z.expected) {
      w.field("expected_us", z.expected->s * 1e6)
          .field("low_us", z.expected->low_s * 1e6)
          .field("high_us", z.expected->high_s * 1e6);
      w.field("expected_bus_gb_s", z.expected->bus_gb_s).field("share", z.share()).field("basis", z.expected->by);
      w.field("calibrated", z.expected->calibrated).field("slow_above_us", z.slow_above_us).field("rough", z.rough());
    }
    w.field("slow", z.slow).end_object();
  }
  w.end_array();
}

// Paths of all nodes together: "NET/IB/GDRDMA" and how many.
std::map<std::string, std::uint64_t> paths_of(const NcclLog& log) {
  std::map<std::string, std::uint64_t> out;
  for (const NcclHost& h : log.hosts) {
    for (const NcclPath& p : h.paths) {
      out[fmt::format("{}/{}{}{}", name_of(p.transport), p.via, p.gdr ? "/GDRDMA" : "", p.proxied ? " by PXN" : "")] +=
          p.channels;
    }
  }
  return out;
}

struct CommShape {
  std::uint64_t id = 0;
  std::uint32_t ranks = 0, nodes = 0, seen = 0, complete = 0;
  int channels = -1, nvls_channels = -1;
  double init_s = -1;
};

// Ranks of one communicator are one line; those whose communicator is not told, by their number.
std::vector<CommShape> comms_of(const NcclLog& log) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, CommShape> shapes;
  for (const NcclComm& c : log.comms) {
    CommShape& s = shapes[{c.id, c.ranks}];
    s.id = c.id;
    s.ranks = c.ranks;
    ++s.seen;
    s.complete += c.complete;
    s.nodes = std::max(s.nodes, c.nodes);
    s.channels = std::max(s.channels, c.channels);
    s.nvls_channels = std::max(s.nvls_channels, c.nvls_channels);
    s.init_s = std::max(s.init_s, c.init.total_s);
  }
  std::vector<CommShape> out;
  for (const auto& [key, shape] : shapes) out.push_back(shape);
  std::stable_sort(out.begin(), out.end(), [](const CommShape& x, const CommShape& y) { return x.ranks > y.ranks; });
  return out;
}

void write_waiting(JsonWriter& w, const JudgedSeries& s) {
  w.key("waiting");
  if (!s.waiting) {
    w.null();
    return;
  }
  const diagnose::Waiting& x = *s.waiting;
  w.object().field("share", x.share).field("shortest_us", x.shortest_us).field("mean_us", x.mean_us);
  w.field("operations", x.operations).field("since", x.since).field("from_start", x.from_start).key("mostly_rank");
  x.mostly_rank ? w.value(*x.mostly_rank) : w.null();
  w.field("mostly_node", x.mostly_host).key("last").array();
  for (const diagnose::LastToCome& l : x.last) {
    w.object().field("rank", l.rank).field("node", l.host).field("times", l.times);
    w.field("share_of_waiting", l.share).end_object();
  }
  w.end_array().end_object();
}

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& s : words) out += (out.empty() ? "" : ", ") + s;
  return out;
}

}  // namespace

std::vector<std::string> say_nccl_log(const NcclLog& log) {
  std::vector<std::string> out;
  std::set<std::string> versions, networks, cards;
  for (const auto& [v, n] : log.versions) versions.insert(v);
  for (const NcclHost& h : log.hosts) {
    networks.insert(h.networks.begin(), h.networks.end());
    for (const NcclDevice& d : h.devices) cards.insert(d.link.empty() ? d.name : d.name + "/" + d.link);
  }
  out.push_back(fmt::format("NCCL {}: {} of {} lines are its own, from {} {}",
                            versions.empty() ? "of a version not told" : joined(versions), log.nccl_lines, log.lines,
                            log.hosts.size(), log.hosts.size() == 1 ? "node" : "nodes"));
  if (!networks.empty())
    out.push_back(fmt::format("network: {}{}", joined(networks), cards.empty() ? "" : fmt::format(" ({})", joined(cards))));
  std::string paths;
  for (const auto& [path, n] : paths_of(log)) paths += fmt::format("{}{} {}", paths.empty() ? "" : ", ", n, path);
  if (!paths.empty()) out.push_back("connections: " + paths);
  const auto comms = comms_of(log);
  for (std::size_t i = 0; i < comms.size() && i < 8; ++i) {
    const CommShape& c = comms[i];
    out.push_back(fmt::format("{}: {} ranks{}{}{}, {} of {} seen complete",
                              c.id == 0 ? "communicators" : fmt::format("communicator {:x}", c.id), c.ranks,
                              c.nodes > 0 ? fmt::format(" on {} {}", c.nodes, c.nodes == 1 ? "node" : "nodes") : "",
                              c.channels > 0 ? fmt::format(", {} channels", c.channels) : "",
                              c.init_s >= 0 ? fmt::format(", began in {:.1f} s", c.init_s) : "", c.complete, c.seen));
  }
  if (comms.size() > 8) out.push_back(fmt::format("and {} more communicators", comms.size() - 8));
  for (const NcclSetting& s : log.settings) {
    if (out.size() < 48) out.push_back(fmt::format("set: {}={}", s.name, s.value));
  }
  return out;
}

std::vector<std::string> say_nccl_runs(std::span<const JudgedRun> runs, bool wide) {
  std::vector<std::string> out;
  for (const JudgedRun& r : runs) {
    if (!out.empty()) out.emplace_back();
    out.push_back(fmt::format("{}:{}: {}", r.file, r.line, head_of(r)));
    out.push_back(verdict_of(r));
    add_table(out, r, wide);
  }
  return out;
}

std::vector<std::string> say_nccl_inspector(const InspectorLog& log, std::span<const JudgedSeries> series, bool wide) {
  std::vector<std::string> out;
  const auto lines = [](std::uint64_t n, std::string_view what) {
    return n == 0 ? std::string() : fmt::format(", {} {} {}", n, n == 1 ? "line" : "lines", what);
  };
  out.push_back(fmt::format("Inspector {}: {} records{}{}{}", log.version, log.records,
                            log.one_of > 1 ? fmt::format(", one operation of {} kept", log.one_of) : "",
                            lines(log.damaged, "damaged and left out (a record that is cut off, or is no JSON)"),
                            lines(log.not_understood - std::min(log.damaged, log.not_understood), "of another form")));
  for (const JudgedSeries& s : series) {
    out.emplace_back();
    out.push_back(fmt::format("{} in communicator {}{}: {} operations, {} of {} ranks seen", head_of(s.run), s.comm,
                              s.name.empty() ? "" : fmt::format(" ({})", s.name), s.operations, s.ranks_seen, s.run.ranks));
    out.push_back(verdict_of(s.run));
    if (s.run.ranks > 1 && s.ranks_seen < 2 && s.hosts.size() == 1)
      out.emplace_back("of one rank alone it cannot be told who waits for whom");
    if (s.waiting)
      out.push_back(fmt::format("{:.0f} % of the time that ranks are in it is waiting for the last to come{}",
                                s.waiting->share * 100,
                                s.waiting->from_start ? "" : fmt::format(", from number {} on", s.waiting->since)));
    add_table(out, s.run, wide);
  }
  return out;
}

void write_nccl_log(JsonWriter& w, const NcclLog& log) {
  w.object().field("lines", log.lines).field("nccl_lines", log.nccl_lines).key("versions").array();
  for (const auto& [v, n] : log.versions) w.value(v);
  w.end_array().key("nodes").array();
  for (const NcclHost& h : log.hosts) {
    w.object().field("node", h.name).key("networks").array();
    for (const std::string& n : h.networks) w.value(n);
    w.end_array().key("cards").array();
    for (const NcclDevice& d : h.devices) w.object().field("name", d.name).field("link", d.link).end_object();
    w.end_array().end_object();
  }
  w.end_array().key("connections").array();
  for (const auto& [path, n] : paths_of(log)) w.object().field("path", path).field("count", n).end_object();
  w.end_array().key("communicators").array();
  for (const CommShape& c : comms_of(log)) {
    w.object().field("id", fmt::format("{:x}", c.id)).field("ranks", c.ranks).field("nodes", c.nodes);
    w.field("ranks_seen", c.seen).field("complete", c.complete);
    if (c.channels >= 0) w.field("channels", c.channels).field("nvls_channels", c.nvls_channels);
    if (c.init_s >= 0) w.field("init_s", c.init_s);
    w.end_object();
  }
  w.end_array().key("settings").object();
  std::string last;
  for (const NcclSetting& s : log.settings) {
    if (s.name != last) w.field(s.name, s.value);
    last = s.name;
  }
  w.end_object().key("choices").array();
  for (const NcclChoice& c : log.choices) {
    w.object().field("operation", c.op).field("algorithm", c.algorithm).field("protocol", c.protocol);
    w.field("least_bytes", c.least_bytes).field("most_bytes", c.most_bytes).field("times", c.times).end_object();
  }
  w.end_array().key("calls").array();
  for (const NcclCalls& c : log.calls)
    w.object().field("operation", c.op).field("bytes", c.bytes).field("gpus", c.ranks).field("times", c.times).end_object();
  w.end_array().end_object();
}

void write_nccl_runs(JsonWriter& w, std::span<const JudgedRun> runs) {
  w.array();
  for (const JudgedRun& r : runs) {
    w.object();
    write_run(w, r);
    w.end_object();
  }
  w.end_array();
}

void write_nccl_inspector(JsonWriter& w, std::span<const JudgedSeries> series) {
  w.array();
  for (const JudgedSeries& s : series) {
    w.object()
        .field("communicator", s.comm)
        .field("name", s.name)
        .field("operations", s.operations)
        .field("ranks_seen", s.ranks_seen)
        .field("damaged_lines_in_files", s.damaged_lines);
    write_run(w, s.run);
    w.key("out_of_line").array();
    for (const diagnose::OddRank& r : s.odd) {
      w.object().field("rank", r.rank).field("node", r.host).field("late", r.late).field("share", r.share);
      w.field("time_us", r.own_us).field("median_us", r.others_us);
      w.field("since", r.since).field("from_start", r.from_start).end_object();
    }
    w.end_array().key("nodes_out_of_line").array();
    for (const std::string& host : s.odd_hosts) w.value(host);
    w.end_array();
    write_waiting(w, s);
    w.key("slow_peers").array();
    for (const diagnose::SlowPeer& p : s.peers) {
      w.object().field("peer", p.peer).field("node", p.host).field("times", p.times).field("ranks_that_can_tell", p.of);
      w.key("by").array();
      for (const std::uint32_t r : p.by) w.value(r);
      w.end_array().field("since", p.since).field("from_start", p.from_start).end_object();
    }
    w.end_array().key("slower_since");
    s.since ? w.value(*s.since) : w.null();
    w.end_object();
  }
  w.end_array();
}

}  // namespace muster::report
