#include "fleet_held.h"

#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "files.h"
#include "ingest/declared_file.h"
#include "ingest/performance_file.h"

namespace muster::cmd {

Time wall_now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

Result<Time> end_of_day(const std::string& day) {
  const auto wrong = [&day] {
    return fail(Code::bad_input, fmt::format("--today must be a day such as 2026-11-19, is \"{}\"", printable(day)));
  };
  if (day.size() != 10 || day[4] != '-' || day[7] != '-') return wrong();
  const auto year = parse_uint(day.substr(0, 4)), month = parse_uint(day.substr(5, 2)), of_month = parse_uint(day.substr(8, 2));
  if (!year || !month || !of_month) return wrong();
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*of_month))};
  // Nanoseconds of 64 bits end in 2262.
  if (!date.ok() || *year < 1970 || *year > 2261) return wrong();
  const std::int64_t days_since_1970 = std::chrono::sys_days(date).time_since_epoch().count();
  return Time{} + days(days_since_1970 + 1) - seconds(1);
}

Result<Declarations> load_declared(const std::string& file) {
  if (file.empty()) return Declarations{};
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return read_declared(*text, file);
}

Result<NodePerformance> load_performance(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return read_performance(*text, file);
}

}  // namespace muster::cmd
