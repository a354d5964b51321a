#include "report/history.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"
#include "base/text.h"

namespace muster::report {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kBlocksMax = 4096;  // so that a place in them fits 32 bits
constexpr std::size_t kNameBytesMax = 120;
constexpr std::size_t kWordsBytesMax = 160;
constexpr std::size_t kListMax = 2000;  // of each list but that of jobs
constexpr std::size_t kBusyBuckets = 480;
constexpr std::int64_t kMergedBucketsMin = 24, kMergedBucketsMax = 240;
constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::uint8_t kEndUnknown = names(JobEnd{}).size();  // another attempt began, and nobody said how this one ended

void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t v = 0;
  for (int shift = 0; !in.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return v;
}

struct Range {
  std::uint32_t first = 0, count = 0;
};

// How many ranges, then each as its distance from the end of the one before, and its length.
std::string pack(std::vector<NodeId> nodes, std::size_t known) {
  std::erase_if(nodes, [&](NodeId n) { return n.v >= known; });
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<Range> ranges;
  for (const NodeId n : nodes) {
    if (!ranges.empty() && ranges.back().first + ranges.back().count == n.v) {
      ++ranges.back().count;
    } else {
      ranges.push_back({n.v, 1});
    }
  }
  std::string out;
  put_varint(out, ranges.size());
  std::uint32_t end = 0;
  for (const Range& r : ranges) {
    put_varint(out, r.first - end);
    put_varint(out, r.count);
    end = r.first + r.count;
  }
  return out;
}

std::size_t ranges_in(std::string_view packed) { return take_varint(packed); }

template <class Visit>
void each_range(std::string_view packed, const Visit& visit) {
  std::uint32_t end = 0;
  for (std::uint64_t left = take_varint(packed); left > 0; --left) {
    Range r;
    r.first = end + static_cast<std::uint32_t>(take_varint(packed));
    r.count = static_cast<std::uint32_t>(take_varint(packed));
    end = r.first + r.count;
    visit(r);
  }
}

// At most so many bytes, and no character cut in two.
std::string clip(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

bool ended_badly(std::uint8_t end) {
  return end == static_cast<std::uint8_t>(JobEnd::app_failed) || end == static_cast<std::uint8_t>(JobEnd::node_failed) ||
         end == static_cast<std::uint8_t>(JobEnd::timed_out);
}

// Equal buckets of time.
struct Buckets {
  std::int64_t from_ms = 0, to_ms = 0;
  std::int64_t every_ms = 1;
  std::size_t count = 0;

  Buckets(std::int64_t from, std::int64_t to, std::int64_t at_most) : from_ms(from), to_ms(to) {
    if (to <= from) return;
    every_ms = std::max<std::int64_t>(1, (to - from + at_most - 1) / at_most);
    count = static_cast<std::size_t>((to - from + every_ms - 1) / every_ms);
  }
  std::int64_t begin(std::size_t k) const { return from_ms + static_cast<std::int64_t>(k) * every_ms; }
  std::int64_t end(std::size_t k) const { return std::min(begin(k) + every_ms, to_ms); }
  // visit(bucket, milliseconds of the stretch in it).
  template <class Visit>
  void spread(std::int64_t from, std::int64_t to, const Visit& visit) const {
    from = std::max(from, from_ms);
    to = std::min(to, to_ms);
    if (count == 0 || to < from) return;
    std::size_t k = std::min(count - 1, static_cast<std::size_t>((from - from_ms) / every_ms));
    do {
      visit(k, std::max<std::int64_t>(0, std::min(to, end(k)) - std::max(from, begin(k))));
    } while (++k < count && begin(k) < to);
  }
};

}  // namespace

// ---- TextPool

std::string_view TextPool::get(std::uint32_t id) const {
  if (id == 0) return {};
  std::string_view rest(blocks_[(id - 1) / kBlockBytes]);
  rest.remove_prefix((id - 1) % kBlockBytes);
  const std::uint64_t length = take_varint(rest);
  return rest.substr(0, length);
}

std::size_t TextPool::place_of(std::string_view text) const {
  std::size_t k = xxh64(text) & (table_.size() - 1);
  while (table_[k] != 0 && get(table_[k]) != text) k = (k + 1) & (table_.size() - 1);
  return k;
}

void TextPool::grow() {
  const std::vector<std::uint32_t> old = std::move(table_);
  table_.assign(std::max<std::size_t>(64, 2 * old.size()), 0);
  for (const std::uint32_t id : old) {
    if (id != 0) table_[place_of(get(id))] = id;
  }
}

std::uint32_t TextPool::put(std::string_view text) {
  if (text.empty()) return 0;
  if (4 * (used_ + 1) > 3 * table_.size()) grow();
  const std::size_t k = place_of(text);
  if (table_[k] != 0) return table_[k];
  std::string entry;
  put_varint(entry, text.size());
  entry += text;
  // What is longer than a block has one to itself.
  if (blocks_.empty() || blocks_.back().size() + entry.size() > kBlockBytes) {
    if (blocks_.size() == kBlocksMax) return 0;
    blocks_.emplace_back().reserve(std::max(kBlockBytes, entry.size()));
  }
  const std::size_t at = (blocks_.size() - 1) * kBlockBytes + blocks_.back().size();
  blocks_.back() += entry;
  ++used_;
  return table_[k] = static_cast<std::uint32_t>(at + 1);
}

std::size_t TextPool::bytes() const {
  std::size_t sum = table_.capacity() * sizeof(table_[0]);
  for (const std::string& b : blocks_) sum += b.capacity();
  return sum;
}

// ---- listening

struct History::Hearing {
  History& h;
  const Event& e;

  // As the fold has it: a time to come is a clock that is wrong.
  Time moment(Time at) const { return at.ns > 0 && at < e.utc ? at : e.utc; }

  void operator()(const SiteDeclared&) {
    for (Stretch& s : h.stretches_) {
      if (s.to_ms == kGoesOn) s.to_ms = std::max(s.from_ms, e.utc.ms());
    }
    h.held_.assign(h.state_.nodes.size(), 0);
    h.away_.assign(h.state_.nodes.size(), 0);
  }
  void operator()(const PolicyApplied& b) {
    const std::uint32_t hash = h.pool_.put(clip(b.hash, kNameBytesMax));
    if (!h.policies_.empty() && h.policies_.back().hash == hash) return;
    h.policies_.push_back({e.utc.ms(), h.pool_.put(clip(b.policy.name, kNameBytesMax)), hash});
  }
  void operator()(const JobStarted& b) {
    const Job* j = find_job(h.state_, b.job);
    if (j == nullptr || j->phase != JobPhase::running || j->attempt != b.attempt) return;
    const std::uint32_t places = h.pool_.put(pack(b.nodes, h.state_.nodes.size()));
    if (const auto was = h.running_.find(b.job); was != h.running_.end()) {
      const Attempt& a = h.attempts_[was->second];
      if (a.attempt == b.attempt && a.places == places) return;  // told again
      h.close_attempt(b.job, moment(b.at), kEndUnknown);
    }
    Attempt a;
    a.from_ms = moment(b.at).ms();
    a.job = b.job;
    a.attempt = b.attempt;
    a.places = places;
    a.name = h.pool_.put(clip(j->spec.name, kNameBytesMax));
    a.who = h.pool_.put(clip(j->spec.account, kNameBytesMax) + "\n" + clip(j->spec.user, kNameBytesMax));
    const std::uint16_t all = all_slots(h.state_.site);
    const bool alike = std::adjacent_find(b.slots.begin(), b.slots.end(), std::not_equal_to<>()) == b.slots.end();
    if (!b.slots.empty() && alike && b.slots.front() != all) a.slots = b.slots.front();
    const std::uint32_t milli = j->spec.gpu_milli > 0 ? j->spec.gpu_milli : 1000;
    for (std::size_t i = 0; i < b.nodes.size(); ++i) {
      a.gpu_milli += milli * static_cast<std::uint32_t>(std::popcount(i < b.slots.size() ? b.slots[i] : all));
    }
    h.running_[b.job] = h.attempts_.size();
    h.attempts_.push_back(a);
  }
  void operator()(const JobEnded& b) {
    const auto it = h.running_.find(b.job);
    if (it == h.running_.end() || h.attempts_[it->second].attempt != b.attempt) return;
    h.close_attempt(b.job, moment(b.at), static_cast<std::uint8_t>(b.end));
  }
  void operator()(const JobRequeued& b) { h.close_attempt(b.job, e.utc, static_cast<std::uint8_t>(JobEnd::requeued)); }
  void operator()(const JobGone& b) { h.close_attempt(b.job, e.utc, static_cast<std::uint8_t>(b.end)); }

  void operator()(const NodeHeld& b) { h.look_at(b.node, e.utc, b.by, {}); }
  void operator()(const NodeChanged& b) { h.look_at(b.node, e.utc, {}, b.detail); }

  void operator()(const IncidentOpened& b) {
    const Incident* i = find_incident(h.state_, b.id);
    if (i == nullptr || !h.open_.try_emplace(b.id, h.incidents_.size()).second) return;
    h.incidents_.push_back({b.id.v, e.utc.ms(), kGoesOn, i->node, 0, i->slot, i->cause});
  }
  void operator()(const IncidentClosed& b) {
    const auto it = h.open_.find(b.id);
    if (it == h.open_.end()) return;
    Trouble& t = h.incidents_[it->second];
    t.to_ms = std::max(t.from_ms, e.utc.ms());
    t.resolution = h.pool_.put(clip(b.resolution, kWordsBytesMax));
    if (const Incident* i = find_incident(h.state_, b.id)) {  // the cause as it was known in the end
      t.cause = i->cause;
      t.slot = i->slot;
    }
    h.open_.erase(it);
  }
  void operator()(const CommandGiven& b) {
    if (h.state_.commands.empty() || h.state_.commands.back().seq != e.seq) return;  // a repeat
    const bool of_node = b.node.v < h.state_.site.nodes.size();
    const std::string about = of_node ? h.state_.site.nodes[b.node.v].name : b.job.some() ? render(b.job) : b.upgrade.version;
    h.commands_.push_back({e.utc.ms(), h.pool_.put(clip(b.actor, kNameBytesMax)), h.pool_.put(clip(about, kNameBytesMax)),
                           h.pool_.put(clip(b.reason, kWordsBytesMax)), b.verb});
    h.look_at_upgrade();
  }
  void operator()(const UpgradePhased&) { h.look_at_upgrade(); }
  void operator()(const PriceAnnounced& b) {
    for (std::size_t k = 0; k < b.price_per_mwh.size(); ++k) {
      const double carbon = k < b.carbon_g_per_kwh.size() ? b.carbon_g_per_kwh[k] : -1;
      h.prices_[b.from.ms() + static_cast<std::int64_t>(k) * kHourMs] = {b.price_per_mwh[k], carbon};
    }
  }
  // An order that was under way has come to its end.
  void ordered(const OrderRecord& r) {
    const Action& a = r.order.action;
    const bool does = (on_node(a.verb) && a.verb != Verb::probe_node) || a.verb == Verb::limit_power;
    if (!does) return;
    h.look_at(a.node, e.utc, r.order.reason.actor, {});
    if (r.status != Status::done && r.status != Status::failed) return;
    Deed d{e.utc.ms(), r.order.reason.incident.v, a.node, 1, a.slot, a.verb, r.status};
    if (!a.node.some() && !a.nodes.empty()) {
      d.node = *std::min_element(a.nodes.begin(), a.nodes.end());
      d.nodes = static_cast<std::uint32_t>(a.nodes.size());
    }
    h.orders_.push_back(d);
  }
  template <class Other>
  void operator()(const Other&) {}
};

void History::take(const Event& e) {
  const auto* end = std::get_if<OrderEnded>(&e.body);
  const bool awaited = end != nullptr && state_.open_orders.count(end->key) != 0;
  fold(state_, e);
  settle(state_);
  if (first_.ns == 0) first_ = e.utc;
  last_ = std::max(last_, e.utc);
  Hearing hearing{*this, e};
  std::visit(hearing, e.body);
  if (awaited && state_.open_orders.count(end->key) == 0) {
    if (const auto it = state_.orders.find(end->key); it != state_.orders.end()) hearing.ordered(it->second);
  }
}

void History::close_attempt(JobId job, Time at, std::uint8_t end) {
  const auto it = running_.find(job);
  if (it == running_.end()) return;
  Attempt& a = attempts_[it->second];
  a.to_ms = std::max(a.from_ms, at.ms());
  a.end = end;
  running_.erase(it);
}

void History::look_at(NodeId n, Time utc, std::string_view by, std::string_view detail) {
  if (n.v >= state_.nodes.size() || n.v >= held_.size()) return;
  const NodeState& s = state_.nodes[n.v];
  constexpr std::array<Out, 4> kOfHold = {Out::none, Out::muster, Out::person, Out::engine};
  constexpr std::array<Out, 4> kOfCondition = {Out::none, Out::down, Out::booting, Out::kept};
  pass_to(held_[n.v], n, kOfHold[static_cast<std::size_t>(s.hold)], utc, by, s.hold_reason);
  pass_to(away_[n.v], n, kOfCondition[static_cast<std::size_t>(s.condition)], utc, {}, detail);
}

// Where the node is out of service in another way than before, a stretch ends and the next begins.
void History::pass_to(std::uint32_t& open, NodeId n, Out kind, Time utc, std::string_view by, std::string_view why) {
  if (open != 0 && stretches_[open - 1].kind == kind) return;
  if (open != 0) stretches_[open - 1].to_ms = std::max(stretches_[open - 1].from_ms, utc.ms());
  open = 0;
  if (kind == Out::none) return;
  stretches_.push_back({utc.ms(), kGoesOn, n, pool_.put(clip(by, kNameBytesMax)), pool_.put(clip(why, kWordsBytesMax)), kind});
  open = static_cast<std::uint32_t>(stretches_.size());
}

void History::look_at_upgrade() {
  const Upgrade& u = state_.upgrade;
  if (u.id == 0) return;
  if (upgrades_.empty() || upgrades_.back().id != u.id) {
    const std::string what = u.spec.what + " " + u.spec.version;
    upgrades_.push_back(
        {u.id, u.began.ms(), kGoesOn, pool_.put(clip(what, kNameBytesMax)), pool_.put(clip(u.by, kNameBytesMax)), u.phase});
  }
  Rolling& r = upgrades_.back();
  r.phase = u.phase;
  r.to_ms = u.ended.ns == 0 ? kGoesOn : std::max(r.from_ms, u.ended.ms());
}

std::size_t History::bytes() const {
  constexpr std::size_t kLink = 32;  // of a map's entry, beside what is in it
  return pool_.bytes() + attempts_.size() * sizeof(Attempt) + incidents_.size() * sizeof(Trouble) +
         stretches_.size() * sizeof(Stretch) + orders_.size() * sizeof(Deed) + commands_.size() * sizeof(Word) +
         running_.size() * (kLink + sizeof(JobId) + sizeof(std::size_t)) + prices_.size() * (kLink + sizeof(Price) + kLink / 4) +
         (held_.capacity() + away_.capacity()) * sizeof(std::uint32_t);
}

// ---- telling

struct History::Telling {
  const History& h;
  std::int64_t from_ms, to_ms;
  // Of these, what the record knows.
  std::int64_t known_from_ms = std::max(from_ms, h.first_.ms());
  std::int64_t known_to_ms = std::min(to_ms, h.last_.ms());
  JsonWriter w{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> labels{};  // (name, who) -> index into job_names
  std::map<std::string, std::size_t, std::less<>> left_out{};

  bool touches(std::int64_t from, std::int64_t to) const { return from <= to_ms && to >= from_ms; }
  bool touches(std::int64_t at) const { return touches(at, at); }

  void time(std::int64_t ms) {
    if (ms == kGoesOn) {
      w.null();
    } else {
      w.value(ms - from_ms);
    }
  }
  void node(NodeId n) {
    if (n.v < h.state_.site.nodes.size()) {
      w.value(n.v);
    } else {
      w.null();
    }
  }
  void slot(std::int16_t s) {
    if (s >= 0) {
      w.value(static_cast<int>(s));
    } else {
      w.null();
    }
  }

  // The members that are wanted, the newest kListMax of them, in their order.
  template <class List, class Wanted, class Write>
  void list(std::string_view name, const List& all, const Wanted& wanted, const Write& write) {
    std::vector<const typename List::value_type*> found;
    for (const auto& x : all) {
      if (wanted(x)) found.push_back(&x);
    }
    const std::size_t skipped = found.size() > kListMax ? found.size() - kListMax : 0;
    if (skipped > 0) left_out[std::string(name)] = skipped;
    w.key(name).array();
    for (std::size_t k = skipped; k < found.size(); ++k) {
      w.array();
      write(*found[k]);
      w.end_array();
    }
    w.end_array();
  }

  void head() {
    w.object().field("apiVersion", "v1").field("kind", "Timeline").field("cluster", h.state_.site.name);
    w.field("from_utc", render_utc(Time{} + milliseconds(from_ms))).field("to_utc", render_utc(Time{} + milliseconds(to_ms)));
    w.field("first_utc", render_utc(h.first_)).field("last_utc", render_utc(h.last_));
    const Site& site = h.state_.site;
    w.field("gpus_per_node", site.gpus_per_node).key("nodes").array();
    std::vector<std::vector<std::uint32_t>> in(site.racks.size() + 1);  // the last: in no rack
    for (std::uint32_t n = 0; n < site.nodes.size(); ++n) {
      w.value(clip(site.nodes[n].name, kNameBytesMax));
      in[std::min<std::size_t>(site.nodes[n].rack, site.racks.size())].push_back(n);
    }
    w.end_array().key("racks").array();
    for (std::size_t r = 0; r < in.size(); ++r) {
      if (in[r].empty()) continue;
      w.object().field("name", r < site.racks.size() ? clip(site.racks[r], kNameBytesMax) : std::string()).key("nodes").array();
      for (const std::uint32_t n : in[r]) w.value(n);
      w.end_array().end_object();
    }
    w.end_array();
  }

  std::size_t bars_of(const Attempt& a) const { return std::max<std::size_t>(1, ranges_in(h.pool_.get(a.places))); }
  std::int64_t length_of(const Attempt& a) const { return std::min(a.to_ms, known_to_ms) - std::max(a.from_ms, known_from_ms); }

  void jobs(std::size_t max_bars) {
    std::vector<const Attempt*> found;
    std::size_t bars = 0;
    for (const Attempt& a : h.attempts_) {
      if (!touches(a.from_ms, a.to_ms)) continue;
      found.push_back(&a);
      bars += bars_of(a);
    }
    w.field("attempts", found.size()).field("merged", bars > max_bars);
    busy(found);
    const std::size_t kept = bars > max_bars ? put_longest_first(found, max_bars / 2) : found.size();
    w.key("ends").array();
    for (const std::string_view end : names(JobEnd{})) w.value(end);
    w.value("unknown").end_array().key("jobs").array();
    for (std::size_t k = 0; k < kept; ++k) job(*found[k]);
    w.end_array().key("job_names").array();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_index(labels.size());
    for (const auto& [label, index] : labels) by_index[index] = label;
    for (const auto& [name, who] : by_index) {
      const std::string_view both = h.pool_.get(who);
      const std::size_t cut = std::min(both.find('\n'), both.size() - 1);
      w.array().value(h.pool_.get(name)).value(both.substr(0, cut)).value(both.substr(cut + 1)).end_array();
    }
    w.end_array().key("many").array();
    merge(found, kept, static_cast<std::int64_t>(max_bars));
    w.end_array();
  }

  void job(const Attempt& a) {
    w.array().value(render(a.job)).value(a.attempt);
    time(a.from_ms);
    time(a.to_ms);
    w.array();
    each_range(h.pool_.get(a.places), [&](Range r) { w.array().value(r.first).value(r.count).end_array(); });
    w.end_array();
    if (a.to_ms == kGoesOn) {
      w.null();
    } else {
      w.value(static_cast<unsigned>(a.end));
    }
    w.value(static_cast<std::uint64_t>(labels.try_emplace({a.name, a.who}, labels.size()).first->second));
    w.value(static_cast<unsigned>(a.slots)).end_array();
  }

  // The longest come first, as many as fit into so many bars, in the order in which they began to be told; returns how many.
  std::size_t put_longest_first(std::vector<const Attempt*>& found, std::size_t bars_max) const {
    struct Entry {
      std::int64_t length;
      std::size_t at;
    };
    std::vector<Entry> by_length;
    by_length.reserve(found.size());
    for (std::size_t k = 0; k < found.size(); ++k) by_length.push_back({length_of(*found[k]), k});
    const auto longer = [](const Entry& a, const Entry& b) { return a.length != b.length ? a.length > b.length : a.at < b.at; };
    const std::size_t top = std::min(bars_max, by_length.size());
    const auto end_of_top = by_length.begin() + static_cast<std::ptrdiff_t>(top);
    std::nth_element(by_length.begin(), end_of_top, by_length.end(), longer);
    std::sort(by_length.begin(), end_of_top, longer);
    std::size_t kept = 0;
    for (std::size_t bars = 0; kept < top; ++kept) {
      bars += bars_of(*found[by_length[kept].at]);
      if (bars > bars_max) break;
    }
    const auto in_order = [](const Entry& a, const Entry& b) { return a.at < b.at; };
    std::sort(by_length.begin(), by_length.begin() + static_cast<std::ptrdiff_t>(kept), in_order);
    std::vector<const Attempt*> sorted;
    sorted.reserve(found.size());
    for (const Entry& x : by_length) sorted.push_back(found[x.at]);
    found = std::move(sorted);
    return kept;
  }

  // What did not fit, on a grid of time and nodes with at most so many cells. On a large cluster a cell holds several nodes.
  void merge(const std::vector<const Attempt*>& found, std::size_t kept, std::int64_t cells_max) {
    struct Cell {
      std::uint32_t attempts = 0, bad = 0;
      double busy_node_ms = 0;
    };
    const auto nodes = static_cast<std::int64_t>(h.state_.site.nodes.size());
    if (kept == found.size() || nodes == 0) return;
    const Buckets buckets(known_from_ms, std::max(known_to_ms, known_from_ms + 1),
                          std::clamp(cells_max / nodes, kMergedBucketsMin, kMergedBucketsMax));
    const auto columns = static_cast<std::int64_t>(buckets.count);
    const std::int64_t per_cell = std::max<std::int64_t>(1, (nodes * columns + cells_max - 1) / cells_max);
    std::vector<Cell> cells(static_cast<std::size_t>((nodes + per_cell - 1) / per_cell * columns));
    for (std::size_t k = kept; k < found.size(); ++k) {
      const Attempt& a = *found[k];
      std::uint32_t on = 0;
      each_range(h.pool_.get(a.places), [&](Range r) { on += r.count; });
      const double share = a.gpu_milli / std::max(1.0, 1000.0 * on * h.state_.site.gpus_per_node);  // of each of its nodes
      each_range(h.pool_.get(a.places), [&](Range r) {
        for (std::int64_t n = r.first; n < std::min<std::int64_t>(nodes, r.first + r.count);) {
          const std::int64_t group = n / per_cell;
          const std::int64_t next = std::min<std::int64_t>({(group + 1) * per_cell, r.first + r.count, nodes});
          buckets.spread(a.from_ms, a.to_ms, [&](std::size_t b, std::int64_t ms) {
            Cell& c = cells[static_cast<std::size_t>(group * columns) + b];
            ++c.attempts;
            c.busy_node_ms += share * static_cast<double>(ms * (next - n));
            if (ended_badly(a.end) && a.to_ms <= buckets.begin(b) + buckets.every_ms) ++c.bad;
          });
          n = next;
        }
      });
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const Cell& c = cells[k];
      if (c.attempts == 0) continue;
      const auto first = static_cast<std::int64_t>(k) / columns * per_cell;
      const std::int64_t count = std::min(per_cell, nodes - first);
      const std::size_t b = k % buckets.count;
      const double whole = static_cast<double>((buckets.end(b) - buckets.begin(b)) * count);
      w.array().value(first).value(count);
      time(buckets.begin(b));
      time(buckets.end(b));
      w.value(c.attempts).value(c.bad).value(std::round(1000 * std::min(1.0, c.busy_node_ms / whole)) / 1000).end_array();
    }
  }

  void busy(const std::vector<const Attempt*>& found) {
    const Buckets buckets(known_from_ms, known_to_ms, kBusyBuckets);
    // A long attempt fills buckets from edge to edge: those are summed at the end, by where it begins and ends to.
    std::vector<double> part(buckets.count, 0), whole(buckets.count + 1, 0);
    for (const Attempt* a : found) {
      const std::int64_t from = std::max(a->from_ms, buckets.from_ms), to = std::min(a->to_ms, buckets.to_ms);
      if (buckets.count == 0 || to <= from) continue;
      const auto first = static_cast<std::size_t>((from - buckets.from_ms) / buckets.every_ms);
      const auto last = static_cast<std::size_t>((to - 1 - buckets.from_ms) / buckets.every_ms);
      const double gpus = a->gpu_milli / 1000.0;
      part[first] += gpus * static_cast<double>(std::min(to, buckets.end(first)) - from);
      if (last == first) continue;
      part[last] += gpus * static_cast<double>(to - buckets.begin(last));
      whole[first + 1] += gpus;
      whole[last] -= gpus;
    }
    w.key("busy").object().key("from");
    time(buckets.from_ms);
    w.field("every_ms", buckets.every_ms).key("gpus").array();
    double through = 0;
    for (std::size_t b = 0; b < buckets.count; ++b) {
      through += whole[b];
      const double mean = through + part[b] / static_cast<double>(buckets.end(b) - buckets.begin(b));
      w.value(std::abs(std::round(100 * mean) / 100));
    }
    w.end_array().end_object();
  }

  void trouble() {
    list(
        "incidents", h.incidents_, [&](const Trouble& t) { return touches(t.from_ms, t.to_ms); },
        [&](const Trouble& t) {
          const Incident* open = t.to_ms == kGoesOn ? find_incident(h.state_, IncidentId{t.id}) : nullptr;  // may know better
          w.value(t.id);
          node(t.node);
          slot(open != nullptr ? open->slot : t.slot);
          w.value(name_of(open != nullptr ? open->cause : t.cause));
          time(t.from_ms);
          time(t.to_ms);
          w.value(h.pool_.get(t.resolution));
        });
    constexpr std::array<std::string_view, 7> kWho = {"none", "muster", "person", "engine", "kept", "down", "booting"};
    const auto write = [&](const Stretch& s, bool with_by) {
      node(s.node);
      time(s.from_ms);
      time(s.to_ms);
      w.value(kWho[static_cast<std::size_t>(s.kind)]);
      if (with_by) w.value(h.pool_.get(s.by));
      w.value(h.pool_.get(s.why));
    };
    const auto off = [](const Stretch& s) { return s.kind == Out::down || s.kind == Out::booting; };
    list(
        "holds", h.stretches_, [&](const Stretch& s) { return !off(s) && touches(s.from_ms, s.to_ms); },
        [&](const Stretch& s) { write(s, true); });
    list(
        "down", h.stretches_, [&](const Stretch& s) { return off(s) && touches(s.from_ms, s.to_ms); },
        [&](const Stretch& s) { write(s, false); });
  }

  void deeds() {
    list(
        "upgrades", h.upgrades_, [&](const Rolling& r) { return touches(r.from_ms, r.to_ms); },
        [&](const Rolling& r) {
          w.value(r.id);
          time(r.from_ms);
          time(r.to_ms);
          w.value(h.pool_.get(r.what)).value(name_of(r.phase)).value(h.pool_.get(r.by));
        });
    list(
        "orders", h.orders_, [&](const Deed& d) { return touches(d.at_ms); },
        [&](const Deed& d) {
          w.value(name_of(d.verb));
          time(d.at_ms);
          node(d.node);
          w.value(d.nodes);
          slot(d.slot);
          w.value(name_of(d.status)).value(d.incident);
        });
    list(
        "commands", h.commands_, [&](const Word& c) { return touches(c.at_ms); },
        [&](const Word& c) {
          w.value(name_of(c.verb));
          time(c.at_ms);
          w.value(h.pool_.get(c.actor)).value(h.pool_.get(c.about)).value(h.pool_.get(c.why));
        });
    list(
        "policies", h.policies_, [&](const Rules& r) { return touches(r.at_ms); },
        [&](const Rules& r) {
          time(r.at_ms);
          w.value(h.pool_.get(r.name)).value(h.pool_.get(r.hash));
        });
  }

  void prices() {
    const auto begin = h.prices_.upper_bound(from_ms - kHourMs), end = h.prices_.upper_bound(to_ms);
    const auto hours_known = static_cast<std::size_t>(std::distance(begin, end));
    const std::size_t per_row = std::max<std::size_t>(1, (hours_known + kListMax - 1) / kListMax);
    w.field("price_hours", per_row).key("prices").array();
    for (auto it = begin; it != end;) {
      const std::int64_t at = it->first;
      double price = 0, carbon = 0;
      std::size_t n = 0, told = 0;
      for (; n < per_row && it != end; ++n, ++it) {
        price += it->second.per_mwh;
        if (it->second.carbon_g_per_kwh < 0) continue;
        carbon += it->second.carbon_g_per_kwh;
        ++told;
      }
      w.array();
      time(at);
      w.value(price / static_cast<double>(n));
      if (told == 0) {
        w.null();
      } else {
        w.value(carbon / static_cast<double>(told));
      }
      w.end_array();
    }
    w.end_array();
  }
};

Result<std::string> History::window_json(Time from, Time to, std::size_t max_bars) const {
  if (first_.ns == 0) return fail(Code::not_found, "the record is empty", "ask again when the cluster has begun to work");
  if (from >= to) {
    return fail(Code::bad_input, fmt::format("the stretch from {} to {} has no length", render_utc(from), render_utc(to)),
                fmt::format("the record goes from {} to {}", render_utc(first_), render_utc(last_)));
  }
  if (max_bars < 2 || max_bars > kBarsMax) {
    return fail(Code::bad_input, fmt::format("max_bars must be 2 to {}, is {}", kBarsMax, max_bars),
                fmt::format("leave it out: {} are usual", kBarsUsual));
  }
  Telling t{*this, from.ms(), to.ms()};
  t.head();
  t.jobs(max_bars);
  t.trouble();
  t.deeds();
  t.prices();
  t.w.key("left_out").object();
  for (const auto& [name, count] : t.left_out) t.w.field(name, static_cast<std::uint64_t>(count));
  t.w.end_object().end_object();
  return t.w.take();
}

}  // namespace muster::report
