// What runs claim of nodes: for each node which runs had how many of its GPUs from when to when.
#pragma once
#include "account/site_hours.h"

namespace muster::account {

struct Claim {
  std::int64_t from_ms = 0, to_ms = 0;  // within the time looked at
  std::int64_t milli = 0;               // -1: not said
  std::uint32_t run = 0;
  bool open = false;  // nothing says when it ended
};

struct ClaimedNode {
  std::string name;
  std::string type;
  std::int64_t milli = 0;
  bool shown = false;                 // by jobs alone: `milli` is the most they had at once
  std::uint32_t first = 0, last = 0;  // its claims
};

struct Claims {
  std::vector<ClaimedNode> nodes;
  std::vector<Claim> all;                                  // by node
  std::int32_t find(std::string_view node) const;          // -1: there is none
  std::unordered_map<std::string, std::uint32_t> by_name;  // is looked up in, never walked through
};

// Faults of runs and of their nodes are put into `out`.
Claims claims_of(const SiteRuns& runs, const SiteQuestion& q, SiteAccount& out);

// An amount of what a fault is about; what does not fit counts as the most that does.
std::int64_t amount(std::int64_t milli, std::int64_t length_ms);
void note(SiteAccount& a, SiteFault f, std::string_view which, std::int64_t milli_ms = 0, std::int64_t node_ms = 0);

void note_run(SiteAccount& a, SiteFault f, const SiteRuns& runs, const SiteRun& r, std::int64_t milli_ms = 0,
              std::int64_t node_ms = 0);

}  // namespace muster::account
