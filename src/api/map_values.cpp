// One figure per GPU for the colours of the map: a letter each, so that 100,000 GPUs are 100 KB.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "account/finding_cost.h"
#include "api/render.h"
#include "base/text.h"

namespace muster::api {
namespace {

// The 64 steps from low to high, in ASCII's order; '-' is no step but "unknown". web/src/atlas.ts has the same letters.
constexpr std::string_view kSteps = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";
static_assert(kSteps.size() == 64);
constexpr char kUnknownLetter = '-';
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

enum class Kind : std::uint8_t { job, temp, power, util, peers, risk, money };
constexpr std::array<std::string_view, 7> names(Kind) { return {"job", "temp", "power", "util", "peers", "risk", "money"}; }

struct Values {
  std::string unit;
  std::string_view words;
  double low = 0;
  double high = 0;
  std::vector<float> of_gpu;  // node * gpus_per_node + slot
};

Result<Kind> kind_of(const Query& q) {
  const auto it = q.find("of");
  Kind kind{};
  if (it != q.end() && parse_name(it->second, kind)) return kind;
  std::vector<std::string> all;
  for (const auto name : names(Kind{})) all.emplace_back(name);
  return fail(Code::bad_input, it == q.end() ? "of is missing" : fmt::format("of is '{}'", printable(it->second)),
              "it must be one of " + join(all, ", "));
}

// A stable hash of the job's number that lies far from those of the jobs before and after it.
float job_step(JobId id) { return static_cast<float>((id.number * 2654435769u ^ id.array_index * 2246822519u) >> 26); }

Values by_job(const Frame& f) {
  Values out{"", "which job has the GPU: 64 colours, so two jobs may have the same one", 0, 63, {}};
  for (const JobId id : jobs_by_gpu(f.state())) out.of_gpu.push_back(id.some() ? job_step(id) : kUnknown);
  return out;
}

// The readings of one kind; there may be none, or of fewer GPUs than the site has.
std::vector<float> read_all(const Frame& f, float GpuReading::*what) {
  std::vector<float> out(f.faces.gpus.size(), kUnknown);
  const std::size_t known = std::min(out.size(), f.snapshot.readings.size());
  for (std::size_t g = 0; g < known; ++g) {
    const float value = f.snapshot.readings[g].*what;
    if (value >= 0 && std::isfinite(value)) out[g] = value;
  }
  return out;
}

// Grows low and high to whole numbers that hold all that is known.
void widen(Values& v) {
  for (const float value : v.of_gpu) {
    if (std::isnan(value)) continue;
    v.low = std::min(v.low, std::floor(double{value}));
    v.high = std::max(v.high, std::ceil(double{value}));
  }
}

Values by_temp(const Frame& f) {
  Values out{"°C", "temperature of the GPU, as last read", 30, 90, read_all(f, &GpuReading::temp_c)};
  widen(out);
  return out;
}

Values by_power(const Frame& f) {
  Values out{"W", "what the GPU draws, as last read", 0, 0, read_all(f, &GpuReading::power_w)};
  widen(out);
  return out;
}

Values by_util(const Frame& f) {
  return {"%", "share of the time in which some kernel ran, as last read: it says busy, not fast", 0, 100,
          read_all(f, &GpuReading::util_pct)};
}

constexpr std::size_t kPeersMin = 8;  // fewer say little about what is usual
// Spreads below these are the sensor's grain: one step of the clock, one degree.
constexpr float kClockGrain_mhz = 15;
constexpr float kTempGrain_c = 1;

struct Usual {
  float median = 0;
  float spread = 0;  // median absolute deviation
};

float median_of(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<Usual> usual_of(const std::vector<std::size_t>& gpus, const std::vector<float>& readings, float grain) {
  std::vector<float> known;
  for (const std::size_t g : gpus) {
    if (!std::isnan(readings[g])) known.push_back(readings[g]);
  }
  if (known.size() < kPeersMin) return std::nullopt;
  const float median = median_of(known);
  for (float& value : known) value = std::abs(value - median);
  return Usual{median, std::max(median_of(known), grain)};
}

Values by_peers(const Frame& f) {
  Values out{
      "MAD",
      "how far from the GPUs of the same job, where 8 or more have readings, in median absolute deviations: lower clock or "
      "higher temperature, the worse of the two; the top is 6 or more",
      0, 6, std::vector<float>(f.faces.gpus.size(), kUnknown)};
  const std::vector<JobId> jobs = jobs_by_gpu(f.state());
  std::map<JobId, std::vector<std::size_t>> gangs;
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    if (jobs[g].some()) gangs[jobs[g]].push_back(g);
  }
  const std::vector<float> clocks = read_all(f, &GpuReading::sm_clock_mhz);
  const std::vector<float> temps = read_all(f, &GpuReading::temp_c);
  for (const auto& [job, gpus] : gangs) {
    const auto clock = usual_of(gpus, clocks, kClockGrain_mhz);
    const auto temp = usual_of(gpus, temps, kTempGrain_c);
    for (const std::size_t g : gpus) {
      float& worst = out.of_gpu[g];
      if (clock && !std::isnan(clocks[g])) worst = std::max(0.0f, (clock->median - clocks[g]) / clock->spread);
      if (temp && !std::isnan(temps[g])) {
        const float hot = std::max(0.0f, (temps[g] - temp->median) / temp->spread);
        worst = std::isnan(worst) ? hot : std::max(worst, hot);
      }
    }
  }
  return out;
}

float weight_of(Severity severity) {
  switch (severity) {
    case Severity::critical: return 100;
    case Severity::warning: return 60;
    case Severity::info: return 20;
  }
  return 0;
}

Values by_risk(const Frame& f) {
  constexpr std::uint32_t kEach = 5, kPastMax = 30;
  const State& s = f.state();
  const std::size_t width = s.site.gpus_per_node;
  std::vector<float> on_node(s.nodes.size(), 0), on_gpu(s.nodes.size() * width, 0);
  for (const auto& [id, x] : s.findings) {
    const bool of_the_job = x.kind == FindingKind::app_error || x.kind == FindingKind::job_failed;
    if (x.cleared.ns != 0 || x.node.v >= s.nodes.size() || of_the_job) continue;
    const float weight = weight_of(x.severity);
    on_node[x.node.v] = std::max(on_node[x.node.v], weight);
    if (x.slot < 0 || static_cast<std::size_t>(x.slot) >= width) continue;
    float& here = on_gpu[x.node.v * width + static_cast<std::size_t>(x.slot)];
    here = std::max(here, weight);
  }
  Values out{"of 100",
             "an index, not a probability: the worst open finding on the GPU (critical 100, warning 60, info 20) or half of its "
             "node's, and 5 for each past incident of the node, 30 at most",
             0,
             100,
             {}};
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    const std::uint32_t past = s.nodes[n].incidents - std::min(s.nodes[n].incidents, s.nodes[n].incident.some() ? 1u : 0u);
    const auto history = static_cast<float>(std::min(kPastMax / kEach, past) * kEach);
    for (std::size_t slot = 0; slot < width; ++slot) {
      const float found = on_gpu[n * width + slot] > 0 ? on_gpu[n * width + slot] : on_node[n] / 2;
      out.of_gpu.push_back(std::min(100.0f, found + history));
    }
  }
  return out;
}

Values by_money(const Frame& f) {
  const State& s = f.state();
  const bool priced = s.policy.gpu_hour_price > 0;
  const double price = priced ? s.policy.gpu_hour_price : 1;
  Values out{priced ? s.policy.currency + "/h" : "GPU-h/h",
             priced
                 ? "lost at the GPU now, in an hour, at the policy's price: it is suspect or out of service, idle while a job "
                   "waits, or its job starts, is broken or is slow"
                 : "GPU-hours lost at the GPU now, in an hour (the policy names no price): it is suspect or out of service, idle "
                   "while a job waits, or its job starts, is broken or is slow",
             0,
             price,
             {}};
  const std::vector<JobId> jobs = jobs_by_gpu(s);
  const std::map<JobId, double> slow = account::slow_shares(s);
  for (std::size_t g = 0; g < f.faces.gpus.size(); ++g) {
    const auto gang = slow.find(jobs[g]);
    const double share = loses(s, f.faces.gpus[g], jobs[g]) ? 1 : gang != slow.end() ? gang->second : 0;
    out.of_gpu.push_back(static_cast<float>(price * share));
  }
  return out;
}

Values values_of(const Frame& f, Kind kind) {
  switch (kind) {
    case Kind::job: return by_job(f);
    case Kind::temp: return by_temp(f);
    case Kind::power: return by_power(f);
    case Kind::util: return by_util(f);
    case Kind::peers: return by_peers(f);
    case Kind::risk: return by_risk(f);
    case Kind::money: return by_money(f);
  }
  return {};
}

std::string letters_of(const Values& v) {
  std::string out(v.of_gpu.size(), kUnknownLetter);
  const double span = v.high - v.low;
  for (std::size_t g = 0; g < out.size(); ++g) {
    if (std::isnan(v.of_gpu[g])) continue;
    const double share = span > 0 ? std::clamp((v.of_gpu[g] - v.low) / span, 0.0, 1.0) : 0;
    out[g] = kSteps[static_cast<std::size_t>(std::lround(share * (kSteps.size() - 1)))];
  }
  return out;
}

}  // namespace

GpuFigures gpu_figures(const Frame& f) {
  Values money = by_money(f);
  return {by_peers(f).of_gpu, by_risk(f).of_gpu, std::move(money.of_gpu), std::move(money.unit)};
}

Result<std::string> render_map_values(const Frame& f, const Query& q) {
  const auto kind = kind_of(q);
  if (!kind) return tl::unexpected(kind.error());
  const Values v = values_of(f, *kind);
  JsonWriter w;
  w.object().field("seq", f.state().seq).field("of", name_of(*kind)).field("unit", v.unit).field("low", v.low);
  w.field("high", v.high).field("words", v.words).field("values", letters_of(v)).end_object();
  return w.take();
}

}  // namespace muster::api
