// The journal on disk: an SQLite file with one writer. docs/formats/journal.md is the format's law.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ports/journal.h"

namespace muster::sqlite {

struct OpenOptions {
  std::string path;
  bool read_only = false;
  bool create = false;           // when there is none; an existing one is opened
  std::string journal_id;        // of a new one; empty: random. Simulated runs use kTwinJournalId
  std::uint32_t checkpoint_pages = 1000;  // length of the log that starts a checkpoint

  // For tests. With a VFS of their own there is no lock file, `publish` gives a finished file its name, durably, and `distrust`
  // syncs a file and forgets what of it is cached.
  std::string vfs;
  std::function<Result<void>(const std::string& from, const std::string& to)> publish;
  std::function<Result<void>(const std::string& path)> distrust;
  std::string weaken;            // a pragma run after ours: proves that the power-cut test can fail
};

// One event as it is stored; valid during the visit.
struct StoredEvent {
  std::uint64_t seq = 0;
  std::string_view bytes;  // canonical
  Digest hash;
};

// For one thread at a time. Readers in other threads open their own, read-only.
class StoredJournal final : public Journal {
 public:
  ~StoredJournal() override;
  // Any failure of the disk poisons the journal: this and every later append fails, and the controller must stop.
  Result<void> append(std::span<const Event> events) override;
  std::uint64_t last_seq() const override;  // when read-only: at opening
  Digest head() const override;
  Result<void> read(std::uint64_t from_seq, const std::function<bool(const Event&)>& visit) override;
  Result<void> save_snapshot(const StoredSnapshot& snapshot) override;
  Result<std::optional<StoredSnapshot>> latest_snapshot() override;

  // As `read`, without decoding; hashes are checked.
  Result<void> read_bytes(std::uint64_t from_seq, const std::function<bool(const StoredEvent&)>& visit);
  const std::string& id() const;

 private:
  friend Result<std::unique_ptr<StoredJournal>> open(const OpenOptions& options);
  struct Guts;
  explicit StoredJournal(std::unique_ptr<Guts> guts);
  std::unique_ptr<Guts> guts_;
};

// What is not a sound journal is refused and left as it is: Code::bad_input for a foreign file or a newer format, Code::corrupt
// for a damaged one, Code::conflict when another process writes it, Code::not_found when there is none and `create` is not set.
Result<std::unique_ptr<StoredJournal>> open(const OpenOptions& options);

}  // namespace muster::sqlite
