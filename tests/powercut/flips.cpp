#include "flips.h"

#include <fmt/core.h>

#include <optional>

#include "adapters/sqlite/database.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/verify.h"
#include "trial.h"

namespace muster::powercut {
namespace {

constexpr const char* kPath = "/state/journal.db";

struct Row {
  std::uint64_t seq = 0;
  std::string bytes;
  std::string hash;
  bool operator==(const Row&) const = default;
};

// What a plain reader finds in the file, without any check of ours; ends early where SQLite cannot go on.
std::vector<Row> scan() {
  std::vector<Row> rows;
  auto db = sqlite::Database::open({kPath, kVfs}, sqlite::Access::immutable);
  if (!db) return rows;
  auto s = db->prepare("SELECT seq, bytes, hash FROM event ORDER BY seq");
  if (!s) return rows;
  for (auto row = s->step(); row && *row && rows.size() < 10'000; row = s->step()) {
    rows.push_back({s->integer(0), std::string(s->bytes(1)), std::string(s->bytes(2))});
  }
  return rows;
}

std::optional<std::uint64_t> first_difference(const std::vector<Row>& a, const std::vector<Row>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || !(a[i] == b[i])) return i + 1;
  }
  return std::nullopt;
}

void judge(std::uint64_t bit, std::optional<std::uint64_t> truth, FlipTally& tally) {
  const auto report = sqlite::verify(kPath, {.decode = false, .vfs = kVfs, .progress = {}});
  ++tally.flips;
  if (!report) {
    ++tally.refused;
    return;
  }
  if (!truth && !report->first_bad) {
    ++tally.harmless;
    return;
  }
  ++tally.changed;
  const auto said = report->first_bad;
  if (said && said == truth) {
    ++tally.named;
    return;
  }
  ++(report->ok() ? tally.missed : tally.misnamed);
  if (tally.first.empty()) {
    tally.first = fmt::format("bit {}: event {} changed, verify says {} {} {}", bit, truth.value_or(0), said.value_or(0),
                              report->what, report->structure);
  }
}

}  // namespace

FlipTally flip_bits(std::uint64_t flips, std::uint64_t seed) {
  FlipTally tally;
  Prng rng(seed, "powercut/flips");
  Session session{Disk()};
  Tally unused;
  Promise promise;
  Setting setting;
  const Story story(seed, 100);  // long enough for a tree of pages
  if (!play(setting, story, session, promise, unused)) return tally;
  const auto sound = scan();
  const auto file = session.disk.find(kPath);
  while (tally.flips < flips) {
    const std::uint64_t bit = rng.below(file->now.size() * 8);
    session.disk.flip(kPath, bit);
    use(session);
    judge(bit, first_difference(sound, scan()), tally);
    session.disk.flip(kPath, bit);
  }
  return tally;
}

}  // namespace muster::powercut
