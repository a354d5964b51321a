#include "report/hang.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Hang;
using diagnose::HangKind;

std::string culprits(const Hang& h) {
  std::string out = h.culprits.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < h.culprits.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", h.culprits[i]);
  return out;
}

// What to do next, with the rank that it is about.
std::string next_step(const Hang& h) {
  switch (h.kind) {
    case HangKind::missing:
      return fmt::format("look at {} first: its last stack (py-spy dump), its node's kernel log, its GPUs", culprits(h));
    case HangKind::mismatch: return "compare the code path of these ranks: a condition that is not the same on all of them";
    case HangKind::late:
      return fmt::format(
          "see what {} does before it: its input, its host, its GPU's clocks; a profile of it and of another rank tells",
          culprits(h));
    case HangKind::stuck: break;
  }
  return "look at links and GPUs of the group's nodes: muster get findings, ibqueryerrors, NCCL_DEBUG=INFO";
}

}  // namespace

std::string hang_sentence(const std::optional<Hang>& hang, std::size_t ranks) {
  if (!hang) return fmt::format("no exchange of the {} ranks is unfinished: nothing hangs between them", ranks);
  const Hang& h = *hang;
  const std::string where = fmt::format("number {} of group {}", h.seq, h.group);
  switch (h.kind) {
    case HangKind::missing: return fmt::format("{} never came to {}, in which the others wait", culprits(h), where);
    case HangKind::mismatch: return fmt::format("{} called another exchange than the others as {}", culprits(h), where);
    case HangKind::late: return fmt::format("{} comes late to {}: the others wait for it", culprits(h), where);
    case HangKind::stuck: break;
  }
  return fmt::format("{} did not end, though all ranks called it alike", where);
}

std::vector<std::string> say_hang(const Hang& hang) {
  std::vector<std::string> out;
  if (!hang.collective.empty()) out.push_back("the exchange: " + hang.collective);
  for (const std::string& e : hang.evidence) out.push_back("  " + e);
  if (!hang.certain) out.emplace_back("what was dumped does not settle it: dumps of more ranks, or a larger buffer, would");
  out.push_back(next_step(hang));
  return out;
}

void write_hang(JsonWriter& w, const std::optional<Hang>& hang) {
  if (!hang) {
    w.null();
    return;
  }
  w.object().field("kind", name_of(hang->kind));
  w.key("culprit_ranks").array();
  for (const std::uint32_t r : hang->culprits) w.value(r);
  w.end_array().field("collective", hang->collective).field("group", hang->group).field("seq", hang->seq);
  w.key("evidence").array();
  for (const std::string& e : hang->evidence) w.value(e);
  w.end_array().field("next", next_step(*hang)).end_object();
}

}  // namespace muster::report
