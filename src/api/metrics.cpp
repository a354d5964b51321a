#include "api/metrics.h"

#include <fmt/core.h>

#include <algorithm>

#include "account/waterfall.h"
#include "base/text.h"

namespace muster::api {
namespace {

class Text {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(double value) { out_ += fmt::format("{} {}\n", name_, render_number(value)); }
  void sample(std::string_view label, std::string_view is, double value) {
    out_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name_, label, escaped(is), render_number(value));
  }
  void one(std::string_view name, std::string_view type, std::string_view help, double value) {
    family(name, type, help);
    sample(value);
  }
  std::string take() { return std::move(out_); }

 private:
  // Names of clusters and policies are untrusted text.
  static std::string escaped(std::string_view s) {
    std::string out;
    for (const char c : to_valid_utf8(s)) {
      if (c == '\\' || c == '"') out += '\\';
      if (c == '\n') {
        out += "\\n";
      } else {
        out += c;
      }
    }
    return out;
  }
  std::string name_, out_;
};

double number(std::uint64_t n) { return static_cast<double>(n); }

std::int64_t waiting_milli(const State& s) {
  std::int64_t sum = 0;
  for (const auto& [order, id] : s.queue) {
    const Job* j = find_job(s, id);
    if (j != nullptr && account::could_begin(*j) && j->paused_until <= s.mono()) sum += milli_gpus(s.site, j->spec);
  }
  return sum;
}

// Of what jobs had, and that is settled.
void write_money(Text& t, const Frame& f) {
  const GpuHours& g = f.snapshot.gpu_hours;
  std::int64_t had = g.installed_ms - g[Waste::unsettled];
  for (const Waste w : {Waste::down, Waste::drained, Waste::idle}) had -= g[w];
  if (had > 0)
    t.one("muster_gpu_hour_efficiency", "gauge",
          "Useful GPU time of what jobs had, since the record began; without the unsettled",
          static_cast<double>(g[Waste::useful]) / static_cast<double>(had));
  const Policy& p = f.state().policy;
  if (p.gpu_hour_price <= 0) return;
  t.family("muster_gpu_hour_price", "gauge", "Of a GPU-hour, by the policy in force");
  t.sample("currency", p.currency, p.gpu_hour_price);
}

void write_hardware(Text& t, const Frame& f) {
  t.family("muster_gpus", "gauge", "GPUs by state; the states sum to all GPUs");
  for (std::size_t i = 0; i < kFaces; ++i) t.sample("state", names(Face{})[i], f.faces.gpu_count[i]);
  const std::int64_t idle = std::int64_t{1000} * f.faces.count(Face::idle), wanted = waiting_milli(f.state());
  t.one("muster_gpus_wanted", "gauge", "GPUs that jobs wait for which could begin now", static_cast<double>(wanted) / 1e3);
  t.one("muster_gpus_idle_wanted", "gauge", "Idle GPUs while jobs wait that could begin: the smaller of both",
        static_cast<double>(std::min(idle, wanted)) / 1e3);
  t.family("muster_nodes", "gauge", "Nodes by state");
  for (std::size_t i = 0; i + 1 < kFaces; ++i) t.sample("state", names(Face{})[i], f.faces.node_count[i]);
}

void write_jobs(Text& t, const State& s) {
  std::array<std::uint64_t, names(JobPhase{}).size()> phases{};
  for (const auto& [id, j] : s.jobs) ++phases[static_cast<std::size_t>(j.phase)];
  t.family("muster_jobs", "gauge", "Jobs that have not ended, by phase");
  for (const JobPhase p : {JobPhase::queued, JobPhase::starting, JobPhase::running, JobPhase::broken}) {
    t.sample("phase", name_of(p), number(phases[static_cast<std::size_t>(p)]));
  }
  t.one("muster_jobs_submitted_total", "counter", "Jobs submitted", number(s.totals.jobs_submitted));
  t.family("muster_jobs_ended_total", "counter", "Jobs that ended, by how");
  t.sample("end", "completed", number(s.totals.jobs_completed));
  t.sample("end", "failed", number(s.totals.jobs_failed));
  t.sample("end", "cancelled", number(s.totals.jobs_cancelled));
  t.one("muster_job_requeues_total", "counter", "Restarts of jobs from their checkpoint", number(s.totals.requeues));
}

void write_health(Text& t, const State& s) {
  std::uint64_t incidents = 0, pending = 0;
  std::array<std::uint64_t, names(FindingKind{}).size()> kinds{};
  for (const auto& [id, i] : s.incidents) incidents += i.stage != Stage::closed;
  for (const auto& [id, f] : s.findings) kinds[static_cast<std::size_t>(f.kind)] += f.cleared.ns == 0;
  for (const auto& [key, o] : s.orders) pending += o.status == Status::pending || o.status == Status::unknown;
  t.family("muster_findings_open", "gauge", "Open findings by kind");
  for (std::size_t i = 0; i < kinds.size(); ++i) t.sample("kind", names(FindingKind{})[i], number(kinds[i]));
  t.one("muster_incidents_open", "gauge", "Open incidents", number(incidents));
  t.one("muster_incidents_total", "counter", "Incidents ever opened", number(s.totals.incidents));
  t.one("muster_orders_total", "counter", "Orders given to the engine", number(s.totals.orders));
  t.one("muster_orders_pending", "gauge", "Orders without a final outcome", number(pending));
  t.one("muster_refusals_total", "counter", "Actions refused by a safety limit", number(s.totals.refusals));
  t.one("muster_causes_frozen", "gauge", "Causes on which nothing is done for now", number(s.frozen.size()));
}

void write_loop(Text& t, const Frame& f) {
  const State& s = f.state();
  t.one("muster_paused", "gauge", "1 while all actions are stopped", s.paused ? 1 : 0);
  t.one("muster_trouble", "gauge", "1 while something that Muster needs does not answer; /healthz says what",
        f.snapshot.trouble.empty() ? 0 : 1);
  t.one("muster_turns_total", "counter", "Passes of the control loop", number(s.turn));
  t.one("muster_events_total", "counter", "Events in the journal", number(s.seq));
  t.one("muster_cluster_time_seconds", "gauge", "The cluster's own clock, simulated or not", s.now.utc.ns / 1e9);
  t.one("muster_snapshot_time_seconds", "gauge", "When these numbers were taken, by this machine's clock",
        f.snapshot.wall.ns / 1e9);
  // What is unsettled goes down again when a checkpoint settles it, so it is no counter.
  t.one("muster_gpu_seconds_unsettled", "gauge", "GPU time of running gangs since their last checkpoints",
        static_cast<double>(f.snapshot.gpu_hours[Waste::unsettled]) / 1e3);
  t.family("muster_gpu_seconds_total", "counter", "GPU time by what became of it; with the unsettled, the installed time");
  for (std::size_t i = 0; i < kWasteClasses; ++i) {
    if (static_cast<Waste>(i) == Waste::unsettled) continue;
    t.sample("class", names(Waste{})[i], static_cast<double>(f.snapshot.gpu_hours.ms[i]) / 1e3);
  }
}

}  // namespace

std::string render_metrics(const Frame& f, const Traffic& traffic, const std::vector<Meter>& meters) {
  Text t;
  t.family("muster_build_info", "gauge", "1, with the version as a label");
  t.sample("version", MUSTER_VERSION, 1);
  write_loop(t, f);
  write_hardware(t, f);
  write_money(t, f);
  write_jobs(t, f.state());
  write_health(t, f.state());
  t.family("muster_http_responses_total", "counter", "Answers by hundreds of their status");
  for (std::size_t i = 2; i < traffic.responses.size(); ++i) {
    t.sample("status", fmt::format("{}xx", i), number(traffic.responses[i]));
  }
  t.one("muster_http_denied_total", "counter", "Requests refused for want of rights", number(traffic.denied));
  t.one("muster_http_event_streams", "gauge", "Event streams open now", number(traffic.streams));
  for (const Meter& m : meters) {
    if (m.readings.empty()) continue;
    t.family(m.name, m.type, m.help);
    for (const auto& [is, value] : m.readings) {
      if (m.label.empty()) {
        t.sample(value);
      } else {
        t.sample(m.label, is, value);
      }
    }
  }
  return t.take();
}

}  // namespace muster::api
