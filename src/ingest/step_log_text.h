// How numbers, times and settings stand in lines of a training framework's log.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::step_text {

bool digit(char c);
bool name_char(char c);
bool has(std::string_view s, std::string_view what);

// The number that text begins with, blanks before it and commas in it ("7,890") passed over; none: it is not finite, or none.
std::optional<double> number_at(std::string_view s);
// What follows the first of `key`, if it is a number that is at least 0.
std::optional<double> after(std::string_view line, std::string_view key);
// 0 and none: no number that can be one.
std::uint32_t count_of(std::optional<double> n);
std::optional<std::uint64_t> step_of(std::optional<double> n);

// Seconds since 1970 by the first date and time near the line's beginning ("2023-11-29 08:51:11,651"); 0: there is none.
double stamp_of(std::string_view line);
// What a launcher puts before each line of a rank or host: "[1,0]<stdout>:", "[default0]:", "[rank0]:", "vm-07-05: ", "3: ".
std::string_view launcher_tag(std::string_view line);
std::string without_escapes(std::string_view line);

// "name ....... value": the name, and what is behind the dots.
struct Dotted {
  std::string_view name, value;
};
std::optional<Dotted> dotted(std::string_view line);

}  // namespace muster::step_text
