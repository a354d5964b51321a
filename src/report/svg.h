// What drawings share: text that is safe in XML, and axes that are easy to read.
#pragma once
#include <string>
#include <string_view>

namespace muster::report {

// Printable, with what XML reserves escaped.
std::string escape(std::string_view s);
// The least of 1, 2, 2.5, 4, 5, 6, 8 and 10 times a power of ten that is not below: quarters of it are easy to read.
double rounded_up(double v);
std::string short_number(double v);  // "12.5k", "3M"

}  // namespace muster::report
