// Who differs from its own kind, for a terminal and for programs: nodes with the same difference are one row.
#pragma once
#include <string>
#include <vector>

#include "fleet/golden.h"

namespace muster::report {

struct DriftShown {
  std::vector<std::string> nodes;  // only these; empty: all
  bool all = false;                // what changes by itself too: link speeds now, states of ports
};

// The same difference of one kind of nodes.
struct DriftRow {
  std::string key;
  std::vector<std::string> parts;  // "gpu0" ...; of the node itself: none
  std::string has, wanted;         // "absent" where absent
  bool has_absent = false, wanted_absent = false;
  fleet::Basis basis = fleet::Basis::majority;
  std::string source;         // of a declaration
  double share = 0;           // that has what is wanted
  std::uint32_t unknown = 0;  // nodes of the kind of which nobody knows
  double surprise_bits = 0;   // the highest
  std::string cohort, layer;
  std::vector<std::string> nodes;
};

struct SplitRow {
  std::string key;
  std::vector<std::string> parts;
  std::string cohort;
  std::vector<std::pair<std::string, std::uint32_t>> split;  // most first
  std::uint32_t unknown = 0;
};

struct DriftView {
  std::size_t nodes = 0, kinds = 0, facts = 0, differing = 0;  // differing: nodes
  std::vector<DriftRow> rows;                                  // most surprising first
  std::vector<SplitRow> undecided;
  std::vector<std::string> notes;
  std::vector<std::string> hardly_known;  // nodes of which there is too little to say that they do not differ
  bool compared = false;                  // any node with others, or with what is declared
};

DriftView drift_view(const FactTable& table, const FactBook& book, const fleet::Golden& golden, const DriftShown& shown);
std::string render_drift(const DriftView& view, bool colour);
std::string drift_json(const DriftView& view);
std::string drift_jsonl(const DriftView& view);  // a row a line, undecided ones too
std::string drift_csv(const DriftView& view);

}  // namespace muster::report
