// What the pages about acceptance draw alike.
#pragma once
#include <string>
#include <string_view>

#include "report/accept_parts.h"

namespace muster::report {

std::string_view verdict_class(accept::Verdict v);  // "could_not_run": of its colour
std::string verdict_tag(accept::Verdict v);         // the word with its mark
std::string accept_text(std::string_view s);        // untrusted, escaped and cut

// A table that scrolls by itself where it is wider than the screen; "</table></div>" ends it.
std::string scroll_begin(std::string_view label, std::string_view table_class);
void fact(std::string& out, std::string_view name, std::string_view value);  // nothing for an empty value; escaped here
// `who`: node and GPU, or what else is troubled.
void draw_trouble(std::string& out, const accept::Trouble& t, const std::string& who);
// Text that can be copied, behind a line that opens it. `text` is escaped here.
std::string folded(std::string_view title, std::string_view text);

}  // namespace muster::report
