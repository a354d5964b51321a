#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/text.h"

namespace muster::cmd {
namespace {

constexpr auto kDoubt = std::chrono::milliseconds(50);  // a sequence's bytes come together, even over a slow line
constexpr std::size_t kPasteMax = 4096;
constexpr std::size_t kSequenceMax = 256;
constexpr std::string_view kPasteEnd = "\x1b[201~";

// The other screen, no cursor, no wrapping at the right edge, pasted text told from typed.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr int kEnding[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
constexpr int kNotes[] = {SIGWINCH, SIGTSTP, SIGCONT};
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Signal handlers see nothing else.
struct Shared {
  int wake[2] = {-1, -1};
  termios before{};
  volatile std::sig_atomic_t taken = 0;
  volatile std::sig_atomic_t ended_by = 0, resized = 0, stopped = 0, continued = 0;
  struct sigaction old_ending[std::size(kEnding)], old_notes[std::size(kNotes)], old_crashes[std::size(kCrashes)], old_ttou;
};
Shared shared;

// All of it may be called in a signal handler.
void give_back() {
  if (shared.taken == 0) return;
  shared.taken = 0;
  [[maybe_unused]] const auto n = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shared.before);
}

void ring() {
  const char bell = 0;
  [[maybe_unused]] const auto n = ::write(shared.wake[1], &bell, 1);
}

void on_ending(int signal) {
  const int keep = errno;
  shared.ended_by = signal;
  ring();
  errno = keep;
}

void on_note(int signal) {
  const int keep = errno;
  if (signal == SIGWINCH) shared.resized = 1;
  if (signal == SIGTSTP) shared.stopped = 1;
  if (signal == SIGCONT) shared.continued = 1;
  ring();
  errno = keep;
}

// The message of whatever crashed must reach a terminal that can show it.
void on_crash(int signal) {
  give_back();
  for (std::size_t i = 0; i < std::size(kCrashes); ++i) {
    if (kCrashes[i] == signal) ::sigaction(signal, &shared.old_crashes[i], nullptr);
  }
  ::raise(signal);
}

struct sigaction handling(void (*handler)(int)) {
  struct sigaction a {};
  a.sa_handler = handler;
  ::sigemptyset(&a.sa_mask);
  return a;
}

void install() {
  const struct sigaction ending = handling(on_ending), note = handling(on_note), crash = handling(on_crash);
  for (std::size_t i = 0; i < std::size(kEnding); ++i) ::sigaction(kEnding[i], &ending, &shared.old_ending[i]);
  for (std::size_t i = 0; i < std::size(kNotes); ++i) ::sigaction(kNotes[i], &note, &shared.old_notes[i]);
  for (std::size_t i = 0; i < std::size(kCrashes); ++i) ::sigaction(kCrashes[i], &crash, &shared.old_crashes[i]);
  ::sigaction(SIGTTOU, nullptr, &shared.old_ttou);
}

void uninstall() {
  for (std::size_t i = 0; i < std::size(kEnding); ++i) ::sigaction(kEnding[i], &shared.old_ending[i], nullptr);
  for (std::size_t i = 0; i < std::size(kNotes); ++i) ::sigaction(kNotes[i], &shared.old_notes[i], nullptr);
  for (std::size_t i = 0; i < std::size(kCrashes); ++i) ::sigaction(kCrashes[i], &shared.old_crashes[i], nullptr);
  ::sigaction(SIGTTOU, &shared.old_ttou, nullptr);
}

// False when the terminal has gone.
bool put_all(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      pollfd out{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&out, 1, 1000);
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool take_over() {
  termios raw = shared.before;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  int set = 0;
  do {
    set = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  } while (set != 0 && errno == EINTR);
  if (set != 0) return false;
  shared.taken = 1;
  return put_all(kEnter);
}

std::size_t number_in(const char* name) {
  const char* text = std::getenv(name);
  const auto n = parse_uint(text ? text : "");
  return n && *n > 0 && *n <= 10'000 ? static_cast<std::size_t>(*n) : 0;
}

std::optional<Key::Kind> named_key(std::string_view parameters, char last) {
  using enum Key::Kind;
  switch (last) {
    case 'A': return up;
    case 'B': return down;
    case 'C': return right;
    case 'D': return left;
    case 'H': return home;
    case 'F': return end;
    case 'Z': return back_tab;
    case '~': break;
    default: return std::nullopt;
  }
  const auto number = parse_uint(parameters.substr(0, parameters.find(';'))).value_or(0);
  switch (number) {
    case 1:
    case 7: return home;
    case 4:
    case 8: return end;
    case 5: return page_up;
    case 6: return page_down;
    default: return std::nullopt;
  }
}

std::optional<Key::Kind> control_key(char c) {
  using enum Key::Kind;
  switch (c) {
    case '\r':
    case '\n': return enter;
    case '\t': return tab;
    case 0x7F:
    case 0x08: return backspace;
    case 0x02: return page_up;
    case 0x03: return interrupt;
    case 0x04:
    case 0x06: return page_down;
    case 0x0C: return redraw;
    case 0x15: return erase_line;
    case 0x1A: return suspend;
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  held_.append(bytes);
  std::vector<Key> out;
  while (!held_.empty()) {
    const std::size_t n = pasting_ ? take_paste(out) : take(out);
    if (n == 0) break;
    held_.erase(0, n);
  }
  return out;
}

std::vector<Key> KeyReader::settle() {
  std::vector<Key> out;
  if (!in_doubt()) return out;
  if (held_ == "\x1b") out.push_back({Key::Kind::escape});
  held_.clear();  // half a sequence or half a character: nothing that anybody typed
  return out;
}

// How many bytes the next key has taken; 0: its end has not come yet.
std::size_t KeyReader::take(std::vector<Key>& out) {
  const auto c = static_cast<unsigned char>(held_[0]);
  if (c == 0x1B) return take_sequence(out);
  if (c < 0x20 || c == 0x7F) {
    if (const auto kind = control_key(held_[0])) out.push_back({*kind});
    return 1;
  }
  const std::size_t n = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (held_.size() < n && c >= 0xC2 && c <= 0xF4) return 0;
  const std::string text = held_.substr(0, n);
  if (!valid_utf8(text)) return 1;
  out.push_back({Key::Kind::text, text});
  return n;
}

std::size_t KeyReader::take_sequence(std::vector<Key>& out) {
  if (held_.size() < 2) return 0;
  if (held_[1] == '\x1b') {
    out.push_back({Key::Kind::escape});
    return 1;
  }
  if (held_[1] == 'O') {
    if (held_.size() < 3) return 0;
    if (const auto kind = named_key("", held_[2])) out.push_back({*kind});
    return 3;
  }
  if (held_[1] == ']' || held_[1] == 'P' || held_[1] == '_' || held_[1] == '^') {  // a terminal's answer, up to its end mark
    const std::size_t end = std::min(held_.find('\a', 2), held_.find("\x1b\\", 2));
    if (end == std::string::npos) return held_.size() > kSequenceMax ? held_.size() : 0;
    return end + (held_[end] == '\a' ? 1 : 2);
  }
  std::size_t at = 2;
  if (held_[1] != '[') {  // a letter typed with Alt
    while (at < held_.size() && (static_cast<unsigned char>(held_[at]) & 0xC0) == 0x80) ++at;
    return at;
  }
  while (at < held_.size() && held_[at] >= 0x20 && held_[at] < 0x40) ++at;
  if (at == held_.size()) return held_.size() > kSequenceMax ? held_.size() : 0;
  if (held_[at] == '[' && at == 2) return held_.size() > 3 ? 4 : 0;  // the Linux console's function keys
  const std::string_view parameters = std::string_view(held_).substr(2, at - 2);
  if (parameters == "200" && held_[at] == '~') pasting_ = true;
  if (const auto kind = named_key(parameters, held_[at])) out.push_back({*kind});
  return at + 1;
}

std::size_t KeyReader::take_paste(std::vector<Key>& out) {
  const std::size_t end = held_.find(kPasteEnd);
  // The last bytes may be the beginning of the end mark.
  const std::size_t ready = end != std::string::npos ? end : held_.size() - std::min(held_.size(), kPasteEnd.size() - 1);
  pasted_ += held_.substr(0, std::min(ready, kPasteMax - std::min(kPasteMax, pasted_.size())));
  if (end == std::string::npos) return ready;
  pasting_ = false;
  out.push_back({Key::Kind::paste, to_valid_utf8(pasted_)});
  pasted_.clear();
  return end + kPasteEnd.size();
}

TerminalSize terminal_size(TerminalSize otherwise) {
  winsize w{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0) return {w.ws_col, w.ws_row};
  const std::size_t width = number_in("COLUMNS"), height = number_in("LINES");
  return {width > 0 ? width : otherwise.width, height > 0 ? height : otherwise.height};
}

Result<std::unique_ptr<Terminal>> Terminal::open() {
  const auto cannot = [](std::string_view what) {
    return fail(Code::internal, fmt::format("the terminal cannot be used: {}: {}", what, std::strerror(errno)),
                "`muster top --once` prints the same as plain text");
  };
  if (::tcgetattr(STDIN_FILENO, &shared.before) != 0) return cannot("its settings");
  if (::pipe2(shared.wake, O_CLOEXEC | O_NONBLOCK) != 0) return cannot("a pipe");
  shared.ended_by = 0;
  install();
  auto terminal = std::unique_ptr<Terminal>(new Terminal);
  if (!take_over()) return cannot("raw mode");
  // From here on; before it, this is what makes a program that was started in the background wait to be fetched.
  const struct sigaction nothing = handling(SIG_IGN);
  ::sigaction(SIGTTOU, &nothing, nullptr);
  return terminal;
}

void Terminal::close() {
  if (shared.wake[0] < 0) return;
  give_back();
  uninstall();
  for (int& fd : shared.wake) {
    ::close(fd);
    fd = -1;
  }
}

void Terminal::draw(const std::vector<std::string>& lines) {
  std::string out;
  if (drawn_.empty()) out = "\x1b[2J";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < drawn_.size() && drawn_[i] == lines[i]) continue;
    // Cleared first: at the right edge, clearing what follows would take the last character.
    out += fmt::format("\x1b[{};1H\x1b[K{}\x1b[0m", i + 1, lines[i]);
  }
  if (lines.size() < drawn_.size()) out += fmt::format("\x1b[{};1H\x1b[J", lines.size() + 1);
  if (!put_all(out)) gone_ = true;
  drawn_ = lines;
}

Terminal::Happened Terminal::wait(std::chrono::milliseconds most) {
  Happened h;
  pollfd from[] = {{STDIN_FILENO, POLLIN, 0}, {shared.wake[0], POLLIN, 0}};
  const auto patience = reader_.in_doubt() ? kDoubt : most;
  const int ready = ::poll(from, 2, static_cast<int>(std::max<std::int64_t>(0, patience.count())));
  char bytes[4096];
  if ((from[1].revents & POLLIN) != 0) {
    while (::read(shared.wake[0], bytes, sizeof bytes) > 0) {
    }
  }
  if (from[0].revents != 0) {
    const auto n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0) h.keys = reader_.feed({bytes, static_cast<std::size_t>(n)});
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) gone_ = true;
  } else if (ready == 0) {
    h.keys = reader_.settle();
  }
  if (shared.stopped != 0) suspend();
  if (shared.continued != 0) {
    shared.continued = 0;
    if (!take_over()) gone_ = true;
    forget();
  }
  h.resized = shared.resized != 0;
  shared.resized = 0;
  h.ended_by = gone_ ? SIGHUP : shared.ended_by;
  return h;
}

void Terminal::wake() { ring(); }

void Terminal::suspend() {
  shared.stopped = 0;
  give_back();
  const struct sigaction normal = handling(SIG_DFL), note = handling(on_note);
  ::sigaction(SIGTSTP, &normal, nullptr);
  ::raise(SIGTSTP);  // returns when the shell continues us
  ::sigaction(SIGTSTP, &note, nullptr);
  shared.continued = 1;
  shared.resized = 1;
  ring();
}

}  // namespace muster::cmd
