// What PyTorch's flight recorder kept of one rank: the exchanges it called, in which group, and how far each came.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

enum class ExchangeState : std::uint8_t { scheduled, started, completed };

struct ExchangeCall {
  std::uint32_t group = 0;  // FlightRecord::groups
  std::uint64_t seq = 0;    // in its group, from 1; the same exchange has the same on all ranks
  std::string op;           // "all_reduce"; untrusted, as are the rest
  std::string in, out;      // shapes, as "[8388608]"
  std::string dtype;
  ExchangeState state = ExchangeState::scheduled;
  std::int64_t created_ns = 0;
  bool pair = false;   // a send or a receive, which others take no part in
  std::string caller;  // "train_step at train.py:88"; empty: not told
};

struct ExchangeGroup {
  std::string name, what;                                  // "6", "dp"
  std::vector<std::uint32_t> ranks;                        // ascending; empty: not told
  std::uint64_t enqueued = 0, started = 0, completed = 0;  // the last of each, where told
};

struct FlightRecord {
  std::uint32_t rank = 0;
  std::vector<ExchangeGroup> groups;
  std::vector<ExchangeCall> calls;
};

}  // namespace muster
