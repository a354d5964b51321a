// What Inspector's records say, as findings: for a node before its ranks, for several communicators at once where they agree.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "diagnose/nccl_inspector.h"
#include "diagnose/nccl_sizes.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kEach = 3;        // so many get a finding each; more share one
constexpr double kWaitingShare = 0.4;   // of the time in an operation
constexpr double kWaitingLeastUs = 50;  // on average: what launches differ by anyway is no waiting
constexpr const char* kLatest = "time in an operation counts from a rank's own coming: the last to come is in it the shortest";

// Nodes that are told of for several communicators at once, by the number of the series.
using Said = std::set<std::pair<std::size_t, std::string>>;

std::string comm_words(const JudgedSeries& s) { return s.name.empty() ? s.comm : fmt::format("{} ({})", s.name, s.comm); }
std::string called(const JudgedSeries& s) { return fmt::format("{} of communicator {}", s.run.what, comm_words(s)); }

std::string since_words(std::uint64_t since, bool from_start) {
  return from_start ? fmt::format("from the first that was kept, number {}", since) : fmt::format("from number {} on", since);
}

std::string rank_words(std::uint32_t rank, const std::string& host) {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

// A rank or a node that is out of line.
struct Who {
  std::string name;
  OddRank odd;
  std::size_t ranks = 1;
  bool node = false;
};

double distance(const Who& w) { return w.odd.late ? w.odd.share : 1 / std::max(1e-9, w.odd.share); }

std::vector<Who> out_of_line(const JudgedSeries& s, std::size_t number, const Said& said, bool late) {
  std::vector<Who> out;
  std::set<std::string> nodes;
  for (const HostTally& h : s.hosts) {
    if (!(late ? h.late_node() : h.slow_node())) continue;
    nodes.insert(h.host);
    if (said.count({number, h.host}) == 0) out.push_back({fmt::format("node {}", h.host), h.odd, h.seen, true});
  }
  const auto farther = [](const Who& x, const Who& y) { return distance(x) > distance(y); };
  std::stable_sort(out.begin(), out.end(), farther);
  for (const OddRank& r : s.odd) {  // the farthest first already
    if (r.late == late && nodes.count(r.host) == 0 && said.count({number, r.host}) == 0)
      out.push_back({rank_words(r.rank, r.host), r, 1, false});
  }
  return out;
}

std::string line_of(const Who& w) {
  return fmt::format("{}: {} in it for {}, {} for {}, {}", w.name,
                     w.node ? fmt::format("all {} of its ranks seen are", w.ranks) : std::string("is"), time_words(w.odd.own_us),
                     w.odd.late ? "those that wait" : "the median rank", time_words(w.odd.others_us),
                     since_words(w.odd.since, w.odd.from_start));
}

std::string names_of(std::span<const Who> who) {
  std::string out;
  for (std::size_t i = 0; i < who.size() && i < kEach; ++i) out += (i > 0 ? ", " : "") + who[i].name;
  return who.size() > kEach ? fmt::format("{} and {} more", out, who.size() - kEach) : out;
}

Finding late_finding(std::span<const Who> who, const std::string& where) {
  Finding f;
  const std::string names = names_of(who);
  const OddRank& r = who.front().odd;
  f.title = fmt::format("the others wait for {} in {}", names, where);
  for (std::size_t i = 0; i < who.size() && i < 8; ++i) f.evidence.push_back(line_of(who[i]));
  f.evidence.emplace_back(kLatest);
  f.expected = "all come at once";
  f.achieved = fmt::format("the others wait {} of the {} that they are in it", time_words(r.others_us - r.own_us),
                           time_words(r.others_us));
  f.remedy = fmt::format(
      "look at what {} {} before it: clocks and temperature of GPUs, load of the host, its share of the data; "
      "where it is the hardware, drain the node",
      names, who.size() > 1 ? "do" : "does");
  f.verify = "Inspector's records of the next hour: its time in the operation is within 10 % of the others'";
  f.confidence = Confidence::high;
  return f;
}

Finding slow_finding(std::span<const Who> who, const std::string& where) {
  Finding f;
  const std::string names = names_of(who);
  const OddRank& r = who.front().odd;
  f.title = fmt::format("{} {} slower than the others in {}", names, who.size() > 1 ? "are" : "is", where);
  for (std::size_t i = 0; i < who.size() && i < 8; ++i) f.evidence.push_back(line_of(who[i]));
  f.evidence.emplace_back("the others are in the same operations shorter, so it is not the whole fabric");
  f.evidence.emplace_back("it may also come before all others, and wait: a profile of it and of one other tells");
  f.expected = "as the median rank";
  f.achieved = fmt::format("{:.0f} % of its bandwidth", r.share * 100);
  f.remedy = fmt::format(
      "look at the links of {}: the network card's errors and rate (ibstat, mlxlink), nvidia-smi nvlink -e, PCIe width; "
      "drain the node where they are not sound",
      names);
  f.verify = "Inspector's records of the next hour: the ratio is between 0.9 and 1.1 again";
  f.confidence = Confidence::medium;
  return f;
}

template <class Make>
void each_or_all(std::vector<Finding>& out, const std::vector<Who>& who, const std::string& where, const Make& make) {
  if (who.size() > kEach) {
    out.push_back(make(who, where));
    return;
  }
  for (const Who& w : who) out.push_back(make({&w, 1}, where));
}

// Groups that each have one rank of a node, as data parallelism has them: where the node's rank is late in all, it is the node.
void nodes_of_many(std::vector<Finding>& out, std::span<const JudgedSeries> series, Said& said) {
  struct Tally {
    std::size_t seen = 0, late = 0;
    std::vector<std::size_t> in;  // series
    std::vector<OddRank> odd;
  };
  std::map<std::tuple<std::string, std::uint32_t, std::string>, Tally> tallies;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].hosts.size() < 2) continue;  // within a node nobody but its own ranks can be late
    for (const HostTally& h : series[i].hosts) {
      if (h.host.empty()) continue;
      Tally& t = tallies[{series[i].run.what, series[i].run.ranks, h.host}];
      t.seen += h.seen;
      t.late += h.late;
      t.in.push_back(i);
      if (h.late > 0) t.odd.push_back(h.odd);
    }
  }
  for (const auto& [key, t] : tallies) {
    if (t.in.size() < 2 || t.late != t.seen) continue;
    const auto& [what, ranks, host] = key;
    for (const std::size_t i : t.in) said.insert({i, host});
    const auto most =
        std::max_element(t.odd.begin(), t.odd.end(), [](const auto& x, const auto& y) { return x.share < y.share; });
    const Who w{fmt::format("node {}", host), *most, t.seen, true};
    Finding f = late_finding({&w, 1}, fmt::format("{} of {} communicators of {} ranks", what, t.in.size(), ranks));
    std::string comms;
    for (std::size_t i = 0; i < t.in.size() && i < 8; ++i) comms += (i > 0 ? ", " : "") + comm_words(series[t.in[i]]);
    f.evidence.push_back(fmt::format("communicators: {}{}; the times are of the one in which most is waited", comms,
                                     t.in.size() > 8 ? fmt::format(" and {} more", t.in.size() - 8) : ""));
    out.push_back(std::move(f));
  }
}

bool has_late(const JudgedSeries& s) {
  return std::any_of(s.odd.begin(), s.odd.end(), [](const OddRank& r) { return r.late; });
}

bool waits(const JudgedSeries& s) {
  return s.waiting && !has_late(s) && s.waiting->share >= kWaitingShare &&
         s.waiting->mean_us - s.waiting->shortest_us >= kWaitingLeastUs;
}

std::string last_words(const Waiting& w) {
  std::string out;
  for (std::size_t i = 0; i < w.last.size() && i < 4; ++i)
    out += fmt::format("{}{} {} times ({:.0f} % of the waiting)", i > 0 ? ", " : "", rank_words(w.last[i].rank, w.last[i].host),
                       w.last[i].times, w.last[i].share * 100);
  return out;
}

Finding waiting_finding(const JudgedSeries& s) {
  const Waiting& w = *s.waiting;
  const std::string who = w.mostly_rank            ? rank_words(*w.mostly_rank, w.last.front().host)
                          : !w.mostly_host.empty() ? fmt::format("node {}", w.mostly_host)
                                                   : "";
  Finding f;
  f.title = fmt::format("{:.0f} % of the time in {} is waiting, {}", w.share * 100, called(s),
                        who.empty() ? "for no rank in particular" : "most of it for " + who);
  f.evidence.push_back(
      fmt::format("the rank that is in it the shortest is so for {}, ranks on average for {}: means of {} operations, {}",
                  time_words(w.shortest_us), time_words(w.mean_us), w.operations, since_words(w.since, w.from_start)));
  f.evidence.push_back("last to come: " + last_words(w));
  f.evidence.emplace_back(kLatest);
  f.expected = fmt::format("{} where all come at once", time_words(w.shortest_us));
  f.achieved = fmt::format("{} on average", time_words(w.mean_us));
  f.remedy =
      who.empty()
          ? "look at what differs between ranks from one step to the next: lengths of sequences or loads of experts, input "
            "that is late, Python's garbage collection, cores that are shared; profiles of the same steps on some "
            "ranks tell which"
          : fmt::format(
                "look at what {} does now and then before it: input, checkpoints, other processes on the host, "
                "clocks that drop; a profile of it and of one other rank tells which",
                who);
  f.verify = "Inspector's records of the next hour: the shortest and the average time in the operation are closer";
  f.confidence = s.ranks_seen >= s.run.ranks ? Confidence::high : Confidence::medium;
  return f;
}

// The one with the most waiting first; where many communicators of one kind wait alike, one stands for them.
void find_waiting(std::vector<Finding>& out, std::span<const JudgedSeries> series) {
  std::vector<const JudgedSeries*> some;
  for (const JudgedSeries& s : series) {
    if (waits(s)) some.push_back(&s);
  }
  const auto total = [](const JudgedSeries* s) {
    return (s->waiting->mean_us - s->waiting->shortest_us) * static_cast<double>(s->waiting->operations);
  };
  std::stable_sort(some.begin(), some.end(), [&](const auto* x, const auto* y) { return total(x) > total(y); });
  std::map<std::string, std::size_t> left;
  for (const JudgedSeries* s : some) ++left[s->run.what];
  for (const JudgedSeries* s : some) {
    std::size_t& n = left[s->run.what];
    if (n == 0) continue;
    out.push_back(waiting_finding(*s));
    if (n > kEach) {
      out.back().evidence.push_back(fmt::format("so it is in {} more communicators, with less of it", n - 1));
      n = 0;
    }
  }
}

std::string ranks_words(const std::vector<std::uint32_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) out += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > 8 ? fmt::format("{} and {} more", out, ranks.size() - 8) : out;
}

Finding peer_finding(const JudgedSeries& s, const SlowPeer& p) {
  Finding f;
  const std::string peer = rank_words(p.peer, p.host), by = ranks_words(p.by);
  if (p.for_most()) {
    f.title = fmt::format("{} is slow for {} of the {} ranks that exchange with it in {}", peer, p.by.size(), p.of, called(s));
    f.remedy = fmt::format(
        "look at {}: what it does before it answers, its links (nvidia-smi nvlink -e, the card's errors and rate)", peer);
  } else {
    f.title = fmt::format("{} {} {:.1f} times as long with {} as with other peers in {}", by, p.by.size() == 1 ? "takes" : "take",
                          p.times, peer, called(s));
    f.remedy =
        fmt::format("look at {}, and at the way between {} and it: records of other ranks tell which of the two it is", peer, by);
  }
  f.evidence.push_back(
      fmt::format("by {}: {:.1f} times as long as the median of the other peers over the same kind of link, for "
                  "messages of like size, {}",
                  by, p.times, since_words(p.since, p.from_start)));
  if (!p.for_most())
    f.evidence.push_back(p.of > p.by.size() ? fmt::format("of {} ranks that exchange with it", p.of)
                                            : "no other rank's records tell of it");
  f.expected = "as with the other peers";
  f.achieved = fmt::format("{:.1f} times as long", p.times);
  f.verify = "Inspector's records of the next hour: peers of like distance take the same within 25 %";
  f.confidence = p.for_most() ? Confidence::high : Confidence::medium;
  return f;
}

// A send that is slow is a receive that is slow: once is enough.
void find_peers(std::vector<Finding>& out, std::span<const JudgedSeries> series) {
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> said;
  std::set<std::pair<std::string, std::uint32_t>> blamed;
  for (const bool most : {true, false}) {
    for (const JudgedSeries& s : series) {
      std::size_t n = 0;
      for (const SlowPeer& p : s.peers) {
        if (p.for_most() != most || blamed.count({s.comm, p.peer}) != 0) continue;
        bool fresh = false;
        for (const std::uint32_t r : p.by)
          fresh =
              (said.insert({s.comm, std::min(r, p.peer), std::max(r, p.peer)}).second && blamed.count({s.comm, r}) == 0) || fresh;
        if (!fresh || ++n > kEach) continue;
        if (most) blamed.insert({s.comm, p.peer});
        out.push_back(peer_finding(s, p));
      }
    }
  }
}

Finding slow_series(const JudgedSeries& s) {
  Finding f;
  const bool small = s.run.verdict == BusVerdict::slow_small;
  f.title = small ? fmt::format("{} takes {:.1f} times as long as expected at small sizes", called(s), 1 / s.run.small_share)
                  : fmt::format("{} gets {:.0f} % of the expected bandwidth", called(s), s.run.large_share * 100);
  const JudgedSize* z = nullptr;
  for (const JudgedSize& x : s.run.sizes) {
    if (x.slow && (z == nullptr || !small)) z = &x;
  }
  if (z != nullptr) {
    f.evidence.push_back(
        fmt::format("{} in {} by the rank that waits least, median of the operations of that size; expected {} ({} to {})",
                    size_words(z->bytes), time_words(z->time_us), time_words(z->expected->s * 1e6),
                    time_words(z->expected->low_s * 1e6), time_words(z->slow_above_us)));
    f.expected = fmt::format("{:.1f} GB/s at {}", z->expected->bus_gb_s, size_words(z->bytes));
    f.achieved = fmt::format("{:.1f} GB/s", z->bus_gb_s);
  }
  if (!s.run.why.empty()) f.evidence.push_back(s.run.why);
  f.remedy =
      "run nccl-tests on the same nodes while they are free: slow there too, it is the fabric or a setting "
      "(NCCL_DEBUG=INFO); as expected there, it is other traffic or kernels that compete for the GPUs";
  f.verify = "the same figures of Inspector after the change";
  f.confidence = s.run.why.empty() ? Confidence::medium : Confidence::low;
  return f;
}

Finding changed_series(const JudgedSeries& s) {
  Finding f;
  f.title = fmt::format("{} is slower on all ranks from number {} on", called(s), *s.since);
  f.evidence.push_back(
      fmt::format("{:.0f} % of the bandwidth that operations of the same sizes had before", s.since_share * 100));
  f.remedy =
      "look at what changed then: links that went down or to a lower rate, another job on the same leaf, power or heat limits";
  f.verify = "Inspector's records: the bandwidth is that of before";
  f.confidence = Confidence::medium;
  return f;
}

}  // namespace

std::vector<Finding> find_in_inspector(std::span<const JudgedSeries> series) {
  std::vector<Finding> out;
  Said said;
  nodes_of_many(out, series, said);
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!series[i].peers.empty()) continue;
    each_or_all(out, out_of_line(series[i], i, said, true), called(series[i]), late_finding);
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!series[i].peers.empty()) continue;
    each_or_all(out, out_of_line(series[i], i, said, false), called(series[i]), slow_finding);
  }
  find_peers(out, series);
  find_waiting(out, series);
  for (const JudgedSeries& s : series) {
    if (s.since) out.push_back(changed_series(s));
    if (s.run.verdict != BusVerdict::as_expected && s.run.verdict != BusVerdict::not_known) out.push_back(slow_series(s));
  }
  return out;
}

}  // namespace muster::diagnose
