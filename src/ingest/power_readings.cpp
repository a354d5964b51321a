#include "ingest/power_readings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/gunzip.h"

namespace muster {
namespace {

constexpr double kGpuWattsMax = 5'000;
constexpr double kNodeWattsMax = 200'000;
constexpr double kMillijoulesMax = 9e18;  // DCGM's word for "none" is above it
constexpr std::size_t kNameMax = 200;
constexpr std::size_t kIndexMax = 4;  // characters: what is longer names a GPU wherever it is
constexpr std::string_view kOthers[] = {"CPU", "MODULE", "MEMORY", "NVSWITCH"};  // whose energy is not the board's

// Series of power and energy, and how many watts or millijoules one of their unit is.
struct Series {
  std::string_view name;
  enum class Of : std::uint8_t { power, moment_power, energy, node_power } of;  // moment_power: where there is no mean
  double scale;
};
constexpr Series kSeries[] = {
    {"DCGM_FI_DEV_POWER_USAGE", Series::Of::power, 1},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", Series::Of::power, 1},
    {"DCGM_FI_DEV_POWER_USAGE_INSTANT", Series::Of::moment_power, 1},
    {"DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", Series::Of::moment_power, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Series::Of::energy, 1},
    {"dcgm_power_usage", Series::Of::power, 1},  // dcgm-exporter with the counters of its 1.x
    {"dcgm_total_energy_consumption", Series::Of::energy, 1},
    {"nvidia_smi_power_draw_watts", Series::Of::power, 1},
    {"nvidia_smi_power_draw_average_watts", Series::Of::power, 1},
    {"nvidia_smi_power_draw_instant_watts", Series::Of::moment_power, 1},
    {"nvidia_smi_energy_joules_total", Series::Of::energy, 1e3},
    {"nvidia_gpu_power_usage_milliwatts", Series::Of::power, 1e-3},
    {"gpu_package_power", Series::Of::moment_power, 1},  // AMD's exporter
    {"gpu_average_package_power", Series::Of::power, 1},
    {"ipmi_dcmi_power_consumption_watts", Series::Of::node_power, 1},
};
// Since DCGM 4.7 its exporter counts energy in joules, and says so in the name of the series.
constexpr std::string_view kJoulesAsked = "DCGM_FI_DEV_[A-Z_]*ENERGY[A-Z_]*_JOULES[A-Z_]*";
constexpr Series kJoules = {"", Series::Of::energy, 1e3};

const Series* series_named(std::string_view name) {
  for (const Series& s : kSeries) {
    if (s.name == name) return &s;
  }
  if (!name.starts_with("DCGM_FI_DEV_")) return nullptr;
  const auto energy = name.find("ENERGY");
  const bool joules = energy != std::string_view::npos && name.find("_JOULES", energy) != std::string_view::npos;
  const bool of_another = std::any_of(std::begin(kOthers), std::end(kOthers),
                                      [&](std::string_view o) { return name.find(o) != std::string_view::npos; });
  return joules && !of_another ? &kJoules : nullptr;
}

// How many watts, or millijoules, one of a unit is; nothing for a word that is none. mW and MW are not the same.
std::optional<double> unit_of(std::string_view word, bool energy) {
  struct Unit {
    std::string_view name;
    double scale;
  };
  static constexpr Unit kPower[] = {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}};
  static constexpr Unit kEnergy[] = {{"mJ", 1}, {"J", 1e3}, {"kJ", 1e6}, {"MJ", 1e9}, {"Wh", 3.6e6}, {"kWh", 3.6e9}};
  const std::span<const Unit> units = energy ? std::span<const Unit>(kEnergy) : std::span<const Unit>(kPower);
  for (const Unit& u : units) {
    if (u.name == word) return u.scale;
  }
  return std::nullopt;
}

// "693.12 W", "693.12", "0.69 kW"; below 0 where the driver has nothing to say, and for units that are none.
double number_of(std::string_view cell, bool energy, double scale) {
  cell = trim(cell);
  const auto blank = cell.find(' ');
  const auto v = parse_double(cell.substr(0, blank));
  const auto own = blank == std::string_view::npos ? std::optional(scale) : unit_of(trim(cell.substr(blank)), energy);
  return v && own && std::isfinite(*v) ? *v * *own : -1;
}

// Marks at the beginning of what Windows writes.
Result<std::string_view> without_mark(std::string_view text, std::string_view file) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return fail(Code::bad_input, fmt::format("{}:1: its text is UTF-16, as PowerShell's > writes it", file),
                "iconv -f UTF-16 -t UTF-8, or Out-File -Encoding utf8");
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

// "2026/11/15 02:03:04.567", "2026-11-15T02:03:04.567Z", unix seconds with or without parts.
RecordTime moment_of(std::string_view cell, const ZoneOffsets& zone) {
  std::string text(trim(cell));
  for (const std::size_t at : {std::size_t{4}, std::size_t{7}}) {
    if (text.size() > at && text[at] == '/') text[at] = '-';
  }
  std::int64_t part_ns = 0;
  if (const auto dot = text.rfind('.'); dot != std::string::npos) {
    std::int64_t unit = 100'000'000;
    std::size_t end = dot + 1;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end, unit /= 10) part_ns += unit * (text[end] - '0');
    text.erase(dot, end - dot);
  }
  RecordTime out = parse_record_time(text, zone);
  if (out.is == TimeIs::plain || out.is == TimeIs::ambiguous || out.is == TimeIs::skipped) out.at.ns += part_ns;
  return out;
}

// "power.draw [W]" is power.draw.
std::string bare(std::string_view header) { return lower(trim(header.substr(0, header.find('[')))); }

std::string key_of(const PowerTrack& t, bool from_series) {
  return fmt::format("{}\n{}\n{}{}", short_node(t.node), t.whole_node ? "" : lower(t.gpu), t.whole_node ? "node" : "gpu",
                     from_series ? "\nseries" : "");
}

// Points by time; of two of the same moment the first counts for what it says.
void in_order(PowerTrack& t) {
  std::stable_sort(t.points.begin(), t.points.end(), [](const PowerPoint& a, const PowerPoint& b) { return a.at < b.at; });
  std::vector<PowerPoint> merged;
  for (const PowerPoint& p : t.points) {
    if (merged.empty() || merged.back().at != p.at) {
      merged.push_back(p);
      continue;
    }
    if (merged.back().power_w < 0) merged.back().power_w = p.power_w;
    if (merged.back().energy_mj < 0) merged.back().energy_mj = p.energy_mj;
  }
  t.points = std::move(merged);
}

// Two sources of one figure lag differently behind it: what one of them says runs back and forth among the other's. So near the
// readings of the fuller one the other's do not count.
template <class T>
void keep_fuller(PowerTrack& a, PowerTrack& b, T PowerPoint::*figure) {
  constexpr Duration kNear = minutes(5);
  const auto times = [&](const PowerTrack& t) {
    std::vector<Time> out;
    for (const PowerPoint& p : t.points) {
      if (p.*figure >= 0) out.push_back(p.at);
    }
    return out;
  };
  const std::vector<Time> of_a = times(a), of_b = times(b);
  const std::vector<Time>& fuller = of_a.size() >= of_b.size() ? of_a : of_b;
  for (PowerPoint& p : (of_a.size() >= of_b.size() ? b : a).points) {
    const auto after = std::lower_bound(fuller.begin(), fuller.end(), p.at);
    const bool near =
        (after != fuller.end() && *after - p.at <= kNear) || (after != fuller.begin() && p.at - *(after - 1) <= kNear);
    if (near) p.*figure = -1;
  }
}

bool at_one_time(const PowerTrack& a, const PowerTrack& b) {
  return !a.points.empty() && !b.points.empty() && a.points.front().at <= b.points.back().at &&
         b.points.front().at <= a.points.back().at;
}

// Puts what `b` has into `a`: they are the same meter. Under two names of a node, only where they were read at the same time: a
// GPU may be moved.
void join(PowerTrack& a, PowerTrack& b) {
  const bool one_node = short_node(a.node) == short_node(b.node) || a.node.empty() || b.node.empty();
  if (a.points.empty() || b.points.empty() || (!one_node && !at_one_time(a, b))) return;
  if (a.node.empty()) std::swap(a.node, b.node);
  const bool told = std::any_of(a.other_nodes.begin(), a.other_nodes.end(),
                                [&](const std::string& n) { return short_node(n) == short_node(b.node); });
  if (!one_node && !told) a.other_nodes.push_back(b.node);
  if (a.gpu.size() <= kIndexMax && b.gpu.size() > kIndexMax) std::swap(a.gpu, b.gpu);
  if (a.index < 0) a.index = b.index;
  if (a.model.empty()) a.model = b.model;
  keep_fuller(a, b, &PowerPoint::power_w);
  keep_fuller(a, b, &PowerPoint::energy_mj);
  a.points.insert(a.points.end(), b.points.begin(), b.points.end());
  std::erase_if(a.points, [](const PowerPoint& p) { return p.power_w < 0 && p.energy_mj < 0; });
  in_order(a);
  b.points.clear();
}

}  // namespace

struct PowerBook::Columns {
  int at = -1, node = -1, index = -1, uuid = -1, model = -1, power = -1, energy = -1;
  double power_scale = 1, energy_scale = 1;  // of values that name no unit
  std::string wrong_unit;                    // of a header that names one that is none

  explicit Columns(const std::vector<std::string>& header) {
    std::vector<std::string> names;
    for (const std::string& h : header) names.push_back(bare(h));
    const auto find = [&](std::initializer_list<std::string_view> wanted) {
      for (const std::string_view w : wanted) {
        const auto it = std::find(names.begin(), names.end(), w);
        if (it != names.end()) return static_cast<int>(it - names.begin());
      }
      return -1;
    };
    at = find({"timestamp_utc", "timestamp", "time"});
    node = find({"node", "host", "hostname"});
    index = find({"gpu", "index"});
    uuid = find({"uuid", "gpu_uuid"});
    model = find({"model", "name", "gpu_name"});
    power = find({"power_w", "power_mw", "power.draw", "power.draw.average", "power.draw.instant"});
    energy = find({"energy_mj", "energy_j", "total_energy_consumption"});
    if (power >= 0) power_scale = scale_of(header[static_cast<std::size_t>(power)], false);
    if (energy >= 0) energy_scale = scale_of(header[static_cast<std::size_t>(energy)], true);
  }

  // By "[mW]", or by the end of the name.
  double scale_of(std::string_view header, bool of_energy) {
    const auto open = header.find('[');
    const std::string name = bare(header);
    if (open == std::string_view::npos) return name == "power_mw" ? 1e-3 : name == "energy_j" ? 1e3 : 1;
    const auto unit = unit_of(trim(header.substr(open + 1, header.find(']', open) - open - 1)), of_energy);
    if (!unit) wrong_unit = std::string(header);
    return unit.value_or(1);
  }
};

void PowerBook::refuse(const std::string& what) {
  if (all_.refused++ == 0) all_.some_refused = what;
}

void PowerBook::add(const PowerTrack& who, Time at, double power_w, double energy_mj, From from) {
  const auto [it, fresh] = (from == From::moments ? of_moments_ : tracks_).try_emplace(key_of(who, from != From::table), who);
  PowerPoint p{at, -1, -1};
  if (power_w > 0 && power_w <= (who.whole_node ? kNodeWattsMax : kGpuWattsMax)) p.power_w = power_w;
  if (energy_mj >= 0 && energy_mj < kMillijoulesMax) p.energy_mj = static_cast<std::int64_t>(energy_mj);
  if (p.power_w < 0 && p.energy_mj < 0)
    return refuse(fmt::format("{} at {}: no watts{} and no energy that it can mean", printable(who.gpu), render_utc(at),
                              power_w < 0 ? "" : " (" + render_number(power_w) + ")"));
  if (it->second.model.empty()) it->second.model = who.model;
  it->second.points.push_back(p);
  ++all_.points;
}

void PowerBook::take_row(const Columns& c, const std::vector<std::string>& cells, const std::string& where,
                         const std::string& node, const ZoneOffsets& zone) {
  const auto cell = [&](int column) {
    return column < 0 ? std::string() : std::string(trim(cells[static_cast<std::size_t>(column)]));
  };
  RecordTime t = moment_of(cell(c.at), zone);
  if (t.is == TimeIs::none || t.is == TimeIs::wrong) return refuse(where + ": no time");
  PowerTrack who;
  who.node = c.node >= 0 ? cell(c.node) : node;
  const std::string index = cell(c.index);
  who.whole_node = lower(index) == "node";
  if (const auto n = parse_uint(index); n && *n < 1024) who.index = static_cast<int>(*n);
  who.gpu = c.uuid >= 0 ? cell(c.uuid) : index;
  if (who.gpu.empty()) who.gpu = index;
  who.model = cell(c.model);
  if (who.gpu.size() > kNameMax || who.node.size() > kNameMax || who.model.size() > kNameMax)
    return refuse(where + ": a name too long");
  // In the hour that comes twice, what is not later than the row before is of its second time.
  if (t.is == TimeIs::ambiguous) {
    const auto before = tracks_.find(key_of(who, false));
    if (before != tracks_.end() && !before->second.points.empty() && t.at <= before->second.points.back().at)
      t.at = t.at + t.second;
  }
  add(who, t.at, c.power < 0 ? -1 : number_of(cell(c.power), false, c.power_scale),
      c.energy < 0 ? -1 : number_of(cell(c.energy), true, c.energy_scale), From::table);
}

Result<void> PowerBook::take_csv(std::string_view bytes, std::string_view file, const std::string& node,
                                 const ZoneOffsets& zone) {
  const auto unpacked = gunzip_if_gzip(bytes);
  if (!unpacked) return fail(unpacked.error().code, fmt::format("{}: {}", file, unpacked.error().what), unpacked.error().next);
  const auto marked = without_mark(*unpacked, file);
  if (!marked) return tl::unexpected(marked.error());
  const std::string_view text = *marked;
  std::vector<std::string> cells;
  std::size_t i = 0;
  int line = 1;
  skip_csv_comments(text, i, line);
  if (i >= text.size() || !read_csv_record(text, i, line, cells))
    return fail(Code::bad_input, fmt::format("{}:1: no header line", file));
  const std::size_t width = cells.size();
  const Columns c(cells);
  if (c.at < 0 || (c.power < 0 && c.energy < 0) || (c.uuid < 0 && c.index < 0)) {
    return fail(
        Code::bad_input, fmt::format("{}:1: the columns timestamp, uuid or index, and power.draw are needed", file),
        "nvidia-smi --query-gpu=timestamp,uuid,name,power.draw --format=csv -lms 1000 > power.csv, or muster energy record");
  }
  if (!c.wrong_unit.empty())
    return fail(Code::bad_input, fmt::format("{}:1: the unit of '{}' is not known", file, printable(c.wrong_unit)),
                "W, mW or kW of power; mJ, J, kJ, MJ, Wh or kWh of energy");
  const std::uint64_t before = all_.points;
  while (i < text.size()) {
    const int at = line;
    const bool whole = read_csv_record(text, i, line, cells);
    const std::string where = fmt::format("{}:{}", file, at);
    if (whole && cells.size() == 1 && trim(cells[0]).empty()) continue;
    if (!whole || cells.size() != width) {
      refuse(where + ": cut");
    } else {
      take_row(c, cells, where, node, zone);
    }
  }
  if (all_.points == before)
    return fail(Code::bad_input, fmt::format("{}:1: no reading in it is of use", file), all_.some_refused);
  return {};
}

bool PowerBook::take_series(const PromSeries& s) {
  const Series* known = series_named(s.label("__name__"));
  if (known == nullptr) return false;
  PowerTrack who;
  const auto first = [&](std::initializer_list<std::string_view> labels) {
    for (const std::string_view l : labels) {
      if (!s.label(l).empty()) return std::string(clipped(s.label(l), kNameMax));
    }
    return std::string();
  };
  who.node = first({"Hostname", "hostname", "node", "nodename", "instance"});
  who.whole_node = known->of == Series::Of::node_power;
  if (const auto n = parse_uint(first({"gpu", "gpu_id"})); n && *n < 1024) who.index = static_cast<int>(*n);
  // Of a GPU in slices each slice says what the whole GPU draws, and the GPU itself says nothing: the first slice stands for it.
  who.gpu = first({"UUID", "uuid", "gpu_uuid", "serial_number", "gpu", "gpu_id", "minor_number"});
  who.model = first({"modelName", "name", "model", "card_model"});
  const bool energy = known->of == Series::Of::energy;
  for (const PromPoint& p : s.points) {
    const double v = std::isfinite(p.value) ? p.value * known->scale : -1;
    add(who, Time{p.ms * 1'000'000}, energy ? -1 : v, energy ? v : -1,
        known->of == Series::Of::moment_power ? From::moments : From::series);
  }
  return true;
}

Result<std::size_t> PowerBook::take_answer(std::string& body, std::string_view file) {
  std::size_t used = 0;
  const auto refused = read_prom_answer(body, [&](const PromSeries& s) { used += take_series(s) ? 1 : 0; });
  if (!refused) return fail(refused.error().code, fmt::format("{}: {}", file, refused.error().what), refused.error().next);
  if (*refused > 0) {
    all_.refused += *refused;
    all_.some_refused = fmt::format("{} series with more than {} points or {} labels", *refused, kPromPointsMax, kPromLabelsMax);
  }
  return used;
}

void PowerBook::take_moments() {
  for (auto& [key, t] : of_moments_) {
    const auto [it, fresh] = tracks_.try_emplace(key, t);
    std::vector<PowerPoint>& known = it->second.points;
    if (!fresh && std::none_of(known.begin(), known.end(), [](const PowerPoint& p) { return p.power_w >= 0; }))
      known.insert(known.end(), t.points.begin(), t.points.end());
  }
  of_moments_.clear();
}

// A GPU is one wherever it was read: under two names of its node (of a pod and of its host, say), by its index alone and by its
// UUID, by a recorder and by Prometheus. It would count twice otherwise.
void PowerBook::join_same_gpus() {
  std::vector<PowerTrack>& all = all_.tracks;
  const auto join_all = [&](const auto& name_of) {
    std::map<std::string, std::vector<std::size_t>> named;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (const std::string name = name_of(all[i]); !name.empty()) named[name].push_back(i);
    }
    for (const auto& [name, at] : named) {
      for (std::size_t k = 1; k < at.size(); ++k) join(all[at[0]], all[at[k]]);
    }
    std::erase_if(all, [](const PowerTrack& t) { return t.points.empty(); });
  };
  join_all([](const PowerTrack& t) { return t.whole_node ? key_of(t, false) : std::string(); });
  join_all([](const PowerTrack& t) { return t.whole_node || t.gpu.size() <= kIndexMax ? std::string() : lower(t.gpu); });
  // By index: where one of them has no other name.
  std::set<std::string> bare_indices;
  const auto at_index = [](const PowerTrack& t) { return fmt::format("{}\n{}", short_node(t.node), t.index); };
  for (const PowerTrack& t : all) {
    if (!t.whole_node && t.index >= 0 && t.gpu.size() <= kIndexMax) bare_indices.insert(at_index(t));
  }
  join_all([&](const PowerTrack& t) {
    return t.whole_node || t.index < 0 || !bare_indices.contains(at_index(t)) ? std::string() : at_index(t);
  });
}

PowerReadings PowerBook::finish() {
  take_moments();
  for (auto& [key, t] : tracks_) {
    in_order(t);
    if (!t.points.empty()) all_.tracks.push_back(std::move(t));
  }
  tracks_.clear();
  join_same_gpus();
  return std::exchange(all_, {});
}

std::string power_query() {
  std::string names(kJoulesAsked);
  for (const Series& s : kSeries) names += "|" + std::string(s.name);
  return "{__name__=~\"" + names + "\"}";
}

}  // namespace muster
