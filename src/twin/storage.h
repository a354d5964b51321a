// Store: the shared checkpoint storage. Its bandwidth is finite; every node of every gang that writes gets the same share of
// it, and no node more than its own links carry. Writers finish in virtual time ("GB written per node"), so a change of the
// crowd costs O(log writers), however many there are.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"

namespace muster::twin {

class Store {
 public:
  // write_gbs 0: as fast as the nodes' own links.
  Store(double write_gbs, double node_gbs) : write_gbs_(write_gbs), node_gbs_(node_gbs) {}

  void begin(Time now, std::uint32_t writer, std::uint32_t nodes, double gb);
  void end(Time now, std::uint32_t writer);      // finished or given up; no-op for one that does not write
  void set_factor(Time now, double factor);      // a stalled store has a small one
  // The writer that finishes first and when, if nothing changes until then.
  struct Finish {
    Time at;
    std::uint32_t writer = 0;
  };
  std::optional<Finish> next(Time now);
  std::uint32_t turn() const { return turn_; }  // another after every change: an old answer is recognised by it
  std::size_t writers() const { return writing_.size(); }

 private:
  struct Writer {
    double finish = 0;  // virtual time
    std::uint32_t id = 0;
    std::uint32_t nodes = 0;
    bool operator<(const Writer& o) const { return finish != o.finish ? finish < o.finish : id < o.id; }
  };
  double rate() const;  // GB/s per writing node
  void settle(Time now);

  double write_gbs_;
  double node_gbs_;
  double factor_ = 1;
  double virtual_gb_ = 0;
  Time since_;
  std::uint64_t nodes_ = 0;
  std::uint32_t turn_ = 0;
  std::set<Writer> writing_;
  std::vector<double> finish_;  // by writer; below 0: not writing
};

}  // namespace muster::twin
