#include "fleet/upgrade_version.h"

#include <algorithm>

#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

constexpr std::size_t kVersionMax = 100;  // bytes; what the controller takes

}  // namespace

// What the installer is told: a word and nothing else.
bool is_word(std::string_view version) {
  const auto plain = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._+:~-").find(c) != std::string_view::npos;
  };
  return !version.empty() && version.size() <= kVersionMax && std::all_of(version.begin(), version.end(), plain);
}

// "580.159.04", "570.1"; packagers' additions do not belong to it.
bool is_driver_version(std::string_view version) {
  const auto numbers = split(version, '.');
  return (numbers.size() == 2 || numbers.size() == 3) && std::all_of(numbers.begin(), numbers.end(), [](std::string_view n) {
           return !n.empty() && n.size() <= 4 && std::all_of(n.begin(), n.end(), is_digit);
         });
}

// Whether it is the same: "2.27.5-1+cuda12.9" is 2.27.5 as somebody packed it. A kernel's own number comes after its dash.
bool same_version(const UpgradeStep& s, std::string_view has, std::string_view wanted) {
  if (compare_versions(has, wanted) == 0) return true;
  if (s.what == "kernel" || s.what == "os") return false;
  const auto upstream = [](std::string_view v) {
    if (const auto epoch = v.find(':'); epoch != std::string_view::npos) v.remove_prefix(epoch + 1);
    return v.substr(0, v.find_first_of("-+~"));
  };
  if (upstream(wanted).size() != wanted.size() && upstream(has).size() != has.size()) return false;
  return compare_versions(upstream(has), upstream(wanted)) == 0;
}

// "13.0" of "2.27.5-1+cuda13.0": the CUDA that NCCL was built for; empty: it does not say.
std::string cuda_of(std::string_view nccl) {
  constexpr std::string_view kBuilt = "+cuda";
  const std::size_t at = nccl.find(kBuilt);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = nccl.substr(at + kBuilt.size());
  return std::string(rest.substr(0, std::min(rest.size(), rest.find_first_not_of("0123456789."))));
}

}  // namespace muster::fleet
