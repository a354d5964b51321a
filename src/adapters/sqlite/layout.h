// What journal and verify share: how the file is recognised, and how a stretch of the chain is walked.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "adapters/sqlite/database.h"
#include "base/hash.h"

namespace muster::sqlite {

struct StoredEvent;

constexpr std::uint32_t kApplicationId = 0x4D555354;  // "MUST"
constexpr std::uint32_t kFormat = 1;

struct Head {
  std::uint64_t seq = 0;
  Digest hash{};
};

// Looks at the bytes alone, so that nothing appears beside a file that is not ours. Passes what only its log can tell.
Result<void> check_file(const Location& at);
// The same questions asked through SQLite, which sees the log as well. Returns the journal id.
Result<std::string> check_identity(Database& db, const std::string& path);
// Opens for reading, also where nothing may be written beside the file.
Result<Database> open_for_reading(const Location& at);

Result<Head> load_head(Database& db);
// Hash of event `seq`, or the genesis for 0.
Result<Digest> load_hash(Database& db, std::uint64_t seq, const std::string& journal_id);

struct Walk {
  std::uint64_t next = 1;  // the first number not seen to be sound
  Digest hash{};           // of the one before it
  std::string what;        // what is wrong with `next`; empty: nothing
  bool stopped = false;    // by the visitor
};
constexpr std::uint64_t kToTheEnd = UINT64_MAX;
// Walks the chain from event `from`, whose predecessor's hash is `before`, up to event `to`: numbers, hashes, the number within
// the bytes. Stops at the first unsound event.
Walk walk(Database& db, std::uint64_t from, std::uint64_t to, const Digest& before,
          const std::function<bool(const StoredEvent&)>& visit);

}  // namespace muster::sqlite
