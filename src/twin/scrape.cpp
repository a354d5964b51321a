#include "twin/scrape.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace muster::twin {
namespace {

constexpr std::string_view kDriver = "580.159.04";
constexpr std::string_view kPushedDriver = "580.181.07";  // what a bad push installs
constexpr std::uint16_t kAllSlots = 0xffff;
constexpr double kPauseLoad = 0.08;  // of a gang that waits

void append_number(std::string& out, double v, int decimals) {
  constexpr std::int64_t kTen[] = {1, 10, 100, 1000};
  // Fixed point by whole numbers: the same digits on every machine.
  const auto scaled = static_cast<std::int64_t>(v * static_cast<double>(kTen[decimals]) + (v < 0 ? -0.5 : 0.5));
  char buf[24];
  auto r = std::to_chars(buf, buf + sizeof buf, scaled / kTen[decimals]);
  out.append(buf, r.ptr);
  if (decimals == 0) return;
  std::int64_t rest = std::abs(scaled % kTen[decimals]);
  out += '.';
  for (int d = decimals - 1; d >= 0; --d) {
    out += static_cast<char>('0' + rest / kTen[d]);
    rest %= kTen[d];
  }
}

// In a label's value only these three are special.
void append_escaped(std::string& out, std::string_view s) {
  if (s.find_first_of("\"\\\n") == std::string_view::npos) {
    out += s;
    return;
  }
  for (const char ch : s) {
    if (ch == '"' || ch == '\\') out += '\\';
    if (ch == '\n') {
      out += "\\n";
    } else {
      out += ch;
    }
  }
}

}  // namespace

std::string_view loaded_driver(const Node& n) {
  return !n.driver.empty() ? std::string_view(n.driver) : n.pushed ? kPushedDriver : kDriver;
}

ScrapeWriter::ScrapeWriter(Cluster& c, NodeId n, std::string& out) : c_(c), n_(n), out_(out) {
  out_.clear();
  inlet_ = c.inlet_now(n);
  look();
  const bool split = c.node(n).split != kNone;
  const double heat = c.heat_now(c.node(n));
  const auto limit = static_cast<double>(c.node(n).limit);
  for (std::uint32_t s = 0; s < c.per_node; ++s) {
    const auto slot = static_cast<int>(s);
    const Gpu& g = c.gpu(n, slot);
    reading_[s] = read_sensors(board_of(c.identity(n, slot)), inlet_, work_[s].load, split ? c.gpu_heat(n, slot) : heat,
                               static_cast<double>(g.hot_c), static_cast<double>(g.clock),
                               g.row_hot ? kHotDraw : limited_draw(limit), g.row_hot ? kHotClock : limited_speed(limit));
  }
}

// A gang that writes or hangs does next to nothing, whatever it did before.
void ScrapeWriter::look() {
  const std::vector<Tenant>& tenants = c_.node(n_).tenants;
  for (std::uint32_t s = 0; s < c_.per_node; ++s) {
    const double load = c_.gpu_load(n_, static_cast<int>(s));
    work_[s] = {load, tenants.empty() && load > 0.5 ? 1.0 : 0.0};  // without a gang it is a test
  }
  for (const Tenant& t : tenants) {
    const Gang& g = c_.gangs[t.gang];
    const bool pauses = g.phase == Phase::writing || g.phase == Phase::hung;
    const double part = static_cast<double>(t.milli) / 1000;
    const double load = static_cast<double>(t.load);
    const double speed = g.phase == Phase::compute && g.speed > 0 ? g.speed / g.part : 1;
    for (std::uint32_t s = 0; s < c_.per_node; ++s) {
      if ((t.slots >> s & 1) == 0) continue;
      if (load > 0.5 && !pauses) work_[s].active += part * speed;
      if (!pauses) continue;
      const double others = t.milli < 1000 ? work_[s].load - part * load : 0;
      work_[s].load = others + std::min(work_[s].load - others, part * kPauseLoad);
    }
  }
}

// Built once for each GPU of a report: every series of it carries the same labels.
void ScrapeWriter::labels(int slot) {
  if (!labelled_) {
    labelled_ = true;
    int index = 0;  // the driver numbers the GPUs it sees, so that a lost one shifts those behind it
    for (std::uint32_t s = 0; s < c_.per_node; ++s) {
      if (c_.gpu(n_, static_cast<int>(s)).lost) continue;
      std::string& l = c_.text_labels[s];
      char digits[8];
      const char* const end = std::to_chars(digits, digits + sizeof digits, index).ptr;
      const std::string_view nr(digits, static_cast<std::size_t>(end - digits));
      l.clear();
      l.append("{gpu=\"").append(nr).append("\",UUID=\"").append(c_.uuid(n_, static_cast<int>(s)));
      l.append("\",pci_bus_id=\"0000").append(c_.config.site.gpu_pci[s]).append(".0\",device=\"nvidia").append(nr);
      l.append("\",modelName=\"NVIDIA ");
      append_escaped(l, c_.model(n_));
      l.append("\",Hostname=\"");
      append_escaped(l, c_.name(n_));
      const Node& x = c_.node(n_);
      l.append("\",DCGM_FI_DRIVER_VERSION=\"");
      l.append(loaded_driver(x)).append("\"} ");
      ++index;
    }
  }
  out_ += c_.text_labels[static_cast<std::size_t>(slot)];
}

void ScrapeWriter::line(std::string_view series, int slot, double value, int decimals) {
  out_ += series;
  labels(slot);
  append_number(out_, value, decimals);
  out_ += '\n';
}

void ScrapeWriter::line(std::string_view series, int slot, std::uint64_t value) {
  out_ += series;
  labels(slot);
  char buf[24];
  out_.append(buf, std::to_chars(buf, buf + sizeof buf, value).ptr);
  out_ += '\n';
}

void ScrapeWriter::nic_line(std::string_view series, int slot, std::uint64_t value) {
  out_ += fmt::format("{}{{device=\"mlx5_{}\",port=\"1\"}} {}\n", series, slot, value);
}

void ScrapeWriter::series_head(std::string_view series, bool counter) {
  if (!full_) return;
  out_ += fmt::format("# TYPE {} {}\n", series, counter ? "counter" : "gauge");
}

template <class F>
void ScrapeWriter::each(std::string_view series, int decimals, F value) {
  series_head(series, false);
  for (std::uint32_t s = 0; s < c_.per_node; ++s) {
    const Gpu& g = c_.gpu(n_, static_cast<int>(s));
    if (!g.lost) line(series, static_cast<int>(s), value(g, reading_[s], work_[s]), decimals);
  }
}

template <class F>
void ScrapeWriter::each_count(std::string_view series, std::uint16_t slots, F value) {
  series_head(series, true);
  for (std::uint32_t s = 0; s < c_.per_node; ++s) {
    const Gpu& g = c_.gpu(n_, static_cast<int>(s));
    if (!g.lost && (slots >> s & 1)) line(series, static_cast<int>(s), static_cast<std::uint64_t>(value(g)));
  }
}

void ScrapeWriter::load() {
  each("DCGM_FI_DEV_SM_CLOCK", 0, [](const Gpu&, const Reading& r, const Work&) { return r.sm_clock_mhz; });
  each("DCGM_FI_DEV_POWER_USAGE", 1, [](const Gpu&, const Reading& r, const Work&) { return r.power_w; });
  each("DCGM_FI_DEV_GPU_UTIL", 0, [](const Gpu&, const Reading&, const Work& w) { return w.load > 0.5 ? 99.0 : 100 * w.load; });
  // A GPU slower than the others is busy all the time while they wait for it.
  each("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 3, [](const Gpu& g, const Reading& r, const Work& w) {
    const double own = std::max(0.01, static_cast<double>(std::min(g.speed, r.throttled ? g.clock : 1.0F)));
    return std::min(0.9, 0.45 * w.active / own);
  });
}

void ScrapeWriter::temperatures() {
  each("DCGM_FI_DEV_GPU_TEMP", 0, [](const Gpu&, const Reading& r, const Work&) { return r.temp_c; });
  if (!c_.rows.empty()) {
    out_ += "ipmi_temperature_celsius{id=\"4\",name=\"Inlet Temp\"} ";
    append_number(out_, inlet_, 1);
    out_ += '\n';
  }
  if (full_) each("DCGM_FI_DEV_MEMORY_TEMP", 0, [](const Gpu&, const Reading& r, const Work&) { return r.memory_temp_c; });
}

void ScrapeWriter::counters(std::uint16_t slots) {
  each_count("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", slots, [](const Gpu& g) { return g.ecc_sbe; });
  each_count("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", slots, [](const Gpu& g) { return g.ecc_dbe; });
  each_count("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", slots, [](const Gpu& g) { return g.remapped_rows; });
  each_count("DCGM_FI_DEV_ROW_REMAP_PENDING", slots, [](const Gpu& g) { return g.remap_pending ? 1 : 0; });
  each_count("DCGM_FI_DEV_ROW_REMAP_FAILURE", slots, [](const Gpu& g) { return g.remap_failed ? 1 : 0; });
  each_count("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", slots,
             [](const Gpu& g) { return g.nvlink_errors - g.nvlink_errors / 8; });
  each_count("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", slots, [](const Gpu& g) { return g.nvlink_errors / 8; });
  each_count("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", slots, [](const Gpu& g) { return g.pcie_replays; });
  each_count("DCGM_FI_DEV_PCIE_LINK_WIDTH", slots, [](const Gpu& g) { return g.pcie_width; });
  each_count("DCGM_FI_DEV_THERMAL_VIOLATION", slots, [](const Gpu& g) { return g.thermal_us; });
  for (std::uint32_t s = 0; s < c_.per_node; ++s) {
    if ((slots >> s & 1) == 0) continue;
    const Gpu& g = c_.gpu(n_, static_cast<int>(s));
    nic_line("node_infiniband_link_downed_total", static_cast<int>(s), g.link_downed);
    nic_line("node_infiniband_state_id", static_cast<int>(s), g.link_up ? 4 : 1);
  }
}

void ScrapeWriter::full() {
  full_ = true;
  out_ += "# muster full\n";
  const std::int64_t boot_s = (c_.node(n_).booted + c_.utc_offset).ns / 1'000'000'000;
  out_ += fmt::format("# TYPE node_boot_time_seconds gauge\nnode_boot_time_seconds {}\n", boot_s);
  load();
  temperatures();
  counters(kAllSlots);
}

}  // namespace muster::twin
