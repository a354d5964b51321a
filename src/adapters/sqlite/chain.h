// The hashes of the journal's format: where a chain begins, and what a snapshot is sealed with. docs/formats/journal.md, 4 and 7.
#pragma once
#include <string>
#include <string_view>

#include "base/hash.h"

namespace muster {

// The journal id of simulated runs: their digest depends on nothing but the events.
constexpr std::string_view kTwinJournalId = "twin";

inline Digest genesis(std::string_view journal_id) { return sha256("muster journal 1\n" + std::string(journal_id)); }

// `at` is the hash of the snapshot's event: a snapshot belongs to one journal and one place in it.
inline Digest seal_snapshot(const Digest& at, std::uint32_t fold_version, std::string_view bytes) {
  return chain(at, "snapshot " + std::to_string(fold_version) + "\n" + std::string(bytes));
}

inline std::string_view as_text(const Digest& d) { return {reinterpret_cast<const char*>(d.data()), d.size()}; }

}  // namespace muster
