// The verdict on a recording. Zero tolerance for what is wrong, limits of the fleet and of a GPU's own past for what is slow, and
// a required test that did not run, or ran and told nothing, is never a pass.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accept/limits.h"
#include "model/acceptance.h"
#include "model/acceptance_word.h"

namespace muster::accept {

enum class Verdict : std::uint8_t { pass, degraded, could_not_run, fail };  // the worst of several is the largest
constexpr std::array<std::string_view, 4> names(Verdict) { return {"PASS", "DEGRADED", "COULD NOT RUN", "FAIL"}; }

using Class = AcceptFault;  // what a failure is of, for runbooks

struct Trouble {
  std::int32_t gpu = -1;  // -1: the node
  Verdict verdict = Verdict::fail;
  Class kind = Class::none;
  Part part = Part::whole;
  AcceptTest test = AcceptTest::inventory;
  std::string what;      // one sentence: "SM 17 computes wrongly: 3 results"
  std::string evidence;  // figures, limit, where the limit comes from
  std::string next;      // what to do: reseat, reset, return
  std::string metric;    // of a limit; empty: none
  double value = 0, limit = 0;
  std::optional<Basis> basis;
};

struct GpuVerdict {
  std::int32_t gpu = 0;
  Verdict verdict = Verdict::pass;
  std::vector<Trouble> troubles;  // the worst first
};

struct Judgement {
  Verdict verdict = Verdict::pass;  // of the node: the worst of its GPUs and its own
  std::vector<GpuVerdict> gpus;
  std::vector<Trouble> node;       // what is of no single GPU
  std::vector<std::string> notes;  // that a limit is provisional, that nobody knows how fast such a GPU should be
  bool provisional = false;        // how fast it is was held against too few cards to be sure, or against none
  std::vector<std::int32_t> unjudged;  // GPUs of which no figure of speed could be held against anything

  std::vector<const Trouble*> troubles() const;  // all, the worst first
};

Judgement judge(const Acceptance& a, const Limits& limits);
Judgement judge(const NodeFigures& node, const Limits& limits);
// What a controller is told of it.
AcceptanceWord word_of(const Acceptance& a, const Judgement& j);
// Tests whose figures are beyond a limit: worth one more turn before anybody is blamed.
std::vector<std::pair<std::int32_t, AcceptTest>> worth_repeating(const Acceptance& a, const Limits& limits);

}  // namespace muster::accept
