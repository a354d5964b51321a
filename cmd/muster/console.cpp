#include "console.h"

#include "account/accountant.h"
#include "model/codec.h"

namespace muster::cmd {
namespace {
constexpr std::size_t kRing = 20'000;  // events a page may have missed and still catch up on
constexpr auto kPublishEvery = std::chrono::milliseconds(200);

Time wall_utc() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}
}  // namespace

std::shared_ptr<const Snapshot> Console::latest() const {
  const std::lock_guard hold(lock_);
  return snapshot_;
}

std::uint64_t Console::oldest() const {
  const std::lock_guard hold(lock_);
  return ring_.empty() ? 0 : ring_.front().seq;
}

void Console::read(std::uint64_t from_seq, std::size_t max,
                   const std::function<void(std::uint64_t, std::string_view, std::string_view)>& visit) const {
  std::vector<Held> found;
  {
    const std::lock_guard hold(lock_);
    auto it = std::lower_bound(ring_.begin(), ring_.end(), from_seq, [](const Held& h, std::uint64_t s) { return h.seq < s; });
    for (; it != ring_.end() && found.size() < max; ++it) found.push_back(*it);
  }
  for (const Held& h : found) visit(h.seq, h.type, h.bytes);
}

void Console::on_change(std::function<void()> hook) {
  const std::lock_guard hold(lock_);
  hook_ = std::move(hook);
}

void Console::on_event(const Event& e) {
  Held h{e.seq, type_of(e), encode_event(e)};
  const std::lock_guard hold(lock_);
  ring_.push_back(std::move(h));
  if (ring_.size() > kRing) ring_.pop_front();
}

void Console::on_samples(const Inbox& inbox, const Site& site) {
  readings_.resize(site.gpus());
  for (const StepReport& r : inbox.steps) steps_[r.job] = r;
  for (const Sample& m : inbox.samples) {
    if (m.slot < 0 || m.field == Field::up) continue;
    const std::size_t g = m.node.v * site.gpus_per_node + static_cast<std::size_t>(m.slot);
    if (g >= readings_.size()) continue;
    const auto v = static_cast<float>(m.value);
    if (m.field == Field::gpu_temp_c) readings_[g].temp_c = v;
    if (m.field == Field::power_w) readings_[g].power_w = v;
    if (m.field == Field::gpu_util_pct) readings_[g].util_pct = v;
    if (m.field == Field::sm_clock_mhz) readings_[g].sm_clock_mhz = v;
    if (m.field == Field::tensor_active) readings_[g].tensor_active = v;
    if (m.field == Field::collective_us) readings_[g].collective_us = v;
  }
}

void Console::publish(const control::Loop& loop, const Journal& journal, Now now, std::string trouble, bool now_please) {
  const auto wall = std::chrono::steady_clock::now();
  if (!now_please && wall - published_ < kPublishEvery) return;
  auto s = std::make_shared<Snapshot>();
  s->state = loop.state();
  s->state.now = now;  // shown as of now, though nothing may have happened since the last event
  s->gpu_hours = account::balance(loop.accounts(), loop.state(), std::max(s->state.mono(), loop.state().mono()));
  s->readings = readings_;
  std::erase_if(steps_, [&](const auto& k) { return find_job(s->state, k.first) == nullptr; });
  for (const auto& [id, r] : steps_) {
    Job& j = s->state.jobs.at(id);
    if (j.phase == JobPhase::running && j.attempt == r.attempt) j.progress.steps = std::max(j.progress.steps, r.step);
  }
  s->digest = render_hex(journal.head());
  s->simulation = simulation_;
  s->trouble = std::move(trouble);
  s->wall = wall_utc();
  published_ = wall;
  std::function<void()> hook;
  {
    const std::lock_guard hold(lock_);
    snapshot_ = std::move(s);
    hook = hook_;
  }
  if (hook) hook();
}

}  // namespace muster::cmd
