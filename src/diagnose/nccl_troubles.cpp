#include "diagnose/nccl_troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "diagnose/fabric_doctor_signs.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kNamed = 8;

std::string words_or(const std::string& s, std::string_view otherwise) { return s.empty() ? std::string(otherwise) : s; }

// Statuses of ibverbs that mean the link or the other end, by number.
std::string_view status_words(int status) {
  switch (status) {
    case 4: return "the card may not reach that memory";
    case 5: return "flushed, after another failure";
    case 9: return "refused by the other end";
    case 10: return "the other end has no right to that memory";
    case 12: return "the other end did not answer";
    case 13: return "the other end was not ready";
    default: return "failed";
  }
}

struct Link {
  std::uint64_t times = 0;
  int status = -1;
  NcclPlace first;
};
using Links = std::map<std::tuple<std::string, std::string, std::string>, Link>;  // host, card, peer

std::string end_words(const std::string& host, const std::string& card) {
  return fmt::format("{}{}{}", words_or(host, "a node"), card.empty() ? "" : " ", card);
}

// Other lines that could not reach that address either: a closed connection, one that was not to be had. The first, if any.
const NcclTrouble* unreachable(const NcclLog& log, const std::string& peer) {
  if (peer.empty()) return nullptr;
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind != NcclTroubleKind::peer_closed && t.kind != NcclTroubleKind::warning) continue;
    if (t.peer == peer) return &t;
    const std::size_t found = t.text.find(peer);
    if (found == std::string::npos) continue;
    // "10.0.0.7" is not in "10.0.0.71<45231>", nor in "110.0.0.7".
    const auto part = [&](std::size_t i) {
      return i < t.text.size() && (std::isxdigit(static_cast<unsigned char>(t.text[i])) != 0 || t.text[i] == '.');
    };
    if (!part(found + peer.size()) && (found == 0 || !part(found - 1))) return &t;
  }
  return nullptr;
}

// A failed transfer is either end's or the path's. `common`: the end that several of them share; empty: there is none.
std::string completion_remedy(const NcclLog& log, const Links& links, const std::string& common) {
  const auto& [host, card, peer] = links.begin()->first;
  std::string where;
  if (!common.empty()) {
    where = fmt::format("{} first, which most of them have in common; then the other ends, and the switches between", common);
  } else if (links.size() == 1 && unreachable(log, peer) != nullptr) {
    where = fmt::format("{} first, which another connection did not reach either; then {}, and the path between them", peer,
                        end_words(host, card));
  } else if (links.size() == 1) {
    where = fmt::format("either end may be at fault, or the path between: {}, {}, and the switches' ports on the way",
                        words_or(peer, "the other end"), end_words(host, card));
  } else {
    where = "no end is common to them: the switches that they share, then each end";
  }
  return where +
         ". Is the process there alive (one that died looks the same)? Then ibqueryerrors and mlxlink -d CARD -c at both ends "
         "(symbol errors, link downed): replace the cable or transceiver whose errors grow. NCCL_IB_TIMEOUT=22 rides out "
         "short interruptions";
}

// What failed transfers mean by their statuses, and by what else the log says.
std::string completion_cause(const NcclLog& log, const Links& links) {
  const auto any = [&](int status) {
    return std::any_of(links.begin(), links.end(), [&](const auto& l) { return l.second.status == status; });
  };
  if (any(4)) return "pcie_acs";
  const bool fell = std::any_of(log.troubles.begin(), log.troubles.end(),
                                [](const NcclTrouble& t) { return t.kind == NcclTroubleKind::port_down; });
  if (fell) return "link_flap";
  return any(9) || any(10) ? "rdma_refused" : "rdma_unreachable";
}

Finding completions(const NcclLog& log) {
  Links links;
  bool only_flushed = true;
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind == NcclTroubleKind::completion && t.status != 5) only_flushed = false;
  }
  std::map<std::string, std::uint64_t> ends, peers;  // by how many links a card, or an address, is named
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind != NcclTroubleKind::completion || (t.status == 5 && !only_flushed)) continue;
    Link& l = links[{t.host, t.device, t.peer}];
    if (l.times == 0) {
      l.first = t.at;
      l.status = t.status;
      ++ends[end_words(t.host, t.device)];
      if (!t.peer.empty()) ++peers[t.peer];
    }
    l.times += t.times;
  }
  Finding f;
  if (links.empty()) return f;
  const auto fewer = [](const auto& x, const auto& y) { return x.second < y.second; };
  auto most = std::max_element(ends.begin(), ends.end(), fewer);
  // The other end, where more of the links have it in common; or as many: that several name one tells more than that one fails
  // with several, which it also does where its own job has ended.
  const auto peer_most = std::max_element(peers.begin(), peers.end(), fewer);
  if (peer_most != peers.end() && peer_most->second >= most->second) most = peer_most;
  const bool shared = links.size() > 1 && most->second > 1;
  const auto& [one_host, one_card, one_peer] = links.begin()->first;
  f.title =
      shared ? fmt::format("transfers over RDMA failed on {} links, {} of them with {}", links.size(), most->second, most->first)
      : links.size() > 1 ? fmt::format("transfers over RDMA failed on {} links", links.size())
                         : fmt::format("transfers over RDMA failed between {} and {}", end_words(one_host, one_card),
                                       words_or(one_peer, "a peer"));
  for (const auto& [key, l] : links) {
    const auto& [host, card, peer] = key;
    if (f.evidence.size() < kNamed)
      f.evidence.push_back(fmt::format("{}: {} to {}: {} (status {}), {} {}", at(log, l.first), end_words(host, card),
                                       words_or(peer, "a peer"), status_words(l.status), l.status, l.times,
                                       l.times == 1 ? "time" : "times"));
  }
  const std::string& suspect = shared ? most->first : one_peer;
  if (const NcclTrouble* t = unreachable(log, suspect); t != nullptr && (shared || links.size() == 1))
    f.evidence.push_back(fmt::format("{}: names {} as well: {}", at(log, t->at), suspect, t->text));
  f.cause = completion_cause(log, links);
  f.remedy = completion_remedy(log, links, shared ? most->first : "");
  // A card that may not reach memory, or one that never reached the other, is told by how the nodes are set up.
  if (const Cause* c = cause_named(f.cause); c != nullptr && f.cause != "link_flap")
    f.remedy += fmt::format(". Where it fails at once: {}", c->remedy);
  f.verify = "ib_write_bw between the two nodes over that card for ten minutes, with no growth of port_rcv_errors or link_downed";
  f.confidence = only_flushed ? Confidence::low : Confidence::high;
  return f;
}

Finding ports(const NcclLog& log) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> cards;  // down, up
  NcclPlace first;
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind != NcclTroubleKind::port_down && t.kind != NcclTroubleKind::port_up) continue;
    if (cards.empty()) first = t.at;
    auto& c = cards[fmt::format("{} {}", words_or(t.host, "a node"), words_or(t.device, "a card"))];
    (t.kind == NcclTroubleKind::port_down ? c.first : c.second) += t.times;
  }
  Finding f;
  if (cards.empty()) return f;
  std::vector<std::string> names;
  for (const auto& [card, n] : cards) {
    names.push_back(card);
    if (f.evidence.size() < kNamed)
      f.evidence.push_back(fmt::format("{}: down {} times, up again {} times", card, n.first, n.second));
  }
  f.evidence.insert(f.evidence.begin(), fmt::format("{}: the first", at(log, first)));
  f.title = fmt::format("ports of RDMA cards went down under the job: {}", some(names, 4));
  f.cause = "link_flap";
  f.remedy = "replace the cable or transceiver of these ports; until then drain the nodes (muster get findings names them too)";
  f.verify = "link_downed of the port does not grow any more";
  f.confidence = Confidence::high;
  return f;
}

// Where the ranks of a group stood when the watchdog ended it.
struct Standing {
  std::int64_t enqueued = -1;
  const NcclTrouble* timed_out = nullptr;  // the first collective that did
};
using Standings = std::map<int, Standing>;  // by rank
using Troubles = std::vector<const NcclTrouble*>;

Standings standings(const Troubles& all) {
  Standings ranks;
  for (const NcclTrouble* t : all) {
    if (t->rank < 0) continue;
    Standing& s = ranks[t->rank];
    s.enqueued = std::max(s.enqueued, t->last_enqueued);
    if (t->kind == NcclTroubleKind::timeout && t->seq >= 0 && (s.timed_out == nullptr || t->seq < s.timed_out->seq))
      s.timed_out = t;
  }
  return ranks;
}

// Ranks that had enqueued less than others: these do not come to what the others wait in.
std::vector<std::string> not_come(const Standings& ranks) {
  std::int64_t most = -1;
  for (const auto& [rank, s] : ranks) most = std::max(most, s.enqueued);
  std::vector<std::string> behind;
  for (const auto& [rank, s] : ranks) {
    if (s.enqueued >= 0 && s.enqueued < most) behind.push_back(fmt::format("{}", rank));
  }
  return behind;
}

// Ranks that wait for each other in different collectives: what timed out is not one operation on all of them.
std::optional<Finding> uneven(const NcclLog& log, const std::string& group, const Standings& ranks) {
  Troubles lines;
  for (const auto& [rank, s] : ranks) {
    if (s.timed_out != nullptr) lines.push_back(s.timed_out);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto* x, const auto* y) { return x->seq < y->seq; });
  if (lines.empty() || lines.front()->seq == lines.back()->seq) return {};
  const std::int64_t most = lines.back()->seq;
  std::vector<std::string> behind, ahead;
  for (const NcclTrouble* t : lines)
    (t->seq < most ? behind : ahead)
        .push_back(t->seq < most ? fmt::format("{} at {}", t->rank, t->seq) : fmt::format("{}", t->rank));
  Finding f;
  f.cause = "collective_timeout";
  f.title = fmt::format("ranks timed out at different collectives{}: rank {} {} behind rank {} at {}",
                        group.empty() ? "" : " of group " + group, some(behind, kNamed), behind.size() == 1 ? "lags" : "lag",
                        some(ahead, kNamed), most);
  for (const NcclTrouble* t : lines) {
    if (f.evidence.size() < 4) f.evidence.push_back(fmt::format("{}: rank {}: {}", at(log, t->at), t->rank, t->text));
  }
  f.remedy = fmt::format(
      "look at rank {} first: its last stack (py-spy dump), its node's kernel log and GPUs; then at code in which ranks do not "
      "call the same collectives{}. The flight recorder's dumps of all ranks tell the call (muster diagnose)",
      some(behind, kNamed), group.empty() ? ". These lines name no group: numbers of two groups do not compare" : "");
  f.verify = "the ranks stand at the same number in the next run, or none times out";
  f.confidence = Confidence::medium;
  return f;
}

Finding timeout_of(const NcclLog& log, const std::string& group, const Troubles& all, const Standings& ranks) {
  const NcclTrouble* first = nullptr;
  for (const NcclTrouble* t : all) {
    if (first == nullptr || (first->kind != NcclTroubleKind::timeout && t->kind == NcclTroubleKind::timeout)) first = t;
  }
  std::int64_t most = -1, least = INT64_MAX;
  for (const auto& [rank, s] : ranks) {
    most = std::max(most, s.enqueued);
    if (s.enqueued >= 0) least = std::min(least, s.enqueued);
  }
  const std::vector<std::string> behind = not_come(ranks);
  Finding f;
  const std::string name = group.empty() ? "" : fmt::format(" of group {}", group);
  const std::string what = fmt::format("{}{}{}", words_or(first->op, "a collective"),
                                       first->seq >= 0 ? fmt::format(" number {}", first->seq) : "", name);
  f.evidence.push_back(fmt::format("{}: {}", at(log, first->at), first->text));
  if (!behind.empty()) {
    f.title = fmt::format("{} timed out: rank {} did not come to it", what, some(behind, kNamed));
    f.evidence.push_back(fmt::format("last enqueued: {} there, {} on the others", least, most));
    f.remedy =
        fmt::format("look at rank {} first: its last stack (py-spy dump), its node's kernel log and GPUs; the others only wait",
                    some(behind, kNamed));
    f.confidence = Confidence::high;
  } else {
    f.title = fmt::format("{} timed out{}", what,
                          ranks.empty() ? "" : fmt::format(" on {} {}", ranks.size(), ranks.size() == 1 ? "rank" : "ranks"));
    if (most >= 0) f.evidence.push_back(fmt::format("all that said so had enqueued up to {}", most));
    std::uint32_t size = 0;
    for (const NcclComm& c : log.comms) size = std::max(size, c.ranks);
    if (size > ranks.size())
      f.evidence.push_back(
          fmt::format("{} of {} ranks said so: the one that did not come may be among the silent", ranks.size(), size));
    f.remedy =
        "give the flight recorder's dumps of all ranks (TORCH_NCCL_TRACE_BUFFER_SIZE=20000, TORCH_NCCL_DUMP_ON_TIMEOUT=1) to "
        "muster diagnose: they tell who is missing";
    f.confidence = Confidence::medium;
  }
  f.cause = "collective_timeout";
  f.expected = first->timeout_ms >= 0 ? fmt::format("done within {} s", first->timeout_ms / 1000) : "";
  f.achieved = first->ran_ms >= 0 ? fmt::format("not done after {} s", first->ran_ms / 1000) : "";
  f.verify = "the job passes that step; muster diagnose of its new dumps finds nothing that hangs";
  return f;
}

std::vector<Finding> timeouts(const NcclLog& log) {
  std::map<std::string, Troubles> groups;
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind == NcclTroubleKind::timeout || t.kind == NcclTroubleKind::standing) groups[t.group].push_back(&t);
  }
  // Old lines name no group: they are of the one whose ranks stand at the same number.
  if (const auto none = groups.find(""); none != groups.end() && groups.size() == 2) {
    auto& [name, named] = *std::next(none);
    const std::int64_t seq = none->second.front()->seq;
    if (std::any_of(named.begin(), named.end(), [&](const NcclTrouble* t) { return t->seq == seq; })) {
      named.insert(named.end(), none->second.begin(), none->second.end());
      groups.erase(none);
    }
  }
  // Those that name the rank to look at before the rest.
  std::vector<Finding> out, rest;
  for (const auto& [group, all] : groups) {
    const Standings ranks = standings(all);
    const bool behind = !not_come(ranks).empty();
    auto differ = behind ? std::optional<Finding>() : uneven(log, group, ranks);
    const bool names = behind || differ;
    (names ? out : rest).push_back(differ ? std::move(*differ) : timeout_of(log, group, all, ranks));
  }
  std::move(rest.begin(), rest.end(), std::back_inserter(out));
  if (out.size() > kNamed) out.resize(kNamed);
  return out;
}

// Ranks that began a communicator, where others of it never did.
void incomplete(const NcclLog& log, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < log.comms.size() && out.size() < 64;) {
    std::size_t end = i;
    while (end < log.comms.size() && log.comms[end].id == log.comms[i].id) ++end;
    const std::uint64_t id = log.comms[i].id;
    const std::uint32_t ranks = log.comms[i].ranks;
    std::set<std::uint32_t> seen;
    std::vector<std::string> waits;
    bool done = false;
    for (std::size_t k = i; k < end; ++k) {
      seen.insert(log.comms[k].rank);
      done = done || log.comms[k].complete;
      if (!log.comms[k].complete) waits.push_back(fmt::format("{}", log.comms[k].rank));
    }
    const std::size_t first = i;
    i = end;
    // A log of a few ranks alone says nothing of the others.
    if (id == 0 || done || ranks < 2 || seen.size() >= ranks || 2 * seen.size() < ranks) continue;
    std::vector<std::string> missing;
    for (std::uint32_t r = 0; r < ranks && missing.size() <= 64; ++r) {
      if (seen.count(r) == 0) missing.push_back(fmt::format("{}", r));
    }
    Finding f;
    f.title = fmt::format("a communicator of {} ranks never began: rank {} did not come", ranks, some(missing, kNamed));
    f.evidence.push_back(
        fmt::format("{}: Init START of {} ranks, Init COMPLETE of none", at(log, log.comms[first].at), seen.size()));
    f.remedy = fmt::format(
        "look at the output of rank {}: its process, its node, whether it reaches the first rank's address "
        "(NCCL_SOCKET_IFNAME)",
        some(missing, kNamed));
    f.verify = "Init COMPLETE on all ranks";
    f.cause = "init_hang";
    f.confidence = Confidence::medium;
    out.push_back(std::move(f));
  }
}

struct Plain {
  NcclTroubleKind kind;
  std::string_view title, remedy;
  Confidence confidence;
  std::string_view cause = {};
};
constexpr Plain kPlain[] = {
    {NcclTroubleKind::wrong_result, "results that cannot be right",
     "drain the node and test its GPUs (dcgmi diag -r 3), then "
     "restart from the last checkpoint before it",
     Confidence::high, "wrong_result"},
    {NcclTroubleKind::cuda, "NCCL met an error of CUDA",
     "look at the node's kernel log for an Xid of that GPU and at memory that "
     "runs out; the first rank to say so is the one to look at",
     Confidence::high},
    {NcclTroubleKind::mismatch, "ranks do not call the same collective",
     "compare the code path of these ranks: a condition that is "
     "not the same on all; TORCH_DISTRIBUTED_DEBUG=DETAIL names the call",
     Confidence::high, "rank_mismatch"},
    {NcclTroubleKind::device_event, "RDMA cards reported errors",
     "look at the card: dmesg (mlx5_core), mlxfwmanager, its PCIe link", Confidence::medium},
    {NcclTroubleKind::peer_closed, "connections were closed by the other end: somebody else died first",
     "look for the first rank "
     "that failed, at the address named here; these lines only follow",
     Confidence::medium, "peer_closed"},
    {NcclTroubleKind::watchdog, "PyTorch's watchdog hung or was told to dump",
     "look at the ranks that timed out first; a watchdog "
     "that hangs waits for the driver or the interpreter's lock (py-spy dump)",
     Confidence::low},
    {NcclTroubleKind::error, "a collective ended with an exception",
     "see the warnings of NCCL before it; set NCCL_DEBUG=WARN where "
     "there are none",
     Confidence::low},
    {NcclTroubleKind::warning, "NCCL warns", "", Confidence::low},
};

using Told = std::set<const NcclTrouble*>;

// Warnings, exceptions and errors of CUDA that tell their cause by themselves.
Told signs(const NcclLog& log, std::vector<Finding>& out) {
  Told told;
  std::map<std::string_view, std::size_t> at_cause;
  for (const NcclTrouble& t : log.troubles) {
    if (t.kind != NcclTroubleKind::warning && t.kind != NcclTroubleKind::cuda && t.kind != NcclTroubleKind::error) continue;
    const SignMatch m = sign_of(t.text);
    const Cause* c = m.cause.empty() ? nullptr : cause_named(m.cause);
    if (c == nullptr) continue;
    told.insert(&t);
    const auto [it, fresh] = at_cause.emplace(m.cause, out.size());
    if (fresh) out.push_back(finding_of(*c, m.confidence));
    Finding& f = out[it->second];
    if (f.evidence.size() < kNamed)
      f.evidence.push_back(fmt::format("{}: {}{}", at(log, t.at), t.host.empty() ? "" : t.host + ": ", t.text));
  }
  return told;
}

void plain(const NcclLog& log, const Told& told, std::vector<Finding>& out) {
  for (const Plain& p : kPlain) {
    std::vector<const NcclTrouble*> all;
    std::uint64_t times = 0;
    for (const NcclTrouble& t : log.troubles) {
      if (t.kind != p.kind || told.count(&t) != 0) continue;
      all.push_back(&t);
      times += t.times;
    }
    if (all.empty()) continue;
    Finding f;
    f.title = fmt::format("{} ({} {})", p.title, times, times == 1 ? "line" : "lines");
    for (const NcclTrouble* t : all) {
      if (f.evidence.size() >= kNamed) break;
      f.evidence.push_back(fmt::format("{}: {}{}{}", at(log, t->at), t->host.empty() ? "" : t->host + ": ", t->text,
                                       t->times > 1 ? fmt::format(", {} times", t->times) : ""));
    }
    f.remedy = std::string(p.remedy);
    f.verify = p.remedy.empty() ? "" : "no such line in the log of the next run";
    f.confidence = p.confidence;
    f.cause = std::string(p.cause);
    out.push_back(std::move(f));
  }
}

}  // namespace

std::string at(const NcclLog& log, const NcclPlace& place) {
  const std::string file = place.file < log.files.size() ? words_or(log.files[place.file], "log") : "log";
  return place.line == 0 ? file : fmt::format("{}:{}", file, place.line);
}

std::string some(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", words[i]);
  if (words.size() > most) out += fmt::format(" and {} more", words.size() - most);
  return out;
}

std::vector<Finding> find_troubles(const NcclLog& log) {
  std::vector<Finding> out;
  for (Finding f : {completions(log), ports(log)}) {
    if (!f.title.empty()) out.push_back(std::move(f));
  }
  for (Finding& f : timeouts(log)) out.push_back(std::move(f));
  incomplete(log, out);
  const Told told = signs(log, out);
  plain(log, told, out);
  return out;
}

}  // namespace muster::diagnose
