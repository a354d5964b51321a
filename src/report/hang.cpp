#include "report/hang.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "model/fields.h"

namespace muster::report {
namespace {

using diagnose::Hang;
using diagnose::HangKind;

// A headline of a job of thousands stays a line; the document has all of them.
std::string ranks_words(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShown = 16;
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kShown) out += fmt::format(" and {} more", ranks.size() - kShown);
  return out;
}

std::string culprits(const Hang& h) { return ranks_words(h.culprits); }

std::string_view its(const Hang& h) { return h.culprits.size() == 1 ? "its" : "their"; }

// What to do next, with the rank that it is about.
std::string next_step(const Hang& h) {
  if (h.unseen) {
    if (h.no_dump.empty())
      return fmt::format("see why the recorder of {} kept nothing (TORCH_NCCL_TRACE_BUFFER_SIZE there), and whether {} alive",
                         culprits(h), h.culprits.size() == 1 ? "it is" : "they are");
    return fmt::format(
        "collect the dumps of {}; where there is none, look there first: the process, the node's kernel log, its GPUs",
        ranks_words(h.no_dump));
  }
  switch (h.kind) {
    case HangKind::missing:
      return fmt::format("look at {} first: {} last stack (py-spy dump), the kernel log of {} node{}, {} GPUs", culprits(h),
                         its(h), its(h), h.culprits.size() == 1 ? "" : "s", its(h));
    case HangKind::mismatch: return "compare the code path of these ranks: a condition that is not the same on all of them";
    case HangKind::late:
      return fmt::format(
          "see what {} does before it: its input, its host, its GPU's clocks; a profile of it and of another rank tells",
          culprits(h));
    case HangKind::stuck: break;
  }
  return "look at links and GPUs of the group's nodes: muster get findings, ibqueryerrors, NCCL_DEBUG=INFO";
}

std::string waits(const Hang& h) {
  return fmt::format("{} {}", ranks_words(h.waiting), h.waiting.size() == 1 ? "waits" : "wait");
}

// Of a job of which not all is there: what waits, and whose dumps would tell.
std::string unseen_sentence(const Hang& h, const std::string& where, std::size_t ranks) {
  if (!h.waiting.empty())
    return fmt::format("{} in {}, which has not ended; {} of it left no dump, so who is missing cannot be told from these",
                       waits(h), where, culprits(h));
  const std::string these =
      fmt::format("no exchange that the {} told of is unfinished", ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks));
  if (h.no_dump.empty())
    return fmt::format("{}, but the dump{} of {} {} empty: whether the job hangs there cannot be told", these,
                       h.culprits.size() == 1 ? "" : "s", culprits(h), h.culprits.size() == 1 ? "is" : "are");
  return fmt::format("{}, but {} of the job's {} ranks {} not among the dumps ({}): whether it hangs cannot be told from these",
                     these, h.no_dump.size(), h.no_dump.size() + ranks, h.no_dump.size() == 1 ? "is" : "are",
                     ranks_words(h.no_dump));
}

}  // namespace

std::string hang_sentence(const std::optional<Hang>& hang, std::size_t ranks) {
  if (!hang) return fmt::format("no exchange of the {} ranks is unfinished: nothing hangs between them", ranks);
  const Hang& h = *hang;
  const std::string where = fmt::format("number {} of group {}", h.seq, h.group);
  if (h.unseen) return unseen_sentence(h, where, ranks);
  switch (h.kind) {
    case HangKind::missing:
      return fmt::format("{} never came to {}, in which {}", culprits(h), where,
                         h.certain || h.waiting.empty() ? std::string("the others wait") : waits(h));
    case HangKind::mismatch: return fmt::format("{} called another exchange than the others as {}", culprits(h), where);
    case HangKind::late: return fmt::format("{} comes late to {}: the others wait for it", culprits(h), where);
    case HangKind::stuck: break;
  }
  return fmt::format("{} did not end, though all ranks called it alike", where);
}

std::vector<std::string> say_hang(const Hang& hang) {
  std::vector<std::string> out;
  if (!hang.collective.empty()) out.push_back("the exchange: " + hang.collective);
  // Beside a hang that is found: of whom else nothing is known.
  if (!hang.unseen && !hang.certain && !hang.no_dump.empty())
    out.push_back(fmt::format("  of the whole job {} left no dump", ranks_words(hang.no_dump)));
  if (!hang.unseen && !hang.no_entries.empty())
    out.push_back(fmt::format("  nothing is in the dump of {}", ranks_words(hang.no_entries)));
  if (!hang.certain) out.emplace_back("what was dumped does not settle it: dumps of more ranks, or a larger buffer, would");
  return out;
}

diagnose::Finding hang_finding(const Hang& hang, std::size_t ranks) {
  diagnose::Finding f;
  f.title = hang_sentence(hang, ranks);
  f.evidence = hang.evidence;
  f.remedy = next_step(hang);
  f.verify = "the same exchange ends on all ranks after a restart; if not, dumps of that run beside these";
  f.confidence = hang.certain ? diagnose::Confidence::high : diagnose::Confidence::low;
  f.cost_pct = 100;
  return f;
}

void write_hang(JsonWriter& w, const std::optional<Hang>& hang) {
  const auto list = [&](std::string_view key, const std::vector<std::uint32_t>& ranks) {
    w.key(key).array();
    for (const std::uint32_t r : ranks) w.value(r);
    w.end_array();
  };
  if (!hang) {
    w.null();
    return;
  }
  w.object().field("kind", name_of(hang->kind));
  list("culprit_ranks", hang->culprits);
  w.field("certain", hang->certain);
  list("waiting_ranks", hang->waiting);
  list("ranks_without_dump", hang->no_dump);
  list("ranks_without_entries", hang->no_entries);
  w.field("collective", hang->collective).field("group", hang->group).field("seq", hang->seq);
  w.key("evidence").array();
  for (const std::string& e : hang->evidence) w.value(e);
  w.end_array().field("next", next_step(*hang)).end_object();
}

}  // namespace muster::report
