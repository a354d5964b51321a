// A command that a flag holds as one text: its words, for a program that is started without a shell.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cmd {

// Blanks part words; '...' and "..." keep them together, and nothing else is special. Refused: no word, a quote that does not
// end.
Result<std::vector<std::string>> command_words(std::string_view flag, std::string_view text);

}  // namespace muster::cmd
