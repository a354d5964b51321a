#include "ingest/power_readings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/gunzip.h"

namespace muster {
namespace {

constexpr double kGpuWattsMax = 5'000;
constexpr double kNodeWattsMax = 200'000;
constexpr double kMillijoulesMax = 9e18;  // DCGM's word for "none" is above it
constexpr std::size_t kNameMax = 200;

// Series of power and energy, and how much of a watt or a millijoule one of them is.
struct Series {
  std::string_view name;
  bool energy;
  bool node;
  double scale;
};
constexpr Series kSeries[] = {
    {"DCGM_FI_DEV_POWER_USAGE", false, false, 1},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", false, false, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", true, false, 1},
    {"nvidia_smi_power_draw_watts", false, false, 1},
    {"nvidia_gpu_power_usage_milliwatts", false, false, 1e-3},
    {"ipmi_dcmi_power_consumption_watts", false, true, 1},
};

// "693.12 W", "693.12"; below 0 where the driver has nothing to say.
double number_of(std::string_view cell) {
  cell = trim(cell);
  const auto blank = cell.find(' ');
  const auto v = parse_double(cell.substr(0, blank));
  return v && std::isfinite(*v) ? *v : -1;
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

std::string key_of(const PowerTrack& t) {
  return fmt::format("{}\n{}\n{}", t.node, t.whole_node ? "" : t.gpu, t.whole_node ? "node" : "gpu");
}

}  // namespace

struct PowerBook::Columns {
  int at = -1, node = -1, index = -1, uuid = -1, model = -1, power = -1, energy = -1;

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
    power = find({"power_w", "power.draw", "power.draw.average", "power.draw.instant"});
    energy = find({"energy_mj", "total_energy_consumption"});
  }
};

void PowerBook::refuse(const std::string& what) {
  if (all_.refused++ == 0) all_.some_refused = what;
}

void PowerBook::add(const PowerTrack& who, Time at, double power_w, double energy_mj) {
  const auto [it, fresh] = tracks_.try_emplace(key_of(who), who);
  PowerPoint p{at, -1, -1};
  if (power_w > 0 && power_w <= (who.whole_node ? kNodeWattsMax : kGpuWattsMax)) p.power_w = power_w;
  if (energy_mj >= 0 && energy_mj < kMillijoulesMax) p.energy_mj = static_cast<std::int64_t>(energy_mj);
  if (p.power_w < 0 && p.energy_mj < 0)
    return refuse(fmt::format("{} W of {} at {}", render_number(power_w), printable(who.gpu), render_utc(at)));
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
    const auto before = tracks_.find(key_of(who));
    if (before != tracks_.end() && !before->second.points.empty() && t.at <= before->second.points.back().at)
      t.at = t.at + t.second;
  }
  add(who, t.at, c.power < 0 ? -1 : number_of(cell(c.power)), c.energy < 0 ? -1 : number_of(cell(c.energy)));
}

Result<void> PowerBook::take_csv(std::string_view bytes, std::string_view file, const std::string& node,
                                 const ZoneOffsets& zone) {
  const auto unpacked = gunzip_if_gzip(bytes);
  if (!unpacked) return fail(unpacked.error().code, fmt::format("{}: {}", file, unpacked.error().what), unpacked.error().next);
  const std::string_view text = *unpacked;
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
  const std::string_view name = s.label("__name__");
  const auto known = std::find_if(std::begin(kSeries), std::end(kSeries), [&](const Series& k) { return k.name == name; });
  if (known == std::end(kSeries)) return false;
  PowerTrack who;
  const auto first = [&](std::initializer_list<std::string_view> labels) {
    for (const std::string_view l : labels) {
      if (!s.label(l).empty()) return std::string(clipped(s.label(l), kNameMax));
    }
    return std::string();
  };
  who.node = first({"Hostname", "hostname", "node", "nodename", "instance"});
  who.whole_node = known->node;
  if (const auto n = parse_uint(s.label("gpu")); n && *n < 1024) who.index = static_cast<int>(*n);
  who.gpu = first({"UUID", "uuid", "gpu_uuid", "gpu", "minor_number"});
  who.model = first({"modelName", "name", "model"});
  if (!s.label("GPU_I_ID").empty()) return false;  // a slice says its whole GPU's power
  for (const PromPoint& p : s.points) {
    const double v = std::isfinite(p.value) ? p.value * known->scale : -1;
    add(who, Time{p.ms * 1'000'000}, known->energy ? -1 : v, known->energy ? v : -1);
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

PowerReadings PowerBook::finish() {
  for (auto& [key, t] : tracks_) {
    std::stable_sort(t.points.begin(), t.points.end(), [](const PowerPoint& a, const PowerPoint& b) { return a.at < b.at; });
    // Power and energy of the same moment come in two series.
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
    if (!t.points.empty()) all_.tracks.push_back(std::move(t));
  }
  tracks_.clear();
  return std::exchange(all_, {});
}

std::string power_query() {
  std::string names;
  for (const Series& s : kSeries) names += (names.empty() ? "" : "|") + std::string(s.name);
  return "{__name__=~\"" + names + "\"}";
}

}  // namespace muster
