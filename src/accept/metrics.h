// What each figure means. A figure that is not in this table is recorded and shown, and never judged.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/acceptance.h"

namespace muster::accept {

enum class Better : std::uint8_t { higher, lower };
// The part of a GPU that is to blame, in words for people, and what is done about it.
enum class Part : std::uint8_t { memory, tensor_cores, sms, host_link, power, cooling, peers, driver, whole };
constexpr std::array<std::string_view, 9> names(Part) {
  return {"memory", "tensor cores", "SMs", "host link", "power", "cooling", "links between GPUs", "driver", "GPU"};
}
// What helps against a shortage in it.
std::string_view remedy(Part part);

enum class Judged : std::uint8_t {
  no,       // shown only: it depends on the host, or on the data
  limited,  // against the fleet and its own history
  exact,    // no healthy GPU of a kind has less
};

struct Metric {
  std::string_view name;
  std::string_view title;  // "memory read"
  std::string_view unit;
  AcceptTest test = AcceptTest::inventory;
  Part part = Part::whole;
  Judged judged = Judged::limited;
  double floor = 0.002;  // the spread of healthy GPUs is never taken to be less, as a share of the median
  Better better = Better::higher;
  bool needed = false;    // without it the test told nothing
  std::string_view peak;  // "hbm", "bf16": the figure of the data sheet it is a share of; empty: none
};

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view name);
std::size_t index_of(const Metric& m);  // in metrics(), of which it is one

}  // namespace muster::accept
