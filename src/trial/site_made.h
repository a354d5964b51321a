// A made-up site: a year of jobs as sacct would print them, with what goes wrong in such files, and what its account must say to
// the millisecond, found in another way than the account finds it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "account/site_class.h"
#include "base/time.h"

namespace muster::trial {

struct MadeSiteSize {
  std::uint64_t jobs = 500'000;
  std::uint32_t nodes = 128;  // of eight GPUs
  std::uint32_t days = 365;
};

struct MadeSite {
  std::string sacct, nodes, events;  // files
  Time from, to;
  std::uint64_t rows = 0;  // of sacct
  account::SiteSum sum;
  std::map<std::string, std::int64_t> accounts;  // thousandths of GPU-milliseconds that jobs of theirs had
  // How often what goes wrong was put in.
  std::uint64_t steps = 0, twice = 0, never_began = 0, backwards = 0, open = 0, unsaid = 0, node_failed = 0;
};

MadeSite make_site(std::uint64_t seed, const MadeSiteSize& size);

}  // namespace muster::trial
