// journal_bench [EVENTS [DIR]]: what the journal costs. A million events are appended in turns of 100, as a busy controller
// would; then the file is reopened as after a restart (snapshot and tail), and verified. Status 1 if the restart takes over 2 s.
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/verify.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t kTurn = 100;
constexpr std::uint64_t kTail = 5'000;  // events after the snapshot

struct Clocks {
  double cpu_s = 0;
  double wall_s = 0;
};

Clocks now() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {s(u.ru_utime) + s(u.ru_stime), std::chrono::duration<double>(wall).count()};
}

template <class F>
Clocks timed(F&& f) {
  const Clocks a = now();
  f();
  const Clocks b = now();
  return {b.cpu_s - a.cpu_s, b.wall_s - a.wall_s};
}

Event event_of(std::uint64_t seq) {
  Event e;
  e.seq = seq;
  e.source = {"b1", "engine", seq};
  e.utc = Time{1'767'225'600'000'000'000 + static_cast<std::int64_t>(seq) * 1'000'000};
  const JobId job{static_cast<std::uint32_t>(1 + seq % 97), 0};
  if (seq % kTurn == 1) {
    e.body = TurnBegan{seq / kTurn, {e.utc, e.utc, e.utc}};
  } else if (seq % 50 == 0) {
    Order o{fmt::format("muster/{}", seq), 1, e.utc, {}, {}};
    o.action.verb = Verb::start_job;
    o.action.job = job;
    for (std::uint32_t n = 0; n < 16; ++n) o.action.nodes.push_back(NodeId{n});
    o.reason.rule = "place/fewest_leaves";
    o.reason.sentence = "job starts on 16 nodes under 2 leaves, the fewest possible";
    e.body = OrderIntended{o, {Level::pod, 0, 2, 2, 2, {}, {}, "first fit"}};
  } else {
    e.body = JobProgressed{job, 1, {seq, seq / 2, 30'000, 12'000, 0}};
  }
  return e;
}

void append_all(Journal& journal, std::uint64_t events) {
  std::vector<Event> turn;
  for (std::uint64_t seq = 1; seq <= events; ++seq) {
    turn.push_back(event_of(seq));
    if (turn.size() < kTurn && seq < events) continue;
    if (const auto r = journal.append(turn); !r) fmt::print(stderr, "{}\n", r.error().what), std::exit(1);
    turn.clear();
  }
}

void print(const char* what, Clocks c, double per = 0) {
  fmt::print("{:<44} {:8.3f} s CPU {:8.3f} s wall", what, c.cpu_s, c.wall_s);
  if (per > 0) fmt::print(" {:7.2f} us CPU each", c.cpu_s / per * 1e6);
  fmt::print("\n");
}

std::unique_ptr<sqlite::StoredJournal> must_open(const std::string& path) {
  auto j = sqlite::open({.path = path, .create = true});
  if (!j) fmt::print(stderr, "{}\n", j.error().what), std::exit(1);
  return std::move(*j);
}

void single_commits(const std::string& path) {
  auto journal = must_open(path);
  std::vector<double> ms;
  for (std::uint64_t seq = 1; seq <= 2000; ++seq) {
    const Event e = event_of(seq);
    ms.push_back(timed([&] { (void)journal->append({&e, 1}); }).wall_s * 1e3);
  }
  std::sort(ms.begin(), ms.end());
  fmt::print("one event, one commit: p50 {:.3f} ms, p99 {:.3f} ms wall\n", ms[1000], ms[1980]);
}

int run(std::uint64_t events, const std::string& dir) {
  const std::string path = dir + "/journal.db";
  const auto n = static_cast<double>(events);
  std::vector<Event> made(100'000);
  print("making events (within every figure below)", timed([&] {
    for (std::uint64_t i = 0; i < made.size(); ++i) made[i] = event_of(i + 1);
  }), static_cast<double>(made.size()));
  MemoryJournal memory;
  print("append, in memory (encode and hash)", timed([&] { append_all(memory, events); }), n);
  {
    auto journal = must_open(path);
    print("append, on disk, 100 a commit", timed([&] { append_all(*journal, events); }), n);
    const std::uint64_t at = events > kTail ? events - kTail : 0;
    print("save a snapshot of 2 MB", timed([&] { (void)journal->save_snapshot({at, 1, std::string(2'000'000, 's')}); }));
  }
  fmt::print("file: {:.1f} MB, {:.0f} bytes an event\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6,
             static_cast<double>(std::filesystem::file_size(path)) / n);
  std::uint64_t replayed = 0;
  const Clocks restart = timed([&] {
    auto journal = must_open(path);
    const auto s = journal->latest_snapshot();
    const std::uint64_t from = s && *s ? (*s)->seq + 1 : 1;
    (void)journal->read(from, [&](const Event&) { return ++replayed > 0; });
  });
  print("restart: open, load snapshot, read the tail", restart);
  fmt::print("  ({} events decoded after the snapshot)\n", replayed);
  for (const bool decode : {false, true}) {
    Result<sqlite::VerifyReport> report = fail(Code::internal, "");
    const Clocks c = timed([&] { report = sqlite::verify(path, {.decode = decode, .vfs = {}, .progress = {}}); });
    print(decode ? "verify everything, decoding each event" : "verify the chain", c, n);
    if (!report || !report->ok() || report->events != events) return 1;
  }
  single_commits(dir + "/single.db");
  return restart.wall_s < 2 ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const auto events = argc > 1 ? muster::parse_uint(argv[1]) : std::uint64_t{1'000'000};
  if (!events || *events == 0) {
    fmt::print(stderr, "usage: journal_bench [EVENTS [DIR]]\n");
    return 2;
  }
  char temporary[] = "/var/tmp/muster_bench_XXXXXX";
  const std::string dir = argc > 2 ? argv[2] : ::mkdtemp(temporary);
  const int rc = muster::run(*events, dir);
  if (argc <= 2) std::filesystem::remove_all(dir);
  return rc;
}
