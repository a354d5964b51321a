// Certificates in words.
#include "decide/place/certificate.h"

#include <fmt/core.h>

namespace muster::decide {
namespace {

std::string count(std::uint32_t n, std::string_view what) {
  if (n == 1) return fmt::format("1 {}", what);
  return what == "leaf" ? fmt::format("{} leaves", n) : fmt::format("{} {}s", n, what);
}

std::string group_words(const Certificate& c, std::string_view given) {
  if (!given.empty()) return std::string(given);
  return c.level == Level::core ? "the core" : fmt::format("{} {}", name(c.level), c.group);
}

std::string piece_words(const Shape& s) {
  std::string each = s.gpus == 0      ? std::string("a whole node each")
                     : s.milli < 1000 ? fmt::format("{:g} % of a GPU each", s.milli / 10.0)
                                      : fmt::format("{} each", count(s.gpus, "GPU"));
  if (s.segment > 1) each += fmt::format(", in segments of {} that share an NVLink domain", s.segment);
  return fmt::format("{} ({})", count(s.pieces, "piece"), each);
}

}  // namespace

std::string_view name(Level level) {
  switch (level) {
    case Level::node: return "node";
    case Level::domain: return "NVLink domain";
    case Level::leaf: return "leaf";
    case Level::pod: return "pod";
    case Level::core: return "core";
  }
  return "core";
}

std::string explain(const Certificate& c, const Shape& shape, std::string_view group_name) {
  const std::string where = group_words(c, group_name);
  std::string out = fmt::format("{} within {}, on {}.", piece_words(shape), where, count(c.leaves, "leaf"));
  for (std::size_t level = 0; level < c.best_below.size(); ++level) {
    out += fmt::format(" No {} could take more than {}.", name(static_cast<Level>(level)), c.best_below[level]);
  }
  if (c.leaves == c.leaves_min) {
    out += fmt::format(" No choice inside {} could have used fewer leaves at that moment", where);
  } else {
    out += fmt::format(" Any choice inside {} needed at least {} at that moment", where, count(c.leaves_min, "leaf"));
  }
  if (c.leaves_empty >= c.leaves_min) return out + ", and none on an empty cluster either.";
  return out + fmt::format("; an empty cluster would need {}.", count(c.leaves_empty, "leaf"));
}

}  // namespace muster::decide
