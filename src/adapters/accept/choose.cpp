#include "adapters/accept/choose.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/pci.h"

namespace muster::bench {
namespace {

bool meant(const std::string& word, const accepting::Gpu& g) {
  if (const auto number = parse_uint(word)) return static_cast<std::int64_t>(*number) == g.gpu;
  if (const auto address = read_pci(word)) return read_pci(g.pci) == address;
  return !g.uuid.empty() && lower(word) == lower(g.uuid);
}

}  // namespace

Result<std::vector<int>> choose_gpus(std::span<const std::string> wanted, std::span<const accepting::Gpu> there) {
  std::vector<int> out;
  std::vector<std::string> all;
  for (const accepting::Gpu& g : there) {
    all.push_back(fmt::format("{} ({})", g.gpu, printable(g.uuid.empty() ? g.pci : g.uuid)));
    if (wanted.empty()) out.push_back(g.gpu);
  }
  for (const std::string& word : wanted) {
    const auto it = std::find_if(there.begin(), there.end(), [&](const accepting::Gpu& g) { return meant(word, g); });
    if (it == there.end()) {
      return fail(Code::not_found, fmt::format("this node has no GPU {}", printable(word)),
                  fmt::format("it has {}", join(all, ", ")));
    }
    out.push_back(it->gpu);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace muster::bench
