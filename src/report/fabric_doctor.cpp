#include "report/fabric_doctor.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Examination;
using diagnose::Finding;
using diagnose::RoceForecast;

void say_finding(const Finding& f, std::size_t number, std::vector<std::string>& out) {
  out.emplace_back();
  out.push_back(fmt::format("{}. {}{}", number, f.cause.empty() ? "" : f.cause + ": ", printable(f.title)));
  out.push_back(fmt::format("   confidence: {}", name_of(f.confidence)));
  for (const std::string& e : f.evidence) out.push_back("     " + printable(e));
  if (!f.expected.empty() && !f.achieved.empty())
    out.push_back(fmt::format("   expected: {}; achieved: {}", printable(f.expected), printable(f.achieved)));
  if (!f.remedy.empty()) out.push_back("   fix: " + printable(f.remedy));
  if (!f.verify.empty()) out.push_back("   prove: " + printable(f.verify));
}

void say_forecast(const RoceForecast& f, std::vector<std::string>& out) {
  const auto line = [&](const char* name, const predict::IncastAsk& a, const predict::IncastFigures& r) {
    const std::string marks = a.control.on ? fmt::format("Kmin {:.0f} KB, Kmax {:.0f} KB, Pmax {:.0f} %", a.control.kmin_kb,
                                                         a.control.kmax_kb, 100 * a.control.pmax)
                                           : std::string("pauses alone");
    out.push_back(
        fmt::format("   {}: {}: the last of {} is done after {:.2f} ms (first {:.2f}), longest queue {:.0f} KB, paused {:.1f} %",
                    name, marks, a.senders, 1000 * r.last_s, 1000 * r.first_s, r.most_queue_kb, 100 * r.paused));
  };
  out.emplace_back();
  out.push_back(fmt::format("forecast (a model of {} senders of {:.0f} MB each at one port of {:.0f} GB/s, not a measurement):",
                            f.now.senders, f.now.mb, f.now.line_gb_s));
  if (!f.xoff_told)
    out.push_back(fmt::format("   from where ports pause is not told: {:.0f} KB are assumed, and thresholds follow from it",
                              f.now.xoff_kb));
  if (!f.now_orderly)
    out.push_back(fmt::format("   no mark acts as this is set ({}): played with pauses alone", printable(f.why)));
  line("now", f.now, f.now_figures);
  if (f.by_fix) {
    line("as the fix says", f.proposed, f.proposed_figures);
    if (f.proposed_figures.last_s > f.now_figures.last_s && f.proposed_figures.paused < f.now_figures.paused)
      out.emplace_back(
          "   with it the last is done later and pauses are fewer: what pauses cost other flows on the way is not played");
  } else if (f.proposed_figures.last_s > 0.98 * f.now_figures.last_s) {
    out.emplace_back("   no thresholds in their order are done 2 % sooner without more pauses: leave them");
  } else {
    line("proposed", f.proposed, f.proposed_figures);
  }
}

void write_finding(JsonWriter& w, const Finding& f) {
  w.object().field("cause", f.cause).field("title", printable(f.title)).field("confidence", name_of(f.confidence));
  w.key("evidence").array();
  for (const std::string& e : f.evidence) w.value(printable(e));
  w.end_array();
  if (!f.expected.empty()) w.field("expected", printable(f.expected));
  if (!f.achieved.empty()) w.field("achieved", printable(f.achieved));
  w.field("fix", printable(f.remedy)).field("prove", printable(f.verify)).end_object();
}

void write_side(JsonWriter& w, const predict::IncastAsk& a, const predict::IncastFigures& r) {
  w.object().field("ecn", a.control.on);
  if (a.control.on) w.field("kmin_kb", a.control.kmin_kb).field("kmax_kb", a.control.kmax_kb).field("pmax", a.control.pmax);
  w.field("xoff_kb", a.xoff_kb).field("last_ms", 1000 * r.last_s).field("first_ms", 1000 * r.first_s);
  w.field("most_queue_kb", r.most_queue_kb).field("paused_share", r.paused).end_object();
}

}  // namespace

std::vector<std::string> say_examination(const Examination& found) {
  std::vector<std::string> out;
  if (found.verdicts.empty()) {
    out.emplace_back("unknown: nothing in these files tells of a cause. Looked for:");
    for (const std::string& s : found.looked_for) out.push_back("  - " + printable(s));
  } else {
    out.push_back(fmt::format("{}: {}", found.verdicts.front().cause, printable(found.verdicts.front().title)));
  }
  std::size_t number = 0;
  for (const Finding& f : found.verdicts) say_finding(f, ++number, out);
  if (!found.advice.empty()) {
    out.emplace_back();
    out.emplace_back("worth a look, and no cause of failure by itself:");
  }
  for (const Finding& f : found.advice) say_finding(f, ++number, out);
  if (found.forecast) say_forecast(*found.forecast, out);
  return out;
}

std::string examination_json(const Examination& found) {
  JsonWriter w;
  w.object().field("cause", found.verdicts.empty() ? std::string("unknown") : found.verdicts.front().cause);
  w.key("verdicts").array();
  for (const Finding& f : found.verdicts) write_finding(w, f);
  w.end_array().key("advice").array();
  for (const Finding& f : found.advice) write_finding(w, f);
  w.end_array().key("looked_for").array();
  for (const std::string& s : found.looked_for) w.value(printable(s));
  w.end_array();
  if (found.forecast) {
    w.key("forecast").object().field("model", true).field("senders", found.forecast->now.senders);
    w.field("mb", found.forecast->now.mb).field("line_gb_s", found.forecast->now.line_gb_s);
    w.field("by_fix", found.forecast->by_fix).field("xoff_told", found.forecast->xoff_told);
    if (!found.forecast->why.empty()) w.field("no_marks_because", found.forecast->why);
    w.key("now");
    write_side(w, found.forecast->now, found.forecast->now_figures);
    w.key("proposed");
    write_side(w, found.forecast->proposed, found.forecast->proposed_figures);
    w.end_object();
  }
  w.end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
