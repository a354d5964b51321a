// What the diagnosis' page draws of profiles: inline SVG and tables, bounded whatever the profiles hold. Colours are classes of
// the page's style sheet, named as the bounds and kinds of kernels are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/diagnosis.h"
#include "report/page.h"

namespace muster::report {

constexpr std::size_t kKernelsDrawn = 12;  // classes in the table and the roofline

std::string rank_title(const diagnose::Profile& p);        // "rank 3", or the file's name; escaped
std::string render_length(std::int64_t ns);                // "12.3 µs"
std::string_view colour_of(diagnose::Part part);           // of the bound that it counts for
const diagnose::Profile* first_drawn(const Diagnosis& d);  // the first in which a GPU did anything; none: null
std::size_t typical_step(const diagnose::Timeline& line);  // whose length is the median

// Each is one section, or nothing where there is nothing to draw.
std::string draw_waterfall(const Diagnosis& d);
std::string draw_time_line(const Diagnosis& d);
std::string draw_kernels(const Diagnosis& d);
std::string draw_waits(const Diagnosis& d);

}  // namespace muster::report
