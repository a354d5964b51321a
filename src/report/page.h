// Pages that are one file and ask nothing of any network: no script, no picture, no font that is not in them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace muster::report {

// Up to and with <main>; `styles` come after those that all pages share. The title is escaped here.
std::string page_begin(std::string_view title, std::string_view styles);
// `who` made it: "muster diagnose".
std::string page_end(std::string_view who);

// Untrusted text, escaped, and cut to so many bytes (twice as many where much of it must be escaped).
std::string brief(std::string_view text, std::size_t bytes_max);
std::string render_thousands(double v);       // "12,345", "1.25"
double within(double v, double most);         // 0 to `most`; 0 for what is no number
std::string swatch(std::string_view colour);  // the small square of a legend

}  // namespace muster::report
