// Strong ids. A node's id is its place in the site's list, not its hostname; a job is (number, array index), and a restart of it
// is another attempt of the same job. Zero or kNone means "none".
#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace muster {

template <class Tag, class Int, Int None>
struct Id {
  Int v = None;
  constexpr auto operator<=>(const Id&) const = default;
  constexpr bool some() const { return v != None; }
};

using NodeId = Id<struct NodeTag, std::uint32_t, UINT32_MAX>;  // index into Site::nodes
using FindingId = Id<struct FindingTag, std::uint64_t, 0>;
using IncidentId = Id<struct IncidentTag, std::uint64_t, 0>;

struct JobId {
  std::uint32_t number = 0;
  std::uint32_t array_index = 0;  // 0: not an array member, else index + 1
  constexpr auto operator<=>(const JobId&) const = default;
  constexpr bool some() const { return number != 0; }
};

// "17", or "17_3" for member 3 of an array.
std::string render(JobId id);

}  // namespace muster
