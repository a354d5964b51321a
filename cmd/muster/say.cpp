#include "say.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "base/text.h"

namespace muster::cmd {
namespace {

int first_failure = 0;  // errno of the first write to stdout that failed: later calls no longer know why

// False where something could not be written. A reader that has gone away is no error: the program ends there.
bool written(bool ok) {
  if (ok) return true;
  if (errno == EPIPE) std::_Exit(0);
  if (first_failure == 0) first_failure = errno;
  return false;
}

void write_escaped(std::string_view first, std::string_view text) {
  std::string out(first);
  bool again = false;
  for (const auto line : split(text, '\n')) {
    if (again) out += "\n  ";
    out += printable(line);
    again = true;
  }
  out += '\n';
  std::fputs(out.c_str(), stderr);
}

}  // namespace

int say_error(const Error& error) {
  written(std::fflush(stdout) == 0);
  write_escaped("error: ", error.what);
  if (!error.next.empty()) write_escaped("  next: ", error.next);
  return exit_code(error.code);
}

void say(std::string_view line) { write_escaped("", line); }

void put(std::string_view text) {
  written(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

int finish_output() {
  if (written(std::fflush(stdout) == 0) && !std::ferror(stdout)) return 0;
  std::fprintf(stderr, "error: cannot write to standard output: %s\n", std::strerror(first_failure));
  return 1;
}

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool colour_wanted() {
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return stdout_is_terminal() && !(no && *no) && !(term && std::string_view(term) == "dumb");
}

bool ask_yes(const std::string& question) {
  std::fprintf(stderr, "%s [y/N] ", printable(question).c_str());
  std::fflush(stderr);
  char answer[16] = {};
  if (!std::fgets(answer, sizeof answer, stdin)) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

}  // namespace muster::cmd
