#include "adapters/sqlite/journal.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/chain.h"
#include "adapters/sqlite/database.h"
#include "adapters/sqlite/verify.h"
#include "base/prng.h"
#include "model/codec.h"
#include "model/event_fields.h"

namespace muster::sqlite {
namespace {

namespace fs = std::filesystem;

// Gives every field of a body a value, so that none can be forgotten by the codec.
struct Filler {
  Prng& rng;
  template <class T>
  void operator()(std::string_view, T& t) { fill(t); }
  void fill(bool& b) { b = rng.below(2) == 1; }
  void fill(double& d) { d = static_cast<double>(rng.below(1'000'000)) / 7.0; }
  void fill(std::string& s) { s = "t\n\"\\\x01<b>\xc3\xa9" + std::to_string(rng.below(1000)); }
  void fill(Time& t) { t.ns = static_cast<std::int64_t>(rng.below(1ull << 62)); }
  void fill(Duration& d) { d.ns = static_cast<std::int64_t>(rng.below(1ull << 62)); }
  void fill(JobId& j) { j = {static_cast<std::uint32_t>(1 + rng.below(1u << 31)), static_cast<std::uint32_t>(rng.below(5))}; }
  template <class Tag, class I, I None>
  void fill(Id<Tag, I, None>& id) { id.v = static_cast<I>(1 + rng.below(1000)); }
  template <class T>
    requires std::is_integral_v<T>
  void fill(T& i) { i = static_cast<T>(rng.below(30'000)); }
  template <NamedEnum E>
  void fill(E& e) { e = static_cast<E>(rng.below(names(E{}).size())); }
  template <class T>
  void fill(std::vector<T>& v) {
    v.resize(1 + rng.below(3));
    for (T& x : v) fill(x);
  }
  template <class A, class B>
  void fill(std::pair<A, B>& p) {
    fill(p.first);
    fill(p.second);
  }
  template <class T>
    requires requires(Filler& f, T& t) { fields(f, t); }
  void fill(T& t) { fields(*this, t); }
};

template <std::size_t I = 0>
Body body_of_kind(std::size_t kind, Prng& rng) {
  if constexpr (I == std::variant_size_v<AnyBody>) {
    return Body{};
  } else {
    if (kind != I) return body_of_kind<I + 1>(kind, rng);
    std::variant_alternative_t<I, AnyBody> b;
    Filler{rng}.fill(b);
    return b;
  }
}

std::vector<Event> some_events(std::uint64_t first, std::size_t n) {
  Prng rng(first, "journal_test");
  std::vector<Event> out;
  for (std::size_t i = 0; i < n; ++i) {
    Event e;
    e.seq = first + i;
    e.source = {"boot", "engine", e.seq};
    e.utc = Time{1'700'000'000'000'000'000 + static_cast<std::int64_t>(e.seq)};
    e.body = body_of_kind(e.seq % std::variant_size_v<AnyBody>, rng);
    out.push_back(std::move(e));
  }
  return out;
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class JournalFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster_journal_XXXXXX";
    dir_ = ::mkdtemp(name);
    path_ = dir_ + "/journal.db";
  }
  void TearDown() override { fs::remove_all(dir_); }

  Result<std::unique_ptr<StoredJournal>> open_it(bool create = true) { return open({.path = path_, .create = create}); }
  // A cleanly closed journal of `n` events.
  void make(std::size_t n) {
    auto j = open_it();
    ASSERT_TRUE(j) << j.error().what;
    ASSERT_TRUE((*j)->append(some_events(1, n)));
  }
  // Opening fails with `code`, the message contains `words`, and the file is as it was.
  void expect_refused(Code code, std::string_view words) {
    const std::string before = slurp(path_);
    for (const bool read_only : {false, true}) {
      const auto j = open({.path = path_, .read_only = read_only, .create = true});
      ASSERT_FALSE(j);
      EXPECT_EQ(j.error().code, code) << j.error().what;
      EXPECT_NE(j.error().what.find(words), std::string::npos) << j.error().what;
      EXPECT_EQ(slurp(path_), before);
    }
  }
  void change(const std::string& sql) {
    auto db = Database::open({path_, ""}, Access::write);
    ASSERT_TRUE(db);
    const auto r = db->exec(sql);
    ASSERT_TRUE(r) << r.error().what;
    ASSERT_TRUE(db->checkpoint(true));
  }

  std::string dir_;
  std::string path_;
};

TEST_F(JournalFile, GivesBackEveryKindOfEventAsItWasAppended) {
  const auto events = some_events(1, 3 * std::variant_size_v<AnyBody>);
  {
    auto j = open_it();
    ASSERT_TRUE(j) << j.error().what;
    ASSERT_TRUE((*j)->append(std::span(events).first(10)));
    ASSERT_TRUE((*j)->append(std::span(events).subspan(10)));
  }
  EXPECT_FALSE(fs::exists(path_ + "-wal")) << "a clean end leaves one file";
  auto j = open_it(false);
  ASSERT_TRUE(j) << j.error().what;
  EXPECT_EQ((*j)->last_seq(), events.size());
  std::size_t i = 0;
  const auto r = (*j)->read(1, [&](const Event& e) {
    EXPECT_EQ(encode_event(e), encode_event(events[i++]));
    return true;
  });
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_EQ(i, events.size());
}

TEST_F(JournalFile, ReadsFromAnyEventAndStopsWhenTold) {
  make(20);
  auto j = open_it();
  std::vector<std::uint64_t> seen;
  ASSERT_TRUE((*j)->read(17, [&](const Event& e) { seen.push_back(e.seq); return e.seq < 19; }));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{17, 18, 19}));
  ASSERT_TRUE((*j)->read(21, [&](const Event&) { ADD_FAILURE(); return true; }));
}

TEST_F(JournalFile, HasTheDigestThatTheMemoryJournalHas) {
  MemoryJournal memory(MemoryJournal::Keep::events);
  auto j = open({.path = path_, .create = true, .journal_id = std::string(kTwinJournalId)});
  ASSERT_TRUE(j);
  EXPECT_EQ((*j)->head(), memory.head());
  const auto events = some_events(1, 50);
  ASSERT_TRUE(memory.append(events));
  ASSERT_TRUE((*j)->append(events));
  EXPECT_EQ((*j)->head(), memory.head());
  EXPECT_EQ((*j)->last_seq(), memory.last_seq());
  std::size_t n = 0;
  ASSERT_TRUE(memory.read(41, [&](const Event& e) { EXPECT_EQ(e.seq, 41 + n++); return true; }));
  EXPECT_EQ(n, 10u);
}

TEST_F(JournalFile, ReadersSeeWhatTheWriterGoesOnToAppend) {
  auto writer = open_it();
  ASSERT_TRUE((*writer)->append(some_events(1, 5)));
  auto reader = open({.path = path_, .read_only = true});
  ASSERT_TRUE(reader) << reader.error().what;
  ASSERT_TRUE((*writer)->append(some_events(6, 5)));
  std::uint64_t last = 0;
  ASSERT_TRUE((*reader)->read(1, [&](const Event& e) { last = e.seq; return true; }));
  EXPECT_EQ(last, 10u);
  EXPECT_EQ((*reader)->append(some_events(11, 1)).error().code, Code::not_allowed);
  const auto report = verify(path_);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_TRUE(report->ok()) << report->what << report->structure;
  EXPECT_EQ(report->events, 10u);
  EXPECT_EQ(report->head, (*writer)->head());
}

TEST_F(JournalFile, RefusesASecondWriterAndNamesTheFirst) {
  auto first = open_it();
  ASSERT_TRUE(first);
  const auto second = open_it();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos) << second.error().what;
  first->reset();
  EXPECT_TRUE(open_it());
}

TEST_F(JournalFile, IsThereAfterAProcessThatNeverClosedIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto j = open_it();
    const bool ok = j && (*j)->append(some_events(1, 30)) && (*j)->append(some_events(31, 1));
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_GT(fs::file_size(path_ + "-wal"), 0u);
  auto j = open_it(false);
  ASSERT_TRUE(j) << j.error().what;
  EXPECT_EQ((*j)->last_seq(), 31u);
}

TEST_F(JournalFile, GapsInTheNumbersAreAProgrammersError) {
  auto j = open_it();
  EXPECT_DEATH((void)(*j)->append(some_events(2, 1)), "seq");
}

TEST_F(JournalFile, IsNotMadeUnlessAskedFor) {
  const auto j = open_it(false);
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, Code::not_found);
  EXPECT_FALSE(fs::exists(path_));
}

// ---------------------------------------------------------------- one byte

// Whoever reads it is told, and verify names the event whose byte it was.
void expect_located(const std::string& path, std::uint64_t seq, const std::string& how) {
  const auto report = verify(path);
  ASSERT_TRUE(report) << how << ": " << report.error().what;
  ASSERT_TRUE(report->first_bad) << how << " went unnoticed: " << report->structure;
  EXPECT_EQ(*report->first_bad, seq) << how;
  const auto j = open({.path = path, .read_only = true});
  if (!j) {
    EXPECT_EQ(j.error().code, Code::corrupt) << how;
    return;
  }
  const auto read = (*j)->read(1, [](const Event&) { return true; });
  ASSERT_FALSE(read) << how;
  EXPECT_EQ(read.error().code, Code::corrupt) << how;
}

constexpr std::uint64_t kMany = 1100;  // more than are looked at when a journal is opened
constexpr int kFlips = 150;

TEST_F(JournalFile, OneByteOfAnyEventOrHashChangedThroughSqlIsFoundAndLocated) {
  make(kMany);
  Prng rng(7, "tamper");
  for (int k = 0; k < kFlips; ++k) {
    // The first ones lie where the part that opening looks at begins and ends.
    const std::uint64_t edges[] = {1, kMany, kMany - 1000, kMany - 999, kMany - 1001};
    const std::uint64_t seq = k < 10 ? edges[k % 5] : 1 + rng.below(kMany);
    const std::string column = k % 2 == 0 ? "hash" : "bytes";
    auto db = Database::open({path_, {}}, Access::write);
    ASSERT_TRUE(db);
    const auto set = [&](const std::string& value) {
      auto s = db->prepare("UPDATE event SET " + column + "=? WHERE seq=?");
      ASSERT_TRUE(s);
      ASSERT_TRUE(s->bind(1, std::string_view(value)).bind(2, seq).run());
    };
    std::string before;
    {
      auto s = db->prepare("SELECT " + column + " FROM event WHERE seq=?");
      ASSERT_TRUE(s);
      ASSERT_TRUE(s->bind(1, seq).step().value());
      before = s->bytes(0);
    }
    std::string after = before;
    const std::size_t at = rng.below(after.size());
    after[at] = static_cast<char>(after[at] ^ static_cast<char>(1 + rng.below(255)));
    set(after);
    ASSERT_TRUE(db->checkpoint(true));
    expect_located(path_, seq, column + " of event " + std::to_string(seq) + ", byte " + std::to_string(at));
    set(before);
    ASSERT_TRUE(db->checkpoint(true));
  }
  EXPECT_TRUE(verify(path_)->ok()) << "with every byte back it is whole again";
}

TEST_F(JournalFile, OneByteOfARowChangedInTheFileIsFoundAndLocated) {
  make(kMany);
  const std::string sound = slurp(path_);
  const auto events = some_events(1, kMany);
  Prng rng(8, "tamper");
  int flipped = 0;
  for (int k = 0; k < 3 * kFlips && flipped < kFlips; ++k) {
    const Event& e = events[rng.below(kMany)];
    const std::string row = encode_event(e);
    const std::size_t at = sound.find(row);
    if (at == std::string::npos) continue;  // a long one lies on several pages
    ++flipped;
    const std::size_t byte = at + rng.below(row.size() + 32);  // its hash follows it
    std::string changed = sound;
    changed[byte] = static_cast<char>(changed[byte] ^ static_cast<char>(1 + rng.below(255)));
    spill(path_, changed);
    expect_located(path_, e.seq, "byte " + std::to_string(byte) + " of the file, in event " + std::to_string(e.seq));
  }
  EXPECT_EQ(flipped, kFlips);
  spill(path_, sound);
  EXPECT_TRUE(verify(path_)->ok());
}

// ---------------------------------------------------------------- what is refused

TEST_F(JournalFile, RefusesFilesThatAreNotDatabases) {
  spill(path_, "#!/bin/sh\necho hello, this is somebody's script and must survive\n");
  expect_refused(Code::bad_input, "not a Muster journal");
  spill(path_, "");
  expect_refused(Code::bad_input, "empty");
  spill(path_, std::string(10'000, '\0'));
  expect_refused(Code::bad_input, "not a Muster journal");
}

TEST_F(JournalFile, RefusesPathsThatAreNotFiles) {
  for (const bool pipe : {false, true}) {
    if (pipe) {
      ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    } else {
      fs::create_directory(path_);
    }
    const auto j = open_it();
    ASSERT_FALSE(j);
    EXPECT_NE(j.error().what.find(path_), std::string::npos) << j.error().what;
    EXPECT_FALSE(verify(path_));
    fs::remove(path_);
  }
}

TEST_F(JournalFile, RefusesDatabasesOfOtherPrograms) {
  {
    auto db = Database::open({path_, ""}, Access::create);
    ASSERT_TRUE(db->exec("CREATE TABLE t(x); INSERT INTO t VALUES('precious')"));
  }
  expect_refused(Code::bad_input, "another program");
  for (const char* suffix : {"-wal", "-shm", "-journal"}) EXPECT_FALSE(fs::exists(path_ + suffix)) << suffix;
}

TEST_F(JournalFile, RefusesANewerFormat) {
  make(3);
  change("PRAGMA user_version=2");
  expect_refused(Code::bad_input, "format 2");
}

TEST_F(JournalFile, RefusesATruncatedFileAtAnyLength) {
  make(2000);
  const std::string whole = slurp(path_);
  for (const std::size_t n : {whole.size() - 1, whole.size() - 4096, whole.size() / 2, std::size_t{4096}, std::size_t{99}}) {
    spill(path_, whole.substr(0, n));
    expect_refused(Code::corrupt, "cut short");
    EXPECT_FALSE(verify(path_));
  }
}

TEST_F(JournalFile, RefusesALostTail) {
  make(10);
  change("DELETE FROM event WHERE seq=10");
  expect_refused(Code::corrupt, "event 10 is missing");
  const auto report = verify(path_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->first_bad, 10u);
}

TEST_F(JournalFile, RefusesAChangedEventNearTheEndAndVerifyFindsOneAnywhere) {
  make(3000);
  change("UPDATE event SET bytes=CAST(replace(bytes, 'boot', 'b00t') AS BLOB) WHERE seq=17");
  EXPECT_TRUE(open_it()) << "opening checks the tail alone";
  const auto report = verify(path_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->first_bad, 17u);
  EXPECT_EQ(report->events, 16u);
  change("UPDATE event SET bytes=CAST(replace(bytes, 'boot', 'b00t') AS BLOB) WHERE seq=2999");
  expect_refused(Code::corrupt, "event 2999");
}

TEST_F(JournalFile, RefusesALogWithoutItsFile) {
  spill(path_ + "-wal", "left behind");
  const auto j = open_it();
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, Code::corrupt);
  EXPECT_EQ(slurp(path_ + "-wal"), "left behind");
}

TEST_F(JournalFile, RefusesAFolderThatCannotBeWritten) {
  const auto j = open({.path = "/proc/journal.db", .create = true});
  ASSERT_FALSE(j);
  EXPECT_NE(j.error().what.find("/proc/journal.db"), std::string::npos) << j.error().what;
}

TEST_F(JournalFile, VerifyWantsTheCanonicalForm) {
  auto j = open_it();
  ASSERT_TRUE((*j)->append(some_events(1, 2)));
  const std::string odd = R"({"schema":1,"seq":3, "source":{}})";
  const Digest hash = chain((*j)->head(), odd);
  j->reset();
  {
    auto db = Database::open({path_, ""}, Access::write);
    auto s = db->prepare("INSERT INTO event VALUES(3, ?, ?)");
    ASSERT_TRUE(s->bind(1, odd).bind(2, as_text(hash)).run());
    auto h = db->prepare("UPDATE head SET seq=3, hash=?");
    ASSERT_TRUE(h->bind(1, as_text(hash)).run());
  }
  const auto report = verify(path_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->first_bad, 3u);
}

TEST_F(JournalFile, ExportsTheExactBytes) {
  make(12);
  const auto events = some_events(1, 12);
  std::vector<std::string> lines;
  ASSERT_TRUE(export_jsonl(path_, 3, 5, [&](std::string_view line) { lines.emplace_back(line); return true; }));
  ASSERT_EQ(lines.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(lines[i], encode_event(events[i + 2]));
  lines.clear();
  ASSERT_TRUE(export_jsonl(path_, 0, 0, [&](std::string_view line) { lines.emplace_back(line); return true; }));
  EXPECT_EQ(lines.size(), 12u);
}

// ---------------------------------------------------------------- snapshots

TEST_F(JournalFile, KeepsTheLastTwoSnapshots) {
  auto j = open_it();
  ASSERT_TRUE((*j)->append(some_events(1, 30)));
  EXPECT_FALSE((*j)->latest_snapshot()->has_value());
  for (const std::uint64_t seq : {10u, 20u, 30u}) {
    ASSERT_TRUE((*j)->save_snapshot({seq, 7, "state at " + std::to_string(seq) + std::string(100'000, 'x')}));
  }
  const auto s = (*j)->latest_snapshot();
  ASSERT_TRUE(s && *s);
  EXPECT_EQ((*s)->seq, 30u);
  EXPECT_EQ((*s)->fold_version, 7u);
  EXPECT_TRUE((*s)->bytes.starts_with("state at 30"));
  j->reset();
  auto db = Database::open({path_, ""}, Access::read);
  EXPECT_EQ(*db->integer("SELECT count(*) FROM snapshot"), 2u);
}

TEST_F(JournalFile, PassesOverDamagedSnapshots) {
  {
    auto j = open_it();
    ASSERT_TRUE((*j)->append(some_events(1, 30)));
    ASSERT_TRUE((*j)->save_snapshot({10, 1, "older"}));
    ASSERT_TRUE((*j)->save_snapshot({20, 1, "newer"}));
  }
  change("UPDATE snapshot SET bytes=CAST('nEwer' AS BLOB) WHERE seq=20");
  {
    auto j = open_it();
    ASSERT_TRUE(j);
    const auto s = (*j)->latest_snapshot();
    ASSERT_TRUE(s && *s);
    EXPECT_EQ((*s)->bytes, "older");
  }
  EXPECT_EQ(verify(path_)->bad_snapshots, std::vector<std::uint64_t>{20});
  EXPECT_TRUE(verify(path_)->ok());
  change("UPDATE snapshot SET fold_version=2 WHERE seq=10");
  auto j = open_it();
  const auto s = (*j)->latest_snapshot();
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->has_value());
}

}  // namespace
}  // namespace muster::sqlite
