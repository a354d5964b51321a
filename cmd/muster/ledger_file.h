// The ledger of charges on disk: one writer at a time, lines that are there are never touched, and what is said to be charged is
// on the disk.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/charge.h"

namespace muster::cmd {

class LedgerFile {
 public:
  // `write`: it is made where it is not there, and nobody else may write until this ends. Else it must be there.
  static Result<LedgerFile> open(const std::string& path, bool write);
  LedgerFile(LedgerFile&& o) noexcept;
  LedgerFile& operator=(LedgerFile&&) = delete;
  ~LedgerFile();

  const Ledger& ledger() const { return ledger_; }
  // All of the lines or none. What a writer that died left half written behind the last whole line is cut off.
  Result<void> append(std::string_view lines);

 private:
  LedgerFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
  Ledger ledger_;
};

}  // namespace muster::cmd
