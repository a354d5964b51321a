#include "twin/twin.h"

#include <fmt/core.h>

#include <bit>
#include <tuple>

#include "twin/cluster.h"

namespace muster::twin {

struct Twin::World : Cluster {
  using Cluster::Cluster;
};

Twin::Twin(Config config) : world_(std::make_unique<World>(std::move(config))) {
  world_->backlog();
  world_->begin();
}

Twin::Twin(Config config, const State& state) : world_(std::make_unique<World>(std::move(config))) { world_->fork(state); }

Twin::~Twin() = default;

Now Twin::now() const {
  const World& w = *world_;
  return {w.utc() + w.clock_error, w.now, w.now};
}

void Twin::poll(Inbox& out) {
  World& w = *world_;
  const auto move_into = [](auto& from, auto& to) {
    if (to.empty()) {
      to.swap(from);
    } else {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    }
    from.clear();
  };
  move_into(w.inbox.samples, out.samples);
  move_into(w.inbox.kernel, out.kernel);
  move_into(w.inbox.steps, out.steps);
  move_into(w.inbox.events, out.events);
  w.wake = false;
}

void Twin::wait(Time until) {
  World& w = *world_;
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto whole_second_after = [](Time t) { return Time{(t.ns / kSecond + 1) * kSecond}; };
  while (w.now < until) {
    if (w.wake) return w.run_to(std::min(until, whole_second_after(w.now)));
    if (w.queue.next() > until) {
      w.now = until;
      return;
    }
    w.step();
  }
}

bool Twin::advance_to(Time steady) {
  world_->run_to(steady);
  return world_->wake;
}

Result<void> Twin::submit(const Order& order) { return world_->accept(order); }

Result<void> Twin::inquire(const std::string& key) { return world_->inquire(key); }

Result<std::uint64_t> Twin::inject(const Stroke& stroke) {
  World& w = *world_;
  const auto [kind, n, slot] = std::tie(stroke.kind, stroke.node, stroke.slot);
  if (needs_node(kind) && (!n.some() || n.v >= w.nodes.size())) return fail(Code::not_found, "no such node");
  if (kind == FaultKind::cooling_fault && w.rows.empty()) {
    return fail(Code::conflict, "a cooling_fault strikes a row of racks, and no rows are known here (--gpus and presets: none)",
                "begin with a cluster file that says racks_per_row: --cluster FILE (docs/formats/cluster.md)");
  }
  if (of_site(kind)) {
    const std::uint64_t id = w.begin_disaster(stroke);
    if (id == 0) return fail(Code::conflict, fmt::format("{} is there already", name_of(kind)));
    return id;
  }
  if (slot < -1 || slot >= static_cast<int>(w.per_node)) {
    return fail(Code::bad_input, fmt::format("slot must be 0 to {}, is {}", w.per_node - 1, slot));
  }
  if (w.node(n).life != Life::up) return fail(Code::conflict, fmt::format("{} is not running", w.name(n)));
  if (kind == FaultKind::app_bug) {
    for (const Tenant& t : w.node(n).tenants) {
      if (w.gangs[t.gang].phase == Phase::launching || (slot >= 0 && (t.slots >> slot & 1) == 0)) continue;
      return w.begin_bug(t.gang, n, slot >= 0 ? slot : std::countr_zero(t.slots), true);
    }
    return fail(Code::conflict, fmt::format("no job runs on {}", w.name(n)));
  }
  if (slot >= 0) {
    for (const std::uint32_t f : w.node(n).faults) {
      if (w.faults[f].slot == slot) return fail(Code::conflict, fmt::format("GPU {} of {} is faulty already", slot, w.name(n)));
    }
  }
  const std::uint64_t id = w.begin_fault(kind, n, slot, true);
  if (id == 0) return fail(Code::conflict, fmt::format("every GPU of {} is faulty already", w.name(n)));
  return id;
}

void Twin::calm() {
  world_->calmed = true;
  for (std::uint32_t f = 0; f < world_->faults.size(); ++f) {
    if (!world_->faults[f].shown) world_->end_fault(f, Fate::self_cleared);
  }
}

const std::vector<FaultTruth>& Twin::faults() const { return world_->faults; }

const Counters& Twin::counters() const { return world_->count; }

TruthSums Twin::truth() const { return world_->truth ? world_->truth->sums(world_->now) : TruthSums{}; }

double Twin::allocated_share() const {
  const World& w = *world_;
  const std::int64_t elapsed_ms = (w.now - w.started).ns / 1'000'000;
  if (elapsed_ms <= 0) return 0;
  const std::int64_t busy = w.allocated_milli_ms + w.allocated_milli * ((w.now - w.allocated_since).ns / 1'000'000);
  return static_cast<double>(busy) / (static_cast<double>(elapsed_ms) * 1000.0 * static_cast<double>(w.gpus.size()));
}

}  // namespace muster::twin
