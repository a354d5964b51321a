// Recordings of acceptance: a line of JSON for each row, as docs/formats/acceptance.md says. A recording that was cut off is read
// as far as it goes: it then has no end, and is judged so.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/acceptance.h"

namespace muster {

enum class WithReadings : bool {
  no,
  yes
};  // power and heat, 25 times a second: most of a recording, and not of a fleet's report

// An error names the file and the line. A last line without its end is left out: whoever wrote it was killed. Rows of kinds that
// this version does not know are left out too.
Result<Acceptance> parse_acceptance(std::string_view text, const std::string& file, WithReadings readings = WithReadings::yes);
std::string render_row(const accepting::Row& row);  // with its line end

}  // namespace muster
