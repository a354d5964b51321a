#include "flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/units.h"

namespace muster::cmd {
namespace {

constexpr std::uint32_t kGpusPerNode = 8;  // of the plain cluster that --gpus builds

auto bad(std::string_view flag, std::string_view text, std::string must, std::string next = {}) {
  return fail(Code::bad_input, fmt::format("{} must be {}, is \"{}\"", flag, must, text.substr(0, 200)), std::move(next));
}

bool plain(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view flag, std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto n = parse_uint(text);
  if (n && *n >= min && *n <= max) return *n;
  if (max == UINT64_MAX) return bad(flag, text, fmt::format("a whole number of {} or more", min));
  return bad(flag, text, fmt::format("a whole number from {} to {}", min, max));
}

Result<double> parse_quantity(std::string_view flag, std::string_view text, double min, double max, std::string_view unit) {
  const auto d = parse_double(text);
  if (d && std::isfinite(*d) && *d >= min && *d <= max) return *d;
  const std::string range = fmt::format("from {} to {}", render_number(min), render_number(max));
  return bad(flag, text, unit.empty() ? "a number " + range : fmt::format("a number of {} {}", unit, range));
}

Result<double> parse_tokens(std::string_view flag, std::string_view text) {
  double unit = 1;
  std::string_view number = text;
  for (const auto& [letter, of] : {std::pair{'M', 1e6}, {'B', 1e9}, {'T', 1e12}}) {
    if (!text.empty() && text.back() == letter) {
      unit = of;
      number.remove_suffix(1);
    }
  }
  const auto d = parse_double(number);
  if (d && std::isfinite(*d) && *d > 0 && *d * unit <= 1e18) return *d * unit;
  return bad(flag, text, "a number above 0, as 300B or 15T");
}

Result<Time> parse_day(std::string_view flag, std::string_view text) {
  const auto t = report::parse_utc(std::string(text) + "T00:00:00Z");
  if (t) return *t;
  return bad(flag, text, "a day, as 2027-01-31");
}

Result<double> parse_bytes(std::string_view flag, std::string_view text) {
  double unit = 1;
  std::string_view number = text;
  for (const auto& [suffix, of] : {std::pair<std::string_view, double>{"KiB", 1024.0},
                                   {"MiB", 1048576.0},
                                   {"GiB", 1073741824.0},
                                   {"TiB", 1099511627776.0},
                                   {"KB", 1e3},
                                   {"MB", 1e6},
                                   {"GB", 1e9},
                                   {"TB", 1e12}}) {
    if (text.size() <= suffix.size() || !text.ends_with(suffix)) continue;
    unit = of;
    number.remove_suffix(suffix.size());
    break;
  }
  const auto d = parse_double(trim(number));
  if (d && std::isfinite(*d) && *d > 0 && *d * unit >= 1 && *d * unit <= 1.2e18) return *d * unit;
  return bad(flag, text, "a number of bytes, as 1GiB or 64MB");
}

Result<std::uint32_t> parse_gpus(std::string_view text, bool other_nodes, std::uint32_t max) {
  const auto n = parse_uint(text);
  if (!n || *n < kGpusPerNode || *n > max) {
    return bad("--gpus", text, fmt::format("a whole number from {} to {}", kGpusPerNode, max));
  }
  if (*n % kGpusPerNode != 0) {
    const auto below = *n - *n % kGpusPerNode, above = below + kGpusPerNode;
    const std::string near =
        above > max ? fmt::format("use --gpus {}", below) : fmt::format("use --gpus {} or --gpus {}", below, above);
    return bad("--gpus", text, fmt::format("a multiple of {} (a node has {} GPUs)", kGpusPerNode, kGpusPerNode),
               other_nodes ? near + "; nodes of another size need a cluster file (--cluster FILE)" : near);
  }
  return static_cast<std::uint32_t>(*n);
}

Result<double> parse_weather(std::string_view text) {
  const bool marked = text.starts_with('x') || text.starts_with('X');
  const auto d = parse_double(marked ? text.substr(1) : text);
  if (d && std::isfinite(*d) && *d >= 0 && *d <= 100'000) return *d;
  return bad("--weather", text, "xN, with N from 0 to 100000", "x1 is the published fault rates, x200 is 200 times them");
}

Result<double> parse_days(std::string_view text, bool zero_allowed) {
  const auto d = parse_double(text);
  if (d && std::isfinite(*d) && *d <= 3650 && (*d > 0 || (zero_allowed && *d == 0))) return *d;
  return bad("--days", text, zero_allowed ? "a number from 0 (never stop) to 3650" : "a number above 0, up to 3650");
}

Result<double> parse_speed(std::string_view text) {
  const auto d = parse_double(text);
  if (d && std::isfinite(*d) && *d > 0 && *d <= 100'000) return *d;
  return bad("--speed", text, "a number above 0, up to 100000 (simulated seconds per second)");
}

Result<std::uint16_t> parse_port(std::string_view text) {
  const auto n = parse_uint(text);
  if (n && *n <= 65535) return static_cast<std::uint16_t>(*n);
  return bad("--port", text, "a whole number from 0 (any free port) to 65535");
}

Result<std::string> parse_server(std::string_view flag, std::string_view text, bool unix_allowed) {
  if (unix_allowed && text.starts_with("unix:") && text.size() > 5) return std::string(text);
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const auto rest = text.substr(scheme.size());
    const bool clean = !rest.empty() && rest.front() != '/' && rest.front() != ':' &&
                       rest.find_first_of(" \t\r\n\"<>\\@?#") == std::string_view::npos;
    if (clean) return std::string(text.ends_with('/') ? text.substr(0, text.size() - 1) : text);
  }
  // Its token never crosses a network in the clear.
  if (flag == "--controller")
    return bad(flag, text, "https://HOST:PORT or unix:PATH", "for example --controller https://head:7443");
  return bad(flag, text, unix_allowed ? "http://HOST:PORT or unix:PATH" : "http://HOST:PORT",
             fmt::format("for example {} http://head:{}", flag,
                         flag == "--alertmanager"                             ? 9093
                         : flag == "--prometheus" || flag == "--remote-write" ? 9090
                                                                              : 7070));
}

Result<std::string> parse_listen(std::string_view text) {
  // A unix socket's address holds 107 bytes.
  if (text.starts_with("unix:") && text.size() > 5 && text.size() <= 5 + 107) return std::string(text);
  for (const std::string_view host : {"127.0.0.1:", "localhost:", "[::1]:"}) {
    if (!text.starts_with(host)) continue;
    const auto port = parse_uint(text.substr(host.size()));
    if (port && *port <= 65535) return std::string(text);
  }
  return bad("--listen", text, "unix:PATH or 127.0.0.1:PORT", "a twin is served to this machine only");
}

Result<std::string> parse_exporter_listen(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : parse_uint(text.substr(colon + 1));
  if (text == "none" || (port && *port <= 65535 && colon > 0)) return std::string(text);
  return bad("--listen", text, "ADDRESS:PORT or none", "127.0.0.1:9400 serves this machine, 0.0.0.0:9400 every other as well");
}

Result<double> parse_duration_s(std::string_view flag, std::string_view text, double max_s) {
  const auto ns = parse_duration_ns(text);
  if (ns && *ns >= 0 && static_cast<double>(*ns) / 1e9 <= max_s) return static_cast<double>(*ns) / 1e9;
  return bad(flag, text, fmt::format("a length of time such as 90s, 30m or 2h, up to {} s", render_number(max_s)));
}

Result<double> parse_some_time(std::string_view flag, std::string_view text, double max_s) {
  auto s = parse_duration_s(flag, text, max_s);
  if (s && *s <= 0)
    return bad(flag, text, "longer than 0", fmt::format("leave {} out for what is usual: --help says what that is", flag));
  return s;
}

Result<std::int32_t> parse_signed(std::string_view flag, std::string_view text, std::int32_t min, std::int32_t max) {
  const auto n = parse_int(text);
  if (n && *n >= min && *n <= max) return static_cast<std::int32_t>(*n);
  return bad(flag, text, fmt::format("a whole number from {} to {}", min, max));
}

Result<std::string> parse_moment(std::string_view flag, std::string_view text) {
  const std::string given(text);
  for (const char* rest : {"", "Z", ":00Z", "T00:00:00Z"}) {
    if (const auto t = report::parse_utc(given + rest)) return render_utc(*t);
  }
  return bad(flag, text, "a time in UTC, such as 2026-11-15T02:03:04Z, 2026-11-15T02:03 or 2026-11-15");
}

Result<std::string> parse_words(std::string_view flag, std::string_view text, std::size_t max_bytes) {
  if (trim(text).empty()) return fail(Code::bad_input, fmt::format("{} must not be empty", flag));
  if (text.size() > max_bytes) return fail(Code::bad_input, fmt::format("{} is longer than {} bytes", flag, max_bytes));
  if (!valid_utf8(text)) return fail(Code::bad_input, fmt::format("{} is not valid UTF-8", flag));
  return std::string(text);
}

Result<std::string> parse_plain_name(std::string_view flag, std::string_view text) {
  if (plain(text, "-_.")) return std::string(text);
  return bad(flag, text, "one name of letters, digits, '-', '_' and '.'");
}

Result<std::string> parse_plain_path(std::string_view flag, std::string_view text) {
  if (plain(text, "-_./") && text.front() == '/') return std::string(text);
  return bad(flag, text, "an absolute path of letters, digits, '-', '_', '.' and '/'");
}

Result<std::string> parse_jobs(std::string_view text) {
  if (!text.starts_with("mix:")) return parse_words("--jobs", text, 4096);
  const auto mix = text.substr(4);
  if (mix == "llm" || mix == "research" || mix == "mixed" || mix == "shared" || mix == "none") return std::string(text);
  const auto meant = nearest(mix, {"llm", "research", "mixed", "shared", "none"});
  return bad("--jobs", text, "mix:llm, mix:research, mix:mixed, mix:shared, mix:none or a file",
             meant ? fmt::format("did you mean mix:{}?", *meant) : std::string{});
}

}  // namespace muster::cmd
