#include "fleet/same_value.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr double kBinGap = 0.01;           // numbers that lie closer are the same measurement
constexpr std::size_t kManyNumbers = 8;    // different ones of a column: measured, not set
constexpr std::size_t kManyVersions = 64;  // different ones of a column: too many to be compared each with each

bool digit(char c) { return c >= '0' && c <= '9'; }

// "580.95.05" of "1:580.95.05-1ubuntu1"; the text itself where no package stands around it.
std::string_view without_package(std::string_view s) {
  if (s.size() > 2 && digit(s[0]) && s[1] == ':') s.remove_prefix(2);
  const auto dash = s.find('-');
  return dash != std::string_view::npos && dash + 1 < s.size() && digit(s[dash + 1]) ? s.substr(0, dash) : s;
}

// 1.6.07 is 1.6.7; a package's revision counts only against another one, and 5.15.0-1063 against 5.15.0-1050 is such.
void same_versions(const FactColumn& column, const FactMeaning* meaning, std::vector<FactCode>& out) {
  if (meaning == nullptr || meaning->kind != FactKind::version || column.values.size() > kManyVersions) return;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    for (std::size_t k = 0; k < column.values.size() && out[kFirstValue + i] == kFirstValue + i; ++k) {
      const std::string &a = column.values[i], &b = column.values[k];
      if (i == k || a.empty() || b.empty() || !digit(a[0]) || !digit(b[0])) continue;
      const bool bare = without_package(b) == b && without_package(a) != a;
      // The earlier stands for the later, the bare for the packaged.
      if ((k < i && compare_versions(a, b) == 0) || (bare && compare_versions(without_package(a), b) == 0))
        out[kFirstValue + i] = out[kFirstValue + k];
    }
  }
}

}  // namespace

std::vector<FactCode> same_as(const FactColumn& column, const FactMeaning* meaning) {
  std::vector<FactCode> out(kFirstValue + column.values.size());
  for (FactCode c = 0; c < out.size(); ++c) out[c] = c;
  same_versions(column, meaning, out);
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (no_answer(column.values[i])) out[kFirstValue + i] = kFactUnknown;
  }
  const bool measured = meaning != nullptr && meaning->kind == FactKind::number &&
                        (meaning->layer == FactLayer::hardware || meaning->layer == FactLayer::state);
  if (!measured && column.values.size() <= kManyNumbers) return out;
  std::vector<std::pair<double, FactCode>> numbers;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (const auto v = parse_double(column.values[i])) numbers.emplace_back(*v, static_cast<FactCode>(kFirstValue + i));
  }
  if (!measured && numbers.size() * 10 < column.values.size() * 9) return out;  // words, of which some look like numbers
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const double a = numbers[i - 1].first, b = numbers[i].first;
    // Counts such as 7 and 8 GPUs lie far apart; 2015 and 2016 GiB do not.
    if (b - a <= kBinGap * std::max(std::abs(a), std::abs(b))) out[numbers[i].second] = out[numbers[i - 1].second];
  }
  return out;
}

}  // namespace muster::fleet
