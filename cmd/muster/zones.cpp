#include "zones.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>

#include "ingest/form.h"

namespace muster::cmd {
namespace {

// Fixed, so that the same policy has the same hash whenever it is loaded.
constexpr std::int64_t kFrom_s = 1'735'689'600;     // 2025-01-01
constexpr std::int64_t kUntil_s = 2'208'988'800;    // 2040-01-01
constexpr std::int64_t kLongAgo_s = 1'104'537'600;  // 2005-01-01
constexpr std::int64_t kHour_s = 3600;

std::int32_t offset_at(std::int64_t utc_s) {
  const auto t = static_cast<std::time_t>(utc_s);
  std::tm local{};
  ::localtime_r(&t, &local);
  return static_cast<std::int32_t>(local.tm_gmtoff);
}

// The C library reads the zone and its rules; it knows one zone at a time, so this is done before any thread runs.
std::vector<std::pair<Time, std::int32_t>> changes_of(const std::string& zone, std::int64_t from_s) {
  const char* own = std::getenv("TZ");
  const std::optional<std::string> before = own != nullptr ? std::optional<std::string>(own) : std::nullopt;
  ::setenv("TZ", (":" + zone).c_str(), 1);
  ::tzset();
  std::vector<std::pair<Time, std::int32_t>> out = {{Time{0}, offset_at(from_s)}};
  for (std::int64_t s = from_s; s < kUntil_s; s += kHour_s) {
    if (offset_at(s + kHour_s) == out.back().second) continue;
    std::int64_t change = s;
    while (offset_at(change) == out.back().second) change += 60;
    out.push_back({Time{change * 1'000'000'000}, offset_at(change)});
  }
  if (before) {
    ::setenv("TZ", before->c_str(), 1);
  } else {
    ::unsetenv("TZ");
  }
  ::tzset();
  return out;
}

// ":3", the line that names the zone; nothing where it is written in another way there.
std::string line_of(const std::string& zone, std::string_view text) {
  for (std::size_t at = text.find("zone:"); at != std::string_view::npos; at = text.find("zone:", at + 1)) {
    const std::string_view rest = text.substr(at, text.find('\n', at) - at);
    if (!zone.empty() && rest.find(zone) != std::string_view::npos)
      return fmt::format(":{}", 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return "";
}

// Of the system's own database.
bool is_known(const std::string& zone) {
  const bool plain = !zone.empty() && zone.front() != '/' && zone.find("..") == std::string::npos;
  std::ifstream there("/usr/share/zoneinfo/" + zone, std::ios::binary);
  char magic[4] = {};
  return plain && there.read(magic, sizeof magic) && std::string_view(magic, 4) == "TZif";
}

constexpr const char* kGive = "give an IANA name like Europe/Berlin, or UTC; zones come with the package tzdata";

}  // namespace

Result<std::vector<std::pair<Time, std::int32_t>>> zone_offsets(const std::string& flag, const std::string& zone) {
  if (zone == "UTC") return std::vector<std::pair<Time, std::int32_t>>{};
  if (!is_known(zone))
    return fail(Code::bad_input, fmt::format("{}: the system knows no time zone {}", flag, quoted(zone)), kGive);
  return changes_of(zone, kLongAgo_s);
}

Result<void> resolve_zones(Policy& policy, const std::string& file, std::string_view text) {
  for (Window& w : policy.windows) {
    if (w.zone == "UTC" || !w.offsets.empty()) continue;
    if (!is_known(w.zone)) {
      return fail(
          Code::bad_input,
          fmt::format("{}{}: windows[].zone: the system knows no time zone {}", file, line_of(w.zone, text), quoted(w.zone)),
          kGive);
    }
    w.offsets = changes_of(w.zone, kFrom_s);
  }
  return {};
}

}  // namespace muster::cmd
