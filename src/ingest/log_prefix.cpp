#include "ingest/log_prefix.h"

#include "ingest/log_cursor.h"

namespace muster {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool word_char(char c) { return letter(c) || digit(c) || c == '_' || c == '-' || c == '.'; }

int two(std::string_view s, std::size_t i) {
  return i + 1 < s.size() && digit(s[i]) && digit(s[i + 1]) ? (s[i] - '0') * 10 + (s[i + 1] - '0') : -1;
}

// ".123456", with a comma in some languages, in nanoseconds; 0 when there is none.
std::int64_t read_fraction(Cursor& c) {
  if ((c.peek() != '.' && c.peek() != ',') || c.rest().size() < 2 || !digit(c.rest()[1])) return 0;
  c.skip(1);
  std::int64_t ns = 0;
  std::int64_t unit = kSecond / 10;
  while (digit(c.peek())) {
    ns += (c.peek() - '0') * unit;
    unit /= 10;
    c.skip(1);
  }
  return ns;
}

// "02:03:04[.5]"
bool read_clock(Cursor& c, std::int64_t& ns) {
  const std::string_view s = c.rest();
  if (s.size() < 8 || s[2] != ':' || s[5] != ':') return false;
  const int h = two(s, 0), m = two(s, 3), sec = two(s, 6);
  if (h < 0 || m < 0 || sec < 0) return false;
  c.skip(8);
  ns = (h * 3600 + m * 60 + sec) * kSecond + read_fraction(c);
  return true;
}

// "2026-11-15T02:03:04.5+00:00", or a blank for the T.
bool read_iso(Cursor& c, LogPrefix& p) {
  Cursor t = c;
  const std::string_view s = t.rest();
  if (s.size() < 19 || s[4] != '-' || s[7] != '-' || (s[10] != 'T' && s[10] != ' ')) return false;
  const int month = two(s, 5), day = two(s, 8);
  if (two(s, 0) < 0 || two(s, 2) < 0 || month < 0 || day < 0) return false;
  t.skip(11);
  std::int64_t ns = 0;
  if (!read_clock(t, ns)) return false;
  const std::int64_t year = two(s, 0) * 100 + two(s, 2);
  if (year < 1970 || year > 2200) return false;  // and so that nanoseconds have room
  // The offset is the same all through a file, so it is passed over.
  if (!t.take("Z") && (t.peek() == '+' || t.peek() == '-')) {
    t.skip(1);
    while (digit(t.peek()) || t.peek() == ':') t.skip(1);
  }
  p.clock = LogClock::wall;
  p.ns = ((year - 1970) * 372 + month * 31 + day) * 86400 * kSecond + ns;
  c = t;
  return true;
}

int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (std::size_t i = 0; i < 12; ++i) {
    if (name == kMonths.substr(3 * i, 3)) return static_cast<int>(i) + 1;
  }
  return 0;  // another language's: days and hours still tell lines apart
}

// "Nov 15 02:03:04", "Nov 15 2026 02:03:04", "Mon Nov 15 02:03:04 2026", months of any language.
bool read_syslog_time(Cursor& c, LogPrefix& p) {
  Cursor t = c;
  const auto name = [&]() -> std::string_view {
    const std::string_view s = t.rest();
    std::size_t n = 0;
    while (n < s.size() && n < 13 && (letter(s[n]) || static_cast<unsigned char>(s[n]) >= 0x80 || (n > 0 && s[n] == '.'))) ++n;
    if (n < 2 || n > 12) return {};
    t.skip(n);
    return s.substr(0, n);
  };
  std::string_view month = name();
  if (month.empty() || !t.take(" ")) return false;
  t.blanks();
  if (!digit(t.peek())) {  // a day of the week came first
    month = name();
    if (month.empty() || !t.take(" ")) return false;
    t.blanks();
  }
  const auto day = t.number(2, true);
  if (!day || *day > 31) return false;
  t.take(".");
  if (!t.take(" ")) return false;
  Cursor year = t;
  if (year.number(4) && year.take(" ") && t.rest().size() > 4 && digit(t.rest()[3])) t = year;
  std::int64_t ns = 0;
  if (!read_clock(t, ns)) return false;
  if (t.rest().size() >= 5 && t.rest()[0] == ' ' && two(t.rest(), 1) >= 0 && two(t.rest(), 3) >= 0 &&
      (t.rest().size() == 5 || !word_char(t.rest()[5])))
    t.skip(5);
  p.clock = LogClock::wall;
  p.ns = (month_of(month) * 31 + static_cast<std::int64_t>(*day)) * 86400 * kSecond + ns;
  c = t;
  return true;
}

// What stands between the brackets, if it is a time: "  123.456789", "+0.000844", ",123", or a date.
bool read_bracket_time(std::string_view inside, LogPrefix& p) {
  Cursor c(inside);
  c.blanks();
  LogPrefix t;
  const bool step = c.take("+");
  if (digit(c.peek()) || ((step || inside.size() > 1) && (c.peek() == '.' || c.peek() == ','))) {
    Cursor n = c;
    const auto whole = digit(n.peek()) ? n.number(9, true) : std::optional<std::uint64_t>(0);
    const bool point = n.peek() == '.' || n.peek() == ',';
    const std::int64_t part = read_fraction(n);
    if (whole && point && n.done()) {
      p.clock = step ? LogClock::step : LogClock::boot;
      p.ns = static_cast<std::int64_t>(*whole) * kSecond + part;
      return true;
    }
  }
  if ((read_iso(c, t) || read_syslog_time(c, t)) && c.done()) {
    p.clock = t.clock;
    p.ns = t.ns;
    return true;
  }
  return false;
}

// The thread or processor that printed it, as some kernels show it beside the time: "[ T1234]", "[C12]".
bool is_caller(std::string_view inside) {
  Cursor c(inside);
  c.blanks();
  return (c.take("T") || c.take("C")) && c.number(10) && c.done();
}

bool is_tool_word(std::string_view inside) {
  if (inside.empty() || inside.size() > 40 || !letter(inside[0])) return false;
  for (const char c : inside) {
    if (!word_char(c) && c != ' ' && c != '/') return false;
  }
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view line) : line_(line), c_(line) {}

  LogPrefix read() {
    c_.blanks();
    if (!record()) {
      path();
      host();
      priority();
      if (!decoded() && !p_is_foreign()) {
        if (!stamped()) brackets();
      }
    }
    p_.size = line_.size() - c_.rest().size();
    return p_;
  }

 private:
  bool p_is_foreign() const { return p_.origin == Origin::foreign; }

  // "4,358,28111765,c;"
  bool record() {
    Cursor t(line_);
    const auto prio = t.number(6);
    if (!prio || !t.take(",") || !t.number(20)) return false;
    if (!t.take(",")) return false;
    const auto us = t.number(18);
    if (!us || !t.take(",") || !(t.take("-") || t.take("c") || t.take("+"))) return false;
    const std::size_t semi = t.rest().substr(0, 128).find(';');
    if (semi == std::string_view::npos || (semi > 0 && t.peek() != ',')) return false;
    t.skip(semi + 1);
    p_.origin = *prio >> 3 == 0 ? Origin::record : Origin::foreign;
    p_.clock = LogClock::boot;
    p_.ns = static_cast<std::int64_t>(*us % 9'000'000'000'000'000) * 1000;
    c_ = t;
    return true;
  }

  // What grep puts before lines of several files: "/var/log/syslog.1:".
  void path() {
    if (c_.peek() != '/') return;
    const std::size_t colon = c_.rest().substr(0, 256).find(':');
    if (colon == std::string_view::npos || c_.rest().substr(0, colon).find(' ') != std::string_view::npos) return;
    c_.skip(colon + 1);
    Cursor n = c_;
    if (n.number(10) && n.take(":")) c_ = n;  // grep -n
  }

  // What pdsh and Talos put before each line: "10.0.0.1: kern: ...", "node17: [12.5] ...". Only where something known follows.
  void host() {
    Cursor t = c_;
    const std::string_view name = t.word(64);
    if (name.empty() || !t.take(": ") || name == "kern" || name == "kernel") return;
    t.blanks();
    const std::string_view rest = t.rest();
    Cursor probe = t;
    LogPrefix ignored;
    const std::size_t close = rest.substr(0, 48).find(']');
    const bool time =
        rest.starts_with("[") && close != std::string_view::npos && read_bracket_time(rest.substr(1, close - 1), ignored);
    if (time || rest.starts_with("kern:") || rest.starts_with("user:") || rest.starts_with("daemon:") ||
        rest.starts_with("kernel: ") || read_syslog_time(probe, ignored) || read_iso(probe, ignored)) {
      p_.host = name;
      c_ = t;
    }
  }

  void priority() {
    Cursor t = c_;
    if (!t.take("<")) return;
    const auto n = t.number(4);
    if (!n || !t.take(">")) return;
    if (*n >> 3 != 0) p_.origin = Origin::foreign;
    t.take("1 ");  // RFC 5424's version
    c_ = t;
  }

  // dmesg --decode: "kern  :err   : [12345.678901] "; Talos: "kern: err: [2026-01-01T00:00:00.0Z]: ".
  bool decoded() {
    constexpr std::string_view kFacilities[] = {"kern",   "user",   "mail",   "daemon",   "auth",   "syslog", "lpr",
                                                "news",   "uucp",   "cron",   "authpriv", "ftp",    "local0", "local1",
                                                "local2", "local3", "local4", "local5",   "local6", "local7"};
    constexpr std::string_view kLevels[] = {"emerg", "alert", "crit", "err", "warning", "warn", "notice", "info", "debug"};
    Cursor t = c_;
    const std::string_view facility = t.word(8);
    t.blanks();
    if (!t.take(":") || std::find(std::begin(kFacilities), std::end(kFacilities), facility) == std::end(kFacilities))
      return false;
    t.blanks();
    const std::string_view level = t.word(8);
    t.blanks();
    if (!t.take(":") || std::find(std::begin(kLevels), std::end(kLevels), level) == std::end(kLevels)) return false;
    t.blanks();
    c_ = t;
    p_.origin = facility == "kern" ? Origin::kernel : Origin::foreign;
    bracket_times();
    return true;
  }

  // A time in brackets, perhaps with the caller behind it. Whether there was one.
  bool bracket_times() {
    const std::string_view s = c_.rest();
    const std::size_t close = s.starts_with("[") ? s.substr(0, 48).find(']') : std::string_view::npos;
    if (close == std::string_view::npos || !read_bracket_time(s.substr(1, close - 1), p_)) return false;
    c_.skip(close + 1);
    const std::string_view next = c_.rest();
    const std::size_t end = next.starts_with("[") ? next.substr(0, 16).find(']') : std::string_view::npos;
    if (end != std::string_view::npos && is_caller(next.substr(1, end - 1))) c_.skip(end + 1);
    c_.take(":");
    c_.take(" ");
    return true;
  }

  void tagged(std::string_view tag) {
    if (tag == "kernel")
      p_.origin = Origin::kernel;
    else if (tag == "nv-fabricmanager")
      p_.origin = Origin::fabric;
    else
      p_.origin = Origin::foreign;
  }

  // "TAG: " or "TAG[123]: ".
  bool tag() {
    Cursor t = c_;
    const std::string_view name = t.word(64);
    if (name.empty() || name == "NVRM") return false;
    const bool numbered = t.take("[");
    if (numbered && (!t.number(10) || !t.take("]"))) return false;
    if (!t.take(": ")) return false;
    tagged(name);
    if (numbered && name == "kernel") p_.origin = Origin::foreign;  // the kernel has no pid: `logger -i -t kernel`
    c_ = t;
    return true;
  }

  // A time without brackets: of syslog, ISO 8601, or seconds since 1970 as journalctl -o short-unix has them.
  bool plain_time() {
    if (digit(c_.peek())) {
      if (read_iso(c_, p_)) return true;
      Cursor t = c_;
      const auto s = t.number(11);
      const bool point = t.peek() == '.';
      const std::int64_t part = read_fraction(t);
      if (!s || *s < 1'000'000'000 || !point || t.peek() != ' ') return false;
      p_.clock = LogClock::wall;
      p_.ns = static_cast<std::int64_t>(*s % 9'000'000'000) * kSecond + part;
      c_ = t;
      return true;
    }
    if (read_syslog_time(c_, p_)) return true;
    Cursor t = c_;  // "Sun 2026-11-15 02:03:04 UTC"
    if (t.word(3).size() != 3 || !t.take(" ") || !read_iso(t, p_)) return false;
    c_ = t;
    if (t.take(" ")) {
      const std::string_view zone = t.word(5);
      if (zone.size() >= 3 && t.peek() == ' ' && zone.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos)
        c_ = t;
    }
    return true;
  }

  // Such a time, then host and tag, or neither. False: no such time, nor the kernel's tag.
  bool stamped() {
    const std::string_view from = c_.rest();
    if (!plain_time()) {
      if (!from.starts_with("kernel: ")) return false;
      tag();
      bracket_times();
      return true;
    }
    if (!c_.take(" ")) {
      p_.origin = Origin::foreign;
      return true;
    }
    c_.blanks();
    if (from.size() > 19 && digit(from[0]) && from[19] == ',') {  // dmesg --time-format iso: the message follows
      p_.origin = Origin::kernel;
      return true;
    }
    const bool container = c_.take("stdout F ") || c_.take("stderr F ");  // a container's log of what dmesg prints
    if (container || c_.peek() == '[') {
      brackets();
      return true;
    }
    if (!tag()) untagged();
    if (p_.origin == Origin::kernel) bracket_times();
    return true;
  }

  // Behind a time there is a host and a tag, or the message itself. With a host but no tag it is whatever a program chose to be
  // called: "Nov 15 02:03:04 host NVRM: " is what `logger -t NVRM` gives.
  void untagged() {
    Cursor t = c_;
    const std::string_view name = t.word(255);
    if (name.empty() || !t.take(" ")) return;
    t.blanks();
    Cursor behind = t;
    if (behind.take("kernel - - - ")) {  // RFC 5424
      p_.host = name;
      c_ = behind;
      c_.take("- ");
      p_.origin = Origin::kernel;
      return;
    }
    if (!behind.word(64).empty()) {
      const bool number = !behind.take("[") || (behind.number(10) && behind.take("]"));
      if (number && behind.take(": ")) {
        c_ = t;
        p_.host = name;
        if (!tag()) p_.origin = Origin::foreign;
      }
    }
  }

  // "[123.4] host kernel: ", as journalctl -o short-monotonic has it.
  void host_behind_time() {
    Cursor t = c_;
    const std::string_view name = t.word(255);
    if (name.empty() || !t.take(" kernel: ")) return;
    p_.host = name;
    c_ = t;
  }

  // Times and the words of tools in brackets; then a GPU's name, then "XID: ".
  void brackets() {
    const bool time = bracket_times();
    if (time && p_.clock != LogClock::wall) {
      if (!p_is_foreign()) p_.origin = Origin::kernel;
      return host_behind_time();
    }
    bool wrapped = false;
    for (int i = 0; i < 4; ++i) {
      const std::string_view s = c_.rest();
      const std::size_t close = s.starts_with("[") ? s.substr(0, 48).find("] ") : std::string_view::npos;
      if (close == std::string_view::npos || !is_tool_word(s.substr(1, close - 1))) break;
      c_.skip(close + 2);
      wrapped = true;
    }
    Cursor t = c_;
    if (t.take("GPU-") && !t.word(40).empty() && t.take(": ")) {
      c_ = t;
      wrapped = true;
    }
    if (c_.take("XID: ")) wrapped = true;
    if (p_is_foreign()) return;
    if (wrapped)
      p_.origin = Origin::wrapped;
    else if (time)
      p_.origin = Origin::kernel;  // dmesg -T: its dates stand in brackets
  }

  std::string_view line_;
  Cursor c_;
  LogPrefix p_;
};

}  // namespace

LogPrefix read_log_prefix(std::string_view line) { return Reader(line).read(); }

}  // namespace muster
