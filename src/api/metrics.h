// Prometheus text for /metrics. Written by hand: it is a dozen lines of printing, and a client library would keep its own copy of
// numbers that the snapshot already has.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "api/render.h"
#include "ports/meter.h"

namespace muster::api {

// What the HTTP face counts about itself.
struct Traffic {
  std::array<std::atomic<std::uint64_t>, 6> responses{};  // by hundreds of the status
  std::atomic<std::uint64_t> denied{0};
  std::atomic<std::uint64_t> streams{0};                  // open now
};

std::string render_metrics(const Frame& f, const Traffic& traffic, const std::vector<Meter>& meters);

}  // namespace muster::api
