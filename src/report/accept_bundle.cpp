#include "report/accept_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/codec.h"
#include "report/accept_page.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Trouble;
using accept::Verdict;

constexpr std::size_t kRoundsTold = 4;  // of one test
constexpr std::size_t kTextBytes = 1200, kNameBytes = 64, kListed = 200, kWidth = 100;

std::string said(std::string_view s) { return printable(clipped(s, kTextBytes)) + (s.size() > kTextBytes ? "…" : ""); }
std::string or_unknown(const std::string& s) { return s.empty() ? "not recorded" : said(s); }

void line(std::string& out, std::string_view name, const std::string& value) { out += fmt::format("{:<18}{}\n", name, value); }

// How often: the rounds of the test, and how many figures of it there are.
std::string repeated(const Acceptance& a, const Trouble& t) {
  std::set<std::uint32_t> turns;
  std::size_t rounds = 0, figures = 0;
  for (const auto& r : a.ran) {
    if (r.gpu != t.gpu || r.test != t.test) continue;
    ++rounds;
    turns.insert(r.turn);
  }
  for (const auto& m : a.measured) figures += m.gpu == t.gpu && m.test == t.test && (t.metric.empty() || m.metric == t.metric);
  if (rounds == 0) return "the test did not run";
  const std::string again = turns.size() > 1 ? ", repeated because the first turn was short of a limit" : "";
  const std::string measured =
      figures == 0
          ? ""
          : fmt::format("; {}", counted(static_cast<std::int64_t>(figures), t.metric.empty() ? "figure" : "measurement"));
  return fmt::format("{} of the test{}{}", counted(static_cast<std::int64_t>(rounds), "round"), again, measured);
}

// When: each round of the test, the first of them by the clock on the wall too.
std::string when(const Acceptance& a, const Trouble& t) {
  std::string spans;
  double first = -1;
  std::size_t rounds = 0;
  for (const auto& r : a.ran) {
    if (r.gpu != t.gpu || r.test != t.test || ++rounds > kRoundsTold) continue;
    if (first < 0) first = r.begun_s;
    spans += fmt::format("{}{:.1f} s to {:.1f} s", spans.empty() ? "" : ", ", r.begun_s, r.begun_s + std::max(0.0, r.took_s));
  }
  if (rounds == 0) return "-";
  spans += rounds > kRoundsTold ? fmt::format(" and {} later rounds", rounds - kRoundsTold) : "";
  spans += " after the beginning";
  // What a recording says of time may be anything.
  const bool sane = a.host.begun.ns > 0 && a.host.begun < kNever - days(1000) && first >= 0 && first < days(900).seconds();
  return !sane ? spans : fmt::format("{}Z; {}", render_utc(a.host.begun + from_seconds(first)).substr(0, 19), spans);
}

void trouble_lines(std::string& out, const Acceptance& a, const Trouble& t) {
  out += fmt::format("\n  {}: {}\n", name_of(t.verdict), wrap(said(t.what), kWidth, 4));
  const auto add = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("    {:<16}{}\n", name, wrap(value, kWidth - 20, 20));
  };
  add("part", std::string(name_of(t.part)));
  add("test", fmt::format("{}: {}", name_of(t.test), test_words(t.test)));
  add("when", when(a, t));
  add("evidence", said(t.evidence));
  if (!t.metric.empty())
    add("figure", fmt::format("{} = {}, limit {}{}", said(t.metric), figure_text(t.value), figure_text(t.limit),
                              t.basis ? fmt::format(" (from {})", name_of(*t.basis)) : ""));
  add("how often", repeated(a, t));
  add("next step", said(t.next));
}

void wrong_lines(std::string& out, const Acceptance& a, std::int32_t gpu) {
  std::size_t shown = 0, all = 0;
  for (const accepting::Wrong& w : a.wrong) {
    if (w.gpu != gpu) continue;
    if (all++ == 0) out += "\n  Wrong results\n";
    if (shown >= kListed) continue;
    ++shown;
    out += fmt::format("    {}{}, {}: {} wrong; {}\n", name_of(w.test), w.turn > 0 ? ", again" : "", said(w.place),
                       render_count(static_cast<std::int64_t>(w.count)), said(w.detail));
  }
  if (all > shown) out += fmt::format("    {} more are in recording.jsonl\n", all - shown);
}

void counter_lines(std::string& out, const Acceptance& a, std::int32_t gpu) {
  bool first = true;
  for (const accepting::Counter& c : a.counters) {
    if (c.gpu != gpu) continue;
    if (first) out += "\n  Counters of the driver, before and after\n";
    first = false;
    out += fmt::format("    {}: {}{}\n", said(c.name), growth_text(c), grew(c) ? "   <- changed" : "");
  }
  if (first) out += "\n  No counter of the driver was read.\n";
}

void kernel_lines(std::string& out, const Acceptance& a, std::int32_t gpu) {
  std::size_t shown = 0;
  for (const accepting::KernelWord& w : a.kernel) {
    if (w.gpu != gpu || shown >= kListed) continue;
    if (shown++ == 0) out += "\n  The kernel's log during the tests\n";
    out += fmt::format("    {:.1f} s{}: {}\n", w.at_s, w.code != 0 ? fmt::format(", Xid {}", w.code) : "", said(w.text));
  }
  if (shown == 0) out += "\n  The kernel's log said nothing of it during the tests.\n";
}

void gpu_lines(std::string& out, const AcceptedNode& node, const accept::GpuVerdict& v) {
  const Acceptance& a = node.recording;
  const accepting::Gpu* g = gpu_of(a, v.gpu);
  out += fmt::format("\n{:=<78}\nGPU {}: {}\n{:=<78}\n", "", v.gpu, name_of(worst_of(v)), "");
  const accepting::Gpu none;
  const accepting::Gpu& known = g == nullptr ? none : *g;
  line(out, "serial number", or_unknown(known.serial));
  line(out, "UUID", or_unknown(known.uuid));
  line(out, "part number", or_unknown(known.part));
  line(out, "model", or_unknown(known.model));
  line(out, "VBIOS", or_unknown(known.vbios));
  line(out, "PCI address", or_unknown(known.pci));
  line(out, "driver", or_unknown(a.host.driver));
  for (const Trouble& t : v.troubles) trouble_lines(out, a, t);
  wrong_lines(out, a, v.gpu);
  counter_lines(out, a, v.gpu);
  kernel_lines(out, a, v.gpu);
}

std::string summary(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  std::string out = accept_sentence(node) + "\n\n";
  line(out, "node", said(node_name(a)));
  line(out, "tested at", a.host.begun.ns == 0 ? "not recorded" : render_utc(a.host.begun));
  line(out, "took",
       length_text(length_s(a)) + (a.end.empty()           ? ", then cut off"
                                   : a.end.front().stopped ? ", then stopped"
                                                           : ""));
  line(out, "kernel", or_unknown(a.host.kernel));
  line(out, "driver", or_unknown(a.host.driver));
  line(out, "CUDA", or_unknown(a.host.cuda));
  line(out, "cuBLASLt", or_unknown(a.host.cublas));
  line(out, "tests",
       fmt::format("muster accept {}, profile {}, suite {}, hash {}, seed {}", or_unknown(a.suite.muster),
                   name_of(a.suite.profile), or_unknown(a.suite.version), or_unknown(a.suite.hash), a.suite.seed));
  out += "\n" +
         wrap(
             "How it was measured: every result of the tests that compute is compared with what it must be, from a way that does "
             "not use the unit under test; speed is held against other GPUs of the same kind or the GPU's own earlier runs. The "
             "tests change no clock, no power limit and no mode. report.html shows all of it, recording.jsonl has each row as it "
             "was measured.",
             kWidth, 0) +
         "\n";
  for (const Trouble& t : node.judgement.node) trouble_lines(out, a, t);
  if (!node.judgement.node.empty()) kernel_lines(out, a, -1);
  std::size_t troubled = 0;
  for (const Verdict wanted : {Verdict::fail, Verdict::could_not_run, Verdict::degraded}) {
    for (const accept::GpuVerdict& v : node.judgement.gpus) {
      if (worst_of(v) != wanted) continue;
      gpu_lines(out, node, v);
      ++troubled;
    }
  }
  if (troubled == 0)
    out += is_empty(a) ? "\n" + std::string(kNothing) + "\n" : "\nNo GPU of this node failed: there is nothing to return.\n";
  std::string others;
  for (const accept::GpuVerdict& v : node.judgement.gpus)
    if (worst_of(v) == Verdict::pass) others += fmt::format("{}{}", others.empty() ? "" : ", ", said(gpu_title(a, v.gpu)));
  if (!others.empty()) out += "\n" + wrap("PASS on the same node: " + others, kWidth, 2) + "\n";
  for (const std::string& n : node.judgement.notes) out += "note: " + wrap(said(n), kWidth, 6) + "\n";
  return out;
}

std::string troubles_csv(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  Table t;
  t.columns = {{"NODE"},      {"GPU"},     {"SERIAL"}, {"UUID"},  {"PART NUMBER"}, {"VBIOS"}, {"PCI"},
               {"DRIVER"},    {"VERDICT"}, {"CLASS"},  {"PART"},  {"TEST"},        {"WHAT"},  {"EVIDENCE"},
               {"NEXT STEP"}, {"METRIC"},  {"VALUE"},  {"LIMIT"}, {"BASIS"},       {"SUITE"}, {"BEGUN UTC"}};
  for (const Trouble* x : node.judgement.troubles()) {
    const accepting::Gpu* g = gpu_of(a, x->gpu);
    const accepting::Gpu none;
    const accepting::Gpu& known = g == nullptr ? none : *g;
    const bool limit = !x->metric.empty();
    t.rows.push_back({Cell(a.host.name),
                      Cell(x->gpu < 0 ? "" : std::to_string(x->gpu)),
                      Cell(known.serial),
                      Cell(known.uuid),
                      Cell(known.part),
                      Cell(known.vbios),
                      Cell(known.pci),
                      Cell(a.host.driver),
                      Cell(std::string(name_of(x->verdict))),
                      Cell(std::string(name_of(x->kind))),
                      Cell(std::string(name_of(x->part))),
                      Cell(std::string(name_of(x->test))),
                      Cell(x->what),
                      Cell(x->evidence),
                      Cell(x->next),
                      Cell(x->metric),
                      Cell(limit ? render_number(x->value) : ""),
                      Cell(limit ? render_number(x->limit) : ""),
                      Cell(x->basis ? std::string(name_of(*x->basis)) : ""),
                      Cell(a.suite.version + " " + a.suite.hash),
                      Cell(a.host.begun.ns == 0 ? "" : render_utc(a.host.begun))});
  }
  return render_csv(t, true);
}

template <class Rows>
void add_rows(std::string& out, const Rows& rows) {
  for (const auto& r : rows) out += encode_row(r) + "\n";
}

std::string written_anew(const Acceptance& a) {
  std::string out = encode_row(a.suite) + "\n" + encode_row(a.host) + "\n";
  add_rows(out, a.gpus);
  add_rows(out, a.ran);
  add_rows(out, a.measured);
  add_rows(out, a.wrong);
  add_rows(out, a.counters);
  add_rows(out, a.readings);
  add_rows(out, a.kernel);
  add_rows(out, a.end);
  return out;
}

}  // namespace

std::vector<BundleFile> accept_bundle(const AcceptedNode& node, std::string recording) {
  if (recording.empty()) recording = written_anew(node.recording);
  return {{"summary.txt", summary(node)},
          {"report.html", accept_page(node)},
          {"troubles.csv", troubles_csv(node)},
          {"recording.jsonl", std::move(recording)}};
}

std::string bundle_folder(const Acceptance& a) {
  std::string name;
  for (const char c : a.host.name.substr(0, kNameBytes)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += plain ? c : '_';
  }
  std::string at;
  if (a.host.begun.ns != 0) {
    for (const char c : render_utc(a.host.begun).substr(0, 19)) at += c == '-' || c == ':' ? "" : std::string(1, c);
    at = "-" + at + "Z";
  }
  return fmt::format("rma-{}{}", name.empty() ? "node" : name, at);
}

}  // namespace muster::report
