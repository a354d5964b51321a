#include "adapters/sqlite/layout.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "adapters/sqlite/chain.h"
#include "adapters/sqlite/journal.h"
#include "base/text.h"

namespace muster::sqlite {
namespace {

constexpr const char* kKeepIt = "nothing was changed; give another path, or move that file away";

std::uint32_t big_endian(std::string_view s, std::size_t at, std::size_t n) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < n; ++i) v = v << 8 | static_cast<unsigned char>(s[at + i]);
  return v;
}

Result<void> check_marks(const std::string& path, std::uint64_t application, std::uint64_t format) {
  if (application != kApplicationId) {
    return fail(Code::bad_input, fmt::format("{} is a database of another program, not a Muster journal", printable(path)),
                kKeepIt);
  }
  if (format > kFormat) {
    return fail(Code::bad_input,
                fmt::format("{} has journal format {}, and this muster reads up to {}", printable(path), format, kFormat),
                "use the newer muster that wrote it; nothing was changed");
  }
  if (format != kFormat) return fail(Code::corrupt, fmt::format("{}: journal format {} never existed", printable(path), format));
  return {};
}

// `"seq":N` within the canonical bytes, right after the schema.
bool says_seq(std::string_view bytes, std::uint64_t seq) {
  constexpr std::string_view kStart = "{\"schema\":";
  constexpr std::string_view kSeq = ",\"seq\":";
  if (!bytes.starts_with(kStart)) return false;
  bytes.remove_prefix(kStart.size());
  const std::size_t digits = bytes.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  bytes.remove_prefix(digits);
  char text[24];
  const auto end = fmt::format_to(text, "{},", seq);
  return bytes.starts_with(kSeq) && bytes.substr(kSeq.size()).starts_with({text, static_cast<std::size_t>(end - text)});
}

}  // namespace

Result<void> check_file(const Location& at) {
  const std::string name = printable(at.path);
  const auto wrap = [&](const Error& e) { return fail(e.code, fmt::format("{}: {}", name, e.what), e.next); };
  if (struct stat s; at.vfs.empty() && ::stat(at.path.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) {
    return fail(Code::bad_input, fmt::format("{} is not a plain file, so not a Muster journal", name));
  }
  const auto rollback = file_exists(at.beside("-journal"));
  if (!rollback) return wrap(rollback.error());
  if (*rollback) {
    return fail(Code::bad_input, fmt::format("{} has a rollback journal beside it, which Muster never leaves", name), kKeepIt);
  }
  const auto log = file_size(at.beside("-wal"));
  if (!log) return wrap(log.error());
  if (*log != 0) return {};  // a cut during a checkpoint may have left any page of the file half written: ask SQLite

  const auto size = file_size(at);
  if (!size) return wrap(size.error());
  const auto start = file_start(at, 100);
  if (!start) return wrap(start.error());
  if (start->empty()) return fail(Code::bad_input, fmt::format("{} is empty, not a Muster journal", name), kKeepIt);
  if (!start->starts_with(std::string_view("SQLite format 3\0", 16).substr(0, start->size()))) {
    return fail(Code::bad_input, fmt::format("{} is not a Muster journal", name), kKeepIt);
  }
  if (start->size() < 100) {
    return fail(Code::corrupt, fmt::format("{} is cut short: only {} bytes are left", name, start->size()), kKeepIt);
  }
  if (auto r = check_marks(at.path, big_endian(*start, 68, 4), big_endian(*start, 60, 4)); !r) return r;
  const std::uint64_t page = big_endian(*start, 16, 2) == 1 ? 65536 : big_endian(*start, 16, 2);
  const std::uint64_t wanted = page * big_endian(*start, 28, 4);
  if (*size < wanted) {
    return fail(Code::corrupt, fmt::format("{} is cut short: {} of {} bytes are there", name, *size, wanted),
                "restore it from a copy; nothing was changed");
  }
  return {};
}

Result<std::string> check_identity(Database& db, const std::string& path) {
  const auto wrap = [&](const Error& e) {
    return fail(e.code, fmt::format("{}: {}", printable(path), e.what), e.code == Code::corrupt ? kKeepIt : "");
  };
  const auto application = db.integer("PRAGMA application_id");
  if (!application) return wrap(application.error());
  const auto format = db.integer("PRAGMA user_version");
  if (!format) return wrap(format.error());
  if (auto r = check_marks(path, *application, *format); !r) return tl::unexpected(r.error());
  const auto id = db.text("SELECT value FROM meta WHERE key='journal_id'");
  if (!id) {
    return fail(Code::corrupt, fmt::format("{}: its description is damaged: {}", printable(path), id.error().what), kKeepIt);
  }
  const auto start = db.text("SELECT value FROM meta WHERE key='genesis'");
  if (id->empty() || !start || *start != render_hex(genesis(*id))) {
    return fail(Code::corrupt, fmt::format("{}: the journal id is missing or damaged", printable(path)), kKeepIt);
  }
  return *id;
}

Result<Database> open_for_reading(const Location& at) {
  auto db = Database::open(at, Access::read);
  if (!db) return fail(db.error().code, fmt::format("{}: {}", printable(at.path), db.error().what), db.error().next);
  db->keep_log_on_close(true);
  const auto first = db->integer("PRAGMA schema_version");
  if (first) return db;
  // In a folder where nothing may be written SQLite cannot make its shared memory; without a log there is no need for any.
  const auto log = file_size(at.beside("-wal"));
  const bool no_log = log && *log == 0;
  if (no_log && (first.error().code == Code::unreachable || first.error().code == Code::not_allowed)) {
    return Database::open(at, Access::immutable);
  }
  return fail(first.error().code, fmt::format("{}: {}", printable(at.path), first.error().what), first.error().next);
}

Result<Head> load_head(Database& db) {
  auto s = db.prepare("SELECT seq, hash FROM head WHERE id=1");
  if (!s) return tl::unexpected(s.error());
  const auto row = s->step();
  if (!row) return tl::unexpected(row.error());
  Head h;
  if (!*row || s->bytes(1).size() != h.hash.size()) return fail(Code::corrupt, "the head is damaged");
  h.seq = s->integer(0);
  std::memcpy(h.hash.data(), s->bytes(1).data(), h.hash.size());
  return h;
}

Result<Digest> load_hash(Database& db, std::uint64_t seq, const std::string& journal_id) {
  if (seq == 0) return genesis(journal_id);
  auto s = db.prepare("SELECT hash FROM event WHERE seq=?");
  if (!s) return tl::unexpected(s.error());
  const auto row = s->bind(1, seq).step();
  if (!row) return tl::unexpected(row.error());
  Digest d;
  if (!*row || s->bytes(0).size() != d.size()) return fail(Code::corrupt, fmt::format("event {} is missing or damaged", seq));
  std::memcpy(d.data(), s->bytes(0).data(), d.size());
  return d;
}

Walk walk(Database& db, std::uint64_t from, std::uint64_t to, const Digest& before,
          const std::function<bool(const StoredEvent&)>& visit) {
  Walk w{from, before, {}, false};
  // From the first event on nothing is sought: a search goes astray on a damaged page that the way from leaf to leaf has not
  // reached yet.
  const bool all = from <= 1;
  auto s = db.prepare(all ? "SELECT seq, bytes, hash FROM event ORDER BY seq"
                          : "SELECT seq, bytes, hash FROM event WHERE seq>=? ORDER BY seq");
  if (!s) {
    w.what = "cannot be read: " + s.error().what;
    return w;
  }
  if (!all) s->bind(1, from);
  while (w.next <= to) {
    const auto row = s->step();
    if (!row) {
      w.what = "cannot be read: " + row.error().what;
      return w;
    }
    if (!*row && to == kToTheEnd) return w;
    if (!*row || s->integer(0) != w.next) {
      w.what = "is missing";
      return w;
    }
    const StoredEvent e{w.next, s->bytes(1), chain(w.hash, s->bytes(1))};
    if (s->bytes(2) != as_text(e.hash)) {
      w.what = "its hash is not that of its bytes and the event before";
      return w;
    }
    if (!says_seq(e.bytes, e.seq)) {
      w.what = "its bytes give it another number";
      return w;
    }
    if (!visit(e)) {
      w.stopped = true;
      return w;
    }
    w.hash = e.hash;
    ++w.next;
  }
  return w;
}

}  // namespace muster::sqlite
