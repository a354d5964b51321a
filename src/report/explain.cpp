#include "report/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "decide/outlook.h"
#include "decide/words.h"
#include "ingest/fault_catalog.h"
#include "report/checkpoint_note.h"
#include "report/finding_view.h"
#include "report/job_note.h"
#include "report/queues.h"
#include "report/record.h"

namespace muster::report {
namespace {

std::string ago(const State& s, Time t) { return fmt::format("{} ago", render_duration(s.now.utc - t)); }

void add_findings(const State& s, const std::vector<FindingId>& ids, Explanation& e) {
  for (FindingId id : ids) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr) continue;
    for (const Evidence& x : f->evidence) {
      e.evidence.push_back(fmt::format("{} {} finding {} ({}): {}{}", render_utc(x.at), name_of(x.witness), id.v,
                                       name_of(f->kind), x.text, x.ref.empty() ? "" : " [" + x.ref + "]"));
    }
  }
}

std::string action_line(const State& s, const OrderRecord& r) {
  const Action& a = r.order.action;
  std::string line = fmt::format("{} {}", render_utc(r.intended), name_of(a.verb));
  if (a.node.some()) line += " " + node_name(s, a.node);
  if (a.slot >= 0) line += fmt::format(" GPU {}", a.slot);
  if (a.job.some()) line += " job " + render(a.job);
  line += fmt::format(": {}{}; {} [{}]", name_of(r.status), r.detail.empty() ? "" : " (" + r.detail + ")",
                      r.order.reason.sentence, r.order.reason.rule);
  return line;
}

void in_order(std::vector<const OrderRecord*>& orders) {
  std::sort(orders.begin(), orders.end(), [](const auto* a, const auto* b) { return natural_less(a->order.key, b->order.key); });
}

template <class Pick>
void add_actions(const State& s, Explanation& e, Pick pick) {
  std::vector<const OrderRecord*> found;
  for (const auto& [key, r] : s.orders) {
    if (pick(r)) found.push_back(&r);
  }
  in_order(found);
  for (const OrderRecord* r : found) e.actions.push_back(action_line(s, *r));
}

Explanation of_action(const State& s, const OrderRecord& r) {
  Explanation e;
  const Reason& why = r.order.reason;
  e.kind = "action";
  e.title = fmt::format("action {}: {}", r.order.key, name_of(r.order.action.verb));
  e.sentences = {why.sentence, fmt::format("Decided by {} {}; outcome: {}.", why.actor, ago(s, r.intended), name_of(r.status))};
  if (!why.budget.empty()) e.sentences.push_back("Budget: " + why.budget + ".");
  if (why.incident.some()) e.sentences.push_back(fmt::format("It belongs to incident {}.", why.incident.v));
  e.rule = fmt::format("{} (rules version {}, policy {})", why.rule, s.rules, s.policy_hash.substr(0, 12));
  e.alternatives = why.alternatives;
  add_findings(s, why.findings, e);
  e.actions = {action_line(s, r)};
  return e;
}

Explanation of_incident(const State& s, const Incident& i) {
  Explanation e;
  e.kind = "incident";
  e.title = fmt::format("incident {}: {}", i.id.v, incident_words(s, i, leading(s, i)));
  e.sentences.push_back(
      fmt::format("Opened {}; {}.", ago(s, i.opened),
                  i.closed.ns != 0 ? fmt::format("closed: {}", i.resolution) : fmt::format("stage: {}", name_of(i.stage))));
  if (i.closed.ns == 0 && i.stage == Stage::watching)
    e.sentences.push_back(fmt::format("Nothing is done by policy. Suggested: {}.", advice(leading(s, i))));
  if (i.job.some()) e.sentences.push_back(fmt::format("Job {} had the node when it opened.", render(i.job)));
  for (const Note& n : i.notes) e.sentences.push_back(fmt::format("{} {}", render_utc(n.at), n.text));
  add_findings(s, i.findings, e);
  add_actions(s, e, [&](const OrderRecord& r) { return r.order.reason.incident == i.id; });
  std::vector<const OrderRecord*> orders;
  for (const auto& [key, r] : s.orders) {
    if (r.order.reason.incident == i.id) orders.push_back(&r);
  }
  in_order(orders);
  for (const OrderRecord* o : orders) {
    const OrderRecord& r = *o;
    e.rule = r.order.reason.rule;
    for (const std::string& a : r.order.reason.alternatives)
      e.alternatives.push_back(fmt::format("{}: {}", name_of(r.order.action.verb), a));
  }
  return e;
}

// "finding 4 (critical, incident 2), a silent node"
std::string open_words(const State& s, const Finding& f) {
  std::string told = fmt::format("finding {} ({}", f.id.v, name_of(f.severity));
  for (auto i = s.incidents.rbegin(); i != s.incidents.rend(); ++i) {
    const auto& all = i->second.findings;
    if (i->second.closed.ns != 0 || std::find(all.begin(), all.end(), f.id) == all.end()) continue;
    told += fmt::format(", incident {}", i->first.v);
    break;
  }
  if (f.part_of.some()) told += fmt::format(", part of finding {}", f.part_of.v);
  return fmt::format("{}), {}{}", told, decide::say(f.kind), f.subject.empty() ? "" : ": " + say_subject(s, f));
}

// What is open about the node beside its incident, and about the leaf that it is under. Whether there was anything.
bool add_open(const State& s, const std::vector<FindingId>& open, const Incident* incident, std::uint32_t leaf, Explanation& e) {
  constexpr std::size_t kNamed = 6;
  std::size_t count = 0;
  for (const FindingId id : open) {
    const bool told =
        incident != nullptr && std::find(incident->findings.begin(), incident->findings.end(), id) != incident->findings.end();
    if (told || ++count > kNamed) continue;
    e.sentences.push_back(fmt::format("Open: {}.", open_words(s, *find_finding(s, id))));
  }
  if (count > kNamed) e.sentences.push_back(fmt::format("{} more are open: the evidence below has them.", count - kNamed));
  bool of_leaf = false;
  for (const auto& [id, f] : s.findings) {
    if (s.suspect_leaves.count(leaf) == 0 || f.cleared.ns != 0 || suspect_leaf(f) != leaf) continue;
    of_leaf = true;
    e.sentences.push_back(fmt::format("Open about leaf switch {}, which it is under: {}.", leaf, open_words(s, f)));
  }
  return count > 0 || of_leaf;
}

std::string_view holder(Hold h) {
  return h == Hold::muster ? "Muster" : h == Hold::engine ? "the scheduler itself" : "a person";
}

Explanation of_node(const State& s, NodeId id) {
  const NodeState& n = s.nodes[id.v];
  Explanation e;
  e.kind = "node";
  e.title = "node " + node_name(s, id);
  e.sentences.push_back(
      fmt::format("It is {}{}.", name_of(n.condition),
                  n.hold == Hold::none
                      ? std::string(" and in service")
                      : fmt::format(" and drained by {}: {}", holder(n.hold), n.hold_reason)));
  if (!n.busy()) e.sentences.push_back("No job has it.");
  for (const Share& x : n.shares) {
    e.sentences.push_back(x.slots == all_slots(s.site)
                              ? fmt::format("Job {} has it.", render(x.job))
                              : fmt::format("Job {} has {} of its GPUs{}.", render(x.job), std::popcount(x.slots),
                                            x.milli < 1000 ? fmt::format(", {} thousandths of each", x.milli) : ""));
  }
  e.sentences.push_back(fmt::format("{} incident{} so far, {} part{} replaced.", n.incidents, n.incidents == 1 ? "" : "s",
                                    n.swaps, n.swaps == 1 ? "" : "s"));
  std::vector<FindingId> open;
  for (const auto& [fid, f] : s.findings) {
    if (f.node == id && f.cleared.ns == 0) open.push_back(fid);
  }
  const Incident* i = find_incident(s, n.incident);
  if (i != nullptr) {
    Explanation inner = of_incident(s, *i);
    e.sentences.push_back(fmt::format("Incident {} is open ({}): {}.", i->id.v, name_of(i->stage), decide::say(i->cause)));
    if (s.frozen.count(i->cause) != 0) {
      e.sentences.push_back(fmt::format(
          "Acts on {} are frozen: it struck many nodes at once. Suspect the cause, and call a person.", name_of(i->cause)));
    }
    e.rule = inner.rule;
    e.alternatives = inner.alternatives;
  }
  const bool more = add_open(s, open, i, s.site.nodes[id.v].leaf, e);
  if (i == nullptr && !more && n.hold == Hold::none && n.condition == NodeCondition::up)
    e.sentences.push_back("Nothing is wrong with it that Muster knows of.");
  std::vector<FindingId> about = i != nullptr ? i->findings : std::vector<FindingId>();
  for (const FindingId f : open) {
    if (std::find(about.begin(), about.end(), f) == about.end()) about.push_back(f);
  }
  add_findings(s, about, e);
  add_actions(s, e, [&](const OrderRecord& r) { return r.order.action.node == id; });
  for (auto r = s.refusals.rbegin(); r != s.refusals.rend() && e.alternatives.size() < 12; ++r) {
    if (r->action.node == id)
      e.alternatives.push_back(fmt::format("{} {}: held back, {}", render_utc(r->at), name_of(r->action.verb), r->limit));
  }
  return e;
}

// "3 whole nodes", "2 pieces of 4 GPUs", "250 thousandths of a GPU".
std::string wish_of(const JobSpec& spec) {
  if (spec.gpu_milli > 0) return fmt::format("{} thousandths of a GPU", spec.gpu_milli);
  const char* plural = spec.nodes == 1 ? "" : "s";
  if (spec.gpus_per_node == 0) return fmt::format("{} whole node{}", spec.nodes, plural);
  return fmt::format("{} piece{} of {} GPU{}", spec.nodes, plural, spec.gpus_per_node, spec.gpus_per_node == 1 ? "" : "s");
}

// How it came to its end, or to wait again.
void add_ends(const Job& j, Explanation& e) {
  if (j.restarts > 0) {
    e.sentences.push_back(fmt::format("{} attempt{} lost; the last ended as {}: {}", j.restarts, j.restarts == 1 ? "" : "s",
                                      name_of(j.last_end), j.last_detail));
  }
  if (j.last_end != JobEnd::timed_out || j.phase != JobPhase::failed) return;
  e.sentences.push_back(
      fmt::format("It was ended: {}. That is no fault of the program or of a node, and it is not tried again, for "
                  "it would run as long; submit it again with a longer time limit.",
                  j.last_detail));
}

// Where a leaf with an open fault had to do with where the job is: it lies under it, or was kept from it when it was placed.
void add_suspect_leaves(const State& s, const Job& j, Explanation& e) {
  constexpr std::size_t kNamed = 6;
  if (s.suspect_leaves.empty()) return;
  std::set<std::uint32_t> mine;
  for (const NodeId n : j.nodes) {
    if (n.v < s.site.nodes.size()) mine.insert(s.site.nodes[n.v].leaf);
  }
  std::size_t told = 0;
  for (const auto& [id, f] : s.findings) {
    const auto leaf = f.cleared.ns == 0 ? suspect_leaf(f) : std::nullopt;
    const bool under = leaf && mine.count(*leaf) != 0;
    const bool kept_from = leaf && !under && f.opened <= j.started;
    if ((!under && !kept_from) || ++told > kNamed) continue;
    e.sentences.push_back(under ? fmt::format("Leaf switch {}, which it uses, has an open fault: {}.", *leaf, open_words(s, f))
                                : fmt::format("Leaf switch {} had an open fault already and is avoided where there is room "
                                              "elsewhere: {}.",
                                              *leaf, open_words(s, f)));
  }
}

Explanation of_job(const State& s, const Job& j) {
  Explanation e;
  e.kind = "job";
  e.title = fmt::format("job {}: {}", render(j.id), j.spec.name);
  e.sentences.push_back(fmt::format("It is {}; {}, {}, {} of {} steps, {} of them safe in a checkpoint.", name_of(j.phase),
                                    wish_of(j.spec), j.attempt == 0 ? "no attempt yet" : fmt::format("attempt {}", j.attempt),
                                    j.progress.steps, j.spec.steps, j.progress.durable_steps));
  if (std::string why = decide::why_not_started(s, j.id); !why.empty()) e.sentences.push_back("Not started: " + why + ".");
  const bool waits = j.phase == JobPhase::queued;  // where an attempt was that did not begin is nothing to it now
  if (!j.placement.why.empty() && !j.nodes.empty() && !waits) {
    e.sentences.push_back(fmt::format("Placed on {} leaf switch{}, the least possible is {}. {}", j.placement.leaves,
                                      j.placement.leaves == 1 ? "" : "es", j.placement.leaves_min, j.placement.why));
  }
  if (j.phase == JobPhase::running) add_suspect_leaves(s, j, e);
  add_ends(j, e);
  if (j.spec.deadline.ns != 0) {
    const std::string late = decide::why_late(s, j, decide::expected_start(s, j.id));
    e.sentences.push_back(late.empty() ? fmt::format("Its deadline is {}.", render_utc(j.spec.deadline)) : "Late: " + late + ".");
  }
  if (std::string saved = CheckpointNotes(s).of(j); !saved.empty()) e.sentences.push_back(std::move(saved));
  if (const std::string cut = limit_too_short(s, j); !cut.empty()) e.sentences.push_back("Will be ended: " + cut + ".");
  if (const std::string none = in_no_queue(s, j.spec); !none.empty()) e.sentences.push_back("In no queue: " + none + ".");
  std::vector<FindingId> about;
  for (const auto& [id, f] : s.findings) {
    const bool in_its_time = j.ended.ns == 0 || f.opened <= j.ended;
    const bool on_its_nodes =
        f.node.some() && f.cleared.ns == 0 && in_its_time && std::binary_search(j.nodes.begin(), j.nodes.end(), f.node);
    if (f.job == j.id || on_its_nodes) about.push_back(id);
  }
  add_findings(s, about, e);
  add_actions(s, e, [&](const OrderRecord& r) { return r.order.action.job == j.id; });
  std::vector<const OrderRecord*> orders;
  for (const auto& [key, r] : s.orders) {
    if (r.order.action.job == j.id) orders.push_back(&r);
  }
  in_order(orders);
  if (!orders.empty()) e.rule = orders.back()->order.reason.rule;
  return e;
}

// "queued: 98 (8_2, 8_3, 8_4, ...)".
std::string phase_line(JobPhase phase, const std::vector<JobId>& ids) {
  constexpr std::size_t kNamed = 10;
  std::vector<std::string> named;
  for (const JobId id : ids) {
    if (named.size() < kNamed) named.push_back(render(id));
  }
  return fmt::format("{}: {} ({}{})", name_of(phase), ids.size(), join(named, ", "), ids.size() > kNamed ? ", ..." : "");
}

// An array, named whole: its members by phase. The first that waits speaks for those behind it.
Explanation of_array(const State& s, const std::vector<JobId>& members) {
  const Job& first = s.jobs.at(members.front());
  Explanation e;
  e.kind = "job";
  e.title = fmt::format("job {}: {}, an array", first.id.number, array_name(first));
  e.sentences.push_back(fmt::format("Each member asks for {}; {} {} known.", wish_of(first.spec), members.size(),
                                    members.size() == 1 ? "is" : "are"));
  const auto phases = members_by_phase(s, members);
  for (const auto& [phase, ids] : phases) e.sentences.push_back(phase_line(phase, ids));
  if (const auto at = phases.find(JobPhase::queued); at != phases.end()) {
    const std::string why = decide::why_not_started(s, at->second.front());
    if (!why.empty()) e.sentences.push_back(fmt::format("Job {} is not started: {}.", render(at->second.front()), why));
  }
  add_actions(s, e, [&](const OrderRecord& r) { return r.order.action.job.number == first.id.number; });
  return e;
}

// Everybody who waits, in the order in which they are looked at, with the start that is expected. `only`: those of one queue.
void add_waiting(const State& s, const std::string& only, Explanation& e) {
  const auto left_out = [&](const Job& j) { return !only.empty() && !counts_for(s, queue_of(j.spec), only); };
  if (s.paused) e.sentences.push_back(fmt::format("Muster is paused by {}: nothing is started.", s.paused_by));
  std::size_t place = 0;
  std::set<JobId> told;
  for (const decide::Forecast& f : decide::forecasts(s)) {
    const Job& j = s.jobs.at(f.id);
    ++place;
    if (left_out(j)) continue;
    std::string line = fmt::format("{}. job {} ({}): ", place, render(f.id), printable(j.spec.name));
    line += !f.held.empty() ? "not now, " + f.held
            : f.at == kNever
                ? std::string("no start in sight")
                : fmt::format("expected {}", f.at <= s.mono() ? std::string("now") : render_utc(s.now.utc + (f.at - s.mono())));
    if (f.reserved) line += ", reserved";
    if (const std::string late = decide::if_late(s, f); !late.empty()) line += "; " + late;
    for (const decide::Sooner& x : f.sooner) {
      if (!x.words.empty()) line += "; sooner: " + x.words;
    }
    if (std::string late = decide::why_late(s, j, f.at); !late.empty()) line += "; " + late;
    e.sentences.push_back(std::move(line));
    told.insert(f.id);
  }
  constexpr std::size_t kHeldShown = 50;
  std::size_t held = 0;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    if (told.count(id) != 0 || left_out(j) || ++held > kHeldShown) continue;
    std::string line =
        fmt::format("job {} ({}) is not in line: {}", render(id), printable(j.spec.name), decide::why_not_started(s, id));
    if (std::string late = decide::why_late(s, j); !late.empty()) line += "; " + late;
    e.sentences.push_back(std::move(line));
  }
  if (held > kHeldShown) e.sentences.push_back(fmt::format("and {} more that are not in line", held - kHeldShown));
}

Explanation of_queue(const State& s) {
  Explanation e;
  e.kind = "queue";
  e.title =
      fmt::format("the queue: {} job{} wait{}", s.queue.size(), s.queue.size() == 1 ? "" : "s", s.queue.size() == 1 ? "s" : "");
  add_waiting(s, {}, e);
  return e;
}

Explanation of_one_queue(const State& s, const QueueUseRow& q) {
  Explanation e;
  e.kind = "queue";
  e.title = fmt::format("queue {}: {} of {} GPUs of the cluster held, {} job{} wait{}", q.name, render_number(q.held),
                        s.site.gpus(), q.waiting, q.waiting == 1 ? "" : "s", q.waiting == 1 ? "s" : "");
  e.sentences = queue_words(s, q);
  add_waiting(s, q.name, e);
  return e;
}

Result<Explanation> of_queue_named(const State& s, std::string_view name) {
  std::vector<std::string> known;
  for (const QueueUseRow& q : queue_rows(s)) {
    if (q.name == name) return of_one_queue(s, q);
    known.push_back(q.name);
  }
  const auto meant = nearest(name, known);
  return fail(Code::not_found, fmt::format("there is no queue '{}'", printable(name)),
              meant ? fmt::format("did you mean {}?", printable(*meant)) : "`muster get queues` lists those there are");
}

Explanation of_finding(const State& s, const Finding& f) {
  Explanation e;
  e.kind = "finding";
  e.title = fmt::format("finding {}: {} on {}{}", f.id.v, decide::say(f.kind),
                        f.node.some() ? node_name(s, f.node) : say(whereabouts(s, f), f.slot),
                        f.kind == FindingKind::fabric_fault ? ": " + printable(f.subject) : "");
  e.sentences = {
      fmt::format("{}, opened {}; {}.", name_of(f.severity), ago(s, f.opened), f.cleared.ns == 0 ? "still open" : "cleared"),
      fmt::format("Where: {}{}.", say(whereabouts(s, f), f.slot), f.subject.empty() ? "" : "; what: " + say_subject(s, f)),
      fmt::format("Since {}; {:.0f} % sure; it has cost {}.", render_utc(f.began()), 100 * confidence(f),
                  say(account::cost_of(s, f, s.now.utc)))};
  if (f.part_of.some()) e.sentences.push_back(fmt::format("Part of finding {}, which explains it.", f.part_of.v));
  if (const Members m = members_of(s, f.id); !m.findings.empty())
    e.sentences.push_back(fmt::format("It explains {} findings on {}.", m.findings.size(), compress_node_list(m.nodes)));
  // Told again without a change it leaves no trace in the state, so that silence says nothing of whether the watch still runs.
  if (f.kind == FindingKind::fabric_fault && f.cleared.ns == 0 && !f.evidence.empty()) {
    e.sentences.push_back(fmt::format("The last word on it that differed from the one before came {}; it stays open until "
                                      "`muster fabric watch --controller` tells that it is over.",
                                      ago(s, f.evidence.back().at)));
  }
  e.sentences.push_back(fmt::format("Suggested: {}.", advice(f)));
  add_findings(s, {f.id}, e);
  if (const Fault* fault = f.code == 0 || !code_is_xid(f.kind) ? nullptr : find_fault(fmt::format("Xid {}", f.code)))
    e.sentences.push_back(fault->meaning);
  return e;
}

}  // namespace

Result<Explanation> explain_recorded(const State& s, std::string_view what) {
  auto explained = explain(s, what);
  if (explained && explained->kind == "job")
    explained->sentences.push_back("Steps are as of its last checkpoint or end: the record has none between them.");
  return explained;
}

Result<Explanation> explain(const State& s, std::string_view what) {
  what = trim(what);
  const auto words = split(what, ' ');
  const std::string_view last = words.back();
  const auto is = [&](std::string_view noun) { return words.size() == 2 && words[0] == noun; };
  const auto number = parse_uint(last);
  const auto missing = [&](std::string_view noun) {
    return fail(Code::not_found, fmt::format("there is no {} '{}'", noun, printable(last)),
                fmt::format("`muster get {}s` lists those that are known", noun));
  };
  if (is("node") || (words.size() == 1 && find_node(s.site, what).some())) {
    const NodeId n = find_node(s.site, last);
    if (!n.some()) return missing("node");
    return of_node(s, n);
  }
  if (what == "queue") return of_queue(s);
  if (words[0] == "queue") return of_queue_named(s, trim(what.substr(words[0].size())));  // its name may have blanks
  if (is("incident")) {
    const Incident* i = number ? find_incident(s, IncidentId{*number}) : nullptr;
    if (i == nullptr) return missing("incident");
    return of_incident(s, *i);
  }
  if (is("finding")) {
    const Finding* f = number ? find_finding(s, FindingId{*number}) : nullptr;
    if (f == nullptr) return missing("finding");
    return of_finding(s, *f);
  }
  const auto order = s.orders.find(std::string(last));
  if (is("action") || (words.size() == 1 && order != s.orders.end())) {
    if (order == s.orders.end()) return missing("action");
    return of_action(s, order->second);
  }
  if (is("job") || (words.size() == 1 && parse_job(last).some())) {
    const JobId id = parse_job(last);
    const Job* j = find_job(s, id);
    if (j != nullptr) return of_job(s, *j);
    if (const auto members = members_of(s, id); id.some() && !members.empty()) return of_array(s, members);
    return missing("job");
  }
  return explain_fault(what, &s.policy);
}

std::string render_json(const Explanation& e) {
  JsonWriter w;
  const auto list = [&](std::string_view name, const std::vector<std::string>& lines) {
    w.key(name).array();
    for (const std::string& l : lines) w.value(l);
    w.end_array();
  };
  w.object().field("title", e.title).field("kind", e.kind);
  list("sentences", e.sentences);
  list("evidence", e.evidence);
  w.field("rule", e.rule);
  list("alternatives", e.alternatives);
  list("actions", e.actions);
  w.end_object();
  return w.take();
}

}  // namespace muster::report
