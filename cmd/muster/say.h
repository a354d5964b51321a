// Speaking to the person at the terminal: data goes to stdout, everything else to stderr.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cmd {

// "error: what" and "  next: ..." on stderr; returns the exit code that belongs to it.
int say_error(const Error& error);
// One line on stderr.
void say(std::string_view line);
// Writes to stdout; leaves quietly (exit 0) when the reader has gone, as `muster get nodes | head` does.
void put(std::string_view text);
// All that was put is out. Returns 0, or 1 with a message when stdout could not take it (full disk).
int finish_output();

bool stdout_is_terminal();
bool stderr_is_terminal();
// A terminal, and NO_COLOR is not set.
bool colour_wanted();
// Asks on the terminal; false when the answer is not yes.
bool ask_yes(const std::string& question);

}  // namespace muster::cmd
