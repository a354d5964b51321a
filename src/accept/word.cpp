#include <fmt/core.h>

#include "accept/judge.h"

namespace muster::accept {
namespace {

AcceptanceWord::Fault fault_of(const Trouble& t) {
  // What was not tested is no fault of the GPU's.
  const bool failed = t.verdict == Verdict::fail;
  return {t.kind == Class::none ? Class::not_run : t.kind, failed, fmt::format("{}: {}", name_of(t.part), t.what), t.evidence};
}

}  // namespace

AcceptanceWord word_of(const Acceptance& a, const Judgement& j) {
  AcceptanceWord w;
  w.profile = name_of(a.suite.profile);
  for (const GpuVerdict& v : j.gpus) {
    AcceptanceWord::Gpu g;
    g.gpu = v.gpu;
    for (const accepting::Gpu& known : a.gpus) {
      if (known.gpu != v.gpu) continue;
      g.pci = known.pci;
      g.uuid = known.uuid;
    }
    // A GPU passed where nothing of the node as a whole speaks against the recording.
    g.passed = v.verdict == Verdict::pass && j.verdict != Verdict::could_not_run;
    for (const Trouble& t : v.troubles) g.faults.push_back(fault_of(t));
    w.gpus.push_back(std::move(g));
  }
  for (const Trouble& t : j.node) w.faults.push_back(fault_of(t));
  return w;
}

}  // namespace muster::accept
