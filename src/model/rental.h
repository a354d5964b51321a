// What clouds asked for an hour of a GPU, and when.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class RentTerm : std::uint8_t { ondemand, spot, reserved_1y, reserved_3y };
constexpr std::size_t kRentTerms = 4;
constexpr std::array<std::string_view, kRentTerms> names(RentTerm) { return {"ondemand", "spot", "reserved_1y", "reserved_3y"}; }

struct RentalRow {
  std::int64_t day = 0;  // since 1970-01-01
  std::string cloud, gpu, instance;
  double gpus = 0;  // of an instance; 0: not told
  std::array<std::optional<double>, kRentTerms> usd_per_gpu_hour;
  std::string flags;  // what is doubtful about it, by name; empty: nothing is known to be
  std::string source;
  int line = 0;

  const std::optional<double>& at(RentTerm t) const { return usd_per_gpu_hour[static_cast<std::size_t>(t)]; }
  std::optional<double>& at(RentTerm t) { return usd_per_gpu_hour[static_cast<std::size_t>(t)]; }
};

// What lists of prices are known to get wrong.
enum class PriceTrap : std::uint8_t {
  impossible_count,  // more or fewer GPUs than such a machine has
  stale,             // long not refreshed
  bid_floor,         // where bids begin, which nobody gets a GPU for
  spot_is_ondemand,  // the spot price is a copy
  without_host,      // the GPU alone: the machine it is in is billed apart
  no_ondemand,       // there is only a spot price
  no_price,          // or none at all
  wrong_memory,      // the GPU has another size
  later,             // than the day that was asked for
  other_gpu,         // than such a machine has
  not_gpu,           // a price of something else
  no_count,          // the price is a machine's, and nobody says of how many GPUs
  part_of_gpu,       // a share of one is sold, and its price scaled up
  far_off,           // many times what others ask, or what anybody ever did
  spot_above,        // the spot price is above the price on demand
  twice,             // the same machine in the same place on the same day
  cut_off,           // the last line has no end
  converted,         // from another currency
};
constexpr std::array<std::string_view, 18> names(PriceTrap) {
  return {"impossible_count", "stale", "bid_floor", "spot_is_ondemand", "without_host", "no_ondemand", "no_price",
          "wrong_memory",     "later", "other_gpu", "not_gpu",          "no_count",     "part_of_gpu", "far_off",
          "spot_above",       "twice", "cut_off",   "converted"};
}

struct PriceFlag {
  int line = 0;     // of the file
  std::string row;  // "azure Standard_ND96isr_H100_v5 (12 x H100)"
  PriceTrap trap = PriceTrap::stale;
  std::string why;
  std::string done;  // "left out", "kept with flag", and what was changed
};

struct RentalPrices {
  std::string form;             // which of the known forms the file has
  std::vector<RentalRow> rows;  // by cloud, GPU, instance and day
  std::vector<PriceFlag> flags;
  std::size_t read = 0;       // rows of the file
  std::size_t left_out = 0;   // of them
  std::size_t kept = 0;       // of them; more than `rows` where one row stands for several places
  std::size_t purchases = 0;  // of them, prices to buy at, which are no rent
  std::size_t gpuless = 0;    // of them, machines without a GPU
  std::size_t marked = 0;     // rows that came with flags of an earlier import
  std::int64_t newest = 0;    // day
};

// One machine of a cloud, by its name there.
struct KnownInstance {
  std::string cloud, instance, gpu;
  double gpus = 0;
};

}  // namespace muster
