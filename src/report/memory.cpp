#include "report/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/fields.h"
#include "report/units.h"

namespace muster::report {
namespace {

using diagnose::DeviceMemory;
using diagnose::MemoryClass;
using diagnose::MemoryDiagnosis;
using diagnose::MemoryHolder;
using diagnose::MemoryState;
using diagnose::Oom;
using diagnose::say_bytes;
using diagnose::SettingTrial;

constexpr std::size_t kHoldersSaid = 8, kHoldersWritten = 50;

std::string say_trial(const SettingTrial& t) {
  if (!t.replay.whole) return fmt::format("  {}: not known, the replay would take too long", t.setting);
  if (!t.replay.fits()) return fmt::format("  {}: fails as well", t.setting);
  return fmt::format("  {}: fits, {} reserved at the peak, {} segments taken, {} given back", t.setting,
                     say_bytes(t.replay.reserved_peak), t.replay.device_allocs, t.replay.device_frees);
}

void say_device(const DeviceMemory& d, std::vector<std::string>& out) {
  out.push_back(fmt::format("GPU {}: {} reserved, {} in use ({} asked for), {} free in the cache, of which {} cannot go back",
                            d.device, say_bytes(d.now.reserved), say_bytes(d.now.allocated), say_bytes(d.now.requested),
                            say_bytes(d.now.inactive), say_bytes(d.now.pinned)));
  if (d.events == 0) {
    out.push_back("  nothing was recorded: torch.cuda.memory._record_memory_history() before the loop tells how it came to that");
  } else {
    out.push_back(fmt::format("  {} events, {} steps; at the peak {} in use (event {}) and {} reserved (event {})", d.events,
                              d.steps, say_bytes(d.allocated_peak.bytes), d.allocated_peak.event,
                              say_bytes(d.reserved_peak.bytes), d.reserved_peak.event));
  }
  out.push_back(d.oom ? "held when the request failed:" : "held at the peak:");
  for (std::size_t i = 0; i < d.classes.size(); ++i) {
    if (d.classes[i] > 0) out.push_back(fmt::format("  {}: {}", names(MemoryClass{})[i], say_bytes(d.classes[i])));
  }
  for (std::size_t i = 0; i < d.at_peak.size() && i < kHoldersSaid; ++i) {
    const MemoryHolder& m = d.at_peak[i];
    const std::string blocks = counted(static_cast<std::int64_t>(m.blocks), "block");
    out.push_back(fmt::format("  {} in {}: {} ({})", say_bytes(m.bytes), blocks, m.where, name_of(m.kind)));
  }
  if (d.batch) {
    if (d.batch->no_room) {
      out.push_back("no batch fits: " + diagnose::say_batch(*d.batch));
    } else {
      out.push_back(fmt::format("a batch of {}{:.2f} times today's{} fits: {}", d.batch->at_most ? "at most " : "",
                                d.batch->factor, d.batch->fits ? fmt::format(" ({})", *d.batch->fits) : "",
                                diagnose::say_batch(*d.batch)));
    }
  }
  if (d.replay_off) {
    out.push_back(fmt::format("the requests replayed: with today's settings the peak of reserved memory is {:+.1f} % off",
                              100 * *d.replay_off));
  }
  for (const SettingTrial& t : d.trials) out.push_back(say_trial(t));
}

void write_state(JsonWriter& w, std::string_view key, const MemoryState& s) {
  w.key(key).object().field("reserved_bytes", s.reserved).field("allocated_bytes", s.allocated);
  w.field("requested_bytes", s.requested).field("inactive_bytes", s.inactive).field("pinned_bytes", s.pinned);
  w.field("rounding_bytes", s.allocated > s.requested ? s.allocated - s.requested : std::uint64_t{0});
  w.field("largest_free_bytes", s.largest_free).end_object();
}

void write_oom(JsonWriter& w, const DeviceMemory& d) {
  w.key("oom");
  if (!d.oom) {
    w.null();
    return;
  }
  const Oom& o = *d.oom;
  w.object().field("cause", name_of(o.cause)).field("count", static_cast<std::uint64_t>(d.ooms));
  w.field("event", static_cast<std::uint64_t>(o.event)).field("time_us", o.time_us).field("where", o.where);
  w.field("asked_bytes", o.asked).field("segment_bytes", o.segment).field("device_free_bytes", o.device_free);
  w.field("limit_bytes", o.limit).field("limited_by_program", o.by_fraction);
  w.field("free_same_stream_bytes", o.free_own).field("free_other_streams_bytes", o.free_other_streams);
  w.field("free_private_pools_bytes", o.free_private).field("largest_same_stream_bytes", o.largest_own);
  w.key("held_elsewhere_bytes");
  if (o.elsewhere > 0) {
    w.value(o.elsewhere);
  } else {
    w.null();
  }
  write_state(w, "state", o.state);
  w.end_object();
}

void write_holders(JsonWriter& w, const DeviceMemory& d) {
  w.key("classes").object();
  for (std::size_t i = 0; i < d.classes.size(); ++i) w.field(names(MemoryClass{})[i], d.classes[i]);
  w.end_object().key("held").array();
  for (std::size_t i = 0; i < d.at_peak.size() && i < kHoldersWritten; ++i) {
    const MemoryHolder& m = d.at_peak[i];
    w.object().field("where", m.where).field("class", name_of(m.kind)).field("bytes", m.bytes);
    w.field("blocks", m.blocks).end_object();
  }
  w.end_array();
}

void write_course(JsonWriter& w, const DeviceMemory& d) {
  w.key("growth");
  if (d.growth) {
    w.object().field("bytes_per_step", d.growth->bytes_per_step).field("steps", d.growth->steps);
    w.field("where", d.growth->where).field("share", d.growth->share).end_object();
  } else {
    w.null();
  }
  w.key("churn");
  if (d.churn) {
    w.object().field("segments_taken_per_step", d.churn->allocs_per_step);
    w.field("segments_given_back_per_step", d.churn->frees_per_step).end_object();
  } else {
    w.null();
  }
  w.key("batch");
  if (!d.batch) {
    w.null();
    return;
  }
  w.object().field("factor", d.batch->factor).field("at_most", d.batch->at_most).field("no_room", d.batch->no_room).key("fits");
  if (d.batch->fits) {
    w.value(*d.batch->fits);
  } else {
    w.null();
  }
  w.field("constant_bytes", d.batch->constant).field("scaling_bytes", d.batch->scaling);
  w.field("limit_bytes", d.batch->limit).field("margin_bytes", d.batch->margin).end_object();
}

void write_advice(JsonWriter& w, const DeviceMemory* d) {
  w.key("advice");
  if (d == nullptr || !d->advice) {
    w.null();
    return;
  }
  w.object().field("setting", d->advice->setting).field("environment", d->advice->environment);
  w.field("reserved_peak_bytes", d->advice->reserved_peak).field("confidence", name_of(d->advice->confidence)).end_object();
}

void write_trials(JsonWriter& w, const DeviceMemory& d) {
  w.key("replay").object().key("reserved_off");
  if (d.replay_off) {
    w.value(*d.replay_off);
  } else {
    w.null();
  }
  w.field("fails_alike", d.replay_fails_alike).key("settings").array();
  for (const SettingTrial& t : d.trials) {
    w.object().field("setting", t.setting).field("fits", t.replay.fits()).field("whole", t.replay.whole);
    w.field("reserved_peak_bytes", t.replay.reserved_peak).field("segments_taken", t.replay.device_allocs);
    w.field("segments_given_back", t.replay.device_frees).end_object();
  }
  w.end_array().end_object();
}

void write_device(JsonWriter& w, const DeviceMemory& d) {
  w.object().field("device", d.device).field("events", static_cast<std::uint64_t>(d.events));
  w.field("steps", static_cast<std::uint64_t>(d.steps));
  write_state(w, "now", d.now);
  w.key("peak").object().field("allocated_bytes", d.allocated_peak.bytes).field("allocated_time_us", d.allocated_peak.time_us);
  w.field("reserved_bytes", d.reserved_peak.bytes).field("reserved_time_us", d.reserved_peak.time_us).end_object();
  write_oom(w, d);
  write_holders(w, d);
  write_course(w, d);
  write_trials(w, d);
  write_advice(w, &d);
  w.end_object();
}

const DeviceMemory* advised(const MemoryDiagnosis& memory) {
  const auto& all = memory.devices;
  auto it = std::find_if(all.begin(), all.end(), [](const DeviceMemory& d) { return d.oom && d.advice; });
  if (it == all.end()) it = std::find_if(all.begin(), all.end(), [](const DeviceMemory& d) { return d.advice.has_value(); });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

std::string memory_sentence(const MemoryDiagnosis& memory) {
  if (memory.devices.empty()) return "no GPU's memory is in use";
  if (memory.findings.empty()) return "no request for memory failed, and nothing is wrong with how it is used";
  return memory.findings.front().title;
}

std::vector<std::string> say_memory(const MemoryDiagnosis& memory) {
  std::vector<std::string> out;
  for (const DeviceMemory& d : memory.devices) say_device(d, out);
  return out;
}

void write_memory(JsonWriter& w, const MemoryDiagnosis& memory) {
  w.object().field("settings", memory.settings.text);
  write_advice(w, advised(memory));
  w.key("devices").array();
  for (const DeviceMemory& d : memory.devices) write_device(w, d);
  w.end_array().end_object();
}

}  // namespace muster::report
