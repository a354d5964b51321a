#include "trial.h"

#include <fmt/core.h>

#include <algorithm>

#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/verify.h"
#include "model/codec.h"

namespace muster::powercut {
namespace {

constexpr const char* kPath = "/state/journal.db";

sqlite::OpenOptions options_for(const Setting& s) {
  sqlite::OpenOptions o;
  o.path = kPath;
  o.create = true;
  o.journal_id = "powercut";
  o.checkpoint_pages = s.checkpoint_pages;
  o.vfs = kVfs;
  o.weaken = s.weaken;
  o.publish = [](const std::string& from, const std::string& to) -> Result<void> {
    if (!publish(from, to)) return fail(Code::unreachable, "cannot rename");
    return {};
  };
  o.distrust = [](const std::string& path) -> Result<void> {
    if (!distrust(path)) return fail(Code::unreachable, "cannot sync");
    return {};
  };
  return o;
}

std::string snapshot_text(std::uint64_t seq) { return fmt::format("state {} ", seq) + std::string(5000, 's'); }

}  // namespace

void Tally::fail(std::uint64_t Tally::*counter, std::uint64_t n, const std::string& what) {
  this->*counter += n;
  if (first.empty()) first = what;
}

Story::Story(std::uint64_t seed, std::size_t batches) {
  Prng rng(seed, "powercut/story");
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::uint64_t n = 1 + rng.below(6); n > 0; --n) {
      Event e;
      e.seq = events_.size() + 1;
      e.source = {"b", "operator", e.seq};
      e.utc = Time{static_cast<std::int64_t>(e.seq) * 1'000'000'000};
      if (rng.below(3) == 0) {
        CommandGiven c;
        c.id = fmt::format("c{}", e.seq);
        c.reason = std::string(rng.below(12) == 0 ? 9000 : rng.below(400), static_cast<char>('a' + rng.below(26)));
        e.body = c;
      } else {
        e.body = JobRequeued{JobId{static_cast<std::uint32_t>(1 + rng.below(1000)), 0}};
      }
      bytes_.push_back(encode_event(e));
      events_.push_back(std::move(e));
    }
    ends_.push_back(events_.size());
  }
}

std::span<const Event> Story::batch(std::size_t i) const {
  const std::uint64_t from = i == 0 ? 0 : ends_[i - 1];
  return std::span(events_).subspan(from, ends_[i] - from);
}

bool play(const Setting& setting, const Story& story, Session& session, Promise& promise, Tally& tally) {
  use(session);
  session.claim_powersafe = setting.claim_powersafe;
  auto journal = sqlite::open(options_for(setting));
  if (!journal) return false;
  const std::size_t n = story.ends().size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i == n / 2) {  // a clean restart in the middle
      journal->reset();
      journal = sqlite::open(options_for(setting));
      if (!journal) return false;
    }
    promise.tried = story.ends()[i];
    if (!(*journal)->append(story.batch(i))) {
      if (i + 1 < n && (*journal)->append(story.batch(i))) {
        tally.fail(&Tally::not_poisoned, 1, fmt::format("seed {}: appended after a failure", setting.seed));
      }
      return false;
    }
    promise.acked = promise.tried;
    if (i % 4 == 3) {
      if (!(*journal)->save_snapshot({promise.acked, 1, snapshot_text(promise.acked)})) return false;
      promise.snapshot = promise.acked;
    }
  }
  return true;
}

std::vector<Cut> cut_everywhere(const Setting& setting, const Story& story, std::uint64_t draws, Tally& tally) {
  std::vector<Cut> cuts;
  Prng rng(setting.seed, "powercut/cut");
  Session session{Disk(setting.device)};
  Promise promise;
  const auto take = [&] {
    for (std::uint64_t d = 0; d < draws; ++d) cuts.push_back({session.disk.cut(rng), promise});
  };
  session.before = take;
  if (!play(setting, story, session, promise, tally)) {
    tally.fail(&Tally::unusable, 1, fmt::format("seed {}: the story does not play on a healthy disk", setting.seed));
  }
  session.before = nullptr;
  take();
  return cuts;
}

namespace {

// What the journal holds against what it promised.
void check_content(const std::string& where, const Story& story, const Promise& promise, sqlite::StoredJournal& journal,
                   Tally& tally) {
  const std::uint64_t last = journal.last_seq();
  if (last < promise.acked) {
    ++tally.lossy_cuts;
    tally.fail(&Tally::acked_lost, promise.acked - last,
               fmt::format("{}: {} acknowledged, {} there", where, promise.acked, last));
  }
  const bool at_end = last == 0 || std::binary_search(story.ends().begin(), story.ends().end(), last);
  if (!at_end || last > promise.tried) {
    tally.fail(&Tally::atomicity_failures, 1, fmt::format("{}: ends within a batch, at {}", where, last));
  }
  if (last > promise.acked) ++tally.unacked_found;
  std::uint64_t seen = 0;
  bool same = true;
  const auto r = journal.read_bytes(1, [&](const sqlite::StoredEvent& e) {
    ++seen;
    same = same && e.seq <= story.length() && e.bytes == story.bytes(e.seq);
    return true;
  });
  if (!r || !same || seen != last) {
    tally.fail(&Tally::chain_failures, 1, fmt::format("{}: {}", where, r ? "other bytes than were appended" : r.error().what));
  }
  const auto s = journal.latest_snapshot();
  const bool sound = s && *s && (*s)->seq >= promise.snapshot && (*s)->bytes == snapshot_text((*s)->seq);
  const bool kept = sound || promise.snapshot == 0;
  if (!kept && last >= promise.snapshot) {
    tally.fail(&Tally::snapshots_lost, 1, fmt::format("{}: the snapshot of {} is gone", where, promise.snapshot));
  }
}

}  // namespace

void check(const Setting& setting, const Story& story, Cut cut, bool again, Tally& tally) {
  ++tally.cuts;
  const std::string where = fmt::format("seed {} sector {} psow {} checkpoint {} cut {}", setting.seed, setting.device.sector,
                                        setting.device.powersafe, setting.checkpoint_pages, tally.cuts);
  Session session{std::move(cut.disk)};
  session.claim_powersafe = setting.claim_powersafe;
  std::vector<Cut> later;
  Promise promise = cut.promise;
  Prng rng(tally.cuts, "powercut/again");
  if (again) session.before = [&] { later.push_back({session.disk.cut(rng), promise}); };
  use(session);
  {
    auto journal = sqlite::open(options_for(setting));
    if (!journal) return tally.fail(&Tally::unusable, 1, where + ": " + journal.error().what);
    check_content(where, story, cut.promise, **journal, tally);
    // Life goes on: the next batch, if what is there is a prefix of the story.
    const auto next = std::upper_bound(story.ends().begin(), story.ends().end(), (*journal)->last_seq());
    const bool whole = (*journal)->last_seq() == 0 || (next != story.ends().begin() && next[-1] == (*journal)->last_seq());
    if (whole && next != story.ends().end()) {
      promise.acked = (*journal)->last_seq();
      promise.tried = *next;
      const auto r = (*journal)->append(story.batch(static_cast<std::size_t>(next - story.ends().begin())));
      if (!r) tally.fail(&Tally::unusable, 1, where + ": " + r.error().what);
      promise.acked = promise.tried;
    }
  }
  session.before = nullptr;
  if (again || tally.cuts % 16 == 0) {
    const auto report = sqlite::verify(kPath, {.decode = true, .vfs = kVfs, .progress = {}});
    if (!report || !report->ok()) {
      tally.fail(&Tally::chain_failures, 1, where + ": " + (report ? report->what + report->structure : report.error().what));
    }
  }
  for (Cut& c : later) check(setting, story, std::move(c), false, tally);
}

}  // namespace muster::powercut
