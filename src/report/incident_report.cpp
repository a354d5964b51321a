#include "report/incident_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "decide/words.h"
#include "report/finding_view.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kHour_ms = 3.6e6;

struct PhaseWords {
  std::string_view name, words;
};
constexpr std::array kPhases = {
    PhaseWords{"detect", "from the first sign to the incident"},
    PhaseWords{"decide", "deciding"},
    PhaseWords{"held_back", "held back by a limit"},
    PhaseWords{"drain", "draining"},
    PhaseWords{"empty", "waiting for work on the node to end"},
    PhaseWords{"prepare", "empty, before the repair"},
    PhaseWords{"repair", "repairing"},
    PhaseWords{"test", "testing"},
    PhaseWords{"return", "returning to service"},
    PhaseWords{"person", "with a person"},
    PhaseWords{"watching", "watched, not acted on"},
};

struct Cost {
  double lost_h = 0, starting_h = 0, slow_h = 0, out_h = 0;
  double all_h() const { return lost_h + starting_h + slow_h + out_h; }
};

Cost cost_of(const IncidentStory& t) {
  Cost c;
  for (const JobHit& h : t.jobs) {
    c.lost_h += static_cast<double>(h.lost_gpu_ms) / kHour_ms;
    c.starting_h += static_cast<double>(h.starting_gpu_ms) / kHour_ms;
  }
  c.slow_h = static_cast<double>(t.slow_gpu_ms) / kHour_ms;
  c.out_h = static_cast<double>(t.out_gpu_ms) / kHour_ms;
  return c;
}

Duration length_of(const IncidentStory& t) {
  Duration sum;
  for (const Phase& p : t.phases) sum = sum + p.length;
  return sum;
}

// Its findings as they were: the state may have forgotten them since.
Finding lead_of(const IncidentStory& t, const State& s) {
  for (const Finding& f : t.findings) {
    if (f.kind == t.incident.cause) return f;
  }
  return t.findings.empty() ? leading(s, t.incident) : t.findings.front();
}

std::string title_of(const IncidentStory& t, const State& s) {
  return fmt::format("Incident {}: {}", t.incident.id.v, incident_words(s, t.incident, lead_of(t, s)));
}

std::string hours_text(double h) { return fmt::format("{:.{}f} GPU-hours", h, h < 10 ? 2 : 0); }

// "reboot_node (done), test_node (failed)".
std::string steps_done(const Deeds& deeds) {
  std::vector<std::string> out;
  for (const Deed& d : deeds.done) out.push_back(fmt::format("{} ({})", name_of(d.order.action.verb), name_of(d.outcome.status)));
  return join(out, ", ");
}

std::string_view say(Witness w) {
  switch (w) {
    case Witness::kernel_log: return "the kernel log";
    case Witness::scrape: return "a scrape";
    case Witness::silence: return "its silence";
    case Witness::engine: return "the engine";
    case Witness::job: return "a job";
    case Witness::test: return "a test";
  }
  return "a detector";
}

std::string summary_of(const IncidentStory& t, const Deeds& deeds, const State& s) {
  const Incident& i = t.incident;
  const Finding& f = t.findings.front();
  std::string out = fmt::format("At {} {} was first seen on {}{}, by {}. ", render_utc(t.began), decide::say(f.kind),
                                say(whereabouts(s, f), f.slot), f.subject.empty() ? "" : " (" + printable(f.subject) + ")",
                                f.evidence.empty() ? std::string_view("a detector") : say(f.evidence.front().witness));
  out += fmt::format("Muster opened the incident {} later. ", render_span(i.opened - t.began));
  if (!deeds.done.empty()) out += fmt::format("It did, in this order: {}. ", steps_done(deeds));
  if (!t.jobs.empty()) {
    std::vector<std::string> ids;
    for (const JobHit& h : t.jobs) ids.push_back(render(h.id));
    const Cost cost = cost_of(t);
    out += fmt::format("{} lost an attempt: {} of work since the last checkpoint{}. ",
                       (ids.size() == 1 ? "Job " : "Jobs ") + join(ids, ", "), hours_text(cost.lost_h),
                       cost.starting_h > 0 ? fmt::format(", and {} of a start in vain", hours_text(cost.starting_h)) : "");
  } else {
    out += "No job lost work. ";
  }
  if (!t.slowed.empty())
    out += fmt::format("{} {} slower for it: {}. ", counted(static_cast<std::int64_t>(t.slowed.size()), "job"),
                       t.slowed.size() == 1 ? "was" : "were", hours_text(cost_of(t).slow_h));
  if (!deeds.refused.empty()) out += "Limits held some acts back for a time. ";
  out += i.closed.ns != 0
             ? fmt::format("It was closed at {}, {} after the first sign: {}.", render_utc(i.closed), render_span(length_of(t)),
                           i.resolution)
             : fmt::format("It is still open ({}), as of {}, the last event on record: {} after the first sign.",
                           name_of(i.stage), render_utc(s.now.utc), render_span(length_of(t)));
  return out;
}

void write_list(JsonWriter& w, std::string_view key, const std::vector<std::string>& lines) {
  w.key(key).array();
  for (const std::string& l : lines) w.value(l);
  w.end_array();
}

void write_times(JsonWriter& w, const IncidentStory& t) {
  const Incident& i = t.incident;
  const Duration all = length_of(t);
  w.field("first_sign_utc", render_utc(t.began)).field("opened_utc", render_utc(i.opened)).key("closed_utc");
  if (i.closed.ns != 0)
    w.value(render_utc(i.closed));
  else
    w.null();
  w.field("total_s", all.seconds()).key("phases").array();
  for (const Phase& p : t.phases) {
    w.object().field("phase", p.name).field("words", phase_words(p.name)).field("seconds", p.length.seconds());
    w.field("share", all.ns == 0 ? 0.0 : p.length.seconds() / all.seconds()).end_object();
  }
  w.end_array().key("timeline").array();
  std::vector<Moment> rows = t.timeline;
  std::stable_sort(rows.begin(), rows.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
  for (const Moment& m : rows) {
    w.object().field("at_utc", render_utc(m.at)).field("after_s", (m.at - t.began).seconds());
    w.field("event", m.seq).field("what", m.what).end_object();
  }
  w.end_array().field("timeline_left_out", t.moments_left_out);
}

void write_job(JsonWriter& w, const JobHit& h) {
  w.object().field("job", render(h.id)).field("name", h.name).field("user", h.user).field("attempt", h.attempt);
  w.field("gpus", static_cast<double>(h.milli) / 1000).field("nodes", h.nodes.size()).field("end", name_of(h.end));
  w.field("detail", h.detail).field("stopped_utc", render_utc(h.stopped)).key("restarted_utc");
  if (h.restarted.ns != 0)
    w.value(render_utc(h.restarted)).field("waited_s", (h.restarted - h.stopped).seconds());
  else
    w.null().key("waited_s").null();
  w.field("given_up", h.over).field("lost_steps", h.lost_steps);
  w.field("lost_gpu_hours", static_cast<double>(h.lost_gpu_ms) / kHour_ms);
  w.field("starting_gpu_hours", static_cast<double>(h.starting_gpu_ms) / kHour_ms).end_object();
}

void write_affected(JsonWriter& w, const IncidentStory& t, const State& s) {
  const Finding& f = t.findings.front();
  const Whereabouts at = whereabouts(s, f);
  const Cost cost = cost_of(t);
  const double price = s.policy.gpu_hour_price;
  w.key("affected").object().field("where", say(at, f.slot)).field("node", at.node).field("rack", at.rack);
  const bool of_gpu = f.node.some() && !of_link(f);  // else the slot is a NIC's, a row or a leaf
  w.field("gpu_slot", of_gpu ? int{f.slot} : -1).field("pci", at.pci).field("uuid", at.uuid).field("serial", at.serial);
  w.field("nic", at.nic).field("cable", at.cable).field("subject", f.subject);
  w.field("gpu_model", s.site.gpu_model).key("jobs").array();
  for (const JobHit& h : t.jobs) write_job(w, h);
  w.end_array().key("jobs_present").array();
  for (const JobId id : t.present) w.value(render(id));
  w.end_array().key("jobs_slowed").array();
  for (const JobId id : t.slowed) w.value(render(id));
  w.end_array().field("lost_gpu_hours", cost.lost_h).field("starting_gpu_hours", cost.starting_h);
  w.field("slow_gpu_hours", cost.slow_h).field("out_of_service_gpu_hours", cost.out_h);
  w.field("total_gpu_hours", cost.all_h()).key("money");
  if (price > 0)
    w.value(cost.all_h() * price).field("price_per_gpu_hour", price);
  else
    w.null().key("price_per_gpu_hour").null();
  w.field("currency", s.policy.currency).field("price_assumed", s.policy.price_assumed);
  write_list(w, "replaced", t.replaced);
  w.end_object();
}

void write_evidence_of(JsonWriter& w, const IncidentStory& t) {
  w.key("findings").array();
  for (std::size_t k = 0; k < t.findings.size(); ++k) {
    const Finding& f = t.findings[k];
    w.object().field("finding", f.id.v).field("kind", name_of(f.kind)).field("words", decide::say(f.kind));
    w.field("severity", name_of(f.severity)).field("code", f.code).field("confidence", confidence(f));
    w.field("opened_utc", render_utc(f.opened)).field("cleared_why", t.cleared_why[k]).end_object();
  }
  w.end_array().key("evidence").array();
  for (const Finding& f : t.findings) {
    for (const Evidence& x : f.evidence) write_evidence(w, f, x);
  }
  w.end_array().field("evidence_left_out", t.evidence_left_out);
}

}  // namespace

std::string_view phase_words(std::string_view phase) {
  const auto it = std::find_if(kPhases.begin(), kPhases.end(), [&](const PhaseWords& p) { return p.name == phase; });
  return it == kPhases.end() ? phase : it->words;
}

std::string what_now(const IncidentStory& t, const State& s) {
  const Incident& i = t.incident;
  if (i.closed.ns != 0) return {};
  const std::string node = node_name(s, i.node), advised = advice(lead_of(t, s));
  const auto pending = s.orders.find(i.pending);
  if (s.paused) return fmt::format("Muster is paused by {}: nothing is done until `muster resume`.", s.paused_by);
  if (i.stage == Stage::held) {
    const std::string why = i.notes.empty() ? std::string("a person has it") : i.notes.back().text;
    return fmt::format("A person must act: {}. Suggested: {}.{}", why, advised,
                       i.node.some() ? fmt::format(" Afterwards: `muster undrain {}`.", node) : "");
  }
  if (pending != s.orders.end() && pending->second.order.action.verb == Verb::replace_node) {
    return fmt::format("A person must swap the part or the node: {}. Muster waits for it, then tests {} before it returns.",
                       t.findings.empty() ? node : say(whereabouts(s, t.findings.front()), t.findings.front().slot), node);
  }
  if (s.frozen.count(i.cause) != 0)
    return fmt::format(
        "Look for what the nodes have in common: {} struck many at once, and acts on it are frozen. They go on by "
        "themselves when it is over.",
        name_of(i.cause));
  if (i.stage == Stage::opened && !s.refusals.empty()) {
    for (auto r = s.refusals.rbegin(); r != s.refusals.rend(); ++r) {
      if (r->incident != i.id) continue;
      return fmt::format(
          "Nothing, unless it is urgent: a limit holds {} back ({}), and it is asked again by itself. A person may "
          "act past the limit: `muster drain {}`.",
          name_of(r->action.verb), r->limit, node);
    }
  }
  if (i.stage == Stage::watching) return fmt::format("Nothing is done by policy. Suggested: {}.", advised);
  return fmt::format("Nothing: Muster is at work on it ({}).", name_of(i.stage));
}

std::string render_incident_json(const IncidentStory& t, const Deeds& deeds, const State& s, const Provenance& source) {
  const Incident& i = t.incident;
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "IncidentReport").field("incident", i.id.v);
  w.field("title", title_of(t, s)).field("summary", summary_of(t, deeds, s)).field("cluster", s.site.name);
  w.field("status", i.closed.ns != 0 ? "closed" : "open").field("stage", name_of(i.stage)).field("cause", name_of(i.cause));
  write_times(w, t);
  write_affected(w, t, s);
  write_evidence_of(w, t);
  w.key("decisions").array();
  for (const Deed& d : deeds.done) write_deed(w, d);
  w.end_array().field("decisions_left_out", deeds.left_out).key("held_back").array();
  for (const HeldBack& h : deeds.refused) write_held_back(w, h);
  w.end_array();
  write_list(w, "frozen", t.frozen);
  w.field("resolution", i.resolution).field("what_now", what_now(t, s)).field("dossier", t.dossier);
  w.key("record").object().field("journal", source.journal).field("events", source.events).field("digest", source.digest);
  w.field("first_event", t.first_seq).field("last_event", t.last_seq).field("as_of_utc", render_utc(s.now.utc)).end_object();
  w.end_object();
  return w.take();
}

}  // namespace muster::report
