#include "adapters/intake/acceptance_word.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/pci.h"

namespace muster {
namespace {

constexpr std::size_t kGpusMax = 64, kFaultsMax = 16;                    // faults of one GPU
constexpr std::size_t kPartMax = 128, kTextMax = 400, kProfileMax = 32;  // bytes

std::string text_of(const Value& v, std::string_view name, std::size_t most) {
  const Value* x = v.find(name);
  if (x == nullptr || x->string() == nullptr) return {};
  return std::string(clipped(printable(clipped(*x->string(), most)), most));
}

// -1: the site has none there. By its address, as everything else that agents tell of a GPU.
std::int16_t slot_of(const Value& gpu, const Site& site) {
  const auto pci = read_pci(text_of(gpu, "pci", 32));
  const int at = pci ? PciTable(site).gpu(*pci) : -1;
  if (at >= 0) return static_cast<std::int16_t>(at);
  const Value* index = gpu.find("index");
  const std::int64_t i = index == nullptr || index->integer() == nullptr ? -1 : *index->integer();
  return i >= 0 && i < static_cast<std::int64_t>(site.gpus_per_node) ? static_cast<std::int16_t>(i) : std::int16_t{-1};
}

// False: it makes no sense. `of`: whose they are, where the slot does not say.
bool read_faults(const Value& from, std::int16_t slot, const std::string& of, std::vector<AcceptFaultTold>& out) {
  const Value* list = from.find("faults");
  if (list == nullptr) return true;
  if (list->array() == nullptr || list->array()->size() > kFaultsMax) return false;
  for (const Value& v : *list->array()) {
    AcceptFaultTold f;
    const Value *kind = v.find("kind"), *failed = v.find("failed");
    if (kind == nullptr || kind->string() == nullptr || !parse_name(*kind->string(), f.kind)) return false;
    if (failed != nullptr && failed->boolean() != nullptr) f.failed = *failed->boolean();
    f.slot = slot;
    f.part = clipped(of + text_of(v, "part", kPartMax), kPartMax);
    f.text = text_of(v, "text", kTextMax);
    if (f.kind == AcceptFault::none || f.part.empty()) return false;
    out.push_back(std::move(f));
  }
  return true;
}

}  // namespace

std::optional<AcceptanceSaid> read_acceptance(const Value& acceptance, NodeId node, const Site& site) {
  AcceptanceSaid out;
  out.node = node;
  out.profile = text_of(acceptance, "profile", kProfileMax);
  const Value* gpus = acceptance.find("gpus");
  if (out.profile.empty() || gpus == nullptr || gpus->array() == nullptr || gpus->array()->size() > kGpusMax) return std::nullopt;
  for (const Value& g : *gpus->array()) {
    const Value* passed = g.find("passed");
    if (passed == nullptr || passed->boolean() == nullptr) return std::nullopt;
    const std::int16_t slot = slot_of(g, site);
    const std::string of = slot >= 0 ? std::string() : fmt::format("GPU at {}: ", text_of(g, "pci", 32));
    const std::size_t before = out.faults.size();
    if (!read_faults(g, slot, of, out.faults)) return std::nullopt;
    // A pass with a fault is none.
    if (*passed->boolean() && out.faults.size() == before && slot >= 0) out.passed.push_back(slot);
  }
  if (!read_faults(acceptance, -1, "", out.faults)) return std::nullopt;
  return out;
}

}  // namespace muster
