// The little of SQLite that the journal needs, with errors as Result. sqlite3.h is seen by database.cpp alone.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3_stmt;

namespace muster::sqlite {

// A file as a SQLite VFS sees it. Looking at a database file by other means is unsafe while it is open: closing any descriptor of
// it would drop the process's POSIX locks on it.
struct Location {
  std::string path;
  std::string vfs;  // empty: the operating system's
  Location beside(std::string_view suffix) const { return {path + std::string(suffix), vfs}; }
};

Result<bool> file_exists(const Location& at);
Result<std::uint64_t> file_size(const Location& at);  // 0 when there is none
// The first `n` bytes, or all when there are fewer.
Result<std::string> file_start(const Location& at, std::size_t n);
// Not an error when there is none.
Result<void> remove_file(const Location& at);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* s) : stmt_(s) {}
  ~Statement();
  Statement(Statement&& o) noexcept : stmt_(std::exchange(o.stmt_, nullptr)) {}
  Statement& operator=(Statement&& o) noexcept {
    std::swap(stmt_, o.stmt_);
    return *this;
  }

  // Parameters count from 1. Bytes and text are not copied: they must live until the next reset.
  Statement& bind(int parameter, std::uint64_t value);
  Statement& bind(int parameter, std::string_view blob);
  Statement& bind_text(int parameter, std::string_view text);
  // True: there is a row.
  Result<bool> step();
  // Steps to the end and resets, for statements without rows.
  Result<void> run();
  void reset();

  // Columns count from 0; bytes are valid until the next step or reset. A value of another type reads as 0 or as no bytes.
  std::uint64_t integer(int column) const;
  std::string_view bytes(int column) const;

 private:
  sqlite3_stmt* stmt_ = nullptr;
};

enum class Access {
  read,       // sees what a writer in another process commits
  immutable,  // nobody writes, and nothing may be created beside the file
  write,      // the file must exist
  create,
};

// One connection, for one thread at a time.
class Database {
 public:
  static Result<Database> open(const Location& at, Access access);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  Result<void> exec(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // First column of the first row; `missing` where there is none.
  Result<std::uint64_t> integer(std::string_view sql, std::uint64_t missing = 0);
  Result<std::string> text(std::string_view sql);

  // Pages in the write-ahead log after the last commit.
  std::uint32_t log_pages() const;
  // Copies the log into the file as far as readers allow; with `truncate`, waits for them and empties the log.
  Result<void> checkpoint(bool truncate);
  // For a file of strangers: a statement that takes more than `steps` of SQLite's machine in all its runs fails, and so does a
  // value of more than `bytes`.
  void bound(std::uint32_t steps, std::size_t bytes);
  // Closing leaves the log as it is instead of checkpointing: for a file that must not be touched.
  void keep_log_on_close(bool keep);

 private:
  struct Guts;
  explicit Database(std::unique_ptr<Guts> guts);
  std::unique_ptr<Guts> guts_;
};

}  // namespace muster::sqlite
