// RecordBudget: how many records of one kind may pass. A program that provokes the same Xid a thousand times a second must
// neither fill the spool nor hide another GPU's fault, so each kind has its own allowance, and what is held back is counted.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster::agent {

class RecordBudget {
 public:
  static constexpr double kBurst = 20;        // of one kind at once
  static constexpr double kPerSecond = 5;     // of one kind in the long run
  static constexpr std::size_t kKinds = 256;  // kinds told apart; the rest share one allowance

  // Whether one more record of this kind (its text without what varies) may pass at `mono`.
  bool take(std::string_view kind, Time mono);
  // Held back since the last call.
  std::uint64_t take_held_back();

 private:
  struct Allowance {
    double left = kBurst;
    Time at;
  };
  std::map<std::string, Allowance, std::less<>> kinds_;
  std::uint64_t held_back_ = 0;
};

// What tells one kind of record from another: address and code, with digits of pids and addresses in memory left out.
std::string kind_of_record(std::string_view text);

}  // namespace muster::agent
