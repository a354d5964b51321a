// Cuts the power of the real journal at every I/O operation, fails its disk in every way, flips its bits, and checks that nothing
// acknowledged is ever lost. Also checks that this test can fail: with weaker settings it must find losses.
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "flips.h"
#include "trial.h"

namespace muster::powercut {
namespace {

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Every seed is another story, another device and another rhythm of checkpoints.
Setting setting_for(std::uint64_t seed) {
  static constexpr std::uint32_t kCheckpoint[] = {4, 8, 20, 1000};
  Setting s;
  s.seed = seed;
  s.device.sector = seed % 2 == 0 ? 512 : 4096;
  s.device.powersafe = seed % 3 != 0;
  s.checkpoint_pages = kCheckpoint[seed / 2 % 4];
  return s;
}

void sweep_cuts(const Setting& setting, std::uint64_t draws, Tally& tally) {
  const Story story(setting.seed);
  for (Cut& c : cut_everywhere(setting, story, draws, tally)) {
    check(setting, story, std::move(c), tally.cuts % 200 == 199, tally);
  }
}

// Each operation fails once in each way; then the process restarts, or the power goes as well.
void sweep_faults(const Setting& setting, Tally& tally) {
  const Story story(setting.seed);
  Prng rng(setting.seed, "powercut/fault");
  for (const Fault fault :
       {Fault::write_error, Fault::short_write, Fault::disk_full, Fault::sync_error, Fault::sync_error_dropped}) {
    for (std::uint64_t at = 0;;) {
      Session session{Disk(setting.device)};
      session.fault = fault;
      session.fault_at = at;
      Promise promise;
      play(setting, story, session, promise, tally);
      if (!session.faulted) break;
      at = session.faulted_at + 1;
      ++tally.faults;
      check(setting, story, {session.disk.cut(rng), promise}, false, tally);
      check(setting, story, {std::move(session.disk), promise}, tally.faults % 4 == 0, tally);
    }
  }
}

void print(const char* title, const Tally& t, double seconds) {
  fmt::print("{}: {} cuts, {} acknowledged events lost, {} chain failures, {} atomicity failures, {} unusable, "
             "{} snapshots lost, {} appends after a failure ({} cuts after a failed operation, {} un-acknowledged batches found, "
             "{:.1f} s CPU)\n", title, t.cuts, t.acked_lost, t.chain_failures, t.atomicity_failures, t.unusable, t.snapshots_lost,
             t.not_poisoned, t.faults * 2, t.unacked_found, seconds);
  if (!t.first.empty()) fmt::print("  first: {}\n", t.first);
}

// True when the weakened journal was caught losing what it had acknowledged.
bool harness_can_fail(const char* title, Setting setting) {
  Tally t;
  for (std::uint64_t seed = 1; seed <= 12 && t.acked_lost == 0; ++seed) {
    setting.seed = seed;
    sweep_cuts(setting, 1, t);
  }
  fmt::print("self-check, {}: {} cuts, {} acknowledged events lost, {} chain failures: {}\n", title, t.cuts, t.acked_lost,
             t.chain_failures, t.acked_lost > 0 ? "caught" : "NOT CAUGHT");
  return t.acked_lost > 0;
}

bool self_check() {
  Setting normal;
  normal.weaken = "PRAGMA synchronous=NORMAL";
  Setting off;
  off.weaken = "PRAGMA synchronous=OFF";
  Setting torn;  // a drive that damages neighbours, and a journal that does not know
  torn.device.powersafe = false;
  torn.claim_powersafe = true;
  torn.checkpoint_pages = 1000;
  return harness_can_fail("synchronous=NORMAL", normal) & harness_can_fail("synchronous=OFF", off) &
         harness_can_fail("psow claimed on a tearing drive", torn);
}

int run(std::uint64_t cuts_wanted, std::uint64_t flips_wanted, std::uint64_t seed) {
  bool ok = self_check();

  const double start = cpu_s();
  Tally tally;
  for (int i = 0; i < 4; ++i) sweep_faults(setting_for(seed + static_cast<std::uint64_t>(i)), tally);
  for (; tally.cuts < cuts_wanted; ++seed) sweep_cuts(setting_for(seed), 2, tally);
  print("powercut", tally, cpu_s() - start);
  ok = ok && tally.clean() && tally.cuts >= cuts_wanted && tally.faults > 1000;

  const double flipping = cpu_s();
  const FlipTally flips = flip_bits(flips_wanted, seed);
  fmt::print("bit flips: {} flips, {} changed an event, {} of them named by verify, {} missed, {} misnamed; "
             "{} made the file unreadable and were refused, {} touched no event ({:.1f} s CPU)\n",
             flips.flips, flips.changed, flips.named, flips.missed, flips.misnamed, flips.refused, flips.harmless,
             cpu_s() - flipping);
  if (!flips.first.empty()) fmt::print("  first: {}\n", flips.first);
  ok = ok && flips.missed == 0 && flips.misnamed == 0 && flips.changed > flips_wanted / 4;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace muster::powercut

int main(int argc, char** argv) {
  std::uint64_t cuts = 60'000, flips = 10'000, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const auto value = i + 1 < argc ? muster::parse_uint(argv[i + 1]) : std::nullopt;
    std::uint64_t* into = std::strcmp(argv[i], "--cuts") == 0    ? &cuts
                          : std::strcmp(argv[i], "--flips") == 0 ? &flips
                          : std::strcmp(argv[i], "--seed") == 0  ? &seed
                                                                 : nullptr;
    if (into == nullptr || !value) {
      fmt::print(stderr, "usage: powercut [--cuts N] [--flips N] [--seed N]\n");
      return 2;
    }
    *into = *value;
    ++i;
  }
  return muster::powercut::run(cuts, flips, seed);
}
