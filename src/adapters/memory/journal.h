// A journal in memory, for simulated runs: the count, the chain's head unless nobody asks for it, and the events themselves only
// when asked for.
#pragma once
#include <string>
#include <vector>

#include "adapters/sqlite/chain.h"
#include "base/check.h"
#include "model/codec.h"
#include "ports/journal.h"

namespace muster {

class MemoryJournal final : public Journal {
 public:
  enum class Keep { count, head, events };
  explicit MemoryJournal(Keep keep = Keep::head, std::string_view id = kTwinJournalId)
      : keep_(keep), head_(keep == Keep::count ? Digest{} : genesis(id)) {}

  Result<void> append(std::span<const Event> events) override {
    for (const Event& e : events) {
      MUSTER_CHECK(e.seq == last_seq_ + 1);
      if (keep_ != Keep::count) head_ = chain(head_, encode_event(e));
      last_seq_ = e.seq;
      if (keep_ == Keep::events) events_.push_back(e);
    }
    return {};
  }
  std::uint64_t last_seq() const override { return last_seq_; }
  Digest head() const override { return head_; }
  Result<void> read(std::uint64_t from_seq, const std::function<bool(const Event&)>& visit) override {
    if (keep_ != Keep::events && from_seq <= last_seq_) {
      return fail(Code::not_found, "this run keeps no events", "run it with a journal file");
    }
    for (std::uint64_t seq = std::max<std::uint64_t>(from_seq, 1); seq <= last_seq_; ++seq) {
      if (!visit(events_[seq - 1])) break;
    }
    return {};
  }
  Result<void> save_snapshot(const StoredSnapshot& snapshot) override {
    snapshot_ = snapshot;
    return {};
  }
  Result<std::optional<StoredSnapshot>> latest_snapshot() override { return snapshot_; }

  const std::vector<Event>& events() const { return events_; }

 private:
  Keep keep_;
  std::uint64_t last_seq_ = 0;
  Digest head_;
  std::vector<Event> events_;
  std::optional<StoredSnapshot> snapshot_;
};

}  // namespace muster
