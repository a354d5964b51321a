#include "report/audit.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/record.h"

namespace muster::report {
namespace {

constexpr std::size_t kTextMax = 400;  // bytes of what somebody wrote: a body may hold far more
constexpr std::size_t kHashShown = 16;

// Text of people: printable, and no longer than a table can show.
std::string clip(std::string_view text) {
  if (text.size() <= kTextMax) return printable(text);
  std::size_t end = kTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return printable(text.substr(0, end)) + " ...";
}

std::string_view say(Status s) {
  switch (s) {
    case Status::pending: return "under way";
    case Status::done: return "done";
    case Status::failed: return "failed";
    case Status::refused: return "refused by the engine";
    case Status::unknown: return "no answer from the engine";
    case Status::not_received: return "never arrived";
  }
  return "";
}

std::string say_submitted(const JobSpec& spec) {
  std::string out = fmt::format("job \"{}\" of {} node{}", clip(spec.name), spec.nodes, spec.nodes == 1 ? "" : "s");
  if (!spec.user.empty()) out += " for " + clip(spec.user);
  return spec.array > 0 ? fmt::format("{} jobs: {}", spec.array, out) : out;
}

std::string say_upgrade(const UpgradeSpec& spec) {
  return clip(fmt::format("{} {} on {}", spec.what, spec.version, spec.nodes.empty() ? "all nodes" : spec.nodes));
}

std::string with(std::string text, const std::string& more) { return more.empty() ? text : text + ": " + more; }

void write_chain(JsonWriter& w, const Chain& chain) {
  w.key("chain").object().field("ok", true).field("journal", chain.journal).field("events", chain.events);
  w.field("digest", chain.digest).field("last_utc", render_utc(chain.last));
  w.field("verified_utc", render_utc(chain.verified)).field("whole_utc", render_utc(chain.whole)).end_object();
}

}  // namespace

AuditStory::Item& AuditStory::add(const Event& e, std::string kind, std::string who, std::string verb, std::string on,
                                  std::string reason) {
  Item& item = items_[e.seq];
  item.at = e.utc;
  item.kind = std::move(kind);
  item.who = std::move(who);
  item.verb = std::move(verb);
  item.on = std::move(on);
  item.reason = std::move(reason);
  if (items_.size() > kAuditKept) {
    const auto oldest = items_.begin();
    for (const std::string& key : oldest->second.open) orders_.erase(key);
    if (const auto w = wishes_.find(oldest->second.wish); w != wishes_.end() && w->second == oldest->first) wishes_.erase(w);
    items_.erase(oldest);
    ++older_;
  }
  return item;
}

AuditStory::Item* AuditStory::find(std::uint64_t seq) {
  const auto it = items_.find(seq);
  return it == items_.end() ? nullptr : &it->second;
}

std::string AuditStory::node_name(NodeId n) const {
  return n.v < nodes_.size() ? nodes_[n.v] : n.some() ? fmt::format("node {}", n.v) : std::string();
}

void AuditStory::command(const Event& e, const CommandGiven& c) {
  std::string on = "all acts";
  switch (c.verb) {
    case CommandVerb::drain:
    case CommandVerb::undrain: on = node_name(c.node); break;
    case CommandVerb::cancel: on = "job " + render(c.job); break;
    case CommandVerb::submit: on = say_submitted(c.spec); break;
    case CommandVerb::approve:
    case CommandVerb::reject: on = fmt::format("approval {}", c.approval); break;
    case CommandVerb::upgrade: on = say_upgrade(c.upgrade); break;
    case CommandVerb::upgrade_stop:
    case CommandVerb::upgrade_back: on = "the upgrade"; break;
    case CommandVerb::pause:
    case CommandVerb::resume: break;
  }
  Item& item = add(e, "command", clip(c.actor), std::string(name_of(c.verb)), std::move(on), clip(c.reason));
  if (!c.id.empty()) {
    const auto [first, fresh] = wishes_.try_emplace(c.id, e.seq);
    if (!fresh) {
      item.said = fmt::format("the same command as event {}: nothing is done twice", first->second);
      return;
    }
    item.wish = c.id;
  }
  switch (c.verb) {
    case CommandVerb::pause: item.said = "paused"; break;
    case CommandVerb::resume: item.said = "Muster acts again"; break;
    case CommandVerb::approve:
    case CommandVerb::reject: answer(item, c, e.seq); break;
    case CommandVerb::upgrade:
    case CommandVerb::upgrade_stop:
    case CommandVerb::upgrade_back: upgrade(item, c, e.seq); break;
    case CommandVerb::drain:
    case CommandVerb::undrain:
    case CommandVerb::submit:
    case CommandVerb::cancel: item.ordered = true; break;
  }
}

void AuditStory::answer(Item& item, const CommandGiven& c, std::uint64_t seq) {
  const auto it = approvals_.find(c.approval);
  if (it == approvals_.end()) {
    item.said = "nothing waited under this number";
    return;
  }
  Asked& asked = it->second;
  item.on = fmt::format("approval {}: {} (incident {})", c.approval, asked.act, asked.incident.v);
  if (!asked.answer.empty()) {
    item.said = "too late: " + asked.answer;
    return;
  }
  const bool yes = c.verb == CommandVerb::approve;
  item.said = yes ? "granted" : fmt::format("rejected: a person has incident {}", asked.incident.v);
  asked.answer = fmt::format("{} by {}", yes ? "granted" : "rejected", clip(c.actor));
  if (Item* question = find(asked.item)) question->said = with(asked.answer, clip(c.reason));
  if (yes) granted_[{asked.incident, asked.verb}] = seq;
}

// As the fold takes such commands: what would change nothing is said to have changed nothing.
void AuditStory::upgrade(Item& item, const CommandGiven& c, std::uint64_t seq) {
  if (c.verb == CommandVerb::upgrade) {
    if (at_work(phase_) || c.upgrade.version.empty()) {
      item.said = at_work(phase_) ? fmt::format("not begun: that of event {} was at work", upgrade_) : "not begun: no version";
      return;
    }
    upgrade_ = seq;
    phase_ = UpgradePhase::canary;
    has_before_ = !c.upgrade.before.empty();
    item.said = name_of(phase_);
    return;
  }
  const bool stop = c.verb == CommandVerb::upgrade_stop;
  const bool back = phase_ == UpgradePhase::rolling_back || phase_ == UpgradePhase::rolled_back;
  if (upgrade_ == 0 || (stop && !at_work(phase_)) || (!stop && (back || !has_before_))) {
    item.said = stop ? "nothing was at work" : "nothing to take back";
    return;
  }
  phase_ = stop ? UpgradePhase::stopping : UpgradePhase::rolling_back;
  item.on = fmt::format("the upgrade of event {}", upgrade_);
  item.said = name_of(phase_);
  if (Item* begun = find(upgrade_)) begun->said = name_of(phase_);
}

void AuditStory::ask(const Event& e, const ApprovalAsked& a) {
  const std::string act = say_action(node_name(a.action.node), a.action);
  for (auto it = approvals_.begin(); it != approvals_.end();) {  // the same question again replaces the one nobody answered
    Asked& old = it->second;
    const bool same = old.incident == a.reason.incident && old.verb == a.action.verb && !old.answer.starts_with("granted");
    if (Item* question = find(old.item); same && question != nullptr && old.answer.empty())
      question->said = fmt::format("nobody answered; asked again as approval {}", a.id);
    it = same ? approvals_.erase(it) : std::next(it);
  }
  Item& item = add(e, "approval", "muster", "approval_asked",
                   fmt::format("approval {}: {} (incident {})", a.id, act, a.reason.incident.v), clip(a.why));
  item.said = "waits for an answer";
  approvals_[a.id] = {e.seq, a.reason.incident, a.action.verb, act, {}};
}

void AuditStory::close(IncidentId incident) {
  for (auto it = approvals_.begin(); it != approvals_.end();) {
    const bool mine = it->second.incident == incident;
    if (Item* question = find(it->second.item); mine && question != nullptr && it->second.answer.empty())
      question->said = fmt::format("nobody answered; incident {} was closed", incident.v);
    it = mine ? approvals_.erase(it) : std::next(it);
  }
  std::erase_if(granted_, [&](const auto& g) { return g.first.first == incident; });
}

void AuditStory::intend(const Order& o) {
  std::uint64_t seq = 0;
  if (const auto wish = wishes_.find(o.reason.wish); !o.reason.wish.empty() && wish != wishes_.end()) {
    seq = wish->second;
  } else if (const auto yes = granted_.find({o.reason.incident, o.action.verb});
             o.reason.incident.some() && yes != granted_.end()) {
    seq = yes->second;
  }
  Item* item = find(seq);
  if (item == nullptr) return;
  item->open.insert(o.key);
  orders_[o.key] = seq;
}

void AuditStory::refuse(const OrderRefused& no) {
  const auto wish = wishes_.find(no.reason.wish);
  Item* item = no.reason.wish.empty() || wish == wishes_.end() ? nullptr : find(wish->second);
  if (item != nullptr) item->refusal = clip(no.limit);
}

void AuditStory::end(const OrderEnded& end) {
  const auto order = orders_.find(end.key);
  if (order == orders_.end()) return;
  if (end.status == Status::pending || end.status == Status::unknown) return;  // still being looked up
  Item* item = find(order->second);
  orders_.erase(order);
  if (item == nullptr) return;
  item->open.erase(end.key);
  ++item->outcomes[end.status];
  item->detail = clip(end.detail);
}

// What nobody asked for by a command: who started the program, and with which policy, is not on record.
void AuditStory::of_controller(const Event& e) {
  if (const auto* run = std::get_if<RunStarted>(&e.body)) {
    simulation_ = clip(run->simulation);
    if (Item* before = find(run_)) before->said = fmt::format("over: run {} began {}", run->epoch, render_utc(e.utc));
    Item& item = add(e, "run", {}, "run_started", "muster " + clip(run->version),
                     fmt::format("run {} of this journal, rules version {}", run->epoch, run->rules));
    item.said = "the newest run";
    run_ = e.seq;
  } else if (const auto* policy = std::get_if<PolicyApplied>(&e.body)) {
    if (Item* before = find(policy_)) before->said = "in force until " + render_utc(e.utc);
    const std::string name = fmt::format("{} ({})", clip(policy->policy.name), clip(policy->hash.substr(0, kHashShown)));
    Item& item = add(e, "policy", {}, "policy_applied", name, "hash " + clip(policy->hash));
    item.said = "in force";
    policy_ = e.seq;
  } else if (const auto* site = std::get_if<SiteDeclared>(&e.body)) {
    nodes_.clear();
    for (const NodeSpec& n : site->site.nodes) nodes_.push_back(n.name);
  } else if (const auto* phase = std::get_if<UpgradePhased>(&e.body); phase != nullptr && phase->id == upgrade_) {
    phase_ = phase->phase;
    if (Item* item = find(upgrade_)) item->said = with(std::string(name_of(phase->phase)), clip(phase->why));
  }
}

void AuditStory::take(const Event& e) {
  if (const auto* c = std::get_if<CommandGiven>(&e.body)) {
    command(e, *c);
  } else if (const auto* a = std::get_if<ApprovalAsked>(&e.body)) {
    ask(e, *a);
  } else if (const auto* closed = std::get_if<IncidentClosed>(&e.body)) {
    close(closed->id);
  } else if (const auto* o = std::get_if<OrderIntended>(&e.body)) {
    intend(o->order);
  } else if (const auto* no = std::get_if<OrderRefused>(&e.body)) {
    refuse(*no);
  } else if (const auto* ended = std::get_if<OrderEnded>(&e.body)) {
    end(*ended);
  } else if (const auto* held = std::get_if<NodeHeld>(&e.body)) {
    if (held->engine) return;  // its own rules did it, nobody
    add(e, "engine", clip(held->by), held->held ? "drain" : "undrain", node_name(held->node), clip(held->why)).said =
        "done at the engine itself";
  } else {
    of_controller(e);
  }
}

std::string AuditStory::came_of(const Item& item) {
  std::map<Status, unsigned> all = item.outcomes;
  // What the engine never got is given again, as another order.
  if (all.size() + item.open.size() > 1) all.erase(Status::not_received);
  unsigned orders = static_cast<unsigned>(item.open.size());
  for (const auto& [status, times] : all) orders += times;
  std::string out;
  if (orders == 1) {
    out = item.open.empty() ? with(std::string(say(all.begin()->first)), item.detail) : "under way";
  } else if (orders > 1) {
    std::vector<std::string> parts;
    for (const auto& [status, times] : all) parts.push_back(fmt::format("{} {}", times, say(status)));
    if (!item.open.empty()) parts.push_back(fmt::format("{} under way", item.open.size()));
    out = fmt::format("{} orders: {}", orders, join(parts, ", "));
  } else if (!item.refusal.empty()) {
    out = "refused: " + item.refusal;
  } else if (item.ordered) {
    out = "not carried out yet";
  }
  return item.said.empty() || out.empty() ? item.said + out : item.said + "; " + out;
}

std::string AuditStory::json(const Chain& chain) const {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Audit");
  write_chain(w, chain);
  w.field("simulation", simulation_).key("items").array();
  for (auto it = items_.rbegin(); it != items_.rend(); ++it) {
    const Item& item = it->second;
    w.object().field("at_utc", render_utc(item.at)).field("kind", item.kind).field("who", item.who).field("verb", item.verb);
    w.field("on", item.on).field("reason", item.reason).field("came_of", came_of(item)).field("seq", it->first).end_object();
  }
  w.end_array().field("older", older_).end_object();
  return w.take();
}

}  // namespace muster::report
