// The diagnosis as events of Chrome's trace format, on the profile's own clock.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/diagnosis.h"

namespace muster::report {
namespace {

using diagnose::Profile;

constexpr std::uint64_t kFirstProcess = 2'000'000'000;  // beyond the numbers of real ones
constexpr std::size_t kNameBytes = 120;                 // of a kernel: each gap names the one that ended it
enum Track : unsigned { kSteps = 1, kIdle = 2, kFindings = 3 };

// Microseconds as decimal text: a double would lose nanoseconds of clocks that count since 1970.
std::string micros(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

class Overlay {
 public:
  explicit Overlay(const Diagnosis& d) : d_(d) {}

  std::string write() {
    w_.object().field("displayTimeUnit", "ms").key("traceEvents").array();
    for (std::size_t i = 0; i < d_.profiles.size(); ++i) {
      const Profile& p = d_.profiles[i];
      if (p.line.events.empty()) continue;
      process_ = kFirstProcess + i;
      name_tracks(p, i);
      steps(p);
      gaps(p);
      for (const diagnose::Finding& f : d_.findings) finding(p, f);
      if (d_.waits && i < d_.waits->by_event.size()) waits(p, d_.waits->by_event[i]);
    }
    w_.end_array().end_object();
    return w_.take() + "\n";
  }

 private:
  JsonWriter& begin(std::string_view phase, std::string_view name, unsigned track) {
    w_.object().field("ph", phase).field("name", printable(name)).field("pid", process_).field("tid", track);
    return w_;
  }

  JsonWriter& begin(std::string_view phase, std::string_view name, unsigned track, std::int64_t at_ns) {
    begin(phase, name, track);
    w_.key("ts").raw(micros(at_ns));
    return w_;
  }

  void describe(std::string_view what, unsigned track, std::string_view key, std::string_view value) {
    begin("M", what, track).key("args").object().field(key, value).end_object().end_object();
  }

  void name_tracks(const Profile& p, std::size_t i) {
    describe("process_name", 0, "name",
             p.trace->rank ? fmt::format("muster: rank {}", *p.trace->rank) : fmt::format("muster: {}", printable(p.file)));
    begin("M", "process_sort_index", 0).key("args").object().field("sort_index", static_cast<std::int64_t>(i) - 1'000'000);
    w_.end_object().end_object();
    describe("thread_name", kSteps, "name", "where the step's time goes");
    describe("thread_name", kIdle, "name", "why the GPU is idle");
    describe("thread_name", kFindings, "name", "findings");
  }

  std::string text(const Profile& p, std::uint32_t name) const {
    if (name >= p.trace->names.size()) return {};
    const std::string_view all = p.trace->names[name];
    return all.size() > kNameBytes ? printable(all.substr(0, kNameBytes)) + "..." : printable(all);
  }

  void steps(const Profile& p) {
    for (const diagnose::StepParts& s : p.line.steps) {
      begin("X", s.name == kNone ? std::string("all of it") : text(p, s.name), kSteps, s.span.start_ns);
      w_.key("dur").raw(micros(s.span.length())).key("args").object();
      for (std::size_t i = 0; i < diagnose::kParts; ++i) {
        if (s.ns[i] <= 0 || s.span.length() <= 0) continue;
        w_.field(names(diagnose::Part{})[i],
                 fmt::format("{:.4f} ms, {:.1f} %", static_cast<double>(s.ns[i]) / 1e6,
                             100 * static_cast<double>(s.ns[i]) / static_cast<double>(s.span.length())));
      }
      w_.end_object().end_object();
    }
  }

  void gaps(const Profile& p) {
    for (const diagnose::Gap& g : p.line.gaps) {
      begin("X", name_of(g.part), kIdle, g.span.start_ns);
      w_.key("dur").raw(micros(g.span.length())).key("args").object();
      if (g.during != kNone) w_.field("the host", text(p, g.during));
      if (g.next < p.line.events.size()) {
        const GpuEvent& next = *p.line.events[g.next];
        w_.field("until", text(p, next.name));
        if (next.correlation != kNoCorrelation) w_.field("correlation", next.correlation);
      }
      w_.end_object().end_object();
    }
  }

  // The first event that the evidence names by "FILE: correlation N" or "FILE: ts MICROSECONDS".
  std::optional<std::int64_t> place(const Profile& p, const diagnose::Finding& f) const {
    for (const std::string& line : f.evidence) {
      const auto number = [&](std::string_view word) {
        const std::string lead = fmt::format("{}: {} ", p.file, word);
        const auto at = line.find(lead);
        if (at == line.npos) return std::string_view();
        const std::string_view rest = std::string_view(line).substr(at + lead.size());
        return rest.substr(0, std::min(rest.find_first_not_of("0123456789.-"), rest.size()));
      };
      if (const auto id = parse_uint(number("correlation"))) {
        for (const GpuEvent* e : p.line.events) {
          if (e->correlation == *id) return e->span.start_ns;
        }
      }
      if (const auto us = parse_double(number("ts")); us && *us > -9e15 && *us < 9e15) {
        const auto ns = static_cast<std::int64_t>(*us * 1e3);
        const auto it = std::lower_bound(p.line.events.begin(), p.line.events.end(), ns - 1000,
                                         [](const GpuEvent* e, std::int64_t t) { return e->span.start_ns < t; });
        if (it != p.line.events.end() && (*it)->span.start_ns - ns <= 1000) return (*it)->span.start_ns;
      }
    }
    return {};
  }

  void finding(const Profile& p, const diagnose::Finding& f) {
    const auto at = place(p, f);
    if (!at) return;
    begin("i", f.title, kFindings, *at).field("s", "t").key("args").object();
    for (std::size_t i = 0; i < f.evidence.size(); ++i) w_.field(fmt::format("evidence {}", i + 1), printable(f.evidence[i]));
    if (!f.remedy.empty()) w_.field("do", printable(f.remedy));
    if (f.gain) w_.field("gain, % of the step", fmt::format("{:.1f} to {:.1f}", f.gain->low_pct, f.gain->high_pct));
    w_.end_object().end_object();
  }

  // While an exchange runs, how long it only waits for its peers.
  void waits(const Profile& p, const std::vector<std::int64_t>& by_event) {
    constexpr std::string_view kName = "waits for peers, ms";
    const auto point = [&](std::int64_t at, double ms) {
      begin("C", kName, 0, at).key("args").object().field("ms", ms).end_object().end_object();
    };
    for (const GpuEvent* e : p.line.events) {
      const auto at = static_cast<std::size_t>(e - p.trace->gpu.data());
      if (at >= by_event.size() || by_event[at] <= 0) continue;
      point(e->span.start_ns, static_cast<double>(by_event[at]) / 1e6);
      point(e->span.end_ns, 0);
    }
  }

  const Diagnosis& d_;
  JsonWriter w_;
  std::uint64_t process_ = kFirstProcess;
};

}  // namespace

std::string perfetto_overlay(const Diagnosis& d) { return Overlay(d).write(); }

}  // namespace muster::report
