#include "report/week_story.h"

#include <algorithm>

#include "base/text.h"
#include "decide/words.h"
#include "report/record.h"

namespace muster::report {
namespace {

constexpr std::size_t kTextMax = 300;           // bytes of what somebody wrote
constexpr Duration kFollowedAfter = days(2);    // work that does not run again by then is not waited for
constexpr Duration kRepeatedWithin = days(28);  // as a lemon's score has it
constexpr std::uint32_t kOftenInStretch = 2;    // incidents on a node that make it a repeated one
constexpr std::uint32_t kOftenBefore = 3;       // or so many with those of the weeks before
constexpr std::size_t kRepeatedTold = 50, kHeldBackTold = 200, kQueuesTold = 200;

std::string clip(std::string_view text) {
  if (text.size() <= kTextMax) return std::string(text);
  std::size_t end = kTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Limits that differ in their numbers only are the same limit: "harmful acts in the last hour: N of N".
std::string kind_of(std::string_view limit) {
  std::string out;
  bool number = false;
  for (const char c : clip(limit)) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !number) out += 'N';
    if (!digit) out += c;
    number = digit;
  }
  return out;
}

// Most events are of turns, of steps and of what agents read: none of them changes what an incident is in.
bool concerns_incidents(const Body& b) {
  return !(std::holds_alternative<TurnBegan>(b) || std::holds_alternative<JobProgressed>(b) ||
           std::holds_alternative<JobSubmitted>(b) || std::holds_alternative<JobAmended>(b) ||
           std::holds_alternative<KernelHeard>(b) || std::holds_alternative<AgentSaid>(b) ||
           std::holds_alternative<GpuIdentified>(b) || std::holds_alternative<NodeDescribed>(b) ||
           std::holds_alternative<FabricSaid>(b) || std::holds_alternative<AcceptanceSaid>(b) ||
           std::holds_alternative<JobDescribed>(b) ||
           std::holds_alternative<RowMeasured>(b) || std::holds_alternative<PriceAnnounced>(b));
}

// The value below which that share of the sorted ones is: one of them.
template <class T>
T quantile(const std::vector<T>& sorted, std::size_t percent) {
  const std::size_t n = (sorted.size() * percent + 99) / 100;
  return sorted[std::min(sorted.size(), std::max<std::size_t>(1, n)) - 1];
}

double seconds_of(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

void write_time(JsonWriter& w, std::string_view key, Time t) {
  w.key(key);
  if (t.ns != 0)
    w.value(render_utc(t));
  else
    w.null();
}

void write_length(JsonWriter& w, std::string_view key, std::optional<Duration> d) {
  w.key(key);
  if (d)
    w.value(d->seconds());
  else
    w.null();
}

}  // namespace

std::uint32_t WeekStory::Names::put(const std::string& name) {
  const auto [it, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return it->second;
}

// What a job had been through is known only before the event is folded.
void WeekStory::before(const Event& e) {
  listener_.before(e, state_);
  for (auto& [id, t] : followed_) t.before(e, state_);
  if (const auto* b = std::get_if<JobStarted>(&e.body)) {
    const Job* j = find_job(state_, b->job);
    if (j == nullptr || j->started.ns != 0 || j->restarts != 0 || j->phase == JobPhase::running) return;
    const Time at = b->at.ns > 0 && b->at < e.utc ? b->at : e.utc;
    if (!j->spec.after.empty()) return followers_ms_.push_back(at.ms());
    const std::string& queue = queue_of(j->spec);
    waits_.push_back({at.ms(), queues_.put(queue.empty() ? "(none)" : clip(queue)),
                      std::max<std::int64_t>(0, (at - j->submitted).ns / 1'000'000)});
  } else if (const auto* ended = std::get_if<JobEnded>(&e.body)) {
    const Job* j = find_job(state_, ended->job);
    const bool told = j != nullptr && j->attempt == ended->attempt && j->phase == JobPhase::running;
    if (told) ends_.push_back({e.utc.ms(), ended->end});
  }
}

void WeekStory::take(const Event& e) {
  before(e);
  fold(state_, e);
  settle(state_);
  if (first_.ns == 0) first_ = e.utc;
  last_ = std::max(last_, e.utc);
  if (const auto* o = std::get_if<OrderIntended>(&e.body)) {
    intend(o->order);
  } else if (const auto* ended = std::get_if<OrderEnded>(&e.body)) {
    end(e, *ended);
  } else if (const auto* no = std::get_if<OrderRefused>(&e.body)) {
    refuse(e, *no);
  }
  if (concerns_incidents(e.body)) follow_incidents(e);
}

void WeekStory::follow_incidents(const Event& e) {
  if (const auto* b = std::get_if<IncidentOpened>(&e.body)) followed_.try_emplace(b->id, b->id, listener_);
  for (auto it = followed_.begin(); it != followed_.end();) {
    IncidentStory& t = it->second;
    t.after(e, state_);
    const Time closed = t.incident.closed;
    if (t.found && (closed.ns != 0 || troubles_.count(it->first) == 0)) note(t);
    const bool runs = std::all_of(t.jobs.begin(), t.jobs.end(), [](const JobHit& h) { return h.restarted.ns != 0 || h.over; });
    const bool over = !t.found || (closed.ns != 0 && (runs || e.utc - closed > kFollowedAfter));
    it = over ? followed_.erase(it) : std::next(it);
  }
}

void WeekStory::note(const IncidentStory& t) {
  const Incident& i = t.incident;
  Trouble& x = troubles_[i.id];
  x.id = i.id;
  x.node = i.node.v < state_.site.nodes.size() ? state_.site.nodes[i.node.v].name : std::string();
  x.slot = !t.findings.empty() && of_link(t.findings.front()) ? std::int16_t{-1} : i.slot;
  x.cause = i.cause;
  x.began = t.began;
  x.opened = i.opened;
  x.closed = i.closed;
  x.resolution = clip(i.resolution);
  x.stage = i.stage;
  x.jobs = static_cast<std::uint32_t>(t.jobs.size());
  x.out_gpu_ms = t.out_gpu_ms;
  x.slow_gpu_ms = t.slow_gpu_ms;
  x.lost_gpu_ms = 0;
  x.restarts.reset();
  for (const JobHit& h : t.jobs) {
    x.lost_gpu_ms += h.lost_gpu_ms + h.starting_gpu_ms;
    if (h.restarted.ns != 0) x.restarts = std::max(x.restarts.value_or(Duration{}), h.restarted - h.stopped);
  }
}

WeekStory::Who WeekStory::who_wants(const Order& o, std::string& person) const {
  if (!o.reason.wish.empty()) {
    person = clip(o.reason.actor);
    return Who::person;
  }
  if (o.reason.upgrade != 0) return Who::upgrade;
  for (const auto& [id, a] : state_.approvals) {
    if (!a.granted || a.incident != o.reason.incident || a.action.verb != o.action.verb) continue;
    person = clip(a.by);
    return Who::approved;
  }
  return Who::muster;
}

void WeekStory::intend(const Order& o) {
  Given g{o.action.verb, o.reason.incident, Who::muster, {}};
  g.who = who_wants(o, g.person);
  given_[o.key] = std::move(g);
}

void WeekStory::end(const Event& e, const OrderEnded& b) {
  if (b.status == Status::pending || b.status == Status::unknown) return;  // still being looked up
  const auto it = given_.find(b.key);
  if (it == given_.end()) return;
  const Given& g = it->second;
  acts_.push_back({e.utc.ms(), g.verb, b.status, g.who});
  if (g.incident.some() && (b.status == Status::done || b.status == Status::failed)) {
    Trouble& t = troubles_[g.incident];
    ++t.acts[g.verb][b.status == Status::done ? 0 : 1];
    if (!g.person.empty()) t.people.insert(g.person);
  }
  given_.erase(it);
}

void WeekStory::refuse(const Event& e, const OrderRefused& b) {
  const std::uint32_t limit = limits_.put(kind_of(b.limit));
  const Thing thing{b.action.verb, b.action.node.v, b.action.job, b.reason.incident.v, limit};
  const auto [it, fresh] = refused_.try_emplace(thing, refusals_.size());
  if (fresh) refusals_.push_back({e.utc.ms(), e.utc.ms(), 0, b.action.verb, limit, !b.reason.wish.empty()});
  Refusal& r = refusals_[it->second];
  r.last_ms = e.utc.ms();
  ++r.times;
  if (b.reason.incident.some()) ++troubles_[b.reason.incident].held_back;
}

// Those that touch the stretch, as they stand at the end of the record.
std::vector<WeekStory::Trouble> WeekStory::troubles(Time from, Time to) const {
  std::vector<Trouble> out;
  WeekStory now;  // only to note down what is still open
  now.state_.site = state_.site;
  for (const auto& [id, t] : troubles_) {
    if (t.opened.ns == 0) continue;  // it opened before the record, or never did
    const auto open = followed_.find(id);
    Trouble x = t;
    if (open != followed_.end() && open->second.incident.closed.ns == 0) {
      IncidentStory until_now = open->second;
      Event turn;
      turn.utc = last_;
      turn.body = TurnBegan{state_.turn, state_.now};
      until_now.after(turn, state_);
      now.troubles_[id] = t;
      now.note(until_now);
      x = now.troubles_[id];
    }
    if (x.opened < to && (x.closed.ns == 0 || x.closed >= from)) out.push_back(std::move(x));
  }
  return out;
}

void WeekStory::write_incidents(JsonWriter& w, Time from, Time to) const {
  std::vector<Trouble> all = troubles(from, to);
  std::stable_sort(all.begin(), all.end(), [](const Trouble& a, const Trouble& b) { return a.gpu_h() > b.gpu_h(); });
  const std::size_t left_out = all.size() > kIncidentsTold ? all.size() - kIncidentsTold : 0;
  all.resize(all.size() - left_out);
  w.key("incidents").array();
  for (const Trouble& t : all) {
    const bool closed = t.closed.ns != 0 && t.closed < to;
    w.object().field("id", t.id.v).field("node", t.node).field("gpu_slot", int{t.slot}).field("cause", name_of(t.cause));
    w.field("words", decide::say(t.cause)).field("suggestion", suggestion(t.cause)).field("carried", t.opened < from);
    write_time(w, "first_sign_utc", t.began);
    write_time(w, "opened_utc", t.opened);
    write_time(w, "closed_utc", closed ? t.closed : Time{});
    w.field("detect_s", std::max(0.0, (t.opened - t.began).seconds()));
    write_length(w, "recover_s", closed ? std::optional(t.closed - t.began) : std::nullopt);
    write_length(w, "restart_s", t.restarts);
    w.field("attempts_lost", t.jobs).field("lost_gpu_h", static_cast<double>(t.lost_gpu_ms) / 3.6e6);
    w.field("slow_gpu_h", static_cast<double>(t.slow_gpu_ms) / 3.6e6);
    w.field("out_gpu_h", static_cast<double>(t.out_gpu_ms) / 3.6e6).field("gpu_h", t.gpu_h());
    w.field("stage", closed ? std::string_view("closed") : name_of(t.stage)).field("resolution", closed ? t.resolution : "");
    w.key("acts").array();
    for (const auto& [verb, n] : t.acts)
      w.object().field("verb", name_of(verb)).field("done", n[0]).field("failed", n[1]).end_object();
    w.end_array().key("people").array();
    for (const std::string& p : t.people) w.value(p);
    w.end_array().field("held_back", t.held_back).end_object();
  }
  w.end_array().field("incidents_left_out", left_out);
}

void WeekStory::write_attempts(JsonWriter& w, Time from, Time to) const {
  std::array<std::uint64_t, names(JobEnd{}).size()> ended{};
  for (const End& x : ends_) {
    if (x.at_ms >= from.ms() && x.at_ms < to.ms()) ++ended[static_cast<std::size_t>(x.how)];
  }
  w.key("attempts").object();
  for (std::size_t i = 0; i < ended.size(); ++i) w.field(names(JobEnd{})[i], ended[i]);
  w.end_object();
}

void WeekStory::write_queues(JsonWriter& w, Time from, Time to) const {
  struct Row {
    std::vector<std::int64_t> ms;
    std::uint64_t waiting = 0;
    std::int64_t longest_ms = 0;
  };
  std::map<std::string, Row> rows;
  for (const Wait& x : waits_) {
    if (x.at_ms >= from.ms() && x.at_ms < to.ms()) rows[queues_.get(x.queue)].ms.push_back(x.ms);
  }
  const bool newest = to >= last_;  // who waits is known of the end alone
  for (const auto& [order, id] : state_.queue) {
    const Job* j = newest ? find_job(state_, id) : nullptr;
    if (j == nullptr || !j->waits_for.empty() || j->hopeless) continue;
    Row& r = rows[queue_of(j->spec).empty() ? "(none)" : clip(queue_of(j->spec))];
    ++r.waiting;
    r.longest_ms = std::max(r.longest_ms, (state_.mono() - j->queued).ns / 1'000'000);
  }
  std::vector<std::pair<std::string, Row>> most(rows.begin(), rows.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second.ms.size() > b.second.ms.size(); });
  w.key("queues").array();
  for (std::size_t i = 0; i < std::min(kQueuesTold, most.size()); ++i) {
    auto& [name, r] = most[i];
    std::sort(r.ms.begin(), r.ms.end());
    w.object().field("queue", name).field("starts", r.ms.size());
    for (const auto& [key, percent] : {std::pair("median_s", 50), std::pair("p95_s", 95), std::pair("longest_s", 100)}) {
      w.key(key);
      if (r.ms.empty())
        w.null();
      else
        w.value(seconds_of(quantile(r.ms, static_cast<std::size_t>(percent))));
    }
    w.key("waiting");
    if (newest)
      w.value(r.waiting).field("waiting_longest_s", seconds_of(r.longest_ms));
    else
      w.null().key("waiting_longest_s").null();
    w.end_object();
  }
  const auto late = [&](std::int64_t ms) { return ms >= from.ms() && ms < to.ms(); };
  w.end_array().field("queues_left_out", most.size() > kQueuesTold ? most.size() - kQueuesTold : 0);
  w.field("followers_started", std::count_if(followers_ms_.begin(), followers_ms_.end(), late));
}

void WeekStory::write_acts(JsonWriter& w, Time from, Time to) const {
  std::map<std::pair<Verb, Who>, std::array<std::uint64_t, 3>> sums;
  for (const Act& a : acts_) {
    if (a.at_ms < from.ms() || a.at_ms >= to.ms()) continue;
    ++sums[{a.verb, a.who}][a.status == Status::done ? 0 : a.status == Status::failed ? 1 : 2];
  }
  w.key("acts").array();
  for (const auto& [what, n] : sums) {
    w.object().field("verb", name_of(what.first)).field("who", kWhoNames[static_cast<std::size_t>(what.second)]);
    w.field("done", n[0]).field("failed", n[1]).field("other", n[2]).end_object();
  }
  w.end_array();
}

void WeekStory::write_held_back(JsonWriter& w, Time from, Time to) const {
  struct Sum {
    std::uint64_t things = 0, times = 0, wished = 0;
  };
  std::map<std::pair<Verb, std::uint32_t>, Sum> sums;
  for (const Refusal& r : refusals_) {
    if (r.last_ms < from.ms() || r.first_ms >= to.ms()) continue;
    Sum& s = sums[{r.verb, r.limit}];
    ++s.things;
    s.times += r.times;
    s.wished += r.wished ? 1 : 0;
  }
  std::vector<std::pair<std::pair<Verb, std::uint32_t>, Sum>> most(sums.begin(), sums.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second.things > b.second.things; });
  w.key("held_back").array();
  for (std::size_t i = 0; i < std::min(kHeldBackTold, most.size()); ++i) {
    const auto& [what, s] = most[i];
    w.object().field("verb", name_of(what.first)).field("limit", limits_.get(what.second)).field("things", s.things);
    w.field("times", s.times).field("wished", s.wished).end_object();
  }
  w.end_array().field("held_back_left_out", most.size() > kHeldBackTold ? most.size() - kHeldBackTold : 0);
}

void WeekStory::write_repeated(JsonWriter& w, Time from, Time to) const {
  struct Sum {
    std::string node;
    std::uint32_t here = 0, lately = 0;
    double gpu_h = 0;
    std::map<FindingKind, std::uint32_t> causes;
  };
  std::map<std::string, Sum> sums;
  for (const Trouble& t : troubles(Time{}, to)) {
    if (t.node.empty() || t.opened < std::min(from, to - kRepeatedWithin)) continue;
    Sum& s = sums[t.node];
    s.node = t.node;
    s.here += t.opened >= from ? 1 : 0;
    s.lately += t.opened >= to - kRepeatedWithin ? 1 : 0;
    s.gpu_h += t.gpu_h();
    ++s.causes[t.cause];
  }
  std::vector<Sum> often;
  for (auto& [node, s] : sums) {
    if (s.here >= kOftenInStretch || (s.here > 0 && s.lately >= kOftenBefore)) often.push_back(std::move(s));
  }
  std::stable_sort(often.begin(), often.end(),
                   [](const Sum& a, const Sum& b) { return a.here != b.here ? a.here > b.here : a.lately > b.lately; });
  w.key("repeated").array();
  for (std::size_t i = 0; i < std::min(kRepeatedTold, often.size()); ++i) {
    const Sum& s = often[i];
    w.object().field("node", s.node).field("incidents", s.here).field("incidents_28d", s.lately).field("gpu_h", s.gpu_h);
    w.key("causes").array();
    for (const auto& [cause, n] : s.causes) w.object().field("cause", name_of(cause)).field("times", n).end_object();
    w.end_array().key("now");
    const NodeId n = find_node(state_.site, s.node);
    if (to >= last_ && n.v < state_.nodes.size()) {
      const NodeState& at = state_.nodes[n.v];
      w.value(at.condition != NodeCondition::up ? name_of(at.condition)
              : at.hold != Hold::none           ? std::string_view("drained")
                                                : std::string_view("in service"));
    } else {
      w.null();
    }
    w.end_object();
  }
  w.end_array().field("repeated_left_out", often.size() > kRepeatedTold ? often.size() - kRepeatedTold : 0);
}

std::string WeekStory::json(Time from, Time to) const {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "WeekStory").field("cluster", state_.site.name);
  w.field("from_utc", render_utc(from)).field("to_utc", render_utc(to));
  write_time(w, "first_utc", first_);
  write_time(w, "last_utc", last_);
  w.field("gpus", state_.site.gpus()).field("nodes", state_.site.nodes.size());
  write_incidents(w, from, to);
  write_attempts(w, from, to);
  write_queues(w, from, to);
  write_acts(w, from, to);
  write_held_back(w, from, to);
  write_repeated(w, from, to);
  w.end_object();
  return w.take();
}

}  // namespace muster::report
