#include "control/loop.h"

#include <fmt/core.h>

#include "act/ledger.h"
#include "control/judge.h"
#include "control/restore.h"
#include "detect/detectors.h"
#include "model/codec.h"

namespace muster::control {
namespace {
constexpr Duration kInquireEvery = minutes(10);
}

Loop::Loop(Clock& c, Observatory& o, Actuator& a, Journal& j, LoopConfig config)
    : clock_(c), observatory_(o), actuator_(a), journal_(j), config_(std::move(config)), judge_(std::make_unique<Judge>()) {}

Loop::~Loop() = default;

Result<std::unique_ptr<Loop>> Loop::start(Clock& c, Observatory& o, Actuator& a, Journal& j, LoopConfig config) {
  std::unique_ptr<Loop> loop(new Loop(c, o, a, j, std::move(config)));
  auto books = restore(j, loop->config_.parse_json);
  if (!books) return tl::unexpected(books.error());
  loop->books_ = std::move(*books);
  loop->snapshot_seq_ = loop->books_.state.seq;
  if (auto r = loop->begin(); !r) return tl::unexpected(r.error());
  return loop;
}

Result<std::unique_ptr<Loop>> Loop::fork(Clock& c, Observatory& o, Actuator& a, Journal& j, LoopConfig config, Books books) {
  std::unique_ptr<Loop> loop(new Loop(c, o, a, j, std::move(config)));
  loop->books_ = std::move(books);
  State& s = loop->books_.state;
  s.seq = j.last_seq();
  s.streams.clear();
  s.journal = loop->config_.journal_id;
  if (auto r = loop->begin(); !r) return tl::unexpected(r.error());
  return loop;
}

Result<void> Loop::begin() {
  State& s = books_.state;
  const bool fresh = s.site.nodes.empty();
  if (!fresh && encode_site(s.site) != encode_site(config_.site)) {
    return fail(Code::conflict, fmt::format("the journal is of cluster '{}' with {} nodes, not of '{}' with {}", s.site.name,
                                            s.nodes.size(), config_.site.name, config_.site.nodes.size()),
                "use another state directory, or the cluster file this one began with");
  }
  const Now now = clock_.now();
  std::vector<Event> events;
  const auto add = [&](Body b) {
    Event e;
    e.seq = s.seq + 1 + events.size();
    e.source.stream = "muster";
    e.utc = now.utc;
    e.body = std::move(b);
    events.push_back(std::move(e));
  };
  RunStarted run{MUSTER_VERSION, s.epoch + 1, decide::kRulesVersion, fresh ? config_.journal_id : s.journal, now,
                 config_.simulation};
  add(std::move(run));
  if (fresh) add(SiteDeclared{config_.site});
  if (!(config_.site.cables == s.site.cables)) add(CablesDeclared{config_.site.cables});
  if (config_.site.pools != s.site.pools) add(PoolsDeclared{config_.site.pools});
  const std::string policy_hash = render_hex(sha256(encode_policy(config_.policy)));
  if (policy_hash != s.policy_hash) add(PolicyApplied{config_.policy, policy_hash});
  if (auto r = append(events); !r) return r;
  detectors_ = std::make_unique<detect::Detectors>(s);
  // Orders without an outcome: what became of them is for the engine to say.
  for (const std::string& key : s.open_orders) {
    if (auto r = actuator_.inquire(key); r) inquired_[key] = s.mono();
  }
  return {};
}

Result<void> Loop::append(const std::vector<Event>& events) {
  if (events.empty()) return {};
  if (auto r = journal_.append(events); !r) return r;
  for (const Event& e : events) {
    if (e.seq > books_.state.seq) fold_event(books_, e);  // decided events are folded already
    if (on_event) on_event(e);
  }
  return {};
}

// A command whose id is known is not given twice: a true repeat gets the first one's answer.
bool Loop::answer_repeat(const CommandGiven& c, Arrival& a) {
  const auto& known = books_.state.commands;
  const auto it = std::find_if(known.begin(), known.end(), [&](const CommandRecord& k) { return k.id == c.id; });
  if (it == known.end()) return false;
  if (!a.ack) return true;
  if (it->digest == command_digest(c)) {
    a.ack(it->seq);
  } else {
    a.ack(fail(Code::conflict, "another command was given under this id", "choose a new id for a new command"));
  }
  return true;
}

std::vector<Event> Loop::take_in(const Now& now) {
  State& s = books_.state;
  const Time mono = std::max(now.steady + s.mono_offset, s.mono());
  for (Arrival& a : late_) inbox_.events.push_back(std::move(a));
  late_.clear();
  std::vector<Body> bodies;
  std::vector<Event> events(1);  // room for TurnBegan
  acks_.clear();
  std::map<std::string, StreamPosition> position;  // of the streams that speak in this turn
  for (std::size_t i = 0; i < inbox_.events.size(); ++i) {
    Arrival& a = inbox_.events[i];
    const auto [at, first] = position.try_emplace(a.source.stream);
    if (const auto known = s.streams.find(a.source.stream); first && known != s.streams.end()) at->second = known->second;
    StreamPosition& p = at->second;
    if (a.source.seq != 0 && p.boot == a.source.boot && a.source.seq <= p.seq) {  // seen before
      if (a.ack) a.ack(s.seq);
      continue;
    }
    if (a.source.seq != 0) p = {a.source.boot, a.source.seq};
    if (const auto* c = std::get_if<CommandGiven>(&a.body); c != nullptr && answer_repeat(*c, a)) continue;
    bodies.push_back(a.body);
    acks_.push_back(i);
    events.push_back({1, 0, a.source, a.utc, std::move(a.body)});
  }
  for (Body& b : detectors_->look(inbox_.samples, inbox_.kernel, inbox_.steps, bodies, s, now.utc, mono, inbox_.logs,
                                  inbox_.heard)) {
    events.push_back({1, 0, {{}, "detect", 0}, now.utc, std::move(b)});
  }
  events[0] = {1, 0, {{}, "muster", 0}, now.utc, TurnBegan{s.turn + 1, now}};
  for (std::size_t i = 0; i < events.size(); ++i) events[i].seq = s.seq + 1 + i;
  return events;
}

Result<void> Loop::carry_out(const std::vector<Event>& decided) {
  for (const Event& e : decided) {
    const auto* intent = std::get_if<OrderIntended>(&e.body);
    if (intent == nullptr) continue;
    const Result<void> r = actuator_.submit(intent->order);
    if (r) continue;
    late_.push_back({{{}, "actuator", 0}, e.utc, OrderEnded{intent->order.key, Status::not_received, r.error().what}, {}});
  }
  return {};
}

void Loop::inquire() {
  const State& s = books_.state;
  for (const std::string& key : act::overdue(s)) {
    auto [it, first] = inquired_.try_emplace(key, s.mono());
    if (!first && s.mono() - it->second < kInquireEvery) continue;
    it->second = s.mono();
    // A failure here changes nothing: the order stays open and is asked about again.
    static_cast<void>(actuator_.inquire(key));
  }
  std::erase_if(inquired_, [&](const auto& k) { return s.open_orders.count(k.first) == 0; });
  inquiry_seq_ = kNoSeq;
}

// What is open changes by events and inquiries alone, and most turns have neither.
Time Loop::next_inquiry() {
  const State& s = books_.state;
  if (inquiry_seq_ == s.seq) return inquiry_at_;
  Time next = kNever;
  for (const std::string& key : s.open_orders) {
    const OrderRecord& r = s.orders.at(key);
    Time due = r.intended_mono + act::patience(r.order.action.verb);
    if (const auto it = inquired_.find(key); it != inquired_.end()) due = std::max(due, it->second + kInquireEvery);
    next = std::min(next, due);
  }
  inquiry_seq_ = s.seq;
  return inquiry_at_ = next;
}

Result<Turn> Loop::turn() {
  inbox_.clear();
  observatory_.poll(inbox_);
  const Now now = clock_.now();
  const std::uint64_t seq_before = books_.state.seq;
  bool busy = false;
  std::vector<Event> taken = take_in(now);
  const State& s = books_.state;
  const Time mono = now.steady + s.mono_offset;
  const bool timed = decide::Decider::next(s) <= mono || next_inquiry() < mono;
  if (taken.size() > 1 || timed || s.queue_dirty) {
    const Result<void> r = append(taken);
    for (std::size_t i = 0; i < acks_.size(); ++i) {
      Arrival& a = inbox_.events[acks_[i]];
      if (a.ack) a.ack(r ? Result<std::uint64_t>(taken[i + 1].seq) : tl::unexpected(r.error()));
    }
    if (!r) return tl::unexpected(r.error());
    const std::vector<Event> decided = judge_->decide(books_);
    busy = taken.size() > 1 || !decided.empty();
    if (auto w = append(decided); !w) return tl::unexpected(w.error());
    if (auto w = carry_out(decided); !w) return tl::unexpected(w.error());
    if (next_inquiry() <= s.mono()) inquire();
  }
  if (config_.snapshot_every != 0 && s.seq - snapshot_seq_ >= config_.snapshot_every) {
    if (auto r = snapshot(); !r) return tl::unexpected(r.error());
  }
  return Turn{s.seq, now, inbox_.samples.size(), s.seq - seq_before, wake_at(now, busy)};
}

Time Loop::wake_at(const Now& now, bool busy) const {
  const State& s = books_.state;
  Time t = now.steady + config_.turn_max;
  if (!late_.empty()) return now.steady;
  for (Time mono : {decide::Decider::next(s), detectors_->next(s)}) {
    if (mono != kNever) t = std::min(t, mono - s.mono_offset);
  }
  // A turn that changed nothing is not repeated at once, whatever a timer says.
  return std::max(t, busy ? now.steady : now.steady + seconds(1));
}

Result<void> Loop::snapshot() {
  snapshot_seq_ = books_.state.seq;
  return journal_.save_snapshot({books_.state.seq, kFoldVersion, encode_books(books_)});
}

Result<void> Loop::stop() { return snapshot(); }

}  // namespace muster::control
