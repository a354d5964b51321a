#include "ingest/gres_text.h"

#include "base/text.h"

namespace muster {
namespace {

constexpr std::int64_t kWhole = 1000;
constexpr std::uint64_t kCountMax = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Piece {
  std::string_view type;  // empty: none
  std::uint64_t count = 1;
  bool ok = true;
};

// What follows "gpu" or "shard": "=8", ":h200=8", ":8", ":h200:8", ":h200", "".
Piece read_piece(std::string_view s) {
  Piece p;
  std::string_view number;
  if (const auto equals = s.rfind('='); equals != std::string_view::npos) {
    number = s.substr(equals + 1);
    if (equals > 0) p.type = s.substr(1, equals - 1);
  } else if (!s.empty()) {
    const auto colon = s.rfind(':');
    const std::string_view last = s.substr(colon + 1);
    const bool counted = !last.empty() && is_digit(last.front()) && mig_sevenths(last) == 0;
    if (counted) number = last;
    const std::string_view before = counted ? s.substr(0, colon) : s;
    if (!before.empty()) p.type = before.substr(1);
  }
  if (number.empty()) return p;
  const auto n = parse_uint(number);
  p.ok = n && *n <= kCountMax;
  p.count = p.ok ? *n : 0;
  return p;
}

}  // namespace

int mig_sevenths(std::string_view type) {
  for (std::size_t g = type.find("g."); g != std::string_view::npos; g = type.find("g.", g + 1)) {
    if (g == 0 || type[g - 1] < '1' || type[g - 1] > '7' || (g > 1 && is_digit(type[g - 2]))) continue;
    if (g + 2 < type.size() && is_digit(type[g + 2])) return type[g - 1] - '0';
  }
  return 0;
}

GresGpus parse_gres(std::string_view text) {
  GresGpus out;
  std::int64_t plain = 0, typed = 0, typed_milli = 0, most = 0;
  if (text.substr(0, 9) == "PER_NODE:") {
    out.per_node = true;
    text.remove_prefix(9);
  }
  while (!text.empty()) {
    const auto end = text.find(',');
    std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (part.size() > 5 && (part.substr(0, 5) == "gres/" || part.substr(0, 5) == "gres:")) part.remove_prefix(5);
    const bool gpu = part.substr(0, 3) == "gpu", shard = part.substr(0, 5) == "shard";
    if (!gpu && !shard) continue;
    part = part.substr(gpu ? 3 : 5);
    if (!part.empty() && part.front() != ':' && part.front() != '=' && part.front() != '(') continue;  // "gpumem"
    const Piece p = read_piece(part.substr(0, part.find('(')));
    const auto count = static_cast<std::int64_t>(p.count);
    out.wrong = out.wrong || !p.ok;
    if (shard) {
      out.shards += count;
    } else if (p.type.empty()) {
      plain += count;
    } else {
      const int sevenths = mig_sevenths(p.type);
      typed += count;
      typed_milli += sevenths == 0 ? count * kWhole : count * (sevenths * kWhole / 7);
      if (count > most) {
        most = count;
        out.type = lower(p.type);
      }
    }
  }
  // "gres/gpu=16,gres/gpu:h200=16" says the same twice.
  out.milli = typed_milli + (plain > typed ? (plain - typed) * kWhole : 0);
  return out;
}

}  // namespace muster
