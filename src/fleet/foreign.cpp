#include "fleet/foreign.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace muster::fleet {
namespace {

constexpr std::uint32_t kLeast = 3;  // parts of the same hardware that have it: of three on one node two may be wrong

// What tells for which hardware an image is. Of `any`, one at least has to be known.
struct Firmware {
  std::string_view key;
  std::span<const std::string_view> any;
};
constexpr std::string_view kMachine[] = {"node.product"}, kGpu[] = {"gpu.model"}, kCard[] = {"nic.board_id", "nic.model"};
constexpr Firmware kFirmware[] = {{"bios.version", kMachine},    {"bios.release", kMachine}, {"bios.date", kMachine},
                                  {"bmc.version", kMachine},     {"hmc.version", kMachine},  {"cpld.version", kMachine},
                                  {"firmware.bundle", kMachine}, {"vbios.version", kGpu},    {"gpu.inforom", kGpu},
                                  {"nic.firmware", kCard}};

const Firmware* firmware(std::string_view key) {
  for (const Firmware& f : kFirmware) {
    if (f.key == key) return &f;
  }
  return nullptr;
}

}  // namespace

SameHardware::Hardware SameHardware::of(std::uint32_t node, std::string_view entity, std::string_view key) const {
  Hardware out;
  if (const std::string* product = table_.value(node, "", "node.product")) out.emplace("node.product", *product);
  for (const std::string_view what : firmware(key)->any) {
    const std::string* value = table_.value(node, entity, what);
    if (value == nullptr) value = table_.value(node, "", what);
    if (value != nullptr) out.emplace(what, *value);
  }
  return out;
}

const SameHardware::Has& SameHardware::has(std::uint32_t cohort, const std::string& key) {
  const auto [at, fresh] = has_.try_emplace({cohort, key});
  if (!fresh || cohort >= golden_.cohorts.size()) return at->second;
  for (const std::size_t c : table_.columns_of(key)) {
    const FactColumn& column = table_.columns()[c];
    for (const std::uint32_t n : golden_.cohorts[cohort].nodes) {
      if (const std::string* value = column.value(n)) ++at->second[{of(n, column.entity, key), *value}];
    }
  }
  return at->second;
}

std::string SameHardware::why_not(const Wish& w) {
  const Firmware* f = firmware(w.key);
  if (f == nullptr || w.declared) return "";
  const Hardware hardware = of(w.node, w.entity, w.key);
  std::string text;
  bool known = false;
  for (const auto& [what, value] : hardware) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, printable(value));
    known = known || std::find(f->any.begin(), f->any.end(), what) != f->any.end();
  }
  if (!known) return fmt::format("for which hardware is not known: {} is missing", f->any.front());
  const Has& all = has(w.cohort, w.key);
  const auto found = all.find({hardware, w.value});
  if (found != all.end() && found->second >= kLeast) return "";
  return fmt::format("firmware of other hardware: what most have is not for {}", text);
}

}  // namespace muster::fleet
