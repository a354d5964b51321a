// The tables of the weekly report, the same on the page and in Markdown.
#pragma once
#include <string>
#include <vector>

#include "report/sections.h"
#include "report/weekly.h"

namespace muster::report {

// From all that is installed down to what is useful: the order of the waterfall.
inline constexpr std::array kWasteDown = {Waste::down, Waste::drained,      Waste::idle,      Waste::starting, Waste::checkpoint,
                                          Waste::slow, Waste::lost_restart, Waste::unsettled, Waste::useful};

Section classes_section(const Weekly& w);
Section days_section(const Weekly& w);
// All the others, those that are most useful first.
std::vector<Section> further_sections(const Weekly& w);

bool of_days(const Weekly& w);                             // its pieces are days; false: hours, or less
std::string piece_label(const Weekly& w, const Piece& p);  // "15 Nov", "15 Nov 06:00"; no two pieces have the same
// "each bar is 24 hours, up to 10:30 UTC".
std::string piece_note(const Weekly& w);

}  // namespace muster::report
