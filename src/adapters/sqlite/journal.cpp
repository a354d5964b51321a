#include "adapters/sqlite/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "adapters/sqlite/chain.h"
#include "adapters/sqlite/database.h"
#include "adapters/sqlite/layout.h"
#include "adapters/state/lock.h"
#include "base/check.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"

namespace muster::sqlite {
namespace {

constexpr std::uint64_t kTailChecked = 1000;  // events verified at each opening
constexpr int kSnapshotsKept = 2;

Error about(const std::string& path, const Error& e) { return {e.code, fmt::format("{}: {}", printable(path), e.what), e.next}; }

Error damaged(const std::string& path, std::uint64_t seq, std::string_view what) {
  return {Code::corrupt, fmt::format("{}: event {} {}", printable(path), seq, what),
          "restore it from a copy; `muster journal verify` says more; nothing was changed"};
}

std::string random_id() {
  std::uint8_t bytes[16];
  MUSTER_CHECK(::getrandom(bytes, sizeof bytes, 0) == static_cast<ssize_t>(sizeof bytes));
  std::string id;
  for (const std::uint8_t b : bytes) id += fmt::format("{:02x}", b);
  return id;
}

// Gives the file its name only if nobody has that name, and makes that last.
Result<void> publish_file(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    return tl::unexpected(system_error(fmt::format("cannot create {}", printable(to)), errno));
  }
  const std::size_t slash = to.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : to.substr(0, std::max<std::size_t>(slash, 1));
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!synced) return tl::unexpected(system_error(fmt::format("cannot sync {}", printable(folder)), why));
  return {};
}

// After a sync that failed, the system may show bytes that it has given up writing. So before a journal is read for writing, what
// can still be written is, and what is cached is dropped: what is read then is what the disk holds.
Result<void> distrust_cache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? Result<void>{} : tl::unexpected(system_error("cannot open " + printable(path), errno));
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS;  // nothing there to sync: judged later
  const int why = errno;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  if (!synced) return tl::unexpected(system_error("cannot sync " + printable(path), why));
  return {};
}

Result<void> set_durable(Database& db, const OpenOptions& o) {
  if (auto r = db.exec("PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192"); !r) return r;
  return o.weaken.empty() ? Result<void>{} : db.exec(o.weaken);
}

// A new journal grows under another name, so that a cut in the middle leaves no half of one under its own.
Result<void> make_journal(const OpenOptions& o) {
  const Location draft{o.path + ".new", o.vfs};
  for (const char* suffix : {"", "-wal", "-journal", "-shm"}) {
    if (auto r = remove_file(draft.beside(suffix)); !r) return r;
  }
  {
    auto db = Database::open(draft, Access::create);
    if (!db) return tl::unexpected(db.error());
    if (auto r = db->exec("PRAGMA page_size=4096; PRAGMA journal_mode=WAL"); !r) return r;
    if (auto r = set_durable(*db, o); !r) return r;
    const auto schema = db->exec(fmt::format(R"(BEGIN;
      PRAGMA application_id={};
      PRAGMA user_version={};
      CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE event(seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
      CREATE TABLE head(id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;
      CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, fold_version INTEGER NOT NULL, bytes BLOB NOT NULL,
                            hash BLOB NOT NULL) STRICT;)", kApplicationId, kFormat));
    if (!schema) return schema;
    const std::string id = o.journal_id.empty() ? random_id() : o.journal_id;
    const Digest start = genesis(id);
    auto meta = db->prepare(
        "INSERT INTO meta VALUES('journal_id', ?1), ('genesis', ?2), ('created_by', 'muster " MUSTER_VERSION "')");
    if (!meta) return tl::unexpected(meta.error());
    const std::string hex = render_hex(start);
    if (auto r = meta->bind_text(1, id).bind_text(2, hex).run(); !r) return r;
    auto head = db->prepare("INSERT INTO head VALUES(1, 0, ?1)");
    if (!head) return tl::unexpected(head.error());
    if (auto r = head->bind(1, as_text(start)).run(); !r) return r;
    if (auto r = db->exec("COMMIT"); !r) return r;
    if (auto r = db->checkpoint(true); !r) return r;
  }
  return o.publish ? o.publish(draft.path, o.path) : publish_file(draft.path, o.path);
}

}  // namespace

struct StoredJournal::Guts {
  OpenOptions options;
  FileLock lock;  // let go of after the connection is closed
  Database db;
  std::string id;
  Head head;
  std::optional<Error> poison;
  Statement begin, commit, rollback, insert, set_head;

  Guts(OpenOptions o, FileLock l, Database d) : options(std::move(o)), lock(std::move(l)), db(std::move(d)) {}

  Result<void> begin_writing();
  Result<void> check_tail();
  Result<void> write(std::span<const Event> events, Head& next);
  Result<void> write(const StoredSnapshot& snapshot);
  Result<void> ready() const;
  tl::unexpected<Error> poisoned_by(const Error& e);
  void checkpoint_if_due();
};

Result<void> StoredJournal::Guts::begin_writing() {
  if (auto r = set_durable(db, options); !r) return r;
  // What a crash left in the log moves into the file before the log grows again: its last frame may end within a sector, and a
  // torn write of the next one would damage it.
  if (auto r = db.checkpoint(true); !r) return r;
  struct Want {
    Statement& into;
    const char* sql;
  };
  for (const Want& w : {Want{begin, "BEGIN IMMEDIATE"}, Want{commit, "COMMIT"}, Want{rollback, "ROLLBACK"},
                        Want{insert, "INSERT INTO event(seq, bytes, hash) VALUES(?, ?, ?)"},
                        Want{set_head, "UPDATE head SET seq=?, hash=? WHERE id=1"}}) {
    auto s = db.prepare(w.sql);
    if (!s) return tl::unexpected(s.error());
    w.into = std::move(*s);
  }
  db.keep_log_on_close(false);
  return {};
}

Result<void> StoredJournal::Guts::check_tail() {
  const auto loaded = load_head(db);
  if (!loaded) return tl::unexpected(about(options.path, loaded.error()));
  head = *loaded;
  const auto last = db.integer("SELECT max(seq) FROM event");
  if (!last) return tl::unexpected(about(options.path, last.error()));
  if (*last < head.seq) return tl::unexpected(damaged(options.path, *last + 1, "is missing"));
  if (*last > head.seq) return tl::unexpected(damaged(options.path, head.seq + 1, "is beyond the head"));
  const std::uint64_t from = head.seq > kTailChecked ? head.seq - kTailChecked + 1 : 1;
  const auto before = load_hash(db, from - 1, id);
  if (!before) return tl::unexpected(about(options.path, before.error()));
  const Walk w = walk(db, from, head.seq, *before, [](const StoredEvent&) { return true; });
  if (!w.what.empty()) return tl::unexpected(damaged(options.path, w.next, w.what));
  if (w.hash != head.hash) return tl::unexpected(damaged(options.path, head.seq, "is not the one the head names"));
  return {};
}

Result<void> StoredJournal::Guts::ready() const {
  if (options.read_only) return fail(Code::not_allowed, fmt::format("{} is open for reading only", printable(options.path)));
  if (poison) {
    return fail(poison->code, fmt::format("the journal stopped after an earlier failure: {}", poison->what), poison->next);
  }
  return {};
}

// What the disk holds is now uncertain. Only a restart, which reads it afresh, may go on; closing must not touch it either.
tl::unexpected<Error> StoredJournal::Guts::poisoned_by(const Error& e) {
  (void)rollback.run();
  db.keep_log_on_close(true);
  poison = Error{e.code, fmt::format("{}: cannot write: {}", printable(options.path), e.what),
                 "look at the disk, then start muster again: nothing acknowledged is lost"};
  return tl::unexpected(*poison);
}

// The events are safe in the log already; a failure here shows at the next append.
void StoredJournal::Guts::checkpoint_if_due() {
  if (db.log_pages() < options.checkpoint_pages) return;
  if (auto r = db.checkpoint(false); !r) (void)poisoned_by(r.error());
}

Result<void> StoredJournal::Guts::write(std::span<const Event> events, Head& next) {
  if (auto r = begin.run(); !r) return r;
  for (const Event& e : events) {
    const std::string bytes = encode_event(e);
    next.seq = e.seq;
    next.hash = chain(next.hash, bytes);
    if (auto r = insert.bind(1, e.seq).bind(2, bytes).bind(3, as_text(next.hash)).run(); !r) return r;
  }
  if (auto r = set_head.bind(1, next.seq).bind(2, as_text(next.hash)).run(); !r) return r;
  return commit.run();
}

Result<void> StoredJournal::Guts::write(const StoredSnapshot& s) {
  const auto at = load_hash(db, s.seq, id);
  if (!at) return tl::unexpected(at.error());
  const Digest seal = seal_snapshot(*at, s.fold_version, s.bytes);
  if (auto r = begin.run(); !r) return r;
  auto put = db.prepare("INSERT OR REPLACE INTO snapshot(seq, fold_version, bytes, hash) VALUES(?, ?, ?, ?)");
  if (!put) return tl::unexpected(put.error());
  const std::uint64_t version = s.fold_version;
  if (auto r = put->bind(1, s.seq).bind(2, version).bind(3, s.bytes).bind(4, as_text(seal)).run(); !r) return r;
  const auto prune = db.exec(fmt::format(
      "DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER BY seq DESC LIMIT {})", kSnapshotsKept));
  if (!prune) return prune;
  return commit.run();
}

StoredJournal::StoredJournal(std::unique_ptr<Guts> guts) : guts_(std::move(guts)) {}

StoredJournal::~StoredJournal() {
  Guts& g = *guts_;
  // A clean end leaves one file. If this fails nothing is lost: the log is read at the next start.
  if (!g.options.read_only && !g.poison) (void)g.db.checkpoint(true);
}

std::uint64_t StoredJournal::last_seq() const { return guts_->head.seq; }
Digest StoredJournal::head() const { return guts_->head.hash; }
const std::string& StoredJournal::id() const { return guts_->id; }

Result<void> StoredJournal::append(std::span<const Event> events) {
  Guts& g = *guts_;
  if (auto r = g.ready(); !r) return r;
  if (events.empty()) return {};
  for (std::size_t i = 0; i < events.size(); ++i) MUSTER_CHECK(events[i].seq == g.head.seq + 1 + i);
  Head next = g.head;
  if (auto r = g.write(events, next); !r) return g.poisoned_by(r.error());
  g.head = next;
  g.checkpoint_if_due();
  return {};
}

Result<void> StoredJournal::read_bytes(std::uint64_t from_seq, const std::function<bool(const StoredEvent&)>& visit) {
  Guts& g = *guts_;
  const std::uint64_t from = std::max<std::uint64_t>(from_seq, 1);
  // Read-only, the writer may have gone on since the opening.
  const auto head = g.options.read_only ? load_head(g.db) : Result<Head>(g.head);
  if (!head) return tl::unexpected(about(g.options.path, head.error()));
  if (from > head->seq) return {};
  const auto before = load_hash(g.db, from - 1, g.id);
  if (!before) return tl::unexpected(about(g.options.path, before.error()));
  const Walk w = walk(g.db, from, head->seq, *before, visit);
  if (!w.what.empty()) return tl::unexpected(damaged(g.options.path, w.next, w.what));
  return {};
}

Result<void> StoredJournal::read(std::uint64_t from_seq, const std::function<bool(const Event&)>& visit) {
  std::optional<Error> problem;
  const auto r = read_bytes(from_seq, [&](const StoredEvent& stored) {
    const auto value = parse_json(stored.bytes);
    auto event = value ? decode_event(*value) : Result<Event>(tl::unexpected(value.error()));
    if (event) return visit(*event);
    problem = damaged(guts_->options.path, stored.seq, "cannot be understood: " + event.error().what);
    if (!event.error().next.empty()) problem->next = event.error().next;
    return false;
  });
  if (problem) return tl::unexpected(*problem);
  return r;
}

Result<void> StoredJournal::save_snapshot(const StoredSnapshot& snapshot) {
  Guts& g = *guts_;
  if (auto r = g.ready(); !r) return r;
  MUSTER_CHECK(snapshot.seq <= g.head.seq);
  if (auto r = g.write(snapshot); !r) return g.poisoned_by(r.error());
  g.checkpoint_if_due();
  return {};
}

Result<std::optional<StoredSnapshot>> StoredJournal::latest_snapshot() {
  Guts& g = *guts_;
  const std::optional<StoredSnapshot> none;
  auto list = g.db.prepare("SELECT seq FROM snapshot ORDER BY seq DESC");
  if (!list) return none;
  std::vector<std::uint64_t> candidates;
  for (auto row = list->step(); row && *row; row = list->step()) candidates.push_back(list->integer(0));
  list->reset();
  auto get = g.db.prepare("SELECT fold_version, bytes, hash FROM snapshot WHERE seq=?");
  if (!get) return none;
  for (const std::uint64_t seq : candidates) {
    get->reset();
    const auto row = get->bind(1, seq).step();
    const auto at = load_hash(g.db, seq, g.id);
    if (!row || !*row || !at) continue;  // a snapshot is a cache: what is damaged is passed over
    StoredSnapshot s{seq, static_cast<std::uint32_t>(get->integer(0)), std::string(get->bytes(1))};
    if (get->bytes(2) == as_text(seal_snapshot(*at, s.fold_version, s.bytes))) return std::optional(std::move(s));
  }
  return none;
}

Result<std::unique_ptr<StoredJournal>> open(const OpenOptions& options) {
  const Location at{options.path, options.vfs};
  FileLock lock;
  if (!options.read_only && options.vfs.empty()) {
    auto taken = FileLock::take(options.path + ".lock", "journal " + options.path);
    if (!taken) return tl::unexpected(taken.error());
    lock = std::move(*taken);
  }
  const auto there = file_exists(at);
  if (!there) return tl::unexpected(about(options.path, there.error()));
  if (!*there) {
    const auto log = file_size(at.beside("-wal"));
    if (log && *log != 0) {
      return fail(Code::corrupt, fmt::format("{0} is missing, but its log {0}-wal is there", printable(at.path)),
                  "put the journal back beside its log, or move the log away");
    }
    if (!options.create || options.read_only) {
      return fail(Code::not_found, fmt::format("there is no journal {}", printable(at.path)));
    }
    if (auto r = make_journal(options); !r) return tl::unexpected(about(options.path, r.error()));
  }
  for (const char* suffix : {"-wal", ""}) {
    if (options.read_only) break;
    const std::string path = options.path + suffix;
    if (auto r = options.distrust ? options.distrust(path) : distrust_cache(path); !r) return tl::unexpected(r.error());
  }
  if (auto r = check_file(at); !r) return tl::unexpected(r.error());
  auto db = options.read_only ? open_for_reading(at) : Database::open(at, Access::write);
  if (!db) return tl::unexpected(about(options.path, db.error()));
  db->keep_log_on_close(true);  // until it is known to be ours and sound

  auto guts = std::make_unique<StoredJournal::Guts>(options, std::move(lock), std::move(*db));
  const auto id = check_identity(guts->db, options.path);
  if (!id) return tl::unexpected(id.error());
  guts->id = *id;
  if (auto r = guts->check_tail(); !r) return tl::unexpected(r.error());
  if (!options.read_only) {
    if (auto r = guts->begin_writing(); !r) return tl::unexpected(about(options.path, r.error()));
  }
  return std::unique_ptr<StoredJournal>(new StoredJournal(std::move(guts)));
}

}  // namespace muster::sqlite
