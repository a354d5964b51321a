#include "report/accept_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "accept/counters.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Verdict;

constexpr std::size_t kSentenceBytes = 240;  // what schedulers keep of a reason
constexpr std::size_t kGpusNamed = 16;       // of one trouble
constexpr std::size_t kFiguresShown = 400;   // metrics: a recording may name any number

// Counters that no rule judges.
constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
    {"energy_j", "energy, J"},
    {"power_violation_s", "held back by the power limit, s"},
    {"thermal_violation_s", "held back by heat, s"},
    {"pcie_fatal", "fatal PCIe errors"},
    {"pcie_nonfatal", "non-fatal PCIe errors"},
    {"pcie_recoveries", "PCIe recoveries"},
    {"nvlink_replays", "NVLink replays"},
    {"nvlink_recoveries", "NVLink recoveries"},
    {"nvlink_crc", "NVLink CRC errors"},
};

std::vector<std::int32_t> all_gpus(const Acceptance& a, const accept::Judgement& j) {
  std::set<std::int32_t> seen;
  for (const auto& g : a.gpus) seen.insert(std::max(-1, g.gpu));
  for (const auto& r : a.ran) seen.insert(std::max(-1, r.gpu));
  for (const auto& m : a.measured) seen.insert(std::max(-1, m.gpu));
  for (const auto& w : a.wrong) seen.insert(std::max(-1, w.gpu));
  for (const auto& c : a.counters) seen.insert(std::max(-1, c.gpu));
  for (const auto& g : j.gpus) seen.insert(std::max(-1, g.gpu));
  const bool node = seen.erase(-1) > 0;
  std::vector<std::int32_t> out(seen.begin(), seen.end());
  if (node) out.push_back(-1);
  return out;
}

// The further from "done", the larger.
int distance(TestState s) {
  switch (s) {
    case TestState::not_applicable: return 0;
    case TestState::done: return 1;
    case TestState::stopped: return 2;
    case TestState::could_not_run: return 3;
    case TestState::hung: return 4;
  }
  return 4;
}

class Columns {
 public:
  explicit Columns(const std::vector<std::int32_t>& gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i) at_[gpus[i]] = i;
  }
  // None for a GPU that is left out.
  std::optional<std::size_t> of(std::int32_t gpu) const {
    const auto it = at_.find(std::max(-1, gpu));
    return it == at_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::map<std::int32_t, std::size_t> at_;
};

void take_ran(TestCell& c, const accepting::Ran& r) {
  c.done_once |= r.state == TestState::done;
  if (!c.state || distance(r.state) > distance(*c.state)) {
    c.state = r.state;
    c.why = r.why;
  }
  c.begun_s = c.rounds == 0 ? r.begun_s : std::min(c.begun_s, r.begun_s);
  c.took_s += std::max(0.0, r.took_s);
  ++c.rounds;
  c.repeated |= r.turn > 0;
}

std::vector<TestRow> test_rows(const AcceptedNode& node, const std::vector<std::int32_t>& gpus, const Columns& columns) {
  const Acceptance& a = node.recording;
  std::vector<TestRow> rows(kAcceptTests);
  std::vector<bool> shown(kAcceptTests, false);
  for (std::size_t t = 0; t < kAcceptTests; ++t) rows[t] = {static_cast<AcceptTest>(t), std::vector<TestCell>(gpus.size())};
  for (const AcceptTest t : a.suite.tests) {
    shown[static_cast<std::size_t>(t)] = true;
    for (std::size_t i = 0; i < gpus.size(); ++i) rows[static_cast<std::size_t>(t)].cells[i].asked = gpus[i] >= 0;
  }
  for (const auto& r : a.ran) {
    shown[static_cast<std::size_t>(r.test)] = true;
    if (const auto i = columns.of(r.gpu)) take_ran(rows[static_cast<std::size_t>(r.test)].cells[*i], r);
  }
  for (const auto& w : a.wrong) {
    shown[static_cast<std::size_t>(w.test)] = true;
    if (const auto i = columns.of(w.gpu)) rows[static_cast<std::size_t>(w.test)].cells[*i].wrong += w.count;
  }
  for (const accept::Trouble* t : node.judgement.troubles()) {
    const auto i = columns.of(t->gpu);
    if (!i) continue;
    auto& worst = rows[static_cast<std::size_t>(t->test)].cells[*i].trouble;
    worst = worst ? std::max(*worst, t->verdict) : t->verdict;
  }
  // A test of the node as a whole has run for each of its GPUs.
  const auto whole = columns.of(-1);
  for (TestRow& row : rows) {
    if (!whole || !row.cells[*whole].state) continue;
    for (TestCell& c : row.cells) c.asked = c.asked && c.state.has_value();
  }
  std::vector<TestRow> out;
  for (std::size_t t = 0; t < kAcceptTests; ++t) {
    if (shown[t]) out.push_back(std::move(rows[t]));
  }
  return out;
}

FigureCell figure_cell(const AcceptedNode& node, const accept::Metric* m, const accept::Cohort* kind, double value) {
  FigureCell c;
  c.value = value;
  if (m == nullptr) return c;
  if (const double sheet = sheet_figure(node.sheet, m->peak); sheet > 0) c.of_sheet = value / sheet;
  if (node.fleet == nullptr || kind == nullptr) return c;
  const std::vector<double>& values = node.fleet->values(*kind, m->name);
  c.percentile = percentile_in(values, value, m->better, kPercentileOf);
  if (values.empty() || (values.front() == value && values.back() == value)) return c;  // all have the same
  const double median = values[values.size() / 2];
  if (median != 0) c.of_median = value / median;
  return c;
}

std::vector<FigureRow> figure_rows(const AcceptedNode& node, const std::vector<std::int32_t>& gpus, const Columns& columns) {
  std::map<std::string, FigureRow> found;
  for (const accept::Figures& f : accept::figures_of(node.recording)) {
    const auto i = columns.of(f.gpu);
    if (!i) continue;
    const accepting::Gpu* g = gpu_of(node.recording, f.gpu);
    const std::optional<accept::Cohort> kind = g == nullptr ? std::nullopt : std::optional(accept::cohort_of(node.recording, *g));
    for (const auto& [name, value] : f.value) {
      if (found.size() >= kFiguresShown && found.count(name) == 0) continue;
      FigureRow& row = found[name];
      if (row.cells.empty()) {
        row.name = name;
        row.metric = accept::find_metric(name);
        row.cells.resize(gpus.size());
      }
      row.cells[*i] = figure_cell(node, row.metric, kind ? &*kind : nullptr, value);
      if (node.fleet == nullptr || !kind || row.count > 0) continue;
      const std::vector<double>& values = node.fleet->values(*kind, name);
      row.count = values.size();
      if (!values.empty()) row.median = values[values.size() / 2];
    }
  }
  std::vector<FigureRow> out;
  for (const accept::Metric& m : accept::metrics()) {
    const auto it = found.find(std::string(m.name));
    if (it == found.end()) continue;
    out.push_back(std::move(it->second));
    found.erase(it);
  }
  for (auto& [name, row] : found) out.push_back(std::move(row));
  return out;
}

std::vector<CounterRow> counter_rows(const Acceptance& a, const std::vector<std::int32_t>& gpus, const Columns& columns) {
  std::vector<CounterRow> out;
  std::map<std::string_view, std::size_t> at;
  for (const accepting::Counter& c : a.counters) {
    const auto i = columns.of(c.gpu);
    if (!i) continue;
    const auto [it, is_new] = at.try_emplace(c.name, out.size());
    if (is_new) out.push_back({c.name, std::vector<const accepting::Counter*>(gpus.size(), nullptr), false});
    CounterRow& row = out[it->second];
    row.cells[*i] = &c;
    row.grew |= grew(c) && !is_meter(c.name);
  }
  return out;
}

std::string of_troubles(const AcceptedNode& node) {
  const std::vector<TroubleGroup> all = grouped(node.judgement);
  if (all.empty()) return is_empty(node.recording) ? "nothing was measured" : "no reason was recorded";
  const accept::Trouble& first = all.front().trouble;
  const std::string more = all.size() > 1 ? fmt::format("; {} more", all.size() - 1) : "";
  const std::string who = all.front().gpus.empty() ? "" : printable(group_title(node.recording, all.front())) + ": ";
  // Why a test did not run is the reason; how slow a GPU is stands in the words already.
  const bool because = first.kind == accept::Class::not_run && !first.evidence.empty();
  return who + printable(first.what) + (because ? ": " + printable(first.evidence) : "") + more;
}

bool same(const accept::Trouble& a, const accept::Trouble& b) {
  const bool alike = a.verdict == b.verdict && a.kind == b.kind && a.part == b.part && a.test == b.test &&
                     (a.gpu < 0) == (b.gpu < 0) && a.next == b.next;
  // GPUs of a node that are short of one limit have one cause, by however much each is.
  return alike && (a.basis ? a.basis == b.basis && a.metric == b.metric : a.what == b.what && a.evidence == b.evidence);
}

double shortage(const accept::Trouble& t) { return t.limit != 0 ? std::abs(t.value / t.limit - 1) : 0; }

// What is said of the worst of several is said of all as "up to".
void speak_of_all(TroubleGroup& g) {
  accept::Trouble& t = g.trouble;
  if (g.gpus.size() < 2 || !t.basis) return;
  const std::size_t share = t.what.rfind(": ");
  if (share != std::string::npos) t.what.insert(share + 2, "up to ");
  t.evidence = fmt::format("the worst, GPU {}: {}", t.gpu, t.evidence);
}

}  // namespace

AcceptRows rows_of(const AcceptedNode& node) {
  AcceptRows out;
  out.gpus = all_gpus(node.recording, node.judgement);
  if (out.gpus.size() > kGpusShown) {
    out.gpus_left_out = out.gpus.size() - kGpusShown;
    out.gpus.resize(kGpusShown);
  }
  const Columns columns(out.gpus);
  out.tests = test_rows(node, out.gpus, columns);
  out.figures = figure_rows(node, out.gpus, columns);
  out.counters = counter_rows(node.recording, out.gpus, columns);
  return out;
}

std::vector<TroubleGroup> grouped(const accept::Judgement& j) {
  std::vector<TroubleGroup> out;
  for (const accept::Trouble* t : j.troubles()) {
    // Only the last ones are looked at: troubles come GPU by GPU, and a recording may have any number.
    constexpr std::size_t kBack = 128;
    const auto begin = out.size() > kBack ? out.end() - kBack : out.begin();
    const auto it = std::find_if(begin, out.end(), [t](const TroubleGroup& g) { return same(g.trouble, *t); });
    TroubleGroup& group = it != out.end() ? *it : out.emplace_back(TroubleGroup{*t, {}});
    if (t->gpu >= 0) group.gpus.push_back(t->gpu);
    if (t->basis && shortage(*t) > shortage(group.trouble)) group.trouble = *t;
  }
  for (TroubleGroup& g : out) speak_of_all(g);
  return out;
}

bool is_empty(const Acceptance& a) { return a.ran.empty() && a.measured.empty() && a.wrong.empty(); }

double length_s(const Acceptance& a) {
  double last = 0;
  for (const auto& e : a.end) last = std::max(last, e.at_s);
  if (!a.end.empty()) return last;
  for (const auto& r : a.ran) last = std::max(last, r.begun_s + std::max(0.0, r.took_s));
  for (const auto& r : a.readings) last = std::max(last, r.at_s);
  return last;
}

const accepting::Gpu* gpu_of(const Acceptance& a, std::int32_t gpu) {
  const auto it = std::find_if(a.gpus.begin(), a.gpus.end(), [gpu](const auto& g) { return g.gpu == gpu; });
  return it == a.gpus.end() ? nullptr : &*it;
}

const accept::GpuVerdict* verdict_of(const accept::Judgement& j, std::int32_t gpu) {
  const auto it = std::find_if(j.gpus.begin(), j.gpus.end(), [gpu](const auto& g) { return g.gpu == gpu; });
  return it == j.gpus.end() ? nullptr : &*it;
}

accept::Verdict worst_of(const accept::GpuVerdict& v) {
  Verdict worst = v.verdict;
  for (const accept::Trouble& t : v.troubles) worst = std::max(worst, t.verdict);
  return worst;
}

std::string speed_doubt(const accept::Judgement& j) {
  if (!j.provisional) return "";
  if (j.unjudged.empty()) return "; limits are provisional";
  if (j.unjudged.size() >= j.gpus.size()) return "; speed was not judged";
  return fmt::format("; speed of {} of {} GPUs was not judged", j.unjudged.size(), j.gpus.size());
}

std::string accept_sentence(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  const Verdict v = node.judgement.verdict;
  std::string name = printable(node_name(a));
  if (name.size() > kSentenceBytes / 3) name = std::string(clipped(name, kSentenceBytes / 3)) + "…";
  std::string out = fmt::format("{} {}: ", name_of(v), name);
  if (v == Verdict::pass && !is_empty(a)) {
    out += fmt::format("{}, {}, {}{}", counted(static_cast<std::int64_t>(a.gpus.size()), "GPU"), name_of(a.suite.profile),
                       length_text(length_s(a)), speed_doubt(node.judgement));
  } else {
    out += of_troubles(node);
  }
  if (out.size() <= kSentenceBytes) return out;
  return std::string(clipped(out, kSentenceBytes)) + "…";
}

std::optional<double> percentile_in(const std::vector<double>& values, double value, accept::Better better, std::size_t least) {
  if (values.size() < std::max<std::size_t>(1, least) || !std::isfinite(value)) return std::nullopt;
  if (values.front() == value && values.back() == value) return std::nullopt;  // nobody stands anywhere
  const auto low = std::lower_bound(values.begin(), values.end(), value), high = std::upper_bound(low, values.end(), value);
  const double below = static_cast<double>(low - values.begin()) + static_cast<double>(high - low) / 2;
  const double share = 100 * below / static_cast<double>(values.size());
  return better == accept::Better::higher ? share : 100 - share;
}

double sheet_figure(const GpuModel* sheet, std::string_view peak) {
  if (sheet == nullptr || peak.empty()) return 0;
  if (peak == "hbm") return 1000 * sheet->hbm_tb_s;
  if (peak == "bf16" || peak == "fp16") return sheet->bf16_tflops;
  if (peak == "tf32") return sheet->bf16_tflops / 2;
  if (peak == "fp8" || peak == "int8") return sheet->fp8_tflops;
  if (peak == "fp4") return sheet->fp4_tflops;
  if (peak == "fp32") return sheet->fp32_tflops;
  if (peak == "nvlink") return sheet->nvlink_gb_s;
  if (peak == "host") return sheet->host_gb_s;
  if (peak == "tdp") return sheet->tdp_w;
  return 0;
}

std::string node_name(const Acceptance& a) { return a.host.name.empty() ? "a node without a name" : a.host.name; }

std::string gpu_title(const Acceptance& a, std::int32_t gpu) {
  if (gpu < 0) return "the node";
  const accepting::Gpu* g = gpu_of(a, gpu);
  const std::string known = g == nullptr ? "" : !g->serial.empty() ? g->serial : g->uuid;
  return known.empty() ? fmt::format("GPU {}", gpu) : fmt::format("GPU {} ({})", gpu, known);
}

std::string group_title(const Acceptance& a, const TroubleGroup& g) {
  if (g.gpus.size() < 2) return gpu_title(a, g.gpus.empty() ? -1 : g.gpus.front());
  std::string out = "GPUs ";
  for (std::size_t i = 0; i < std::min(kGpusNamed, g.gpus.size()); ++i) out += fmt::format("{}{}", i > 0 ? ", " : "", g.gpus[i]);
  return out + (g.gpus.size() > kGpusNamed ? fmt::format(" and {} more", g.gpus.size() - kGpusNamed) : "");
}

std::string_view test_words(AcceptTest t) {
  switch (t) {
    case AcceptTest::inventory: return "who the GPU is, and whether it is all there";
    case AcceptTest::link: return "copies to and from the host, launches";
    case AcceptTest::sweep: return "six units of every SM, each result compared";
    case AcceptTest::hbm: return "memory read, written and copied";
    case AcceptTest::march: return "all of memory written and verified, seven patterns";
    case AcceptTest::gemm_bf16: return "exact products in bf16, every result verified";
    case AcceptTest::gemm_fp16: return "exact products in fp16, every result verified";
    case AcceptTest::gemm_fp8: return "exact products in fp8, every result verified";
    case AcceptTest::gemm_tf32: return "exact products in tf32, every result verified";
    case AcceptTest::gemm_int8: return "exact products in int8, every result verified";
    case AcceptTest::sustained: return "random products until clock and heat are steady";
    case AcceptTest::pulse: return "full load and rest in turn, 100 ms each";
    case AcceptTest::sweep_hot: return "the sweep again, while hot";
    case AcceptTest::march_hot: return "the march again, while hot";
    case AcceptTest::peers: return "copies between the node's GPUs";
    case AcceptTest::nccl: return "an all-reduce over the node's GPUs";
    case AcceptTest::counters: return "what grew meanwhile, and what the kernel said";
  }
  return "";
}

std::string state_words(const TestCell& c) {
  if (!c.state) return c.asked ? "did not run" : "not asked for";
  const std::string before = c.done_once && *c.state != TestState::done ? "done once, then " : "";
  switch (*c.state) {
    case TestState::done: return "done";
    case TestState::could_not_run: return before + "could not run";
    case TestState::stopped: return before + "stopped";
    case TestState::hung: return before + "hung";
    case TestState::not_applicable: return "does not apply";
  }
  return "did not run";
}

std::string_view mark_of(Verdict v) {
  switch (v) {
    case Verdict::pass: return "✓";
    case Verdict::degraded: return "▼";
    case Verdict::could_not_run: return "?";
    case Verdict::fail: break;
  }
  return "✗";
}

std::string counter_title(std::string_view name) {
  const auto rules = accept::counter_rules();
  const auto it = std::find_if(rules.begin(), rules.end(), [name](const auto& r) { return r.name == name; });
  if (it != rules.end()) return std::string(it->title);
  const auto other = std::find_if(std::begin(kOthers), std::end(kOthers), [name](const auto& o) { return o.first == name; });
  return std::string(other == std::end(kOthers) ? name : other->second);
}

bool is_meter(std::string_view name) { return name == "energy_j" || name == "power_violation_s"; }

std::string figure_title(const FigureRow& r) { return r.metric == nullptr ? r.name : std::string(r.metric->title); }
std::string_view unit_of(const FigureRow& r) { return r.metric == nullptr ? std::string_view() : r.metric->unit; }

std::string figure_text(double v) {
  if (!std::isfinite(v)) return "-";
  if (std::abs(v) >= 1e16) return fmt::format("{:.3g}", v);
  for (const int ten : {12, 9}) {
    if (const double unit = std::pow(10, ten); std::abs(v) >= 10 * unit) return fmt::format("{:.4g}e{}", v / unit, ten);
  }
  if (v == std::round(v) && std::abs(v) < 1000) return fmt::format("{:.0f}", v);
  if (std::abs(v) >= 999.95) return std::abs(v) < 9e15 ? render_count(std::llround(v)) : fmt::format("{:.3g}", v);
  return fmt::format("{:#.4g}", v);  // with its last zeros: columns of figures are read from the right
}

std::string percentile_text(double p) { return p > 0 && p < 1 ? fmt::format("p{:.2g}", p) : fmt::format("p{:.0f}", p); }

std::string share_text(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-"; }

std::string length_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  if (seconds > 1e9) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 7200) return fmt::format("{:.1f} h", seconds / 3600);
  const auto whole = std::llround(seconds);
  return whole % 60 == 0 ? fmt::format("{} min", whole / 60) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string minute_of(Time t) {
  const std::string utc = render_utc(t);
  return utc.substr(0, 10) + " " + utc.substr(11, 5) + " UTC";
}

bool grew(const accepting::Counter& c) { return c.before >= 0 && c.after >= 0 && c.after != c.before; }

std::string growth_text(const accepting::Counter& c) {
  if (c.before < 0 && c.after < 0) return "not told";
  if (c.before < 0 || c.after < 0)
    return fmt::format("{} to {}", c.before < 0 ? "not told" : figure_text(c.before),
                       c.after < 0 ? "not told" : figure_text(c.after));
  if (!grew(c)) return figure_text(c.before);
  return fmt::format("{} to {} ({}{})", figure_text(c.before), figure_text(c.after), c.after > c.before ? "+" : "",
                     figure_text(c.after - c.before));
}

void trouble_json(JsonWriter& w, const accept::Trouble& t) {
  w.object();
  t.gpu < 0 ? w.key("gpu").null() : w.field("gpu", t.gpu);
  w.field("verdict", name_of(t.verdict))
      .field("class", name_of(t.kind))
      .field("part", name_of(t.part))
      .field("test", name_of(t.test));
  w.field("what", t.what).field("evidence", t.evidence).field("next", t.next);
  if (!t.metric.empty()) w.field("metric", t.metric).field("value", t.value).field("limit", t.limit);
  if (t.basis) w.field("basis", name_of(*t.basis));
  w.end_object();
}

}  // namespace muster::report
