#include "ingest/runbook_file.h"

#include <gtest/gtest.h>

#include "ingest/embedded.h"
#include "model/acceptance_word.h"
#include "model/codec.h"

namespace muster {
namespace {

std::string error(std::string_view text) {
  const auto r = parse_runbooks(text, "r.yaml", shipped_runbooks());
  return r ? "accepted" : r.error().what;
}

Policy with(std::vector<Runbook> books) {
  Policy p;
  p.runbooks = std::move(books);
  return p;
}

TEST(Runbooks, ThoseThatShipAreTheDefault) {
  std::vector<RunbookText> all;
  for (const std::string_view path : embedded_files()) {
    if (path.substr(0, 9) != "runbooks/") continue;
    auto more = parse_runbooks(*embedded_file(path), path, std::move(all));
    ASSERT_TRUE(more) << more.error().what;
    all = std::move(*more);
  }
  std::vector<Runbook> wanted = default_runbooks();
  std::stable_sort(wanted.begin(), wanted.end(), [](const Runbook& a, const Runbook& b) {
    return std::pair(a.kind, !a.codes.empty()) < std::pair(b.kind, !b.codes.empty());
  });
  EXPECT_EQ(encode_policy(with(without_words(shipped_runbooks()))), encode_policy(with(wanted)));
}

TEST(Runbooks, EveryOneHasATitleAndEveryOneThatActsSaysWhyAndWhoSaysSo) {
  for (const RunbookText& t : shipped_runbooks()) {
    EXPECT_FALSE(t.title.empty()) << t.book.name;
    if (!t.book.act) continue;
    EXPECT_FALSE(t.why.empty()) << t.book.name;
    EXPECT_FALSE(t.source.empty()) << t.book.name;
  }
}

TEST(Runbooks, EveryKindOfFindingHasOneForAllItsCodes) {
  const auto all = default_runbooks();
  for (std::size_t k = 0; k < names(FindingKind{}).size(); ++k) {
    const Runbook* r = find_runbook(all, static_cast<FindingKind>(k), 0);
    EXPECT_NE(r, nullptr) << names(FindingKind{})[k];
  }
}

TEST(Runbooks, EveryFaultOfAnAcceptanceHasItsOwnAndOnlyWhatNobodyKnowsIsLeftToAPerson) {
  const auto all = default_runbooks();
  const std::size_t count = names(AcceptFault{}).size();
  for (std::size_t k = 1; k < count; ++k) {
    const Runbook* r = find_runbook(all, FindingKind::acceptance_failed, static_cast<std::int32_t>(k));
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->name, "accept_" + std::string(names(AcceptFault{})[k]));
    EXPECT_EQ(r->act, static_cast<AcceptFault>(k) != AcceptFault::not_run) << r->name;
  }
  const Runbook* unknown = find_runbook(all, FindingKind::acceptance_failed, 99);
  ASSERT_NE(unknown, nullptr);
  EXPECT_TRUE(unknown->test_first) << "of a later version's faults nothing is known";
}

TEST(Runbooks, ACodeOfItsOwnGoesBeforeTheKind) {
  const auto all = default_runbooks();
  EXPECT_EQ(find_runbook(all, FindingKind::ecc_uncorrectable, 94)->name, "ecc_contained");
  EXPECT_EQ(find_runbook(all, FindingKind::ecc_uncorrectable, 95)->name, "ecc_uncontained");
  EXPECT_EQ(find_runbook(all, FindingKind::ecc_uncorrectable, 48)->name, "ecc_uncorrectable");
}

TEST(Runbooks, AFileChangesOnlyWhatItSays) {
  const auto r = parse_runbooks("runbooks:\n  gpu_lost: {version: 7, steps: [replace_node]}\n", "r.yaml", shipped_runbooks());
  ASSERT_TRUE(r) << r.error().what;
  const auto books = without_words(*r);
  const Runbook* changed = find_runbook(books, FindingKind::gpu_lost, 79);
  EXPECT_EQ(changed->version, 7u);
  EXPECT_EQ(changed->steps, (std::vector<Verb>{Verb::replace_node}));
  EXPECT_EQ(changed->job, JobCare::requeue) << "as before";
  EXPECT_EQ(r->size(), shipped_runbooks().size());
}

TEST(Runbooks, WhatCannotBeIsRefusedWithLineAndReason) {
  EXPECT_EQ(error("runbooks:\n  gpu_lots: {act: false}\n"),
            "r.yaml:2: runbooks.gpu_lots is no kind of finding, nor a runbook that ships: say its kind; did you mean gpu_lost?");
  EXPECT_EQ(
      error("runbooks:\n  gpu_lost:\n    steps: [reboot_node, reset_gpu]\n"),
      "r.yaml:3: reset_gpu after reboot_node: steps go from mild to strong (reset_gpu, reload_driver, bounce_link, reboot_node, "
      "power_cycle_node, replace_node), each once");
  EXPECT_EQ(error("runbooks:\n  gpu_lost:\n    steps: [bounce_link]\n"),
            "r.yaml:3: bounce_link mends links; gpu_lost is about something else");
  EXPECT_EQ(error("runbooks:\n  hearsay: {act: true, steps: [replace_node]}\n"),
            "r.yaml:2: runbooks.hearsay may not act: hearsay is no proof of a fault of a node");
  EXPECT_EQ(error("runbooks:\n  mine: {kind: ecc_uncorrectable, codes: [94], steps: [replace_node]}\n"),
            "r.yaml:2: runbooks.mine and runbooks.ecc_contained are for the same findings");
  EXPECT_EQ(error("runbooks:\n  mine: {kind: gpu_lost, steps: [replace_node]}\n"),
            "r.yaml:2: runbooks.mine and runbooks.gpu_lost are for the same findings");
  EXPECT_EQ(error("runbooks:\n  gpu_lost: {codes: [0]}\n"),
            "r.yaml:2: codes are Xid numbers, or those of the kind, from 1 to 999");
  EXPECT_EQ(error("runbook: {}\n"), "r.yaml:1: unknown key \"runbook\"; did you mean runbooks?");
}

}  // namespace
}  // namespace muster
