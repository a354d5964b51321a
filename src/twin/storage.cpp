#include "twin/storage.h"

#include <algorithm>

#include "base/check.h"

namespace muster::twin {

double Store::rate() const {
  if (nodes_ == 0) return 0;
  const double fair = write_gbs_ > 0 ? write_gbs_ / static_cast<double>(nodes_) : node_gbs_;
  return std::min(fair, node_gbs_) * factor_;
}

void Store::settle(Time now) {
  virtual_gb_ += rate() * (now - since_).seconds();
  since_ = now;
  if (writing_.empty()) virtual_gb_ = 0;  // keeps the sums small, so no precision is lost over months
}

void Store::begin(Time now, std::uint32_t writer, std::uint32_t nodes, double gb) {
  settle(now);
  if (writer >= finish_.size()) finish_.resize(writer + 1, -1);
  MUSTER_CHECK(finish_[writer] < 0 && nodes > 0);
  const double finish = virtual_gb_ + std::max(gb, 0.0) / static_cast<double>(nodes);
  finish_[writer] = finish;
  writing_.insert({finish, writer, nodes});
  nodes_ += nodes;
  ++turn_;
}

void Store::end(Time now, std::uint32_t writer) {
  if (writer >= finish_.size() || finish_[writer] < 0) return;
  settle(now);
  const auto it = writing_.find({finish_[writer], writer, 0});
  MUSTER_CHECK(it != writing_.end());
  nodes_ -= it->nodes;
  writing_.erase(it);
  finish_[writer] = -1;
  ++turn_;
}

void Store::set_factor(Time now, double factor) {
  settle(now);
  factor_ = factor;
  ++turn_;
}

std::optional<Store::Finish> Store::next(Time now) {
  settle(now);
  if (writing_.empty() || rate() <= 0) return std::nullopt;
  const Writer& first = *writing_.begin();
  const double wait_s = std::max(0.0, first.finish - virtual_gb_) / rate();
  return Finish{now + from_seconds(std::min(wait_s, 1e8)), first.id};
}

}  // namespace muster::twin
