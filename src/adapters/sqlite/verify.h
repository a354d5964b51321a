// Checks a whole journal, and prints it. Both only read, and may run beside the writer.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace muster::sqlite {

struct VerifyReport {
  std::string journal_id;
  std::uint64_t events = 0;   // sound ones, from the first on
  Digest head{};              // hash of the last sound one
  std::optional<std::uint64_t> first_bad;  // number of the first event that is not what was written
  std::string what;           // what is wrong with it
  std::string structure;      // damage that touches no event: of SQLite's own pages
  std::vector<std::uint64_t> bad_snapshots;  // no failure: they are passed over
  bool ok() const { return !first_bad && structure.empty(); }
};

struct VerifyOptions {
  bool decode = true;  // also read each event and encode it again
  std::string vfs;     // for tests
  std::function<void(std::uint64_t seq, std::uint64_t last)> progress;  // every 10,000 events or so
};

// An error means that the file is no journal at all, or cannot be opened; damage is in the report.
Result<VerifyReport> verify(const std::string& path, const VerifyOptions& options = {});

// Canonical bytes of events `from` to `to` (both included, 0: to the end), a line each, without the newline.
Result<void> export_jsonl(const std::string& path, std::uint64_t from, std::uint64_t to,
                          const std::function<bool(std::string_view line)>& sink, const std::string& vfs = {});

}  // namespace muster::sqlite
