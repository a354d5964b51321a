// Written by hand, since every library for this format allocates per label and trusts its input: this one allocates
// nothing of its own, reads only the series it knows, and is bounded in every direction.
#include "ingest/prom_text.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "ingest/pci.h"
#include "ingest/prom_series.h"

namespace muster {
namespace {

constexpr bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}
constexpr auto kNameChar = [] {
  std::array<bool, 256> t{};
  for (int c = 0; c < 256; ++c) t[static_cast<std::size_t>(c)] = name_char(static_cast<char>(c));
  return t;
}();

bool is_name_char(char c) { return kNameChar[static_cast<unsigned char>(c)]; }
bool blank(char c) { return c == ' ' || c == '\t'; }

// A generation's transfers a second are about twice those of the one before it, from 2.5e9 on.
double pcie_generation(double transfers_s) {
  double gen = 0;
  for (double t = 2e9; t <= transfers_s && gen < 16; t *= 2) ++gen;
  return gen;
}

// DCGM's marks for "no value" (not found, not supported, not permitted), as int64, int32 and double.
bool sentinel(double v) {
  return v >= 9223372036854775000.0 || (v >= 2147483632.0 && v <= 2147483635.0) ||
         (v >= 140737488355328.0 && v <= 140737488355331.0);
}

// Plain decimals, which is nearly all there is, without the library; everything else with it.
const char* read_number(const char* p, const char* end, double& out) {
  constexpr double kTenTo[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* q = p;
  std::uint64_t digits = 0;
  int count = 0;
  int after_point = 0;
  while (q < end && *q >= '0' && *q <= '9' && count < 15) digits = digits * 10 + static_cast<std::uint64_t>(*q++ - '0'), ++count;
  if (q < end && *q == '.' && count > 0) {
    ++q;
    while (q < end && *q >= '0' && *q <= '9' && count < 15) {
      digits = digits * 10 + static_cast<std::uint64_t>(*q++ - '0'), ++count, ++after_point;
    }
  }
  // Up to 15 digits and a power of ten up to 15 are exact in a double, so their quotient is correctly rounded.
  if (count > 0 && (q == end || blank(*q) || *q == '\r')) {
    out = static_cast<double>(digits) / kTenTo[after_point];
    return q;
  }
  if (p < end && *p == '+') ++p;
  const auto r = std::from_chars(p, end, out);
  return r.ec == std::errc() ? r.ptr : nullptr;
}

class Scrape {
 public:
  Scrape(NodeId node, Time at, const Site& site, std::vector<Sample>& out, GpuPlaces* places)
      : node_(node), at_(at), site_(site), out_(out), places_(places) {}

  // One line without its end. False: refused.
  bool line(std::string_view s);
  void finish(bool full);
  bool exhausted() const { return series_ >= kScrapeSeriesMax; }

 private:
  struct Labels {
    std::string_view gpu, device, pci, host, sensor;
    std::string_view bus, segment, probe, firmware, driver;
    std::string_view instance;  // of a partitioned GPU
    std::string_view xid;
    std::string_view uuid, link_uuid;  // of the GPU; link_uuid: on a line of one of its links, which may not have `gpu`
    int slot = -1;                     // of the GPU, once its address has been looked up
  };
  // Exporters print the same labels again for every series of a device, in the same order: those seen before are compared, not
  // read again.
  struct Block {
    std::string_view text;  // from behind the brace that opens it to the one that closes it
    Labels labels;
  };

  static const char* read_labels(const char* p, const char* end, Labels& out);
  Block* known_block(const char* p, const char* end);
  int gpu_slot(Labels& l);
  int link_slot(const Labels& l) const;
  int nic_slot(const Labels& l) const;
  int pci_slot(const Labels& l);
  void keep_versions(const Series& s, const Labels& l, int slot);
  bool own_host(std::string_view host);
  bool keep(const Series& s, Labels& l, double value);

  std::array<Block, kSlotsMax> blocks_{};
  std::size_t next_block_ = 0;  // the one expected
  NodeId node_;
  double edac_ = 0;
  bool edac_seen_ = false;
  Time at_;
  const Site& site_;
  std::vector<Sample>& out_;
  std::size_t series_ = 0;
  std::uint32_t visible_ = 0;
  bool driver_said_ = false;
  std::string_view last_name_;
  const Series* last_series_ = nullptr;
  GpuPlaces* places_;
  std::array<std::uint64_t, kSlotsMax> strange_{};      // addresses the cluster file does not have, by the exporter's index
  std::array<std::string_view, kSlotsMax> instance_{};  // the one that is listened to
  std::array<std::string_view, kSlotsMax> uuid_{};
  struct Sum {  // of a series' lines, or of several series, by slot
    std::array<double, kSlotsMax> total{};
    std::uint32_t seen = 0;
    void add(int slot, double value) {
      total[static_cast<std::size_t>(slot)] += value;
      seen |= 1u << slot;
    }
  };
  Sum nvlink_, nvlink_failures_, collectives_;
  std::optional<PciTable> pci_;  // made when the first address is met
  std::string_view known_host_;  // last one found to be this node's or nobody's
  int host_searches_ = 0;
};

const char* Scrape::read_labels(const char* p, const char* end, Labels& out) {
  while (true) {
    while (p < end && (blank(*p) || *p == ',')) ++p;
    if (p == end) return nullptr;
    if (*p == '}') return p + 1;
    // A name in quotes may have any character; those we know never need to be, but may be.
    const bool quoted = *p == '"';
    if (quoted) ++p;
    const char* name = p;
    while (p < end && (quoted ? *p != '"' : is_name_char(*p))) p += quoted && *p == '\\' && p + 1 < end ? 2 : 1;
    const std::string_view label(name, static_cast<std::size_t>(p - name));
    if (quoted && p < end) ++p;
    if (label.empty() || label.size() > kScrapeLabelMax || end - p < 3 || p[0] != '=' || p[1] != '"') return nullptr;
    p += 2;
    const char* value = p;
    while (true) {
      const auto* quote = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
      if (quote == nullptr) return nullptr;
      const char* back = quote;
      while (back > value && back[-1] == '\\') --back;
      p = quote + 1;
      if ((quote - back) % 2 == 0) break;  // an even number of backslashes: the quote is real
    }
    const std::string_view text(value, static_cast<std::size_t>(p - 1 - value));
    if (text.size() > kScrapeLabelMax) return nullptr;
    switch (label.size()) {
      case 3:
        if (label == "gpu") out.gpu = text;
        if (label == "bus") out.bus = text;
        if (label == "xid") out.xid = text;
        break;
      case 4:
        if (label == "name") out.sensor = text;
        if (label == "UUID") out.uuid = text;
        break;
      case 5:
        if (label == "probe") out.probe = text;
        break;
      case 6:
        if (label == "device") out.device = text;
        break;
      case 7:
        if (label == "segment") out.segment = text;
        break;
      case 8:
        if (label == "Hostname" || label == "hostname") out.host = text;
        if (label == "GPU_I_ID") out.instance = text;
        if (label == "gpu_uuid") out.link_uuid = text;
        break;
      case 10:
        if (label == "pci_bus_id") out.pci = text;
        break;
      case 16:
        if (label == "firmware_version") out.firmware = text;
        break;
      case 22:
        if (label == "DCGM_FI_DRIVER_VERSION") out.driver = text;
        break;
      default: break;
    }
  }
}

// The block that stands at p, if it is the one expected next or the first of a new series.
Scrape::Block* Scrape::known_block(const char* p, const char* end) {
  const auto here = [&](const Block& b) {
    return !b.text.empty() && static_cast<std::size_t>(end - p) >= b.text.size() &&
           std::memcmp(p, b.text.data(), b.text.size()) == 0;
  };
  if (next_block_ == blocks_.size() || !here(blocks_[next_block_])) {
    if (!here(blocks_[0])) return nullptr;
    next_block_ = 0;
  }
  return &blocks_[next_block_++];
}

int Scrape::link_slot(const Labels& l) const {
  const auto it = std::find(uuid_.begin(), uuid_.end(), l.link_uuid);
  return it == uuid_.end() ? -1 : static_cast<int>(it - uuid_.begin());
}

int Scrape::gpu_slot(Labels& l) {
  if (l.slot >= 0) return l.slot;
  constexpr std::uint64_t kStrange = std::uint64_t{1} << 63;  // no address is 0
  std::optional<std::uint64_t> strange;
  if (!l.pci.empty()) {
    if (!pci_) pci_.emplace(site_);
    if (const auto a = read_pci(l.pci)) {
      if (const int slot = pci_->gpu(*a); slot >= 0) return l.slot = slot;
      strange = std::uint64_t{a->domain} << 32 | std::uint64_t{a->bus} << 16 | a->device | kStrange;
      if (places_ != nullptr && !places_->address.empty()) {
        const auto it = std::find(places_->address.begin(), places_->address.end(), *strange);
        return it == places_->address.end() ? -1 : static_cast<int>(it - places_->address.begin());
      }
    }
  }
  unsigned slot = 0;
  const std::string_view index = l.gpu.starts_with("GPU") ? l.gpu.substr(3) : l.gpu;  // NCCL Inspector writes GPU0
  const auto r = std::from_chars(index.data(), index.data() + index.size(), slot);
  if (index.empty() || r.ec != std::errc() || r.ptr != index.data() + index.size()) return -1;
  if (slot >= site_.gpus_per_node || slot >= kSlotsMax) return -1;
  if (strange) strange_[slot] = *strange;
  return static_cast<int>(slot);
}

int Scrape::nic_slot(const Labels& l) const { return slot_of_nic(l.device, site_); }

// "580.159.04" as a number; a driver's two-part version has no third. Nothing for what is no version.
std::optional<double> read_version(std::string_view text) {
  double part[3] = {};
  std::size_t n = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  for (; p < end && n < 3; ++n) {
    unsigned v = 0;
    const auto r = std::from_chars(p, end, v);
    if (r.ec != std::errc() || v > 99999) return std::nullopt;
    part[n] = v;
    p = r.ptr;
    if (p < end && *p++ != '.') return std::nullopt;
  }
  if (n < 2 || p != end) return std::nullopt;
  return version_number(part[0], part[1], part[2]);
}

int Scrape::pci_slot(const Labels& l) {
  PciAddress a;
  const auto hex = [](std::string_view t, auto& out) {
    const auto r = std::from_chars(t.data(), t.data() + t.size(), out, 16);
    return !t.empty() && r.ec == std::errc() && r.ptr == t.data() + t.size();
  };
  if (!hex(l.segment, a.domain) || !hex(l.bus, a.bus) || !hex(l.device, a.device)) return -1;
  if (!pci_) pci_.emplace(site_);
  return pci_->gpu(a);
}

// What stands in labels: versions of the driver and of a NIC's firmware. A node has one driver: said once a scrape.
void Scrape::keep_versions(const Series& s, const Labels& l, int slot) {
  if (!l.driver.empty() && !driver_said_) {
    driver_said_ = true;
    if (const auto v = read_version(l.driver)) out_.push_back({at_, node_, -1, Field::driver_version, *v});
  }
  if (s.field != Field::nic_firmware) return;
  if (const auto v = read_version(l.firmware)) out_.push_back({at_, node_, static_cast<std::int16_t>(slot), s.field, *v});
}

// An exporter may call its host what it likes (in a container it often does), but not by the name of another node.
bool Scrape::own_host(std::string_view host) {
  if (host.empty() || host == known_host_) return true;
  const std::string_view own = site_.nodes[node_.v].name;
  if (host == own || host.substr(0, host.find('.')) == own) {
    known_host_ = host;
    return true;
  }
  constexpr int kSearchesMax = 4;  // a search is over all nodes; an honest scrape needs at most one
  if (++host_searches_ > kSearchesMax) return false;
  for (const NodeSpec& n : site_.nodes) {
    if (n.name == host) return false;
  }
  known_host_ = host;
  return true;
}

bool Scrape::keep(const Series& s, Labels& l, double value) {
  int slot = -1;
  if (s.entity != Entity::node) {
    const bool of_link = s.entity == Entity::gpu && l.gpu.empty() && !l.link_uuid.empty();
    slot = of_link ? link_slot(l) : s.entity == Entity::gpu ? gpu_slot(l) : s.entity == Entity::nic ? nic_slot(l) : pci_slot(l);
    // A device that is no GPU; a link of one that the page did not show before it.
    if (slot < 0 && (of_link || s.entity == Entity::pci)) return true;
    // InfiniBand devices beyond one per GPU (storage, management) are not ours to judge.
    if (slot < 0) return s.entity == Entity::nic && !l.device.empty();
    if (s.entity == Entity::gpu && s.field != Field::collective_us) visible_ |= 1u << slot;  // a job's file may outlive its GPU
    if (!l.uuid.empty()) uuid_[static_cast<std::size_t>(slot)] = l.uuid;
    if (s.entity == Entity::gpu && !l.instance.empty()) {
      std::string_view& first = instance_[static_cast<std::size_t>(slot)];
      if (first.empty()) first = l.instance;
      if (first != l.instance) return true;
    }
  }
  keep_versions(s, l, slot);
  if (s.field == Field::nic_firmware) return true;
  if (s.field == Field::driver_answers) {  // only the probe that asks the driver
    if (l.probe != "nvml" || !(value == 0 || value == 1)) return true;
    value = 1 - value;
  }
  // A board has many sensors; vendors call the one at its air intake "Inlet Temp", "INLET_TEMP", "Inlet Ambient".
  if (s.field == Field::inlet_temp_c && l.sensor.substr(0, 5) != "Inlet" && l.sensor.substr(0, 5) != "INLET") return true;
  if (!std::isfinite(value) || sentinel(value)) return true;
  if (value < s.min || value > s.max) return false;
  // Activity of a slice of a GPU says nothing about the whole.
  if (!l.instance.empty() && (s.field == Field::tensor_active || s.field == Field::gpu_util_pct)) return true;
  // An exporter that is asked by link prints a line for each: they add up like the series do.
  if (s.field == Field::nvlink_errors_total) return nvlink_.add(slot, value), true;
  if (s.field == Field::nvlink_failures_total) return nvlink_failures_.add(slot, value), true;
  if (s.field == Field::collective_us) return collectives_.add(slot, value), true;  // by kind, size and communicator
  if (s.field == Field::xid_count) {
    unsigned code = 0;
    const auto r = std::from_chars(l.xid.data(), l.xid.data() + l.xid.size(), code);
    if (l.xid.empty() || r.ec != std::errc() || r.ptr != l.xid.data() + l.xid.size() || code > kXidMax) return false;
    value = xid_count_value(code, value);
  }
  if (s.field == Field::host_uncorrected_total) {  // of several memory controllers
    edac_ += value;
    edac_seen_ = true;
    return true;
  }
  if (s.field == Field::pcie_gen && s.entity == Entity::pci) value = pcie_generation(value);
  if (s.field == Field::ib_up) value = value == 4 ? 1 : 0;  // 4: the port is active
  out_.push_back({at_, node_, static_cast<std::int16_t>(slot), s.field, value});
  return true;
}

bool Scrape::line(std::string_view text) {
  if (text.size() > kScrapeLineMax) return false;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end && blank(*p)) ++p;
  if (p == end || *p == '#') return true;
  // Lines of one series come together: most often the name is the last one's.
  std::string_view name;
  std::size_t name_bytes = 0;  // with its quotes and what follows, where it stands among the labels: {"NAME",gpu="0"} 1
  if (*p == '{') {
    const auto* quote = end - p > 2 && p[1] == '"'
                            ? static_cast<const char*>(std::memchr(p + 2, '"', static_cast<std::size_t>(end - p - 2)))
                            : nullptr;
    if (quote == nullptr || quote + 1 == end || (quote[1] != ',' && quote[1] != '}')) return false;
    name = {p + 2, static_cast<std::size_t>(quote - p - 2)};
    if (name.empty() || name.size() > kScrapeLabelMax) return false;
    name_bytes = static_cast<std::size_t>(quote + 1 - p);
    last_name_ = {};
    last_series_ = find_series(name);
  } else if (!last_name_.empty() && static_cast<std::size_t>(end - p) > last_name_.size() &&
             !is_name_char(p[last_name_.size()]) && std::memcmp(p, last_name_.data(), last_name_.size()) == 0) {
    name = last_name_;
  } else {
    const char* q = p;
    while (q < end && is_name_char(*q)) ++q;
    name = {p, static_cast<std::size_t>(q - p)};
    if (name.empty() || name.size() > kScrapeLabelMax || (name[0] >= '0' && name[0] <= '9')) return false;
    last_name_ = name;
    last_series_ = find_series(name);
  }
  if (last_series_ == nullptr) return true;
  ++series_;
  p += name_bytes != 0 ? name_bytes : name.size();
  Labels own;
  Labels* labels = &own;
  if (p < end && name_bytes != 0) {
    p = read_labels(p, end, own);
    if (p == nullptr) return false;
  } else if (p < end && *p == '{') {
    const char* const begin = ++p;
    if (Block* known = known_block(p, end)) {
      labels = &known->labels;
      p += known->text.size();
    } else {
      p = read_labels(p, end, own);
      if (p == nullptr) return false;
      if (next_block_ == blocks_.size()) next_block_ = 0;
      Block& b = blocks_[next_block_++];
      b = {{begin, static_cast<std::size_t>(p - begin)}, own};
      labels = &b.labels;
    }
  } else if (p < end && !blank(*p)) {
    return false;
  }
  while (p < end && blank(*p)) ++p;
  double value = 0;
  if (p == end || (p = read_number(p, end, value)) == nullptr) return false;
  while (p < end && (blank(*p) || *p == '\r')) ++p;
  if (p < end && *p != '#') {  // a time of the exporter's own, in ms or (OpenMetrics) in seconds with decimals: is not used
    double stamp = 0;
    if ((p = read_number(p, end, stamp)) == nullptr || !std::isfinite(stamp)) return false;
    while (p < end && (blank(*p) || *p == '\r')) ++p;
  }
  // An exemplar may end the line: "# {trace_id="x"} 1 1.5". Which trace it was is not looked at.
  if (p < end && (*p != '#' || (p + 1 < end && p[1] != ' ' && p[1] != '{') || !blank(p[-1]))) return false;
  return own_host(labels->host) && keep(*last_series_, *labels, value);
}

void Scrape::finish(bool full) {
  const auto tell = [&](const Sum& sum, Field field) {
    for (std::size_t slot = 0; slot < kSlotsMax; ++slot) {
      if ((sum.seen >> slot & 1u) != 0) out_.push_back({at_, node_, static_cast<std::int16_t>(slot), field, sum.total[slot]});
    }
  };
  tell(nvlink_, Field::nvlink_errors_total);
  tell(nvlink_failures_, Field::nvlink_failures_total);
  tell(collectives_, Field::collective_us);
  if (edac_seen_) out_.push_back({at_, node_, -1, Field::host_uncorrected_total, edac_});
  const auto known = strange_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(site_.gpus_per_node, kSlotsMax));
  if (places_ != nullptr && places_->address.empty() && std::find(strange_.begin(), known, 0U) == known)
    places_->address.assign(strange_.begin(), known);
  if (full) out_.push_back({at_, node_, -1, Field::gpus_visible, static_cast<double>(visible_)});
}

}  // namespace

std::size_t parse_scrape(std::string_view text, NodeId node, Time at, const Site& site, std::vector<Sample>& out,
                         GpuPlaces* places) {
  MUSTER_CHECK(node.v < site.nodes.size());
  constexpr std::string_view kFull = "# muster full";
  const bool full = text.substr(0, kFull.size()) == kFull && (text.size() == kFull.size() || text[kFull.size()] == '\n');
  Scrape scrape(node, at, site, out, places);
  std::size_t refused = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    const auto* nl = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const char* stop = nl != nullptr ? nl : end;
    if (!scrape.line({p, static_cast<std::size_t>(stop - p)})) ++refused;
    p = nl != nullptr ? nl + 1 : end;
    if (scrape.exhausted() && p < end) {
      ++refused;
      break;
    }
  }
  scrape.finish(full);
  return refused;
}

}  // namespace muster
