// What every node should be: by declaration, and where nobody declared anything by what most nodes of its kind have. Who differs,
// and how surprising that is. A split is told as such: a minority is not wrong for being one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/declaration.h"
#include "model/fact_table.h"

namespace muster::fleet {

// Nodes of one kind: equal in hardware, so that what differs otherwise was not meant to.
struct Cohort {
  std::string name;                                            // "DGXH100, 8 x NVIDIA H100 80GB HBM3, 8 x ConnectX-7"
  std::vector<std::pair<std::string, std::string>> signature;  // fact and value
  std::vector<std::uint32_t> nodes;                            // ascending
};

enum class Basis : std::uint8_t { declared, majority };

// A node that has not what it should.
struct Difference {
  std::uint32_t node = 0;
  std::uint32_t column = 0;  // of the table
  std::uint32_t cohort = 0;
  FactCode has = kFactUnknown;
  std::string wanted;  // empty with wanted_absent
  bool wanted_absent = false;
  Basis basis = Basis::majority;
  std::string source;         // of a declaration
  double share = 0;           // of the cohort that has what is wanted, of those that know
  std::uint32_t unknown = 0;  // of the cohort, of which nobody knows
  double surprise_bits = 0;   // -log2 of how likely its value is among its kind
};

// A key about which the cohort does not agree enough to say what is right, or of which fewer than half of it know.
struct Undecided {
  std::uint32_t column = 0;
  std::uint32_t cohort = 0;
  std::vector<std::pair<FactCode, std::uint32_t>> split;  // value and number of nodes, most first
  std::uint32_t unknown = 0;
};

struct GoldenOptions {
  double share = 0.8;       // of those that know must agree
  std::uint32_t least = 4;  // nodes that a cohort must have for a majority to mean anything
};

struct Golden {
  std::vector<Cohort> cohorts;
  std::vector<Difference> differences;  // by node, then the most surprising first
  std::vector<Undecided> undecided;
  // Cohort and column: nearly each node has a value of its own, as of a name, and nobody was compared. What the book calls an
  // identity is never compared and not listed.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> own;
  std::vector<std::string> notes;  // declarations that no node matched, columns left out as identities, cohorts too small
};

std::vector<Cohort> cohorts_of(const FactTable& table, const FactBook& book);
Golden hold_against_kind(const FactTable& table, const FactBook& book, const Declarations& declared,
                         const GoldenOptions& options);

}  // namespace muster::fleet
