#include "trial/site_made.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/prng.h"

namespace muster::trial {
namespace {

using account::SiteClass;

constexpr std::int64_t kBegan_s = 1'735'689'600;  // 2025-01-01
constexpr std::uint32_t kGpus = 8;
constexpr std::int64_t kMilliMs = 1'000'000;  // of a GPU-second

struct Outage {
  std::int64_t from, to;  // seconds since kBegan_s
  bool down;
};

struct MadeNode {
  std::array<std::int64_t, kGpus> free_at{};  // rising
  std::vector<Outage> outages;                // in their order, apart
};

class Maker {
 public:
  Maker(std::uint64_t seed, const MadeSiteSize& size)
      : size_(size),
        end_(static_cast<std::int64_t>(size.days) * 86'400),
        random_(seed, "made site"),
        nodes_(size.nodes),
        idle_(static_cast<std::size_t>(end_) + 1),
        wanted_(static_cast<std::size_t>(end_) + 1) {}

  MadeSite make() {
    site_.from = Time{kBegan_s * 1'000'000'000};
    site_.to = site_.from + seconds(end_);
    for (std::uint32_t n = 0; n < size_.nodes; ++n) node(n);
    site_.sacct =
        "JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NodeList|AllocTRES|ReqTRES|"
        "ConsumedEnergyRaw\n";
    for (std::uint64_t j = 0; j < size_.jobs; ++j) {
      const auto gap = random_.exponential(static_cast<double>(end_) * 0.97 / static_cast<double>(size_.jobs));
      clock_ += gap;
      job(j);
    }
    part_idle();
    return std::move(site_);
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(n))); }

  void node(std::uint32_t n) {
    site_.nodes += fmt::format("NodeName=gpu{:04} Arch=x86_64 Gres=gpu:h200:{} State=IDLE Partitions=batch\n", n, kGpus);
    if (n == 0) site_.events = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n";
    mark(idle_, 0, end_, kGpus);
    for (std::int64_t at = below(40 * 86'400); at < end_;) {
      const std::int64_t length = 600 + below(2 * 86'400);
      const Outage o{at, std::min(end_, at + length), random_.chance(0.5)};
      nodes_[n].outages.push_back(o);
      const std::string until = at + length > end_ ? std::string("Unknown") : fmt::format("{}", kBegan_s + o.to);
      site_.events +=
          fmt::format("made|gpu{:04}|{}|{}|{}|a fan, say\n", n, kBegan_s + o.from, until, o.down ? "DOWN*" : "IDLE+DRAIN");
      site_.sum[o.down ? SiteClass::down : SiteClass::drained] += (o.to - o.from) * kGpus * kMilliMs;
      mark(idle_, o.from, o.to, -static_cast<std::int32_t>(kGpus));
      at = o.to + 86'400 + below(60 * 86'400);
    }
  }

  void mark(std::vector<std::int32_t>& changes, std::int64_t from, std::int64_t to, std::int32_t by) const {
    from = std::clamp<std::int64_t>(from, 0, end_);
    to = std::clamp<std::int64_t>(to, 0, end_);
    changes[static_cast<std::size_t>(from)] += by;
    changes[static_cast<std::size_t>(to)] -= by;
  }

  // When so many nodes from `first` on have so many GPUs each, at `from` or later: no node is down or drained then.
  std::int64_t start_of(std::uint32_t first, std::uint32_t count, std::uint32_t gpus, std::int64_t from) const {
    for (std::uint32_t n = first; n < first + count; ++n) from = std::max(from, nodes_[n].free_at[gpus - 1]);
    for (bool again = true; again;) {
      again = false;
      for (std::uint32_t n = first; n < first + count; ++n) {
        for (const Outage& o : nodes_[n].outages) {
          if (o.from > from || from >= o.to) continue;
          from = o.to;
          again = true;
        }
      }
    }
    return from;
  }

  // The job takes its GPUs; a node that goes down ends it. Returns its end.
  std::int64_t hold(std::uint32_t first, std::uint32_t count, std::uint32_t gpus, std::int64_t start, std::int64_t end) {
    for (std::uint32_t n = first; n < first + count; ++n) {
      for (const Outage& o : nodes_[n].outages) {
        if (o.down && o.from >= start && o.from < end) end = o.from;
      }
    }
    for (std::uint32_t n = first; n < first + count; ++n) {
      auto& free_at = nodes_[n].free_at;
      std::fill_n(free_at.begin(), gpus, end);
      std::sort(free_at.begin(), free_at.end());
      std::int64_t idle_from = start;
      for (const Outage& o : nodes_[n].outages) {
        if (o.down || o.to <= start || o.from >= end) continue;  // it goes on while its node is drained of others
        const std::int64_t both = std::min({o.to, end, end_}) - std::max(o.from, start);
        site_.sum[SiteClass::drained] -= both * gpus * kMilliMs;
        mark(idle_, idle_from, o.from, -static_cast<std::int32_t>(gpus));
        idle_from = std::min(o.to, end);
      }
      mark(idle_, idle_from, end, -static_cast<std::int32_t>(gpus));
    }
    return end;
  }

  void row(std::uint64_t id, const std::string& account, const char* state, std::int64_t eligible, const std::string& start,
           const std::string& end, std::uint32_t count, const std::string& list, const std::string& tres,
           const std::string& energy = "") {
    const std::size_t at = site_.sacct.size();
    fmt::format_to(std::back_inserter(site_.sacct),
                   "{}|user{:03}|{}|batch|normal|{}|{}|{}|{}|{}||{}|{}|{}|billing=1,gres/gpu=1,node=1|{}\n", id, id % 300,
                   account, state, kBegan_s + std::max<std::int64_t>(0, eligible - 5), kBegan_s + eligible, start, end, count,
                   list, tres, energy);
    ++site_.rows;
    if (!random_.chance(0.01)) return;
    site_.sacct += std::string(site_.sacct, at);
    ++site_.rows;
    ++site_.twice;
  }

  void job(std::uint64_t j) {
    const auto eligible = std::min(static_cast<std::int64_t>(clock_), end_ - 2);
    const std::uint64_t id = j + 1;
    const std::string account = fmt::format("lab{:02}", below(40));
    const std::int64_t kind = below(1000);
    if (kind < 30) {
      const std::int64_t gone = eligible + 1 + below(7200);
      row(id, account, "CANCELLED by 1017", eligible, "None", fmt::format("{}", kBegan_s + gone), 0, "None assigned", "");
      mark(wanted_, eligible, gone, 1);
      ++site_.never_began;
      return;
    }
    if (kind < 35) {
      row(id, account, "COMPLETED", eligible, fmt::format("{}", kBegan_s + eligible), fmt::format("{}", kBegan_s + eligible - 60),
          1, "gpu0000", "billing=8,cpu=8,gres/gpu=8,node=1");
      ++site_.backwards;
      return;
    }
    if (kind < 38) {
      row(id, account, "COMPLETED", eligible, fmt::format("{}", kBegan_s + eligible),
          fmt::format("{}", kBegan_s + eligible + 1800), 1, "gpu0000", "");
      ++site_.unsaid;
      return;
    }
    run(id, account, eligible);
  }

  void run(std::uint64_t id, const std::string& account, std::int64_t eligible) {
    const bool large = random_.chance(0.02);
    const std::uint32_t count = large ? 2 + static_cast<std::uint32_t>(below(std::min<std::int64_t>(7, size_.nodes - 1))) : 1;
    constexpr std::array<std::uint32_t, 8> kAsked = {1, 1, 1, 2, 2, 4, 4, 8};
    const std::uint32_t gpus = large ? kGpus : kAsked[random_.below(kAsked.size())];
    std::int64_t start = INT64_MAX;
    std::uint32_t first = 0;
    for (int tries = 0; tries < 4; ++tries) {
      const auto at = static_cast<std::uint32_t>(below(size_.nodes - count + 1));
      const std::int64_t when = start_of(at, count, gpus, eligible);
      if (when >= start) continue;
      start = when;
      first = at;
    }
    const auto length = static_cast<std::int64_t>(std::clamp(random_.lognormal(8.6, 1.4), 5.0, 5.0 * 86'400));
    const std::string list =
        count == 1 ? fmt::format("gpu{:04}", first) : fmt::format("gpu[{:04}-{:04}]", first, first + count - 1);
    const std::string tres = fmt::format("billing={0},cpu={1},gres/gpu:h200={0},gres/gpu={0},mem={1}G,node={2}", gpus * count,
                                         gpus * count * 8, count);
    const auto milli = static_cast<std::int32_t>(gpus * count);
    mark(wanted_, eligible, start, milli);
    if (start >= end_) {  // it waits still
      row(id, account, "PENDING", eligible, "Unknown", "Unknown", count, "None assigned", "");
      mark(wanted_, eligible, end_, 1 - milli);
      return;
    }
    const std::int64_t end = hold(first, count, gpus, start, start + length);
    const bool open = end > end_;
    const bool failed = end < start + length;
    site_.accounts[account] += (std::min(end, end_) - start) * milli * kMilliMs;
    site_.sum[SiteClass::unseen] += (std::min(end, end_) - start) * milli * kMilliMs;
    site_.open += open ? 1 : 0;
    site_.node_failed += failed ? 1 : 0;
    const std::string from = fmt::format("{}", kBegan_s + start), to = open ? "Unknown" : fmt::format("{}", kBegan_s + end);
    row(id, account,
        open     ? "RUNNING"
        : failed ? "NODE_FAIL"
                 : "COMPLETED",
        eligible, from, to, count, list, tres, id % 7 == 0 ? "18446744073709551614" : "");
    if (!random_.chance(0.05)) return;
    site_.sacct +=
        fmt::format("{}.batch||{}|||{}|{}|{}|{}|{}||1|{}|cpu=8|1|\n", id, account, "COMPLETED", from, from, from, to, list);
    ++site_.rows;
    ++site_.steps;
  }

  // Second by second.
  void part_idle() {
    std::int64_t idle = 0, wanted = 0;
    for (std::size_t s = 0; s < static_cast<std::size_t>(end_); ++s) {
      idle += idle_[s];
      wanted += wanted_[s];
      const std::int64_t missed = std::min(idle, wanted);
      site_.sum[SiteClass::idle_fragmented] += missed * kMilliMs;
      site_.sum[SiteClass::idle_no_demand] += (idle - missed) * kMilliMs;
    }
  }

  MadeSiteSize size_;
  std::int64_t end_;
  Prng random_;
  std::vector<MadeNode> nodes_;
  std::vector<std::int32_t> idle_, wanted_;  // what changes at each second
  double clock_ = 0;
  MadeSite site_;
};

}  // namespace

MadeSite make_site(std::uint64_t seed, const MadeSiteSize& size) { return Maker(seed, size).make(); }

}  // namespace muster::trial
