#include "report/accounting.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"

namespace muster::report {
namespace {

using diagnose::Accounting;
using diagnose::Counted;

constexpr std::string_view kWork[] = {"compute", "comm", "memcpy", "memset"};  // as HTA and its users call them

void write_steps(JsonWriter& w, const Trace& t) {
  w.key("steps").array();
  for (const Mark& s : t.steps) {
    w.object().field("name", t.names[s.name]).field("start_ns", s.span.start_ns).field("dur_ns", s.span.length()).end_object();
  }
  w.end_array();
}

void write_one(JsonWriter& w, const Trace& t, Counted which) {
  const Accounting a = diagnose::account(t, which);
  w.object().field("n_gpu_events", a.events());
  w.key("count").object();
  for (std::size_t i = 0; i < a.count.size(); ++i) w.field(kWork[i], a.count[i]);
  w.end_object().field("span_ns", a.span_ns).field("busy_ns", a.busy_ns).field("idle_ns", a.idle_ns());
  for (std::size_t i = 0; i < a.covered_ns.size(); ++i) w.field(fmt::format("{}_ns", kWork[i]), a.covered_ns[i]);
  w.field("comm_compute_overlap_ns", a.overlap_ns).field("exposed_comm_ns", a.exposed_ns());
  w.key("sum_dur_ns").object();
  for (std::size_t i = 0; i < a.sum_ns.size(); ++i) w.field(kWork[i], a.sum_ns[i]);
  w.end_object();
  write_steps(w, t);
  w.end_object();
}

std::string rank_words(const Trace& t, std::size_t i) { return fmt::format("{}", t.rank ? *t.rank : i); }

}  // namespace

std::string accounting_json(std::span<const AccountedTrace> traces) {
  JsonWriter w;
  w.object();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const AccountedTrace& one = traces[i];
    w.key(rank_words(one.trace, i)).object().field("file", one.file);
    w.key("all_events");
    write_one(w, one.trace, Counted::all_events);
    w.key("drop_last_step");
    write_one(w, one.trace, Counted::drop_last_step);
    w.end_object();
  }
  w.end_object();
  return w.take() + "\n";
}

Table accounting_table(std::span<const AccountedTrace> traces) {
  Table t;
  t.columns = {{"FILE"}, {"RANK", true}, {"STEPS", true}, {"EVENTS", true}};
  for (const char* name : {"SPAN", "COMPUTE", "EXPOSED", "OVERLAP", "COPIES", "IDLE"})
    t.columns.push_back({.name = name, .right = true, .csv = lower(name) + "_ns"});
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Trace& trace = traces[i].trace;
    const Accounting a = diagnose::account(trace, Counted::all_events);
    const auto share = [&](std::int64_t ns) {
      const double part = a.span_ns > 0 ? 100.0 * static_cast<double>(ns) / static_cast<double>(a.span_ns) : 0;
      Cell c(fmt::format("{:.1f} %", part));
      c.raw = fmt::format("{}", ns);
      c.key = part;
      return c;
    };
    Cell span(fmt::format("{:.3f} ms", static_cast<double>(a.span_ns) / 1e6));
    span.raw = fmt::format("{}", a.span_ns);
    span.key = static_cast<double>(a.span_ns);
    t.rows.push_back({Cell(traces[i].file), Cell(rank_words(trace, i)), Cell(fmt::format("{}", trace.steps.size())),
                      Cell(fmt::format("{}", a.events())), std::move(span), share(a.covered_ns[0]), share(a.exposed_ns()),
                      share(a.overlap_ns), share(a.covered_ns[2] + a.covered_ns[3]), share(a.idle_ns())});
  }
  return t;
}

}  // namespace muster::report
