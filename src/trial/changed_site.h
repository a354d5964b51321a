// The same cluster with nodes added or taken away, and its books, to go on from there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/books.h"

namespace muster::trial {

struct SiteChange {
  std::uint32_t add = 0;                  // nodes like the last one, in racks and leaves of their own, of the usual sizes
  std::uint32_t remove = 0;               // the last so many of those that are not named
  std::vector<std::string> remove_named;  // host names
  bool none() const { return add == 0 && remove == 0 && remove_named.empty(); }
};

struct ChangedSite {
  Site site;
  std::vector<NodeId> now_at;             // of each node that was, its place now; none: it is gone
  std::vector<std::uint32_t> row_now_at;  // of each row of racks that was; kNoRow: it is gone
  std::uint32_t added = 0;                // the last ones of the site
};

// First taken away, then added. What was left of groups (racks, leaves, pods, domains) is numbered anew, without gaps. Cables of
// new nodes are not known; they are in the pools that the last node is in.
Result<ChangedSite> change_site(const Site& site, const SiteChange& change);

// Work on nodes that go is put back into the queue, to go on from its last checkpoint; what is known, found and ordered about
// them is forgotten. New nodes are up, free and without a past.
control::Books change_books(control::Books books, const ChangedSite& changed);

// Jobs that have GPUs on nodes that go.
std::uint32_t jobs_to_stop(const State& state, const ChangedSite& changed);

}  // namespace muster::trial
