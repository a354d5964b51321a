#include "design/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace muster::design {
namespace {

std::uint32_t at_least(double need, double each) { return static_cast<std::uint32_t>(std::ceil(need / each - 1e-9)); }

}  // namespace

Result<std::vector<SizedStore>> size_stores(std::span<const StoreKind> kinds, bool objects, const StorageNeed& need,
                                            const HardwarePrices& prices) {
  std::vector<SizedStore> out;
  for (const StoreKind& k : kinds) {
    if (k.objects != objects) continue;
    const auto price = prices.store_pb.find(k.name);
    if (price == prices.store_pb.end()) {
      return fail(Code::not_found, fmt::format("no price of a store of the kind {} is known", k.name),
                  fmt::format("--prices FILE with a line \"store {},USD\"", k.name));
    }
    const std::pair<std::uint32_t, std::string_view> asked[] = {{std::max(1U, k.least), "losing one"},
                                                                {at_least(need.pb, k.usable_pb), "capacity"},
                                                                {at_least(need.read_gb_s, k.read_gb_s), "reading"},
                                                                {at_least(need.write_gb_s, k.write_gb_s), "writing"}};
    const auto most =
        std::max_element(std::begin(asked), std::end(asked), [](const auto& x, const auto& y) { return x.first < y.first; });
    SizedStore s{k, most->first, most->second};
    s.usd = s.pb() * price->second;
    out.push_back(std::move(s));
  }
  std::stable_sort(out.begin(), out.end(), [](const SizedStore& x, const SizedStore& y) { return x.usd < y.usd; });
  return out;
}

StorageNetwork storage_network(std::uint32_t nodes, std::span<const SizedStore> stores, double gb_s, std::uint32_t radix,
                               double port_gb_s, const HardwarePrices& prices) {
  StorageNetwork out;
  out.ports = nodes * kStoragePorts;
  for (const SizedStore& s : stores) out.ports += s.blocks * s.kind.ports;
  if (out.ports <= radix) {
    out.switches = 2;  // one may fail
    out.usd = out.switches * prices.storage_switch + out.ports * prices.active_cable;
    return out;
  }
  std::uint32_t leaves = 0;
  for (const double over : {4.0, 3.0, 2.0, 1.0}) {
    const auto down = static_cast<std::uint32_t>(radix * over / (1 + over));
    const std::uint32_t up = radix - down;
    leaves = (out.ports + down - 1) / down;
    out.uplinks = leaves * up;
    const std::uint32_t spines = std::max(2U, (out.uplinks + radix - 1) / radix);
    out.switches = leaves + spines;
    out.oversubscription = over;
    if (out.uplinks * port_gb_s * (spines - 1) / spines >= gb_s) break;
  }
  out.usd = out.switches * prices.storage_switch + out.ports * prices.active_cable +
            out.uplinks * (prices.fibre + 2 * prices.transceiver);
  return out;
}

std::uint32_t spares_for(double units, double failures_a_year, double days_away) {
  const double mean = units * failures_a_year * days_away / 365;
  double term = det_exp(-mean), sum = term;
  std::uint32_t n = 0;
  // Of a Poisson distribution. With so many that e to that is nothing, by the normal that it then is.
  if (mean > 500) return static_cast<std::uint32_t>(std::ceil(mean + 2.33 * std::sqrt(mean)));
  while (sum < 0.99) {
    ++n;
    term *= mean / n;
    sum += term;
  }
  return n;
}

}  // namespace muster::design
