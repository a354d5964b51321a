#include "detect/acceptance.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::detect {
namespace {

constexpr auto kKind = FindingKind::acceptance_failed;
constexpr std::size_t kSubjectMax = 128;  // bytes

// Those that stand on the node, by its number.
std::vector<const Finding*> standing(const State& s, NodeId n) {
  std::vector<const Finding*> out;
  if (s.open_kinds.count(kKind) == 0) return out;
  for (const auto& [id, f] : s.findings) {
    if (f.kind == kKind && f.node == n && f.cleared.ns == 0) out.push_back(&f);
  }
  return out;
}

// A GPU that computes or remembers wrongly spoils work; one that is slow, or was not tested, does not.
Severity severity_of(const AcceptFaultTold& f) {
  const bool wrong = f.kind == AcceptFault::wrong_results || f.kind == AcceptFault::memory;
  return wrong && f.failed ? Severity::critical : Severity::warning;
}

// Another fault has that name: findings of a GPU are told apart by their subjects.
bool taken(const Sign& sign, const std::vector<const Finding*>& known, const Signs& out) {
  const auto same = [&](const auto& x) { return x.slot == sign.slot && x.subject == sign.subject && x.code != sign.code; };
  return std::any_of(known.begin(), known.end(), [&](const Finding* x) { return same(*x); }) ||
         std::any_of(out.seen.begin(), out.seen.end(),
                     [&](const Sign& x) { return x.kind == kKind && x.node == sign.node && same(x); });
}

void see(const AcceptanceSaid& said, const AcceptFaultTold& f, const std::vector<const Finding*>& known, Time utc, Signs& out) {
  Sign sign;
  sign.kind = kKind;
  sign.severity = severity_of(f);
  sign.node = said.node;
  sign.slot = f.slot;
  sign.code = static_cast<std::int32_t>(f.kind);
  sign.subject = f.part.substr(0, kSubjectMax);
  sign.evidence = {Witness::test, utc, {}, fmt::format("accept {}, {}: {}", said.profile, f.part, f.text)};
  sign.tell = true;  // each run of the tests is a witness of its own
  // One finding for each kind of fault: known by the part that was told first.
  const auto like =
      std::find_if(known.begin(), known.end(), [&](const Finding* x) { return x->slot == sign.slot && x->code == sign.code; });
  const auto now = std::find_if(out.seen.begin(), out.seen.end(), [&](const Sign& x) {
    return x.kind == kKind && x.node == sign.node && x.slot == sign.slot && x.code == sign.code;
  });
  if (like != known.end()) {
    sign.subject = (*like)->subject;
  } else if (now != out.seen.end()) {
    sign.subject = now->subject;
  } else if (taken(sign, known, out)) {
    sign.subject += fmt::format(" ({})", name_of(f.kind));
  }
  // A later word of the same turn counts for more.
  std::erase_if(out.gone, [&](const Relief& r) {
    return r.kind == kKind && r.node == sign.node && r.slot == sign.slot && r.subject == sign.subject;
  });
  out.seen.push_back(std::move(sign));
}

void on_said(const AcceptanceSaid& said, const State& s, Time utc, Signs& out) {
  const auto slots = static_cast<int>(s.site.gpus_per_node);
  if (said.node.v >= s.nodes.size()) return;
  const std::vector<const Finding*> known = standing(s, said.node);
  const auto told = [&](std::int16_t slot, std::int32_t code) {
    return std::any_of(said.faults.begin(), said.faults.end(), [&](const AcceptFaultTold& f) {
      return f.slot == slot && (code == 0 || static_cast<std::int32_t>(f.kind) == code);
    });
  };
  std::erase_if(out.seen, [&](const Sign& x) {
    return x.kind == kKind && x.node == said.node &&
           std::find(said.passed.begin(), said.passed.end(), x.slot) != said.passed.end();
  });
  for (const Finding* f : known) {
    const auto over = [&](const char* why) { out.gone.push_back({kKind, f->node, f->slot, {}, why, f->subject}); };
    const bool passed = std::find(said.passed.begin(), said.passed.end(), f->slot) != said.passed.end();
    // Of the node as a whole there is no word but that nothing is wrong any more.
    const bool node_passed = f->slot < 0 && !told(-1, 0);
    if (passed || node_passed) {
      over("it passed its acceptance tests");
    } else if (f->code == static_cast<std::int32_t>(AcceptFault::not_run) && told(f->slot, 0) && !told(f->slot, f->code)) {
      over("the tests ran");
    }
  }
  for (const AcceptFaultTold& f : said.faults) {
    if (f.kind != AcceptFault::none && f.slot < slots) see(said, f, known, utc, out);
  }
}

// Whoever was there before is gone; what is there now was not tested.
void on_swap(const State& s, NodeId n, std::int16_t slot, Signs& out) {
  for (const Finding* f : standing(s, n)) {
    if (slot < 0 || f->slot == slot) out.gone.push_back({kKind, n, f->slot, {}, "another GPU is in its place", f->subject});
  }
}

}  // namespace

void on_acceptance(const Body& b, const State& s, Time utc, Signs& out) {
  if (const auto* said = std::get_if<AcceptanceSaid>(&b)) return on_said(*said, s, utc, out);
  if (const auto* swapped = std::get_if<GpuSwapped>(&b)) return on_swap(s, swapped->node, swapped->slot, out);
  const auto* who = std::get_if<GpuIdentified>(&b);
  if (who == nullptr) return;
  const GpuIdentity* before = find_gpu(s, who->node, who->gpu.slot);
  if (before != nullptr && !before->uuid.empty() && before->uuid != who->gpu.uuid) on_swap(s, who->node, who->gpu.slot, out);
}

}  // namespace muster::detect
