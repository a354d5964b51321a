#include "report/job_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "account/job_books.h"
#include "base/text.h"
#include "report/job_note.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kSuspectsMost = 4;

// Of these the reason is still to be found.
bool only_suspicion(std::string_view kind) {
  return kind == "slow_gpu" || kind == "nccl_hang" || kind == "app_error" || kind == "job_failed" || kind == "hearsay" ||
         kind == "version_drift" || kind == "failure_predicted" || kind == "xid_other";
}

// The times of a finding, utc; `cleared` is 0 while it is open.
struct Times {
  Time sign, opened, cleared;
};

// Of one whose last attempt is over, what was wrong on its nodes when that ended counts, mended or not, and what was found soon
// after; what befell those nodes later is another's.
bool counts_on_node(const Times& f, std::optional<Time> stopped) {
  if (!stopped) return f.cleared.ns == 0;
  if (f.opened <= *stopped) return f.cleared.ns == 0 || f.cleared >= *stopped;
  return account::may_have_ended(f.sign, f.opened, *stopped);
}

std::optional<Time> stopped_at(std::string_view phase, Time ended) {
  const bool lives = phase == name_of(JobPhase::starting) || phase == name_of(JobPhase::running);
  return lives || ended.ns == 0 ? std::nullopt : std::optional(ended);
}

Times times_of(const Value& finding) {
  Times t;
  t.opened = time_of(finding, "opened_utc").value_or(Time{});
  t.cleared = time_of(finding, "cleared_utc").value_or(Time{});
  t.sign = std::min(t.opened, time_of(finding, "since_utc").value_or(t.opened));
  for (const Value& e : list_of(finding, "evidence")) t.sign = std::min(t.sign, time_of(e, "at_utc").value_or(t.sign));
  return t;
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

// The one that has the finding, open or not; else what is open on its node.
IncidentId incident_of(const State& s, const Finding& f) {
  for (auto it = s.incidents.rbegin(); it != s.incidents.rend(); ++it) {
    const auto& of = it->second.findings;
    if (std::find(of.begin(), of.end(), f.id) != of.end()) return it->first;
  }
  return f.cleared.ns == 0 ? s.nodes[f.node.v].incident : IncidentId{};
}

std::string words_of(const Value& object, std::string_view key) { return printable(text_of(object, key)); }

}  // namespace

bool JobCase::explained() const {
  return std::any_of(known.begin(), known.end(), [](const JobTrouble& t) { return t.explains; });
}

JobCase case_of(const State& s, const Job& j) {
  JobCase c;
  c.id = render(j.id);
  c.name = j.spec.name;
  c.phase = name_of(j.phase);
  c.note = JobNotes(s).of(j);
  for (const NodeId n : j.nodes) {
    if (n.v < s.site.nodes.size()) c.nodes.push_back(s.site.nodes[n.v].name);
  }
  const std::string subject = "job " + c.id;
  const auto stopped = stopped_at(c.phase, j.ended);
  for (auto it = s.findings.rbegin(); it != s.findings.rend(); ++it) {  // the newest first, as the API lists them
    const Finding& f = it->second;
    const bool about_job = f.cleared.ns == 0 && (f.job == j.id || f.subject == subject);
    const bool here = f.node.some() && std::find(j.nodes.begin(), j.nodes.end(), f.node) != j.nodes.end();
    if (!about_job && !(here && counts_on_node({account::first_sign(f), f.opened, f.cleared}, stopped))) continue;
    JobTrouble t;
    t.finding = f.id.v;
    t.kind = name_of(f.kind);
    t.severity = name_of(f.severity);
    t.remedy = suggestion(f.kind);
    t.since_utc = render_utc(f.began());
    t.slot = f.slot;
    t.explains = !only_suspicion(t.kind);
    if (!f.evidence.empty()) t.evidence = f.evidence.front().text;
    if (f.node.v < s.nodes.size()) {
      t.node = s.site.nodes[f.node.v].name;
      t.incident = incident_of(s, f).v;
    }
    c.known.push_back(std::move(t));
  }
  return c;
}

JobCase case_of(const Value& job, const Value& findings) {
  JobCase c;
  c.id = words_of(job, "id");
  c.name = words_of(job, "name");
  c.phase = words_of(job, "phase");
  c.note = words_of(job, "note");
  for (const Value& n : list_of(job, "nodes")) {
    if (n.string() != nullptr) c.nodes.push_back(printable(*n.string()));
  }
  const std::set<std::string> mine(c.nodes.begin(), c.nodes.end());
  const auto stopped = stopped_at(c.phase, time_of(job, "ended_utc").value_or(Time{}));
  for (const Value& f : list_of(findings, "items")) {
    JobTrouble t;
    t.node = words_of(f, "node");
    const Times times = times_of(f);
    const bool named = words_of(f, "job") == c.id || words_of(f, "subject") == "job " + c.id;
    const bool about_job = named && times.cleared.ns == 0;
    if (!about_job && !(mine.contains(t.node) && counts_on_node(times, stopped))) continue;
    t.finding = static_cast<std::uint64_t>(std::max(0.0, number_of(f, "id").value_or(0)));
    t.kind = words_of(f, "kind");
    t.severity = words_of(f, "severity");
    t.remedy = words_of(f, "suggestion");
    t.since_utc = words_of(f, "since_utc");
    t.slot = static_cast<int>(std::clamp(number_of(f, "gpu_slot").value_or(-1), -1.0, 15.0));
    t.explains = !only_suspicion(t.kind);
    for (const Value& e : list_of(f, "evidence")) {
      if (t.evidence.empty()) t.evidence = words_of(e, "text");
    }
    c.known.push_back(std::move(t));
  }
  return c;
}

void choose_traces(JobCase& c, std::span<const JobLead> leads) {
  c.traces.clear();
  if (!c.runs()) return;
  std::set<std::string> named;
  for (const JobLead& l : leads) {
    const auto it =
        std::find_if(c.nodes.begin(), c.nodes.end(), [&](const std::string& n) { return short_name(n) == short_name(l.host); });
    if (it == c.nodes.end() || !named.insert(*it).second || c.traces.size() >= kSuspectsMost) continue;
    c.traces.push_back({*it, l.why});
  }
  const std::set<std::string> mine(c.nodes.begin(), c.nodes.end());
  for (const JobTrouble& t : c.known) {
    if (!mine.contains(t.node) || !named.insert(t.node).second) continue;
    if (c.traces.size() < kSuspectsMost) c.traces.push_back({t.node, t.kind});
  }
  std::string control;
  const auto clean = std::find_if(c.nodes.begin(), c.nodes.end(), [&](const std::string& n) { return !named.contains(n); });
  if (clean != c.nodes.end()) control = *clean;
  if (c.traces.empty()) c.traces.push_back({c.nodes.front(), "nothing is known against any node: it stands for all"});
  if (control == c.traces.front().node) control = c.nodes.size() > 1 ? c.nodes[c.nodes.size() / 2] : std::string();
  if (!control.empty()) c.traces.push_back({control, "to compare with"});
}

std::string trace_command(const JobCase& c, const std::string& node) {
  return fmt::format(
      "dyno --hostname {} gputrace --job-id {} --process-limit 16 --iterations 3 --log-file /tmp/muster_{}_{}.json", node, c.id,
      c.id, node);
}

void write_case(JsonWriter& w, const JobCase& c) {
  w.field("job", c.id).field("phase", c.phase).field("note", c.note).field("explained", c.explained()).key("known").array();
  for (const JobTrouble& t : c.known) {
    const std::string gpu = t.slot >= 0 ? fmt::format(" GPU {}", t.slot) : std::string();
    w.object().field("where", t.node.empty() ? "the job" : t.node + gpu).field("kind", t.kind).field("evidence", t.evidence);
    w.field("finding", t.finding).field("incident", t.incident).field("node", t.node).key("gpu_slot");
    t.slot < 0 ? w.null() : w.value(t.slot);
    w.field("severity", t.severity).field("explains", t.explains).field("remedy", t.remedy).field("since_utc", t.since_utc);
    w.end_object();
  }
  w.end_array().key("traces").array();
  for (const JobSuspect& x : c.traces) {
    w.object().field("node", x.node).field("why", x.why).field("command", trace_command(c, x.node)).end_object();
  }
  w.end_array().field("needs", kTraceNeeds).field("then", fmt::format("muster diagnose muster_{}_*.json", c.id));
}

std::string case_json(const JobCase& c) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "JobDiagnosis");
  write_case(w, c);
  w.end_object();
  return w.take();
}

}  // namespace muster::report
