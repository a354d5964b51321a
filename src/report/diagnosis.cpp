#include "report/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Bound;
using diagnose::Finding;
using diagnose::Profile;

constexpr std::size_t kSaidMost = 6;      // findings: the rest is in the JSON
constexpr std::size_t kKernelsMost = 12;  // classes of one profile in the JSON
constexpr double kDay = 24;

double step_ms(const Profile& p) { return static_cast<double>(p.line.step_ns()) / 1e6; }

std::string saved(const Finding& f, const Diagnosis& d) {
  if (!f.gain) return {};
  std::string out = fmt::format("{:.0f} to {:.0f} % of the step", f.gain->low_pct, f.gain->high_pct);
  if (d.gpus > 0) {
    const double low = kDay * d.gpus * f.gain->low_pct / 100, high = kDay * d.gpus * f.gain->high_pct / 100;
    const int digits = high < 10 ? 1 : 0;
    out += fmt::format(", {:.{}f} to {:.{}f} GPU-hours a day", low, digits, high, digits);
    if (d.price > 0) out += fmt::format(", {:.0f} to {:.0f} $ a day", low * d.price, high * d.price);
  }
  return out;
}

void write_range(JsonWriter& w, std::string_view key, const Finding& f, double factor) {
  w.key(key);
  if (!f.gain || factor <= 0) {
    w.null();
    return;
  }
  w.object().field("low", factor * f.gain->low_pct).field("high", factor * f.gain->high_pct).end_object();
}

void write_finding(JsonWriter& w, const Finding& f, const Diagnosis& d) {
  w.object().field("title", printable(f.title)).key("evidence").array();
  for (const std::string& e : f.evidence) w.value(printable(e));
  w.end_array().field("expected", printable(f.expected)).field("achieved", printable(f.achieved));
  w.field("remedy", printable(f.remedy));
  write_range(w, "gain_pct", f, 1);
  write_range(w, "gpu_hours_a_day", f, d.gpus * kDay / 100);
  write_range(w, "dollars_a_day", f, d.price * d.gpus * kDay / 100);
  w.field("verify", f.verify).field("confidence", name_of(f.confidence)).field("cost_pct", f.cost_pct).end_object();
}

void write_kernels(JsonWriter& w, const Profile& p) {
  w.key("kernels").array();
  for (std::size_t i = 0; i < std::min(kKernelsMost, p.kernels.classes.size()); ++i) {
    const diagnose::KernelClass& k = p.kernels.classes[i];
    w.object().field("name", k.name).field("kernel", printable(p.trace->names[k.kernel])).field("kind", name_of(k.kind));
    w.field("limit", name_of(k.limit)).field("count", k.count).field("time_ns", k.own_ns);
    if (k.flops > 0) w.field("flops", k.flops);
    if (k.bytes > 0) w.field("bytes", k.bytes);
    if (k.share_of_peak() > 0) w.field("of_peak_pct", 100 * k.share_of_peak());
    if (k.launch != nullptr) w.field("blocks", k.launch->blocks).field("occupancy_pct", unsigned{k.launch->occupancy_pct});
    w.end_object();
  }
  w.end_array();
}

void write_profile(JsonWriter& w, const Profile& p) {
  w.object().field("file", p.file);
  w.key("rank");
  if (p.trace->rank) {
    w.value(*p.trace->rank);
  } else {
    w.null();
  }
  w.field("gpu", static_cast<std::size_t>(std::max<int>(0, p.line.device)) < p.trace->gpus.size()
                     ? printable(p.trace->gpus[static_cast<std::size_t>(std::max<int>(0, p.line.device))])
                     : std::string());
  w.field("step_ms", step_ms(p)).field("replay_off_pct", 100 * p.replay_error);
  w.key("shares").object();
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) w.field(names(Bound{})[b], p.shares[b]);
  w.end_object().key("steps").array();
  for (const diagnose::StepParts& s : p.line.steps) {
    w.object().field("name", s.name == kNone ? std::string("all of it") : printable(p.trace->names[s.name]));
    w.field("ns", s.span.length()).key("parts_ns").object();
    for (std::size_t i = 0; i < diagnose::kParts; ++i) w.field(names(diagnose::Part{})[i], s.ns[i]);
    w.end_object().end_object();
  }
  w.end_array();
  write_kernels(w, p);
  w.end_object();
}

void write_waits(JsonWriter& w, const diagnose::RankWaits& waits) {
  w.key("waits").object().field("matched", waits.matched).field("unmatched", waits.alone).key("steps").array();
  for (const auto& s : waits.steps) {
    w.object().field("name", s.name).key("waited_ns").array();
    for (const std::int64_t ns : s.ns) w.value(ns);
    w.end_array().key("came_last").array();
    for (const std::uint32_t n : s.last) w.value(n);
    w.end_array().key("waited_for_ns").array();
    for (const std::int64_t ns : s.blamed_ns) w.value(ns);
    w.end_array().end_object();
  }
  w.end_array().end_object();
}

// "compute 86 %  ################----": one line a class that is there.
void say_shares(const diagnose::Shares& shares, std::vector<std::string>& out) {
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
    if (shares[b] < 0.5) continue;
    out.push_back(fmt::format("  {:<14}{:>6.1f} %  {}", names(Bound{})[b], shares[b],
                              std::string(static_cast<std::size_t>(shares[b] / 2.5 + 0.5), '#')));
  }
}

void say_ranks(const Diagnosis& d, std::vector<std::string>& out) {
  if (!d.waits || d.waits->matched == 0) return;
  out.push_back(fmt::format("{} exchanges matched on {} ranks; waited for peers, a step:", d.waits->matched, d.profiles.size()));
  for (std::size_t r = 0; r < d.profiles.size(); ++r) {
    std::int64_t sum = 0, blamed = 0;
    for (const auto& s : d.waits->steps) {
      sum += s.ns[r];
      blamed += s.blamed_ns[r];
    }
    const auto n = static_cast<double>(std::max<std::size_t>(1, d.waits->steps.size()));
    out.push_back(fmt::format("  {:<10} {:>10.3f} ms; the others for it {:>10.3f} ms",
                              d.profiles[r].trace->rank ? fmt::format("rank {}", *d.profiles[r].trace->rank) : d.profiles[r].file,
                              static_cast<double>(sum) / 1e6 / n, static_cast<double>(blamed) / 1e6 / n));
  }
}

}  // namespace

diagnose::Shares mean_shares(const Diagnosis& d) {
  diagnose::Shares mean{};
  double n = 0;
  for (const Profile& p : d.profiles) {
    if (p.line.events.empty()) continue;
    ++n;
    for (std::size_t b = 0; b < diagnose::kBounds; ++b) mean[b] += p.shares[b];
  }
  if (n > 0) {
    for (double& m : mean) m /= n;
  }
  return mean;
}

std::vector<std::string> say_diagnosis(const Diagnosis& d) {
  std::vector<std::string> out;
  if (!d.verdict.sentence.empty())
    out.push_back(fmt::format("{}: {} (confidence: {})", name_of(d.verdict.bound), printable(d.verdict.sentence),
                              name_of(d.verdict.confidence)));
  if (!d.profiles.empty()) say_shares(mean_shares(d), out);
  say_ranks(d, out);
  for (const DiagnosisPart& p : d.parts) {
    if (!p.title.empty()) out.push_back(p.title);
    for (const std::string& line : p.words) out.push_back(line);
  }
  for (std::size_t i = 0; i < std::min(kSaidMost, d.findings.size()); ++i) {
    const Finding& f = d.findings[i];
    out.emplace_back();
    out.push_back(fmt::format("{}. {}", i + 1, printable(f.title)));
    for (const std::string& e : f.evidence) out.push_back("     " + printable(e));
    if (!f.expected.empty() && !f.achieved.empty())
      out.push_back(fmt::format("   expected: {}; achieved: {}", printable(f.expected), printable(f.achieved)));
    if (!f.remedy.empty()) out.push_back("   do: " + printable(f.remedy));
    if (const std::string gain = saved(f, d); !gain.empty())
      out.push_back(fmt::format("   saves: {} (confidence: {})", gain, name_of(f.confidence)));
    if (!f.verify.empty()) out.push_back("   then: " + printable(f.verify));
  }
  if (d.findings.size() > kSaidMost) out.push_back(fmt::format("and {} more (-o json)", d.findings.size() - kSaidMost));
  if (!d.cannot.empty()) out.emplace_back();
  for (const std::string& why : d.cannot) out.push_back("not told: " + printable(why));
  return out;
}

std::string diagnosis_json(const Diagnosis& d) {
  JsonWriter w;
  w.object();
  w.key("verdict").object().field("bound", name_of(d.verdict.bound)).field("sentence", printable(d.verdict.sentence));
  w.field("confidence", name_of(d.verdict.confidence)).end_object();
  w.key("shares").object();  // only profiles tell them
  if (!d.profiles.empty()) {
    const diagnose::Shares mean = mean_shares(d);
    for (std::size_t b = 0; b < diagnose::kBounds; ++b) w.field(names(Bound{})[b], mean[b]);
  }
  w.end_object();
  w.key("findings").array();
  for (const Finding& f : d.findings) write_finding(w, f, d);
  w.end_array();
  if (!d.profiles.empty()) {
    w.key("ranks").array();
    for (const Profile& p : d.profiles) write_profile(w, p);
    w.end_array();
  }
  if (d.waits) write_waits(w, *d.waits);
  for (const DiagnosisPart& p : d.parts) w.key(p.key).raw(p.json);
  w.key("cannot").array();
  for (const std::string& why : d.cannot) w.value(printable(why));
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
