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
// USD a GPU-hour that nobody ever asked: a price of a month, or of a machine as if it were a GPU's.
constexpr double kLeast_usd = 0.01, kMost_usd = 60;
constexpr double kPlacesDiffer = 3;  // one machine's price from place to place, to its median
constexpr std::size_t kPlacesLeast = 4;
constexpr double kCloudsDiffer = 10;  // a GPU's from cloud to cloud
constexpr std::size_t kCloudsLeast = 5;
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
  bool keep(RentalRow& r) {
    return product(r) && count(r) && host(r) && floor(r) && age(r) && copies(r) && prices(r) && ever(r) && memory(r);
  }

  void flag(RentalRow& r, PriceTrap t, std::string why, std::string done) {
    flags_.push_back({r.line, about(r), t, std::move(why), std::move(done)});
    add_flag(r, t);
  }

 private:
  static auto known_as(const RentalRow& r) {
    const auto& all = known_instances();
    return std::find_if(all.begin(), all.end(),
                        [&](const KnownInstance& k) { return k.cloud == r.cloud && lower(k.instance) == lower(r.instance); });
  }

  bool product(RentalRow& r) {
    if (lower(r.gpu).starts_with("tpu")) {
      flag(r, PriceTrap::not_gpu, "TPUs are sold by slices of several chips", std::string(kLeft));
      return false;
    }
    const auto known = known_as(r);
    if (known != known_instances().end()) r.instance = known->instance;  // lists differ in capitals, from region to region
    if (known == known_instances().end() || family(known->gpu) == family(r.gpu)) return true;
    flag(r, PriceTrap::other_gpu, fmt::format("listed with {}, the machine has {}", r.gpu, known->gpu), std::string(kLeft));
    return false;
  }
  // "H100" of "H100-MEGA" and "NVIDIA H100 SXM5 80GB".
  static std::string family(std::string_view gpu) {
    std::string s = lower(gpu);
    for (const std::string_view maker : {"nvidia ", "nvidia-", "tesla "}) {
      if (s.starts_with(maker)) s.erase(0, maker.size());
    }
    return s.substr(0, s.find_first_of(" -_"));
  }

  bool count(RentalRow& r) {
    if (r.gpus <= 0 && set_.by_instance) {
      flag(r, PriceTrap::no_count, "a machine's price, and how many GPUs it has is not told", std::string(kLeft));
      return false;
    }
    if (r.gpus <= 0) return true;
    if (r.gpus < 1)
      flag(r, PriceTrap::part_of_gpu, fmt::format("a share of {} of a GPU", render_number(r.gpus)),
           fmt::format("{}, its price scaled up to a whole one", kKept));
    const auto& all = known_instances();
    const auto known = known_as(r);
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
    const bool alone =
        (set_.by_instance && r.instance.empty()) ||
        (google && ((r.instance.empty() && r.cloud == "gcp") || r.source.find("gpus-pricing") != std::string::npos));
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
    const auto& asked = r.at(RentTerm::ondemand);
    for (const RentTerm t : {RentTerm::reserved_1y, RentTerm::reserved_3y}) {
      if (asked && r.at(t) && *r.at(t) > *asked)
        flag(r, PriceTrap::far_off,
             fmt::format("{} at {} USD is dearer than on demand at {}", name_of(t), render_number(*r.at(t)),
                         render_number(*asked)),
             std::string(kKept));
    }
    if (!spot || !asked || *spot < *asked) return true;
    const std::string done = fmt::format("{}, without the spot price", kKept);
    if (*spot == *asked) {
      flag(r, PriceTrap::spot_is_ondemand, fmt::format("the spot price is the price on demand, {} USD", render_number(*spot)),
           done);
    } else {
      flag(r, PriceTrap::spot_above,
           fmt::format("spot at {} USD is dearer than on demand at {}", render_number(*spot), render_number(*asked)), done);
    }
    spot.reset();
    return true;
  }

  // A price that nobody ever asked is of another unit.
  bool ever(RentalRow& r) {
    for (const auto& usd : r.usd_per_gpu_hour) {
      if (!usd || (*usd >= kLeast_usd && *usd <= kMost_usd)) continue;
      flag(r, PriceTrap::far_off, fmt::format("{} USD a GPU-hour: no GPU was ever rented for that", render_number(*usd)),
           std::string(kLeft));
      return false;
    }
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

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prices on demand of one day beside each other. One place that asks three times what the others do for the same machine is an
// error of the list; a cloud may well ask ten times what others do, and is told.
void judge_beside(std::vector<RentalRow>& rows, Traps& traps) {
  const auto asked = [](const RentalRow& r) { return r.at(RentTerm::ondemand); };
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> places;
  std::map<std::string, std::vector<double>> clouds;
  for (const RentalRow& r : rows) {
    if (!asked(r)) continue;
    places[{r.cloud, r.gpu, r.instance}].push_back(*asked(r));
    clouds[r.gpu].push_back(*asked(r));
  }
  const auto off = [](double usd, double median) { return std::max(usd / median, median / usd); };
  std::erase_if(rows, [&](RentalRow& r) {
    if (!asked(r)) return false;
    const auto &here = places[{r.cloud, r.gpu, r.instance}], &all = clouds[r.gpu];
    const double place = median_of(here), cloud = median_of(all);
    if (here.size() >= kPlacesLeast && off(*asked(r), place) >= kPlacesDiffer) {
      traps.flag(r, PriceTrap::far_off,
                 fmt::format("{:.2f} USD a GPU-hour, where {} places ask {:.2f} for this machine", *asked(r), here.size(), place),
                 std::string(kLeft));
      return true;
    }
    if (all.size() >= kCloudsLeast && off(*asked(r), cloud) >= kCloudsDiffer)
      traps.flag(r, PriceTrap::far_off,
                 fmt::format("{:.2f} USD a GPU-hour, where the median of {} prices is {:.2f}", *asked(r), all.size(), cloud),
                 std::string(kKept));
    return false;
  });
}

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

void add_flag(RentalRow& row, PriceTrap trap) {
  const std::string name(name_of(trap));
  if ((" " + row.flags + " ").find(" " + name + " ") == std::string::npos) row.flags += (row.flags.empty() ? "" : " ") + name;
}

std::size_t set_traps(std::vector<RentalRow>& rows, const TrapSet& set, std::vector<PriceFlag>& flags) {
  Traps traps(set, flags);
  const std::size_t before = rows.size();
  std::vector<RentalRow> kept;
  for (RentalRow& r : rows) {
    if (traps.keep(r)) kept.push_back(std::move(r));
  }
  if (set.series) {
    judge_series(kept, set, traps);
  } else {
    judge_beside(kept, traps);
  }
  std::erase_if(kept, [](const RentalRow& r) {  // those whose only price was found to be none
    return std::none_of(r.usd_per_gpu_hour.begin(), r.usd_per_gpu_hour.end(), [](const auto& usd) { return usd.has_value(); });
  });
  rows = std::move(kept);
  return before - rows.size();
}

}  // namespace muster
