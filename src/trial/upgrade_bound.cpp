#include "trial/upgrade_bound.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace muster::trial {

Duration drain_bound(DrainBound b) {
  std::vector<char> done(b.free.size(), 0);
  Duration begin, end;
  if (b.canaries > 0) {
    if (b.first.empty()) {
      for (std::size_t n = 0; n < b.free.size(); ++n) b.first.push_back(n);
    }
    std::stable_sort(b.first.begin(), b.first.end(), [&](std::size_t x, std::size_t y) { return b.free[x] < b.free[y]; });
    b.first.resize(std::min(b.first.size(), b.canaries));
    for (const std::size_t n : b.first) {
      done[n] = 1;
      end = std::max(end, b.free[n] + b.turn);
      begin = std::max(begin, b.free[n] + b.turn + b.watch);
    }
  }
  std::vector<Duration> rest;
  for (std::size_t n = 0; n < b.free.size(); ++n) {
    if (done[n] == 0) rest.push_back(std::max(begin, b.free[n]));
  }
  std::sort(rest.begin(), rest.end());
  std::priority_queue<Duration, std::vector<Duration>, std::greater<>> back;  // when those who are away are back
  for (const Duration free : rest) {
    Duration from = free;
    if (back.size() >= b.at_once) {
      from = std::max(from, back.top());
      back.pop();
    }
    back.push(from + b.turn);
    end = std::max(end, from + b.turn);
  }
  return end;
}

}  // namespace muster::trial
