#include "fleet/lockstep.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr std::string_view kUnit[] = {"driver.on_disk",         "driver.loaded",    "fabricmanager.version",
                                      "libnvidia_nscq.version", "libnvsdm.version", "imex.version"};
constexpr std::string_view kFollow[] = {"driver.uvm",           "driver.modeset", "driver.drm", "libcuda.version",
                                        "libnvidia_ml.version", "gpu.firmware",   "driver.gsp"};

const Wish* wish_of(std::span<const Wish* const> wishes, std::string_view key) {
  for (const Wish* w : wishes) {
    if (w->key == key) return w;
  }
  return nullptr;
}

FactCode code_of(const FactTable& table, std::uint32_t node, std::string_view key) {
  const std::ptrdiff_t at = table.find_column("", key);
  return at < 0 ? kFactUnknown : table.columns()[static_cast<std::size_t>(at)].code(node);
}

// Nobody looked on this node, and others of its kind have one; or it has switches, which need a fabric manager.
bool matters(const FactTable& table, std::span<const std::uint32_t> kind, std::uint32_t node, std::string_view key) {
  const std::string* switches = key == "fabricmanager.version" ? table.value(node, "", "nvswitch.count") : nullptr;
  if (switches != nullptr && *switches != "0") return true;
  return std::any_of(kind.begin(), kind.end(), [&](std::uint32_t n) { return code_of(table, n, key) >= kFirstValue; });
}

// The release that a package is of, whoever packed it: 580.95.05 of "580.95.05-1" and of "580.95.5".
std::string_view release_of(std::string_view text) {
  const auto version = version_in(text);
  const std::string_view v = version ? *version : text;
  return v.substr(0, v.find_first_of("-+~"));
}

bool same_release(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::string_view x = release_of(a), y = release_of(b);
  return has_parts(x) && has_parts(y) && compare_versions(x, y) == std::strong_ordering::equal;
}

}  // namespace

bool is_of_driver(std::string_view key) { return std::find(std::begin(kUnit), std::end(kUnit), key) != std::end(kUnit); }
std::span<const std::string_view> follow_driver() { return kFollow; }

std::string why_apart(const FactTable& table, std::span<const std::uint32_t> kind, std::uint32_t node,
                      std::span<const Wish* const> wishes) {
  if (std::none_of(wishes.begin(), wishes.end(), [](const Wish* w) { return is_of_driver(w->key); })) return "";
  std::string_view first;
  std::string version;
  const auto held = [&](std::string_view key, const std::string& value, bool stays) {
    if (version.empty()) {
      first = key;
      version = value;
    }
    return same_release(value, version) ? std::string()
                                        : fmt::format("{} {} {} beside {} {}", key, stays ? "would stay" : "is to be",
                                                      printable(value), first, printable(version));
  };
  for (const std::string_view key : kUnit) {
    std::string trouble;
    if (const Wish* w = wish_of(wishes, key); w != nullptr) {
      if (!w->absent) trouble = held(key, w->value, false);
    } else if (const std::string* value = table.value(node, "", key); value != nullptr) {
      trouble = held(key, *value, true);
    } else if (code_of(table, node, key) != kFactAbsent && matters(table, kind, node, key)) {
      trouble = fmt::format("{} is not known", key);
    }
    if (!trouble.empty()) return trouble;
  }
  for (const std::string_view key : kFollow) {
    const Wish* w = wish_of(wishes, key);
    if (w == nullptr || w->absent || w->key == "driver.gsp") continue;
    if (std::string trouble = held(key, w->value, false); !trouble.empty()) return trouble;
  }
  return "";
}

}  // namespace muster::fleet
