// Which links a flow takes through a fabric.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/fabric.h"
#include "predict/flows.h"

namespace muster::predict {

enum class Routing {
  tables,    // each switch's own: deterministic
  hashed,    // one of the shortest ways, by a hash of source and destination, as ECMP does
  adaptive,  // all of the shortest ways alike
};

class Router {
 public:
  // Both must outlive the router.
  Router(const Fabric& fabric, const ForwardingTables& tables);
  Router(const Fabric& fabric, Routing routing, std::uint64_t seed = 1);

  // The links from one endpoint to another; none: they are the same. An error names where the way ends.
  Result<std::vector<Flows::Use>> way(std::uint32_t from, std::uint32_t to);

 private:
  using Hops = std::vector<std::uint16_t>;  // to one switch, from each switch

  Result<std::vector<Flows::Use>> by_tables(std::uint32_t from, std::uint32_t to) const;
  Result<std::vector<Flows::Use>> by_hops(std::uint32_t from, std::uint32_t to);
  const Hops& hops_to(std::uint32_t target);
  tl::unexpected<Error> lost(std::uint32_t from, std::uint32_t to, std::uint32_t at) const;

  const Fabric& fabric_;
  Routing routing_;
  std::uint64_t seed_ = 0;
  std::vector<const std::vector<std::uint8_t>*> tables_;  // by node
  std::vector<std::optional<std::uint16_t>> lids_;        // by node
  std::vector<std::uint32_t> switch_index_;               // by node: its place in Hops; endpoints have none
  std::uint32_t switches_ = 0;
  std::map<std::uint32_t, Hops> hops_;  // by switch that endpoints are plugged into: two bytes for each pair of switches at most
};

}  // namespace muster::predict
