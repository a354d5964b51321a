#include "detect/detectors.h"

#include <algorithm>
#include <cmath>

#include "detect/acceptance.h"
#include "detect/agents.h"
#include "detect/engine_drains.h"

namespace muster::detect {
namespace {
constexpr Duration kPassingKept = minutes(30);
constexpr std::uint32_t kStranger = UINT32_MAX;  // the number of no job
constexpr std::size_t kStrangersMax = 65536;

// A program's error and a link's flap are over when they happen; they are shown for a while.
bool momentary(FindingKind k) { return k == FindingKind::app_error || k == FindingKind::link_flap; }

// What nothing ever clears: over when there has been no sign of it for a while.
bool passing(FindingKind k) {
  switch (k) {
    case FindingKind::app_error:
    case FindingKind::link_flap:
    case FindingKind::gpu_suspect:
    case FindingKind::ecc_correctable:
    case FindingKind::power_brake:
    case FindingKind::clock_drop:
    case FindingKind::ib_degraded:
    case FindingKind::nccl_hang:
    case FindingKind::sdc_suspected:
    case FindingKind::xid_other:
    case FindingKind::failure_predicted: return true;
    default: return false;
  }
}

std::uint32_t bit(Witness w) { return 1U << static_cast<unsigned>(w); }
}  // namespace

Detectors::Detectors(const State& s)
    : gauges_(s.site),
      visible_(s.site),
      ecc_(s.site),
      pcie_(s.site),
      nvlink_(s.site),
      infiniband_(s.site),
      thermal_(s.site),
      clocks_(s.site),
      trend_(s.site),
      driver_(s.site),
      host_(s.site),
      drift_(s.site),
      xids_(s.site),
      heat_(s.site),
      silence_(s.site),
      slow_(s.site),
      outbreaks_(s.site) {
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns != 0) continue;
    Open o{id, 0, static_cast<std::uint32_t>(f.evidence.size()), s.mono()};
    for (const Evidence& e : f.evidence) o.witnesses |= bit(e.witness);
    heat_.take_over(f);
    outbreaks_.take_over(f);
    const bool of_nodes = f.kind == FindingKind::common_cause && (explains(f) || f.subject == kSiteSubject);
    const bool of_many = of_nodes || (f.kind == FindingKind::storage_stall && !f.subject.empty());
    if (of_many) continue;  // they end with their members
    open_[{f.kind, f.node, f.slot, f.job, f.subject}] = o;
    if (f.node.some() && f.node.v >= s.nodes.size()) continue;
    silence_.take_over(f);
    visible_.take_over(f);
    links_.take_over(f);
    jobs_.take_over(f);
    leaf_hangs_.take_over(f, s.mono());
    fabric_.take_over(f);
    fabric_silence_.take_over(f);
    if (passing(f.kind)) passing_.emplace_back(s.mono(), Key{f.kind, f.node, f.slot, f.job, f.subject});
  }
}

void Detectors::merge(const Sign& sign, const State& s, Time utc, Time mono, std::uint64_t& next_id, std::vector<Body>& out) {
  const Key key{sign.kind, sign.node, sign.slot, sign.job, sign.subject};
  const auto it = open_.find(key);
  const Finding* known = it == open_.end() ? nullptr : find_finding(s, it->second.id);
  // `known` may be absent because it was opened in this very turn and is not folded yet: its id is then the state's next or
  // later.
  const bool fresh = it != open_.end() && it->second.id.v >= s.next_finding;
  if (it == open_.end() || (!fresh && (known == nullptr || known->cleared.ns != 0))) {
    Finding f;
    f.id = FindingId{next_id++};
    f.kind = sign.kind;
    f.severity = sign.severity;
    f.node = sign.node;
    f.slot = sign.slot;
    f.job = sign.job;
    f.code = sign.code;
    f.opened = utc;
    f.evidence = {sign.evidence};
    f.since = sign.since;
    f.subject = sign.subject;
    f.loss_pct = sign.loss_pct;
    open_[key] = {f.id, bit(sign.evidence.witness), 1, mono};
    if (passing(sign.kind)) passing_.emplace_back(mono, key);
    out.push_back(FindingOpened{std::move(f)});
    return;
  }
  // Repeats are worth an event when a new witness speaks, and when their number doubles: a flood of signs is not a flood of
  // events.
  Open& o = it->second;
  ++o.signs;
  if (!momentary(sign.kind)) o.last = mono;
  const bool new_witness = (o.witnesses & bit(sign.evidence.witness)) == 0;
  const bool doubled = (o.signs & (o.signs - 1)) == 0;
  if (!new_witness && !doubled && !sign.tell) return;
  o.witnesses |= bit(sign.evidence.witness);
  out.push_back(FindingGrew{o.id, sign.severity, sign.evidence, {}});
}

void Detectors::on_sample(const Sample& m, const State& s, Time mono) {
  silence_.on_sample(m, s, mono, signs_);
  if (std::isnan(m.value)) return;
  switch (m.field) {
    case Field::up:
    case Field::boot_time_s:
    case Field::memory_temp_c: return;
    case Field::gpus_visible: return visible_.on_sample(m, s, signs_);
    case Field::gpu_util_pct:
    case Field::power_w: return gauges_.on_sample(m);
    case Field::gpu_temp_c:
      gauges_.on_sample(m);
      heat_.on_sample(m, mono);
      return thermal_.on_sample(m, gauges_, s, mono, signs_);
    case Field::inlet_temp_c: return heat_.on_sample(m, mono);
    case Field::thermal_violation_us: return thermal_.on_sample(m, gauges_, s, mono, signs_);
    case Field::clock_reasons:
      gauges_.on_sample(m);
      thermal_.on_sample(m, gauges_, s, mono, signs_);
      return clocks_.on_sample(m, gauges_, s.policy.temp_throttle_c, signs_);
    case Field::sm_clock_mhz: gauges_.on_sample(m); return clocks_.on_sample(m, gauges_, s.policy.temp_throttle_c, signs_);
    case Field::collective_us:
    case Field::tensor_active: return slow_.on_sample(m);
    case Field::ecc_sbe_total: trend_.on_sample(m, mono, signs_); return ecc_.on_sample(m, mono, signs_);
    case Field::ecc_dbe_total:
    case Field::remapped_rows:
    case Field::remap_pending:
    case Field::remap_failed:
    case Field::sram_exceeded: return ecc_.on_sample(m, mono, signs_);
    case Field::nvlink_errors_total: trend_.on_sample(m, mono, signs_); return nvlink_.on_sample(m, mono, signs_);
    case Field::nvlink_failures_total: return nvlink_.on_failures(m, s, mono, signs_);
    case Field::xid_last:
    case Field::xid_count: return xids_.on_sample(m, mono, signs_);
    case Field::pcie_replay_total:
    case Field::pcie_corrected_total:
    case Field::pcie_width:
    case Field::pcie_gen: return pcie_.on_sample(m, gauges_, mono, signs_);
    case Field::recovery_action:
    case Field::driver_answers: return driver_.on_sample(m, s, signs_);
    case Field::host_uncorrected_total: return host_.on_sample(m, mono, signs_);
    case Field::driver_version:
    case Field::nic_firmware: return drift_.on_sample(m, mono);
    case Field::ib_up: return links_.on_sample(m, mono, signs_);
    case Field::ib_symbol_errors_total: trend_.on_sample(m, mono, signs_); return infiniband_.on_sample(m, s, mono, signs_);
    case Field::ib_link_downed_total: links_.on_sample(m, mono, signs_); return infiniband_.on_sample(m, s, mono, signs_);
    case Field::ib_recoveries_total:
    case Field::ib_receive_errors_total:
    case Field::ib_integrity_errors_total:
    case Field::ib_overrun_errors_total:
    case Field::ib_discards_total:
    case Field::ib_ack_timeouts_total:
    case Field::ib_rnr_retries_total:
    case Field::ib_slow_restarts_total:
    case Field::ib_rate_bytes: return infiniband_.on_sample(m, s, mono, signs_);
  }
}

// Where no engine tells of jobs, a job is known by the name of its log: here it has a number, which never leaves this room.
void Detectors::on_log(const JobLogRecord& r, const State& s, Time mono) {
  const auto slots = static_cast<int>(s.site.gpus_per_node);
  if (r.slot >= slots || r.gpu >= slots) return;
  if (find_job(s, r.job) != nullptr) {
    collectives_.on_record(r, s, mono, signs_);
    leaf_hangs_.on_record(r, s, mono);
    return sdc_.on_record(r, s, mono);
  }
  // Where an engine says which jobs there are, a log of none of them may have been made up.
  if (r.label.empty() || !s.jobs.empty()) return;
  if (strangers_.count(r.label) == 0) {
    if (strangers_.size() >= kStrangersMax) forget_strangers(mono);
    if (strangers_.size() >= kStrangersMax) return;  // so many at once is no job's trouble
    strangers_[r.label].job = JobId{kStranger, ++next_stranger_};
    labels_[next_stranger_] = r.label;
  }
  Stranger& who = strangers_.at(r.label);
  who.heard = mono;
  JobLogRecord named = r;
  named.job = who.job;
  collectives_.on_record(named, s, mono, signs_);
  sdc_.on_record(named, s, mono);
}

void Detectors::forget_strangers(Time mono) {
  std::erase_if(strangers_, [&](const auto& x) { return mono - x.second.heard > kPassingKept; });
  std::erase_if(labels_, [&](const auto& x) { return strangers_.count(x.second) == 0; });
}

void Detectors::name_strangers() {
  for (Sign& x : signs_.seen) {
    if (x.job.number != kStranger) continue;
    const auto it = labels_.find(x.job.array_index);
    if (it == labels_.end()) continue;
    x.subject = it->second;
    x.job = {};
  }
  std::erase_if(signs_.seen, [](const Sign& x) { return x.job.number == kStranger; });  // of one that is forgotten
}

void Detectors::drop_explained(const State& s) {
  std::erase_if(signs_.seen, [&](const Sign& x) {
    // A GPU that throttles in a hot row is sound: the row's finding says what is wrong.
    const bool heat = x.kind == FindingKind::thermal_throttle || x.kind == FindingKind::failure_predicted;
    if (heat && x.node.some() && heat_.hot(s.site, x.node)) return true;
    // A link that is still down has not flapped.
    return x.kind == FindingKind::link_flap && x.node.some() && links_.down(x.node, x.slot);
  });
}

// Puts what has passed among the reliefs.
void Detectors::let_pass(Time mono) {
  for (; !passing_.empty() && mono - passing_.front().first >= kPassingKept; passing_.pop_front()) {
    const Key key = passing_.front().second;
    const auto it = open_.find(key);
    if (it != open_.end() && mono - it->second.last < kPassingKept) {  // there have been signs since
      passing_.emplace_back(it->second.last, key);
      continue;
    }
    const auto& [kind, node, slot, job, subject] = key;
    signs_.gone.push_back({kind, node, slot, job, "nothing more of it", subject});
  }
}

// Ends what the relief names; where it names no subject, whatever the subject.
void Detectors::end(const Relief& r, const State& s, std::vector<Body>& out) {
  auto it = open_.lower_bound({r.kind, r.node, r.slot, r.job, r.subject});
  while (it != open_.end()) {
    const auto& [kind, node, slot, job, subject] = it->first;
    if (kind != r.kind || node != r.node || slot != r.slot || job != r.job) return;
    if (!r.subject.empty() && subject != r.subject) return;
    const Finding* f = find_finding(s, it->second.id);
    if (it->second.id.v >= s.next_finding || (f != nullptr && f->cleared.ns == 0))
      out.push_back(FindingCleared{it->second.id, r.why});
    it = open_.erase(it);
  }
}

std::vector<Body> Detectors::look(std::span<const Sample> samples, std::span<const KernelRecord> kernel,
                                  std::span<const StepReport> steps, std::span<const Body> events, const State& s, Time utc,
                                  Time mono, std::span<const JobLogRecord> logs, std::span<const FabricHeard> heard) {
  signs_.seen.clear();
  signs_.gone.clear();
  const auto slots = static_cast<int>(s.site.gpus_per_node);
  const auto on_record = [&](const KernelRecord& r) {
    if (r.node.v >= s.nodes.size() || r.slot >= slots) return;
    xids_.on_record(r, s, mono, signs_);
    pcie_.on_record(r, mono, signs_);
    links_.on_kernel_record(r, mono, signs_);
  };
  for (const KernelRecord& r : kernel) on_record(r);
  for (const Sample& m : samples) {
    if (m.node.v < s.nodes.size() && m.slot < slots) on_sample(m, s, mono);
  }
  for (const JobLogRecord& r : logs) on_log(r, s, mono);
  for (const StepReport& r : steps) slow_.on_step(r, s, signs_);
  for (const Body& b : events) {
    if (const KernelRecord* r = trusted_record(b)) on_record(*r);
    on_agent(b, utc, signs_);
    on_acceptance(b, s, utc, signs_);
    jobs_.on_event(b, s, utc, mono, signs_);
    leaf_hangs_.on_event(b, s, mono);
    fabric_.on_event(b, s, utc, signs_);
    surroundings_.on_event(b, mono);
    on_engine(b, s, utc, signs_);
    if (const auto* e = std::get_if<JobEnded>(&b)) {
      slow_.forget(e->job);
      collectives_.forget(e->job);
    }
  }
  for (const FabricHeard& h : heard) fabric_silence_.on_heard(h, mono, signs_);
  silence_.on_turn(s, utc, mono, signs_);
  fabric_silence_.on_turn(utc, mono, signs_);
  pcie_.on_turn(signs_);
  links_.on_turn(s, utc, mono, signs_);
  xids_.on_turn(s, utc, mono, signs_);
  collectives_.on_turn(s, utc, mono, signs_);
  sdc_.on_turn(s, utc, mono, signs_);
  drift_.on_turn(s, utc, mono, signs_);
  surroundings_.on_turn(s, utc, mono, signs_);
  leaf_hangs_.on_turn(s, utc, mono, signs_);
  std::vector<Body> measured;
  heat_.on_turn(s, utc, mono, signs_, measured);
  name_strangers();
  drop_explained(s);
  let_pass(mono);

  std::vector<Body> out;
  std::uint64_t next_id = s.next_finding;
  for (const Sign& sign : signs_.seen) merge(sign, s, utc, mono, next_id, out);
  for (const Relief& r : signs_.gone) end(r, s, out);
  outbreaks_.on_turn(out, s, drift_, utc, mono, next_id);
  out.insert(out.end(), std::make_move_iterator(measured.begin()), std::make_move_iterator(measured.end()));
  return out;
}

Time Detectors::next(const State& s) const {
  const Time over = passing_.empty() ? kNever : passing_.front().first + kPassingKept;
  return std::min(
      {silence_.next(s), links_.next(), heat_.next(), xids_.next(), collectives_.next(), sdc_.next(), outbreaks_.next(),
       surroundings_.next(), fabric_silence_.next(), over});
}

}  // namespace muster::detect
