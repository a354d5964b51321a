#include "adapters/sqlite/database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include "base/check.h"

namespace muster::sqlite {
namespace {

Code code_of(int rc) {
  switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::corrupt;
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN: return Code::unreachable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return Code::not_allowed;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::conflict;
    default: return Code::internal;
  }
}

std::string words_of(int rc) {
  switch (rc) {
    case SQLITE_FULL: return "the disk is full";
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC: return "the disk failed to sync";
    case SQLITE_IOERR_WRITE: return "the disk failed to write";
    case SQLITE_IOERR_READ: return "the disk failed to read";
    default: return sqlite3_errstr(rc);
  }
}

tl::unexpected<Error> failed(int rc, sqlite3* db) {
  std::string what = words_of(rc);
  if (db != nullptr && (rc & 0xff) != SQLITE_FULL && (rc & 0xff) != SQLITE_IOERR) what = sqlite3_errmsg(db);
  return fail(code_of(rc), fmt::format("{} (SQLite {})", what, rc));
}

// Path as a SQLite URI: what has a meaning in one is escaped.
std::string render_uri(const Location& at, std::string_view query) {
  std::string uri = "file:";
  std::string_view path = at.path;
  while (path.size() > 1 && path[0] == '/' && path[1] == '/') path.remove_prefix(1);  // "//host" would be an authority
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + std::string(query);
}

sqlite3_vfs* find_vfs(const Location& at) { return sqlite3_vfs_find(at.vfs.empty() ? nullptr : at.vfs.c_str()); }

std::string full_path(sqlite3_vfs* vfs, const std::string& path) {
  std::string full(static_cast<std::size_t>(vfs->mxPathname) + 1, '\0');
  const int rc = vfs->xFullPathname(vfs, path.c_str(), static_cast<int>(full.size()), full.data());
  if (rc != SQLITE_OK && rc != SQLITE_OK_SYMLINK) return path;
  full.resize(std::strlen(full.c_str()));
  return full;
}

// A file opened through its VFS for reading.
class RawFile {
 public:
  static Result<RawFile> open(const Location& at) {
    sqlite3_vfs* vfs = find_vfs(at);
    if (vfs == nullptr) return fail(Code::internal, fmt::format("no SQLite VFS '{}'", at.vfs));
    RawFile f;
    f.name_ = sqlite3_create_filename(full_path(vfs, at.path).c_str(), "", "", 0, nullptr);
    f.file_ = static_cast<sqlite3_file*>(sqlite3_malloc(vfs->szOsFile));
    MUSTER_CHECK(f.name_ != nullptr && f.file_ != nullptr);
    std::memset(f.file_, 0, static_cast<std::size_t>(vfs->szOsFile));
    int got = 0;
    const int rc = vfs->xOpen(vfs, f.name_, f.file_, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, &got);
    if (rc != SQLITE_OK) return failed(rc, nullptr);
    return f;
  }
  ~RawFile() {
    if (file_ != nullptr && file_->pMethods != nullptr) file_->pMethods->xClose(file_);
    sqlite3_free(file_);
    sqlite3_free_filename(name_);
  }
  RawFile(RawFile&& o) noexcept : file_(std::exchange(o.file_, nullptr)), name_(std::exchange(o.name_, nullptr)) {}
  RawFile& operator=(RawFile&&) = delete;

  Result<std::uint64_t> size() {
    sqlite3_int64 n = 0;
    const int rc = file_->pMethods->xFileSize(file_, &n);
    if (rc != SQLITE_OK) return failed(rc, nullptr);
    return static_cast<std::uint64_t>(n);
  }
  Result<std::string> start(std::size_t n) {
    std::string s(n, '\0');
    const int rc = file_->pMethods->xRead(file_, s.data(), static_cast<int>(n), 0);
    if (rc != SQLITE_OK) return failed(rc, nullptr);
    return s;
  }

 private:
  RawFile() = default;
  sqlite3_file* file_ = nullptr;
  const char* name_ = nullptr;
};

}  // namespace

Result<bool> file_exists(const Location& at) {
  sqlite3_vfs* vfs = find_vfs(at);
  if (vfs == nullptr) return fail(Code::internal, fmt::format("no SQLite VFS '{}'", at.vfs));
  int there = 0;
  const std::string path = full_path(vfs, at.path);
  // Asked for existence, a VFS denies that of an empty file; asked whether one may write, it denies that of a read-only one.
  for (const int question : {SQLITE_ACCESS_EXISTS, SQLITE_ACCESS_READWRITE}) {
    const int rc = there == 0 ? vfs->xAccess(vfs, path.c_str(), question, &there) : SQLITE_OK;
    if (rc != SQLITE_OK) return failed(rc, nullptr);
  }
  return there != 0;
}

Result<std::uint64_t> file_size(const Location& at) {
  const auto there = file_exists(at);
  if (!there) return tl::unexpected(there.error());
  if (!*there) return std::uint64_t{0};
  auto f = RawFile::open(at);
  if (!f) return tl::unexpected(f.error());
  return f->size();
}

Result<std::string> file_start(const Location& at, std::size_t n) {
  auto f = RawFile::open(at);
  if (!f) return tl::unexpected(f.error());
  const auto size = f->size();
  if (!size) return tl::unexpected(size.error());
  return f->start(static_cast<std::size_t>(std::min<std::uint64_t>(n, *size)));
}

Result<void> remove_file(const Location& at) {
  sqlite3_vfs* vfs = find_vfs(at);
  if (vfs == nullptr) return fail(Code::internal, fmt::format("no SQLite VFS '{}'", at.vfs));
  const int rc = vfs->xDelete(vfs, full_path(vfs, at.path).c_str(), 0);
  if (rc != SQLITE_OK && rc != SQLITE_IOERR_DELETE_NOENT) return failed(rc, nullptr);
  return {};
}

// ---------------------------------------------------------------- statements

Statement::~Statement() { sqlite3_finalize(stmt_); }

Statement& Statement::bind(int parameter, std::uint64_t value) {
  MUSTER_CHECK(sqlite3_bind_int64(stmt_, parameter, static_cast<sqlite3_int64>(value)) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view blob) {
  const char* data = blob.empty() ? "" : blob.data();  // a null pointer would bind NULL
  const int rc = sqlite3_bind_blob64(stmt_, parameter, data, blob.size(), SQLITE_STATIC);
  MUSTER_CHECK(rc == SQLITE_OK || rc == SQLITE_TOOBIG);  // too big: the NOT NULL of the column then refuses the row
  return *this;
}

Statement& Statement::bind_text(int parameter, std::string_view text) {
  const int rc = sqlite3_bind_text64(stmt_, parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  MUSTER_CHECK(rc == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  const int rc = sqlite3_step(stmt_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return failed(sqlite3_extended_errcode(sqlite3_db_handle(stmt_)), sqlite3_db_handle(stmt_));
}

Result<void> Statement::run() {
  Result<bool> row = true;
  while (row && *row) row = step();
  reset();
  if (!row) return tl::unexpected(row.error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
}

std::uint64_t Statement::integer(int column) const {
  if (sqlite3_column_type(stmt_, column) != SQLITE_INTEGER) return 0;
  return static_cast<std::uint64_t>(sqlite3_column_int64(stmt_, column));
}

std::string_view Statement::bytes(int column) const {
  const int type = sqlite3_column_type(stmt_, column);
  if (type != SQLITE_BLOB && type != SQLITE_TEXT) return {};
  const void* data = sqlite3_column_blob(stmt_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))};
}

// ---------------------------------------------------------------- connections

struct Database::Guts {
  sqlite3* db = nullptr;
  std::uint32_t log_pages = 0;
  ~Guts() { sqlite3_close(db); }
};

Database::Database(std::unique_ptr<Guts> guts) : guts_(std::move(guts)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::open(const Location& at, Access access) {
  // psow=0: do not believe that a sector being overwritten when power fails leaves its neighbours alone.
  const char* query = "?psow=0";
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY;
  if (access == Access::immutable) query = "?psow=0&immutable=1";
  if (access == Access::write || access == Access::create) flags ^= SQLITE_OPEN_READONLY | SQLITE_OPEN_READWRITE;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;

  auto guts = std::make_unique<Guts>();
  const int rc = sqlite3_open_v2(render_uri(at, query).c_str(), &guts->db, flags, at.vfs.empty() ? nullptr : at.vfs.c_str());
  if (rc != SQLITE_OK) return failed(rc, guts->db);
  sqlite3* db = guts->db;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, 1000);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // The journal checkpoints by itself: SQLite's automatic one swallows the errors of the disk.
  sqlite3_wal_autocheckpoint(db, 0);
  sqlite3_wal_hook(
      db,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Guts*>(self)->log_pages = static_cast<std::uint32_t>(pages);
        return SQLITE_OK;
      },
      guts.get());
  Database out(std::move(guts));
  if (auto r = out.exec("PRAGMA mmap_size=0; PRAGMA cell_size_check=on"); !r) return tl::unexpected(r.error());
  return out;
}

Result<void> Database::exec(const std::string& sql) {
  if (sqlite3_exec(guts_->db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed(sqlite3_extended_errcode(guts_->db), guts_->db);
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* s = nullptr;
  const int rc = sqlite3_prepare_v3(guts_->db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &s, nullptr);
  if (rc != SQLITE_OK) return failed(rc, guts_->db);
  return Statement(s);
}

Result<std::uint64_t> Database::integer(std::string_view sql, std::uint64_t missing) {
  auto s = prepare(sql);
  if (!s) return tl::unexpected(s.error());
  const auto row = s->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? s->integer(0) : missing;
}

Result<std::string> Database::text(std::string_view sql) {
  auto s = prepare(sql);
  if (!s) return tl::unexpected(s.error());
  const auto row = s->step();
  if (!row) return tl::unexpected(row.error());
  return *row ? std::string(s->bytes(0)) : std::string();
}

std::uint32_t Database::log_pages() const { return guts_->log_pages; }

Result<void> Database::checkpoint(bool truncate) {
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int rc = sqlite3_wal_checkpoint_v2(guts_->db, nullptr, mode, nullptr, nullptr);
  if (rc == SQLITE_BUSY) return {};  // a reader is in the way: later, then
  if (rc != SQLITE_OK) return failed(rc, guts_->db);
  return {};
}

void Database::bound(std::uint32_t steps, std::size_t bytes) {
  sqlite3_limit(guts_->db, SQLITE_LIMIT_LENGTH, static_cast<int>(bytes));
  sqlite3_progress_handler(guts_->db, static_cast<int>(steps), [](void*) { return 1; }, nullptr);
}

void Database::keep_log_on_close(bool keep) {
  sqlite3_db_config(guts_->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

}  // namespace muster::sqlite
