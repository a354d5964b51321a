#include "report/tuner_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/math.h"
#include "base/text.h"

namespace muster::report {
namespace {

constexpr std::string_view kMagic("MUSTUNE\n", 8);
constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHeader = 64, kEntry = 32, kSpan = 32, kHashAt = 24;
constexpr std::size_t kBytesMax = std::size_t{16} << 20;
constexpr int kCollectives = 5, kAlgorithms = 7, kProtocols = 3, kChannelsMax = 64;
constexpr std::uint32_t kRanksMax = 1U << 24, kChunkMax = 64U << 20;

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {"broadcast", "reduce", "allgather", "reducescatter",
                                                                         "allreduce"};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, kProtocols> kProtocolNames = {"LL", "LL128", "Simple"};

template <std::size_t N>
std::optional<int> number_of(const std::array<std::string_view, N>& names, std::string_view name) {
  std::string plain = lower(trim(name));
  std::erase_if(plain, [](char c) { return c == '_' || c == '-' || c == ' '; });
  for (std::size_t i = 0; i < N; ++i) {
    if (plain == lower(names[i])) return static_cast<int>(i);
  }
  return std::nullopt;
}

// CRC-64 as in xz (reflected ECMA-182). Each byte that is wrong, and each run of up to 64 wrong bits, changes it for certain,
// which hashes made for speed do not promise; and it is short enough to be written a second time in C, for a plugin without
// libraries.
std::uint64_t crc64(std::uint64_t crc, std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint64_t, 256> table{};
    for (std::uint64_t i = 0; i < 256; ++i) {
      std::uint64_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xC96C5795D7870F42ULL : 0);
      table[i] = c;
    }
    return table;
  }();
  crc = ~crc;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::uint64_t hash_of(std::string_view file) { return crc64(crc64(0, file.substr(0, kHashAt)), file.substr(kHashAt + 8)); }

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
}

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[at_ + i])) << (8 * i);
    at_ += sizeof(T);
    return static_cast<T>(value);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::uint16_t permille(double share) { return static_cast<std::uint16_t>(std::clamp(share * 1000, 0.0, 65535.0)); }
std::uint32_t nanoseconds(double us) { return static_cast<std::uint32_t>(std::clamp(us * 1000, 0.0, 4294967295.0)); }

std::string say(const TunerKey& k) {
  return fmt::format("{}, {} nodes of {} ranks, NVLink domain {}{}", tuner_collective_name(k.collective), k.nodes,
                     k.ranks_per_node, k.nvlink_domain, k.registered ? ", registered buffers" : "");
}

std::string wrong_key(const TunerKey& k) {
  if (k.collective < 0 || k.collective >= kCollectives) return fmt::format("collective {} is none of NCCL's five", k.collective);
  if (k.nodes == 0 || k.ranks_per_node == 0 || k.nvlink_domain == 0)
    return "nodes, ranks per node and NVLink domain are at least 1";
  if (k.nodes > kRanksMax || k.ranks_per_node > kRanksMax || k.nvlink_domain > kRanksMax) return "more ranks than there can be";
  return {};
}

std::string wrong_choice(const TunerChoice& c) {
  if (c.own()) return c == TunerChoice{} ? "" : "NCCL's own choice comes without protocol, channels and chunk size";
  if (c.algorithm >= kAlgorithms) return fmt::format("algorithm {} is not known", c.algorithm);
  if (c.protocol < 0 || c.protocol >= kProtocols) return fmt::format("protocol {} is not known", c.protocol);
  if (c.channels > kChannelsMax) return fmt::format("{} channels, at most {}", c.channels, kChannelsMax);
  if (c.chunk_bytes > kChunkMax) return fmt::format("chunks of {} bytes, at most {}", c.chunk_bytes, kChunkMax);
  return {};
}

// Empty: nothing is wrong.
std::string wrong_entry(const TunerEntry& e) {
  if (std::string w = wrong_key(e.key); !w.empty()) return w;
  if (e.spans.empty()) return "no sizes";
  for (std::size_t i = 0; i < e.spans.size(); ++i) {
    if (i > 0 && e.spans[i].from_bytes <= e.spans[i - 1].from_bytes) return "sizes do not ascend";
    if (std::string w = wrong_choice(e.spans[i].choice); !w.empty())
      return fmt::format("from {} bytes: {}", e.spans[i].from_bytes, w);
  }
  return {};
}

}  // namespace

std::optional<int> tuner_collective(std::string_view name) { return number_of(kCollectiveNames, name); }
std::optional<int> tuner_algorithm(std::string_view name) { return number_of(kAlgorithmNames, name); }
std::optional<int> tuner_protocol(std::string_view name) { return number_of(kProtocolNames, name); }
std::string_view tuner_collective_name(int c) {
  return c >= 0 && c < kCollectives ? kCollectiveNames[static_cast<std::size_t>(c)] : "?";
}
std::string_view tuner_algorithm_name(int a) {
  return a < 0 ? "NCCL's own" : a < kAlgorithms ? kAlgorithmNames[static_cast<std::size_t>(a)] : "?";
}
std::string_view tuner_protocol_name(int p) {
  return p < 0 ? "NCCL's own" : p < kProtocols ? kProtocolNames[static_cast<std::size_t>(p)] : "?";
}

namespace {

// The first size at which `right` is used rather than `left`.
std::uint64_t crossing(const TunerKnot& left, const TunerKnot& right) {
  const double low = static_cast<double>(std::max<std::uint64_t>(left.bytes, 1)), high = static_cast<double>(right.bytes);
  // Each choice at both sizes; NCCL's own was measured everywhere, another perhaps not at its neighbour's size.
  const double left_here = left.choice.own() ? left.default_us : left.chosen_us;
  const double left_there = left.choice.own() ? right.default_us : right.previous_us;
  const double right_here = right.choice.own() ? left.default_us : left.next_us;
  const double right_there = right.choice.own() ? right.default_us : right.chosen_us;
  double share = 0.5;
  if (left_here > 0 && left_there > 0 && right_here > 0 && right_there > 0) {
    const double lead = det_log(right_here / left_here), lag = det_log(left_there / right_there);
    // A choice that loses at its own size was made for another reason than these times: then the middle stands.
    if (lead >= 0 && lag >= 0 && lead + lag > 0) share = lead / (lead + lag);
  }
  const double at = low * det_pow(high / low, share);
  return std::clamp(static_cast<std::uint64_t>(std::ceil(at)), left.bytes + 1, right.bytes);
}

}  // namespace

std::vector<TunerSpan> tuner_spans(std::span<const TunerKnot> knots) {
  std::vector<TunerSpan> spans;
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const TunerKnot& k = knots[i];
    const std::uint64_t outer = static_cast<std::uint64_t>(std::ceil(static_cast<double>(k.bytes) / det_sqrt(2.0)));
    TunerSpan span{.from_bytes = i == 0 ? outer : crossing(knots[i - 1], k), .choice = k.choice};
    if (i > 0 && k.choice == knots[i - 1].choice) {
      // Neighbours share the evidence halfway, so that each size is judged by the knot that is nearest to it.
      span.from_bytes = std::max(knots[i - 1].bytes + 1,
                                 static_cast<std::uint64_t>(std::ceil(det_sqrt(static_cast<double>(knots[i - 1].bytes)) *
                                                                      det_sqrt(static_cast<double>(k.bytes)))));
    }
    if (!k.choice.own()) {
      span.gain_permille = permille(k.gain);
      span.noise_permille = permille(k.noise);
      span.chosen_ns = nanoseconds(k.chosen_us);
    }
    span.default_ns = nanoseconds(k.default_us);
    spans.push_back(span);
  }
  if (!spans.empty()) {
    const auto end = static_cast<std::uint64_t>(std::ceil(static_cast<double>(knots.back().bytes) * det_sqrt(2.0)));
    spans.push_back({.from_bytes = std::max(end, spans.back().from_bytes + 1), .choice = {}});
  }
  return spans;
}

Result<std::string> encode_tuner_table(TunerTable table) {
  std::sort(table.entries.begin(), table.entries.end(), [](const TunerEntry& a, const TunerEntry& b) { return a.key < b.key; });
  std::size_t spans = 0;
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const TunerEntry& e = table.entries[i];
    if (const std::string w = wrong_entry(e); !w.empty())
      return fail(Code::bad_input, fmt::format("tuner table: {}: {}", say(e.key), w));
    if (i > 0 && e.key == table.entries[i - 1].key)
      return fail(Code::bad_input, fmt::format("tuner table: {} comes twice", say(e.key)),
                  "give each shape of a communicator once");
    spans += e.spans.size();
  }
  const std::size_t bytes = kHeader + table.entries.size() * kEntry + spans * kSpan;
  if (bytes > kBytesMax)
    return fail(Code::bad_input, fmt::format("tuner table: {} bytes, at most {}", bytes, kBytesMax),
                "measure fewer sizes or shapes");
  std::string out(kMagic);
  put(out, kByteOrder);
  put(out, kVersion);
  put(out, static_cast<std::uint16_t>(kHeader));
  put(out, static_cast<std::uint64_t>(bytes));
  put(out, std::uint64_t{0});  // the hash, once everything else is known
  put(out, static_cast<std::uint32_t>(table.entries.size()));
  put(out, static_cast<std::uint32_t>(spans));
  put(out, table.margin_permille);
  put(out, std::uint16_t{0});
  put(out, table.nccl_version);
  out.resize(kHeader, '\0');
  std::uint32_t first = 0;
  for (const TunerEntry& e : table.entries) {
    put(out, static_cast<std::uint8_t>(e.key.collective));
    put(out, static_cast<std::uint8_t>(e.key.registered));
    put(out, std::uint16_t{0});
    for (const std::uint32_t n : {e.key.nodes, e.key.ranks_per_node, e.key.nvlink_domain}) put(out, n);
    put(out, first);
    put(out, static_cast<std::uint32_t>(e.spans.size()));
    put(out, std::uint64_t{0});
    first += static_cast<std::uint32_t>(e.spans.size());
  }
  for (const TunerEntry& e : table.entries) {
    for (const TunerSpan& s : e.spans) {
      put(out, s.from_bytes);
      put(out, static_cast<std::int8_t>(s.choice.algorithm));
      put(out, static_cast<std::int8_t>(s.choice.protocol));
      put(out, s.choice.channels);
      put(out, s.choice.chunk_bytes);
      put(out, s.gain_permille);
      put(out, s.noise_permille);
      put(out, s.default_ns);
      put(out, s.chosen_ns);
      put(out, std::uint32_t{0});
    }
  }
  std::string hash;
  put(hash, hash_of(out));
  return out.replace(kHashAt, hash.size(), hash);
}

namespace {

struct Header {
  std::uint32_t entries = 0, spans = 0;
};

Result<Header> decode_header(std::string_view bytes, std::string_view file, TunerTable& table) {
  const auto corrupt = [&](std::string why) {
    return fail(Code::bad_input, fmt::format("{}: {}", printable(file), why),
                "write the table again with `muster tune ... --table`");
  };
  if (!bytes.starts_with(kMagic)) return corrupt("this is no tuner table");
  if (bytes.size() < kHeader || bytes.size() > kBytesMax) return corrupt("a tuner table has 64 bytes to 16 MiB");
  Bytes in(bytes.substr(kMagic.size()));
  if (in.take<std::uint32_t>() != kByteOrder) return corrupt("the byte order is not little-endian");
  if (const auto version = in.take<std::uint16_t>(); version != kVersion)
    return fail(Code::bad_input, fmt::format("{}: version {}, this program reads {}", printable(file), version, kVersion),
                "write the table with the muster that reads it");
  const auto header = in.take<std::uint16_t>();
  const auto size = in.take<std::uint64_t>(), hash = in.take<std::uint64_t>();
  Header h;
  h.entries = in.take<std::uint32_t>();
  h.spans = in.take<std::uint32_t>();
  table.margin_permille = in.take<std::uint16_t>();
  const auto reserved = in.take<std::uint16_t>();
  table.nccl_version = in.take<std::uint32_t>();
  if (size != bytes.size()) return corrupt(fmt::format("{} bytes of {}", bytes.size(), size));
  if (hash != hash_of(bytes)) return corrupt(fmt::format("damaged: its hash is {:016x}, not {:016x}", hash_of(bytes), hash));
  if (header != kHeader || reserved != 0 || in.take<std::uint64_t>() != 0 || in.take<std::uint64_t>() != 0 ||
      kHeader + std::uint64_t{h.entries} * kEntry + std::uint64_t{h.spans} * kSpan != size)
    return corrupt("the header contradicts itself");
  return h;
}

TunerSpan decode_span(Bytes& in, bool& clean) {
  TunerSpan s;
  s.from_bytes = in.take<std::uint64_t>();
  s.choice.algorithm = in.take<std::int8_t>();
  s.choice.protocol = in.take<std::int8_t>();
  s.choice.channels = in.take<std::uint16_t>();
  s.choice.chunk_bytes = in.take<std::uint32_t>();
  s.gain_permille = in.take<std::uint16_t>();
  s.noise_permille = in.take<std::uint16_t>();
  s.default_ns = in.take<std::uint32_t>();
  s.chosen_ns = in.take<std::uint32_t>();
  clean = clean && in.take<std::uint32_t>() == 0;
  return s;
}

}  // namespace

Result<TunerTable> decode_tuner_table(std::string_view bytes, std::string_view file) {
  TunerTable table;
  const auto header = decode_header(bytes, file, table);
  if (!header) return tl::unexpected(header.error());
  Bytes entries(bytes.substr(kHeader));
  Bytes spans(bytes.substr(kHeader + std::size_t{header->entries} * kEntry));
  std::uint64_t taken = 0;
  bool clean = true;
  for (std::uint32_t i = 0; clean && i < header->entries; ++i) {
    TunerEntry e;
    e.key.collective = entries.take<std::uint8_t>();
    const auto registered = entries.take<std::uint8_t>();
    e.key.registered = registered == 1;
    clean = entries.take<std::uint16_t>() == 0 && registered <= 1;
    e.key.nodes = entries.take<std::uint32_t>();
    e.key.ranks_per_node = entries.take<std::uint32_t>();
    e.key.nvlink_domain = entries.take<std::uint32_t>();
    const auto first = entries.take<std::uint32_t>(), count = entries.take<std::uint32_t>();
    // Spans stand in the order of their entries, none shared and none left over.
    clean = clean && entries.take<std::uint64_t>() == 0 && first == taken && taken + count <= header->spans;
    taken += count;
    for (std::uint32_t s = 0; clean && s < count; ++s) e.spans.push_back(decode_span(spans, clean));
    clean = clean && wrong_entry(e).empty() && (table.entries.empty() || table.entries.back().key < e.key);
    table.entries.push_back(std::move(e));
  }
  if (!clean || taken != header->spans) {
    return fail(Code::bad_input, fmt::format("{}: entry {} contradicts the rest", printable(file), table.entries.size()),
                "write the table again with `muster tune ... --table`");
  }
  return table;
}

std::string tuner_table_hash(std::string_view bytes) {
  return bytes.size() < kHeader ? "" : fmt::format("{:016x}", hash_of(bytes));
}

namespace {

TunerChoice choice_in(const TunerTable& table, const TunerEntry& e, std::uint64_t bytes) {
  const auto after = std::upper_bound(e.spans.begin(), e.spans.end(), bytes,
                                      [](std::uint64_t b, const TunerSpan& s) { return b < s.from_bytes; });
  if (after == e.spans.begin()) return {};
  const TunerSpan& s = *std::prev(after);
  return s.gain_permille > std::max(s.noise_permille, table.margin_permille) ? s.choice : TunerChoice{};
}

// Whether an entry lies on the line of communicators that differ in the number of nodes alone, or, within one node, of ranks.
bool on_line(const TunerKey& entry, const TunerKey& k) {
  if (entry.collective != k.collective || entry.registered != k.registered) return false;
  if (k.nodes > 1)
    return entry.nodes > 1 && entry.ranks_per_node == k.ranks_per_node &&
           (k.nvlink_domain == 0 || entry.nvlink_domain == k.nvlink_domain);
  const bool whole = k.nvlink_domain == k.ranks_per_node && entry.nvlink_domain == entry.ranks_per_node;
  return entry.nodes == 1 && (k.nvlink_domain == 0 || entry.nvlink_domain == k.nvlink_domain || whole);
}

}  // namespace

TunerChoice tuner_choice(const TunerTable& table, const TunerKey& key, std::uint64_t bytes) {
  const TunerEntry *below = nullptr, *above = nullptr;
  bool below_twice = false, above_twice = false;
  const auto position = [&](const TunerKey& k) { return key.nodes > 1 ? k.nodes : k.ranks_per_node; };
  const std::uint32_t wanted = position(key);
  for (const TunerEntry& e : table.entries) {
    if (!on_line(e.key, key)) continue;
    const std::uint32_t at = position(e.key);
    if (at <= wanted && (below == nullptr || at >= position(below->key))) {
      below_twice = below != nullptr && at == position(below->key);
      below = &e;
    }
    if (at >= wanted && (above == nullptr || at <= position(above->key))) {
      above_twice = above != nullptr && at == position(above->key);
      above = &e;
    }
  }
  // Two entries in one place differ in the NVLink domain, and this communicator's is not known: neither is taken.
  if (below == nullptr || above == nullptr || below_twice || above_twice) return {};
  const TunerChoice choice = choice_in(table, *below, bytes);
  return choice_in(table, *above, bytes) == choice ? choice : TunerChoice{};
}

}  // namespace muster::report
