// One life of a journal on a disk that fails: a fixed story of appends, snapshots and a restart, and the check of what is left.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/event.h"
#include "vfs.h"

namespace muster::powercut {

struct Setting {
  std::uint64_t seed = 1;
  Device device;
  std::uint32_t checkpoint_pages = 8;
  std::string weaken;            // a pragma that takes durability away
  bool claim_powersafe = false;
};

// What the journal had promised at some moment.
struct Promise {
  std::uint64_t acked = 0;     // last event of an append that returned
  std::uint64_t tried = 0;     // last event of the append under way, or `acked`
  std::uint64_t snapshot = 0;  // of the last save that returned
};

struct Tally {
  std::uint64_t cuts = 0;
  std::uint64_t faults = 0;             // runs in which an operation failed before the cut
  std::uint64_t acked_lost = 0;         // acknowledged events that were gone
  std::uint64_t lossy_cuts = 0;
  std::uint64_t chain_failures = 0;     // wrong bytes, numbers or hashes, or a report that is not clean
  std::uint64_t atomicity_failures = 0; // a part of a batch
  std::uint64_t unusable = 0;           // would not open or append afterwards
  std::uint64_t snapshots_lost = 0;     // saved ones that were gone: not a promise, but a surprise
  std::uint64_t unacked_found = 0;      // whole batches that were never acknowledged: allowed
  std::uint64_t not_poisoned = 0;       // appends accepted after the disk had failed
  std::string first;                    // the first failure, in words
  bool clean() const {
    return acked_lost + chain_failures + atomicity_failures + unusable + snapshots_lost + not_poisoned == 0;
  }
  void fail(std::uint64_t Tally::*counter, std::uint64_t n, const std::string& what);
};

// The events of a story, the same for the same seed.
class Story {
 public:
  explicit Story(std::uint64_t seed, std::size_t batches = 12);
  const Event& event(std::uint64_t seq) const { return events_[seq - 1]; }
  const std::string& bytes(std::uint64_t seq) const { return bytes_[seq - 1]; }
  const std::vector<std::uint64_t>& ends() const { return ends_; }  // last event of each batch
  std::span<const Event> batch(std::size_t i) const;
  std::uint64_t length() const { return events_.size(); }

 private:
  std::vector<Event> events_;
  std::vector<std::string> bytes_;
  std::vector<std::uint64_t> ends_;
};

// Plays the story on the session's disk, keeping `promise` up to date at every moment. False: the disk failed it.
bool play(const Setting& setting, const Story& story, Session& session, Promise& promise, Tally& tally);

struct Cut {
  Disk disk;
  Promise promise;
};
// Every state in which the story can be cut: before each operation, `draws` times.
std::vector<Cut> cut_everywhere(const Setting& setting, const Story& story, std::uint64_t draws, Tally& tally);

// Opens what is left, checks every promise, and goes on from there. With `again`, cuts that too, at every operation.
void check(const Setting& setting, const Story& story, Cut cut, bool again, Tally& tally);

}  // namespace muster::powercut
