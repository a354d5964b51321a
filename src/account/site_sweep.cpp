#include "account/site_sweep.h"

#include <algorithm>
#include <tuple>

namespace muster::account {

NodeSweep::NodeSweep(const SiteRuns& runs, const Claims& claims, SiteAccount& out, IdleTime& idle)
    : runs_(runs),
      claims_(claims),
      out_(out),
      idle_(idle),
      noted_(runs.runs().size()),
      days_(kSiteClasses, DayCursor(out.days)) {}

void NodeSweep::edges_of(const ClaimedNode& node, const Told& told) {
  edges_.clear();
  for (std::uint32_t c = node.first; c < node.last; ++c) {
    edges_.push_back({claims_.all[c].from_ms, c, What::begin});
    edges_.push_back({claims_.all[c].to_ms, c, What::end});
  }
  const std::int64_t from = out_.from.ms(), to = out_.to.ms();
  const auto put = [&](Time a, Time b, std::uint32_t which, What begin, What end) {
    const std::int64_t first = std::max(a.ms(), from), last = b.ns == 0 ? to : std::min(b.ms(), to);
    if (first >= last) return;
    edges_.push_back({first, which, begin});
    edges_.push_back({last, which, end});
  };
  for (const NodeOutage* o : told.outages)
    put(o->from, o->to, 0, o->down ? What::down : What::drained, o->down ? What::up : What::undrained);
  if (told.activity != nullptr) {
    const auto& slices = told.activity->slices;
    for (std::uint32_t i = 0; i < slices.size(); ++i) put(slices[i].from, slices[i].to, i, What::measured, What::unmeasured);
  }
  // Ends come before beginnings at the same moment.
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    const bool x = static_cast<int>(a.what) % 2 != 0, y = static_cast<int>(b.what) % 2 != 0;
    return std::tie(a.ms, x, a.which) < std::tie(b.ms, y, b.which);
  });
}

std::int64_t NodeSweep::most(const ClaimedNode& node) {
  edges_of(node, {});
  std::int64_t now = 0, most = 0;
  for (const Edge& e : edges_) {
    const std::int64_t milli = std::max<std::int64_t>(0, claims_.all[e.which].milli);
    now += e.what == What::begin ? milli : -milli;
    most = std::max(most, now);
  }
  return most;
}

void NodeSweep::enter(std::uint32_t claim) {
  const Claim& c = claims_.all[claim];
  if (c.milli < 0) {
    ++unsaid_;
    return;
  }
  // Runs with a known end come first, the earlier before the later; of those that no end is known of, the later comes first:
  // the earlier may be one whose end the database never heard of.
  const auto comes_before = [&](std::uint32_t other) {
    const Claim& o = claims_.all[other];
    if (o.open != c.open) return o.open;
    const std::int64_t mine = runs_.runs()[c.run].started_ms, its = runs_.runs()[o.run].started_ms;
    if (mine != its) return c.open ? mine > its : mine < its;
    return c.run < o.run;
  };
  active_.insert(std::find_if(active_.begin(), active_.end(), comes_before), claim);
}

void NodeSweep::turn(const Edge& e, const Told& told) {
  switch (e.what) {
    case What::begin: enter(e.which); break;
    case What::end:
      if (claims_.all[e.which].milli < 0) {
        --unsaid_;
      } else {
        active_.erase(std::find(active_.begin(), active_.end(), e.which));
      }
      break;
    case What::down: ++down_; break;
    case What::up: --down_; break;
    case What::drained: ++drained_; break;
    case What::undrained: --drained_; break;
    case What::measured: slice_ = &told.activity->slices[e.which]; break;
    case What::unmeasured: slice_ = nullptr; break;
  }
}

void NodeSweep::add(SiteClass c, std::int64_t milli, std::int64_t from_ms, std::int64_t to_ms) {
  if (milli == 0) return;
  out_.sum[c] += milli * (to_ms - from_ms);
  out_.types[type_].sum[c] += milli * (to_ms - from_ms);
  days_[static_cast<std::size_t>(c)].add(c, milli, from_ms, to_ms);
}

void NodeSweep::set_idle(std::int64_t ms, std::int64_t milli) {
  idle_.idle(ms, type_, milli - idle_now_);
  idle_now_ = milli;
}

// Each run is counted once, whatever it has of it.
void NodeSweep::note_once(SiteFault f, std::uint32_t run, std::int64_t milli_ms) {
  const auto bit = static_cast<std::uint8_t>(f == SiteFault::over_capacity ? 1 : f == SiteFault::claimed_while_down ? 2 : 4);
  FaultSum& x = out_.faults[static_cast<std::size_t>(f)];
  if ((noted_[run] & bit) != 0) {
    if (__builtin_add_overflow(x.milli_ms, milli_ms, &x.milli_ms)) x.milli_ms = INT64_MAX;
    return;
  }
  noted_[run] |= bit;
  const bool first = x.some.size() < kFaultsNamed;
  note_run(out_, f, runs_, runs_.runs()[run], milli_ms);
  if (first) x.some.back() += " on " + node_->name;
}

// What each run gets of the node's GPUs, into `had_`; returns how many that are.
std::int64_t NodeSweep::hand_out(std::int64_t length) {
  had_.clear();
  std::int64_t used = 0;
  for (const std::uint32_t c : active_) {
    const Claim& claim = claims_.all[c];
    const std::int64_t gets = down_ > 0 ? 0 : std::min(claim.milli, capacity_ - used);
    used += gets;
    if (gets > 0) had_.push_back({gets, claim.run});
    if (gets < claim.milli)
      note_once(down_ > 0 ? SiteFault::claimed_while_down : SiteFault::over_capacity, claim.run,
                amount(claim.milli - gets, length));
  }
  return used;
}

// Parts the time of runs by what was measured. A node's idle GPUs are taken to be those that no job has, as far as they go: what
// is called held is the least that it can have been.
void NodeSweep::measure(std::int64_t used, std::int64_t from_ms, std::int64_t to_ms) {
  const std::int64_t length = to_ms - from_ms;
  const std::int64_t measured = slice_ == nullptr ? 0 : std::min(slice_->measured_milli, capacity_);
  const std::int64_t missing = capacity_ - measured;
  const std::int64_t active = slice_ == nullptr ? 0 : std::max<std::int64_t>(0, measured - slice_->idle_milli);
  const std::int64_t held = std::clamp<std::int64_t>(used - active - missing, 0, used);
  const std::int64_t unseen = std::min(missing, used - held);
  if (active > used) {
    FaultSum& x = out_.faults[static_cast<std::size_t>(SiteFault::busy_unallocated)];
    if (x.some.empty() || x.some.back() != node_->name) {
      ++x.count;
      if (x.some.size() < kFaultsNamed) x.some.push_back(node_->name);
    }
    x.milli_ms += (active - used) * length;
  }
  if (used == 0) return;
  add(SiteClass::held_idle, held, from_ms, to_ms);
  add(SiteClass::unseen, unseen, from_ms, to_ms);
  add(SiteClass::useful, used - held - unseen, from_ms, to_ms);
  if (held > 0 && had_.size() > 1) {
    for (const Had& h : had_) note_once(SiteFault::shared_measured, h.run, 0);
  }
  // By the GPUs they had, to the last thousandth: what was given is the difference of two rounded sums.
  std::int64_t sum = 0, held_before = 0, rest = 0, unseen_before = 0;
  for (const Had& h : had_) {
    sum += h.milli;
    const std::int64_t held_until = held * sum / used;
    const std::int64_t mine = held_until - held_before;
    held_before = held_until;
    rest += h.milli - mine;
    const std::int64_t unseen_until = used > held ? unseen * rest / (used - held) : 0;
    const std::int64_t not_seen = unseen_until - unseen_before;
    unseen_before = unseen_until;
    RunSum& r = out_.run_sums[h.run];
    r.held_idle += mine * length;
    r.unseen += not_seen * length;
    r.useful += (h.milli - mine - not_seen) * length;
  }
}

void NodeSweep::spend(std::int64_t from_ms, std::int64_t to_ms) {
  const std::int64_t used = active_.empty() ? 0 : hand_out(to_ms - from_ms);
  std::int64_t idle = 0;
  if (down_ > 0) {
    add(SiteClass::down, capacity_, from_ms, to_ms);
  } else {
    if (used > 0 || slice_ != nullptr) measure(used, from_ms, to_ms);
    idle = capacity_ - used;
    if (drained_ > 0) {
      add(SiteClass::drained, idle, from_ms, to_ms);
      idle = 0;
    }
    if (unsaid_ > 0) out_.unsaid_idle += idle * (to_ms - from_ms);
  }
  set_idle(from_ms, idle);
}

void NodeSweep::sweep(const ClaimedNode& node, std::int64_t capacity, std::uint32_t type, const Told& told) {
  node_ = &node;
  capacity_ = capacity;
  type_ = type;
  slice_ = nullptr;
  idle_now_ = 0;
  down_ = drained_ = unsaid_ = 0;
  active_.clear();
  for (DayCursor& d : days_) d.rewind();
  edges_of(node, told);
  std::int64_t since = out_.from.ms();
  for (const Edge& e : edges_) {
    if (e.ms > since) {
      spend(since, e.ms);
      since = e.ms;
    }
    turn(e, told);
  }
  if (out_.to.ms() > since) spend(since, out_.to.ms());
}

}  // namespace muster::account
