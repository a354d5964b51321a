#include "account/site_claims.h"

#include <algorithm>

#include "base/node_list.h"

namespace muster::account {

std::int64_t amount(std::int64_t milli, std::int64_t length_ms) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(milli, length_ms, &out) ? INT64_MAX : out;
}

void note(SiteAccount& a, SiteFault f, std::string_view which, std::int64_t milli_ms, std::int64_t node_ms) {
  FaultSum& x = a.faults[static_cast<std::size_t>(f)];
  ++x.count;
  if (__builtin_add_overflow(x.milli_ms, milli_ms, &x.milli_ms)) x.milli_ms = INT64_MAX;
  if (__builtin_add_overflow(x.node_ms, node_ms, &x.node_ms)) x.node_ms = INT64_MAX;
  if (x.some.size() < kFaultsNamed) x.some.emplace_back(which);
}

void note_run(SiteAccount& a, SiteFault f, const SiteRuns& runs, const SiteRun& r, std::int64_t milli_ms, std::int64_t node_ms) {
  std::string which;
  if (a.of(f).some.size() < kFaultsNamed) {
    which = "job " + render_job(r);
    if (r.line != 0) which += " (" + std::string(runs.text(r.file)) + ":" + std::to_string(r.line) + ")";
  }
  note(a, f, which, milli_ms, node_ms);
}

namespace {

constexpr std::size_t kClaimsMax = 400'000'000;

struct Span {
  std::int64_t from = 0, to = 0;
  bool open = false;
};

// Where each text of a node list leads to: nodes by number.
class Lists {
 public:
  Lists(const SiteRuns& runs, Claims& claims) : runs_(runs), claims_(claims), spans_(runs.node_lists(), {0, 0}) {}

  // Its nodes; empty: the text is no list, or says none. Nodes that are not known yet are added.
  std::pair<const std::uint32_t*, std::size_t> nodes_of(std::uint32_t list) {
    auto& [from, count] = spans_[list];
    if (count == 0) {
      const auto names = expand_node_list(runs_.node_list(list));
      from = static_cast<std::uint32_t>(nodes_.size());
      if (names) {
        for (const std::string& name : *names) nodes_.push_back(number_of(name));
      }
      count = names ? static_cast<std::uint32_t>(names->size()) + 1 : 1;  // plus one: it was looked at
    }
    return {nodes_.data() + from, count - 1};
  }

 private:
  std::uint32_t number_of(const std::string& name) {
    const auto [it, fresh] = claims_.by_name.emplace(name, static_cast<std::uint32_t>(claims_.nodes.size()));
    if (fresh) claims_.nodes.push_back({name, {}, 0, true, 0, 0});
    return it->second;
  }

  const SiteRuns& runs_;
  Claims& claims_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> spans_;
  std::vector<std::uint32_t> nodes_;
};

// The part of a run that lies within the time looked at; nothing where it has none.
bool within(const SiteRuns& runs, const SiteRun& r, const SiteQuestion& q, SiteAccount& out, Span& s) {
  const std::int64_t from = q.from.ms(), to = q.to.ms();
  if (r.started_ms == kNoTime) {
    const bool over = r.ended_ms != kNoTime && r.ended_ms <= from;
    if (!over && r.gpus_milli != 0 && began_unknown(r))
      note_run(out, SiteFault::start_unknown, runs, r, r.gpus_milli > 0 ? amount(r.gpus_milli, std::int64_t{r.ran_s} * 1000) : 0);
    return false;
  }
  if (r.ended_ms == kNoTime && is_over(r.state)) {
    if (r.started_ms < to && r.gpus_milli != 0) note_run(out, SiteFault::end_unknown, runs, r);
    return false;
  }
  if (r.ended_ms != kNoTime && r.ended_ms < r.started_ms) {
    if (r.gpus_milli != 0 && r.started_ms >= from && r.started_ms < to) note_run(out, SiteFault::ends_before_start, runs, r);
    return false;
  }
  const std::int64_t end = r.ended_ms == kNoTime ? to : r.ended_ms;
  s = {std::max(r.started_ms, from), std::min(end, to), r.ended_ms == kNoTime};
  if (s.from >= s.to || r.gpus_milli == 0) return false;
  const std::int64_t had = r.gpus_milli > 0 ? amount(r.gpus_milli, s.to - s.from) : 0;
  if (s.open) note_run(out, SiteFault::open_ended, runs, r, had);
  if (r.started_ms < from || end > to) note_run(out, SiteFault::cut_at_edges, runs, r, had);
  return true;
}

// Thousandths of GPUs for each of `n` nodes: whole GPUs as evenly as they part, and no more than a node has where others have
// room.
void spread(std::int64_t milli, const std::uint32_t* nodes, std::size_t n, const Claims& c, std::vector<std::int64_t>& shares) {
  const auto k = static_cast<std::int64_t>(n);
  shares.resize(n);
  const std::int64_t unit = milli % (kGpuThousandths * k) == 0 || milli % kGpuThousandths == 0 ? kGpuThousandths : 1;
  const std::int64_t units = milli / unit;
  for (std::int64_t i = 0; i < k; ++i) shares[static_cast<std::size_t>(i)] = (units / k + (i < units % k ? 1 : 0)) * unit;
  std::int64_t over = 0;
  const auto cap = [&](std::size_t i) { return c.nodes[nodes[i]].shown ? INT64_MAX : c.nodes[nodes[i]].milli; };
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t more = std::max<std::int64_t>(0, shares[i] - cap(i));
    shares[i] -= more;
    over += more;
  }
  for (std::size_t i = 0; i < n && over > 0; ++i) {
    const std::int64_t room = std::min(over, cap(i) == INT64_MAX ? 0 : cap(i) - shares[i]);
    shares[i] += room;
    over -= room;
  }
  shares[0] += over;  // more than all of them have: that is found where the node is looked at
}

}  // namespace

std::int32_t Claims::find(std::string_view node) const {
  for (std::string name(node); !name.empty();
       name.resize(name.find_last_of(".:") == std::string::npos ? 0 : name.find_last_of(".:"))) {
    const auto it = by_name.find(name);
    if (it != by_name.end()) return static_cast<std::int32_t>(it->second);
  }
  return -1;
}

namespace {

struct Placed {
  Span span;
  std::uint32_t run = 0, list = 0;
};

// Which runs have time in it, and how many claims each node gets.
std::vector<Placed> place(const SiteRuns& runs, const SiteQuestion& q, SiteAccount& out, Lists& lists,
                          std::vector<std::uint32_t>& count) {
  std::vector<Placed> placed;
  placed.reserve(runs.runs().size());
  std::size_t claims = 0;
  for (std::uint32_t i = 0; i < runs.runs().size(); ++i) {
    const SiteRun& r = runs.runs()[i];
    Placed p{{}, i, r.nodes};
    if (!within(runs, r, q, out, p.span)) continue;
    const auto [nodes, n] = lists.nodes_of(r.nodes);
    const std::int64_t span = p.span.to - p.span.from;
    const bool unsaid = r.gpus_milli < 0;
    if (unsaid) note_run(out, SiteFault::gpus_unsaid, runs, r, 0, amount(static_cast<std::int64_t>(n), span));
    if (n == 0) {
      const bool none = runs.node_list(r.nodes).empty();
      note_run(out, none ? SiteFault::no_nodes : SiteFault::bad_node_list, runs, r, unsaid ? 0 : amount(r.gpus_milli, span));
      continue;
    }
    if (r.nodes_said != 0 && r.nodes_said != n)
      note_run(out, SiteFault::nodes_differ, runs, r, unsaid ? 0 : amount(r.gpus_milli, span));
    claims += n;
    if (claims > kClaimsMax) {
      out.too_large = true;
      break;
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (nodes[k] >= count.size()) count.resize(nodes[k] + 1, 0);
      ++count[nodes[k]];
    }
    placed.push_back(p);
  }
  return placed;
}

}  // namespace

Claims claims_of(const SiteRuns& runs, const SiteQuestion& q, SiteAccount& out) {
  Claims c;
  for (const InstalledNode& n : q.nodes) {
    if (!c.by_name.emplace(n.name, static_cast<std::uint32_t>(c.nodes.size())).second) continue;
    c.nodes.push_back({n.name, n.gpu_type, n.gpus_milli, false, 0, 0});
  }
  Lists lists(runs, c);
  std::vector<std::uint32_t> count;
  const auto placed = place(runs, q, out, lists, count);
  count.resize(c.nodes.size(), 0);
  std::uint32_t at = 0;
  for (std::size_t n = 0; n < c.nodes.size(); ++n) {
    c.nodes[n].first = c.nodes[n].last = at;
    at += count[n];
  }
  c.all.resize(at);
  std::vector<std::int64_t> shares;
  for (const Placed& p : placed) {
    const SiteRun& r = runs.runs()[p.run];
    const auto [nodes, n] = lists.nodes_of(p.list);
    if (r.gpus_milli > 0) {
      spread(r.gpus_milli, nodes, n, c, shares);
      if (std::adjacent_find(shares.begin(), shares.end(), std::not_equal_to<>()) != shares.end())
        note_run(out, SiteFault::uneven, runs, r, amount(r.gpus_milli, p.span.to - p.span.from));
    }
    for (std::size_t k = 0; k < n; ++k) {
      ClaimedNode& node = c.nodes[nodes[k]];
      c.all[node.last++] = {p.span.from, p.span.to, r.gpus_milli < 0 ? -1 : shares[k], p.run, p.span.open};
      if (node.shown && node.type.empty()) node.type = runs.text(r.type);
    }
  }
  return c;
}

}  // namespace muster::account
