#include "ingest/price_traps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/civil.h"
#include "base/text.h"
#include "ingest/hardware_file.h"
#include "ingest/price_catalogue.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr double kMemoryOff = 0.15;          // 180 GB are sold as 192
constexpr std::size_t kConstantFor = 6;      // spot prices of so many days that are all the same
constexpr std::int64_t kConstantDays = 180;  // and so long
constexpr std::string_view kKept = "kept with flag";
constexpr std::string_view kLeft = "left out";

std::string about(const RentalRow& r) {
  const std::string machine = r.instance.empty() ? "(no machine named)" : r.instance;
  if (r.gpus <= 0) return fmt::format("{} {} ({})", r.cloud, machine, r.gpu);
  return fmt::format("{} {} ({} x {})", r.cloud, machine, render_number(r.gpus), r.gpu);
}

// Machines have 1 to 8 GPUs or 16, or shares of one; others must say so in their own name.
bool possible(const RentalRow& r) {
  if (r.gpus <= 8 || r.gpus == 16) return r.gpus < 1 || r.gpus == std::floor(r.gpus);
  return r.instance.find(render_number(r.gpus) + "x") != std::string::npos;
}

class Traps {
 public:
  Traps(const TrapSet& set, std::vector<PriceFlag>& flags) : set_(set), flags_(flags) {}

  // False: it is left out.
  bool keep(RentalRow& r) { return count(r) && host(r) && floor(r) && age(r) && copies(r) && prices(r) && memory(r); }

  void flag(RentalRow& r, PriceTrap t, std::string why, std::string done) {
    flags_.push_back({r.line, about(r), t, std::move(why), std::move(done)});
    r.flags += (r.flags.empty() ? "" : " ") + std::string(name_of(t));
  }

 private:
  bool count(RentalRow& r) {
    if (r.gpus <= 0) return true;
    const auto& all = known_instances();
    const auto known = std::find_if(all.begin(), all.end(), [&](const KnownInstance& k) {
      return k.cloud == r.cloud && lower(k.instance) == lower(r.instance);
    });
    if (known != all.end() && known->gpus != r.gpus) {
      const double was = r.gpus;
      flag(r, PriceTrap::impossible_count,
           fmt::format("listed with {} GPUs, the machine has {}", render_number(was), render_number(known->gpus)),
           fmt::format("{}, its price spread over {}", kKept, render_number(known->gpus)));
      for (auto& usd : r.usd_per_gpu_hour) {
        if (usd) *usd *= was / known->gpus;
      }
      r.gpus = known->gpus;
      return true;
    }
    if (known == all.end() && !possible(r)) {
      flag(r, PriceTrap::impossible_count, fmt::format("no machine has {} GPUs", render_number(r.gpus)), std::string(kLeft));
      return false;
    }
    return true;
  }

  bool host(RentalRow& r) {
    const bool google = r.cloud == "gcp" || r.cloud == "google cloud";
    const bool alone = google && ((r.instance.empty() && r.cloud == "gcp") || r.source.find("gpus-pricing") != std::string::npos);
    if (alone) {
      flag(r, PriceTrap::without_host, "the price of the GPU alone: the machine around it is billed apart", std::string(kLeft));
    }
    return !alone;
  }

  bool floor(RentalRow& r) {
    const auto &asked = r.at(RentTerm::ondemand), &spot = r.at(RentTerm::spot);
    const auto is = [&](double x) { return asked && std::abs(*asked - x) < 1e-9; };
    const bool same = asked && spot && *asked == *spot;
    if (r.cloud == "mithril" || (same && (is(1.0) || is(0.01)))) {
      flag(r, PriceTrap::bid_floor,
           fmt::format("{} USD is where bids begin, not what a GPU costs", render_number(asked.value_or(spot.value_or(0)))),
           std::string(kLeft));
      return false;
    }
    if (is(1.0)) flag(r, PriceTrap::bid_floor, "exactly 1.00 USD, as floors of bids are", std::string(kKept));
    return true;
  }

  bool age(RentalRow& r) {
    if (set_.series || static_cast<double>(set_.newest - r.day) <= set_.stale_days) return true;
    flag(r, PriceTrap::stale,
         fmt::format("of {}, {} days before the newest row of the file", render_day(r.day), set_.newest - r.day),
         std::string(set_.keep_stale ? kKept : kLeft));
    return set_.keep_stale;
  }

  bool copies(RentalRow& r) {
    auto& spot = r.at(RentTerm::spot);
    if (!spot || !r.at(RentTerm::ondemand) || *spot != *r.at(RentTerm::ondemand)) return true;
    flag(r, PriceTrap::spot_is_ondemand, fmt::format("the spot price is the price on demand, {} USD", render_number(*spot)),
         fmt::format("{}, without the spot price", kKept));
    spot.reset();
    return true;
  }

  bool prices(RentalRow& r) {
    if (r.at(RentTerm::ondemand)) return true;
    const bool any =
        std::any_of(r.usd_per_gpu_hour.begin(), r.usd_per_gpu_hour.end(), [](const auto& usd) { return usd.has_value(); });
    if (any) {
      flag(r, PriceTrap::no_ondemand, "no price on demand", std::string(kKept));
    } else {
      flag(r, PriceTrap::no_price, "no price at all", std::string(kLeft));
    }
    return any;
  }

  // "'SizeInMiB': 81920" of each GPU, in what the list says of the machine.
  std::optional<double> told_gb(int line) const {
    const auto it = set_.told.find(line);
    if (it == set_.told.end()) return std::nullopt;
    const std::size_t at = it->second.find("SizeInMiB");
    if (at == std::string::npos) return std::nullopt;
    const std::size_t first = it->second.find_first_of("0123456789", at + 9);
    if (first == std::string::npos) return std::nullopt;
    const std::size_t end = it->second.find_first_not_of("0123456789.", first);
    const auto mib = parse_double(std::string_view(it->second).substr(first, end == std::string::npos ? end : end - first));
    return mib ? std::optional(*mib / 1024) : std::nullopt;
  }
  bool memory(RentalRow& r) {
    const auto told = told_gb(r.line);
    if (!told) return true;
    for (const GpuModel& g : gpu_models()) {
      if (!same_gpu(g.name == "a100" ? "A100-80GB" : g.name, r.gpu) || std::abs(*told - g.hbm_gb) <= kMemoryOff * g.hbm_gb)
        continue;
      flag(r, PriceTrap::wrong_memory, fmt::format("said to have {:.0f} GB, a {} has {:.0f}", *told, r.gpu, g.hbm_gb),
           std::string(kKept));
    }
    return true;
  }

  const TrapSet& set_;
  std::vector<PriceFlag>& flags_;
};

// Of dated rows: one that ended long ago, and spot prices that never moved.
void judge_series(std::vector<RentalRow>& rows, const TrapSet& set, Traps& traps) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<RentalRow*>> by;
  for (RentalRow& r : rows) by[{r.cloud, r.gpu, r.instance}].push_back(&r);
  for (auto& [key, all] : by) {
    std::stable_sort(all.begin(), all.end(), [](const RentalRow* x, const RentalRow* y) { return x->day < y->day; });
    RentalRow& last = *all.back();
    if (static_cast<double>(set.newest - last.day) > set.stale_days) {
      traps.flag(last, PriceTrap::stale,
                 fmt::format("its last price is of {}, {} days before the newest row of the file", render_day(last.day),
                             set.newest - last.day),
                 fmt::format("{}: history, not today's price", kKept));
    }
    std::vector<RentalRow*> spot;
    for (RentalRow* r : all) {
      if (r->at(RentTerm::spot)) spot.push_back(r);
    }
    const bool constant = spot.size() >= kConstantFor && spot.back()->day - spot.front()->day >= kConstantDays &&
                          std::all_of(spot.begin(), spot.end(), [&](const RentalRow* r) {
                            return r->at(RentTerm::spot) == spot.front()->at(RentTerm::spot);
                          });
    if (!constant) continue;
    traps.flag(*spot.back(), PriceTrap::bid_floor,
               fmt::format("its spot price was {} USD on all of {} days: a floor of bids, not a market",
                           render_number(*spot.front()->at(RentTerm::spot)), spot.size()),
               fmt::format("{}, without its spot prices", kKept));
    for (RentalRow* r : spot) r->at(RentTerm::spot).reset();
  }
}

}  // namespace

std::size_t set_traps(std::vector<RentalRow>& rows, const TrapSet& set, std::vector<PriceFlag>& flags) {
  Traps traps(set, flags);
  const std::size_t before = rows.size();
  std::vector<RentalRow> kept;
  for (RentalRow& r : rows) {
    if (traps.keep(r)) kept.push_back(std::move(r));
  }
  if (set.series) judge_series(kept, set, traps);
  std::erase_if(kept, [](const RentalRow& r) {  // those whose only price was found to be none
    return std::none_of(r.usd_per_gpu_hour.begin(), r.usd_per_gpu_hour.end(), [](const auto& usd) { return usd.has_value(); });
  });
  rows = std::move(kept);
  return before - rows.size();
}

}  // namespace muster
