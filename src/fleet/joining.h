// Whether a new node is fit to join: its facts are known, no rule is broken, it is as its kind is, and its GPUs were accepted.
// What is not known counts against it.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fleet/check.h"
#include "fleet/golden.h"
#include "model/declaration.h"

namespace muster::fleet {

enum class Fitness : std::uint8_t { fit, unknown, unfit };
constexpr std::array<std::string_view, 3> names(Fitness) { return {"fit", "unknown", "unfit"}; }

struct Reason {
  std::string part;  // "facts", "age", "kind", "identity", "rules", "acceptance"
  Fitness fitness = Fitness::fit;
  std::string what, next;
};

// One that was tried; empty: the recording does not say.
struct AcceptedGpu {
  std::string uuid, model, vbios;
};

// Of a recording of muster accept, as far as joining needs it.
struct Accepted {
  bool recorded = false;
  bool pass = false;
  std::string node, driver;
  std::uint32_t gpus = 0;
  Time begun;           // utc
  std::string verdict;  // "DEGRADED: HBM read is slow", in words
  std::vector<AcceptedGpu> each{};
};

// How old what is known may be.
struct Freshness {
  Time now;  // utc
  Duration most = days(7);
  Time installed_after;  // the last word of it under another installation or boot; 0: none
};

// Facts of the node that somebody declared. Declarations that mean other nodes count for nothing.
std::vector<std::string> declared_of(const FactTable& table, const Declarations& declared, std::uint32_t node);

// Every fact that most of its kind have is known of it; of a kind of which nobody else is there, the least that says what it is.
std::vector<Reason> facts_reasons(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden);
// That they are of late.
std::vector<Reason> age_reasons(const FactTable& table, std::uint32_t node, const Freshness& freshness);
// That those of its kind are of late, which it is held against; nothing where they are, or where too few are there to be asked.
std::vector<Reason> peers_age_reasons(const FactTable& table, std::uint32_t node, const Golden& golden,
                                      const GoldenOptions& options, const Freshness& freshness);
// `declared`: as declared_of has it; where its kind is too small for a majority, that has to say what makes a node.
std::vector<Reason> kind_reasons(const FactTable& table, const FactBook& book, std::uint32_t node, const Golden& golden,
                                 const std::vector<std::string>& declared, const GoldenOptions& options);
// That no other node has its serial number, its machine-id or one of its GPUs; nothing where none has.
std::vector<Reason> identity_reasons(const FactTable& table, std::uint32_t node);
// Rules that are broken, and those with severity error that nobody can decide for want of a fact that a probe reads.
std::vector<Reason> rules_reasons(const FactBook& book, std::uint32_t node, std::span<const FleetRule> rules,
                                  const Verdicts& verdicts);
std::vector<Reason> acceptance_reasons(const FactTable& table, std::uint32_t node, const Accepted& accepted,
                                       const Freshness& freshness);
Fitness worst(const std::vector<Reason>& reasons);

}  // namespace muster::fleet
