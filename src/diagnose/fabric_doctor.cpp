#include "diagnose/fabric_doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/nccl.h"
#include "diagnose/nccl_troubles.h"

namespace muster::diagnose {
namespace {

// "job.log:12:" of "job.log:12: what it says"; empty: it names no line, and another of the same file is not the same.
std::string line_of(const std::string& evidence) {
  const std::size_t end = evidence.find(": ");
  const std::size_t colon = end == std::string::npos || end == 0 ? end : evidence.rfind(':', end - 1);
  if (end == std::string::npos || colon == std::string::npos) return {};
  return parse_uint(std::string_view(evidence).substr(colon + 1, end - colon - 1)) ? evidence.substr(0, end + 1) : "";
}

// By which findings of the same cause become one.
class Verdicts {
 public:
  void add(Finding f) {
    if (f.cause.empty()) return advice_.push_back(std::move(f));
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const Finding& x) { return x.cause == f.cause; });
    if (it == all_.end()) return all_.push_back(std::move(f));
    for (std::string& e : f.evidence) {
      // The same line of the same file, in other words.
      const std::string place = line_of(e);
      const bool known = std::any_of(it->evidence.begin(), it->evidence.end(),
                                     [&](const std::string& x) { return x == e || (!place.empty() && x.starts_with(place)); });
      if (it->evidence.size() < 8 && !known) it->evidence.push_back(std::move(e));
    }
    it->confidence = std::max(it->confidence, f.confidence);
  }
  void add(std::vector<Finding> all) {
    for (Finding& f : all) add(std::move(f));
  }
  Finding* find(std::string_view cause) {
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const Finding& f) { return f.cause == cause; });
    return it == all_.end() ? nullptr : &*it;
  }
  void rename(std::string_view from, std::string_view to, std::string evidence) {
    Finding* f = find(from);
    const Cause* c = cause_named(to);
    if (f == nullptr || c == nullptr) return;
    Finding renamed = finding_of(*c, f->confidence);
    renamed.evidence = std::move(f->evidence);
    renamed.evidence.push_back(std::move(evidence));
    std::erase_if(all_, [&](const Finding& x) { return x.cause == from; });
    add(std::move(renamed));
  }
  std::vector<Finding> all_, advice_;
};

bool virtual_interface(std::string_view n) {
  for (const std::string_view p : {"veth", "docker", "virbr", "br-", "cni", "flannel", "cali", "ip6tnl", "tun", "lxc"}) {
    if (n.starts_with(p)) return true;
  }
  return n == "lo";
}

// Ranks that do not reach each other, where one of the interfaces is none that leads to another node.
void interfaces(const NcclLog& log, Verdicts& v) {
  if (v.find("peer_unreachable") == nullptr) return;
  for (const NcclHost& h : log.hosts) {
    std::vector<std::string> names = h.interfaces;
    if (!h.oob.empty()) names.push_back(h.oob);
    const auto it = std::find_if(names.begin(), names.end(), virtual_interface);
    if (it == names.end()) continue;
    return v.rename("peer_unreachable", "wrong_interface",
                    fmt::format("{}: {} has {} among its interfaces", at(log, h.devices_at), h.name, *it));
  }
}

// The same rails under the same names on all nodes.
void cards(const NcclLog& log, Verdicts& v) {
  std::map<std::vector<std::string>, const NcclHost*> sets;
  for (const NcclHost& h : log.hosts) {
    std::vector<std::string> names;
    for (const NcclDevice& d : h.devices) names.push_back(d.name);
    std::sort(names.begin(), names.end());
    if (!names.empty()) sets.emplace(std::move(names), &h);
  }
  const Cause* c = cause_named("wrong_nics");
  if (sets.size() < 2 || c == nullptr) return;
  // Fewer of them is another finding, that names the node.
  std::set<std::size_t> sizes;
  for (const auto& [names, host] : sets) sizes.insert(names.size());
  if (sizes.size() > 1) return;
  Finding f = finding_of(*c, log.troubles.empty() ? Confidence::low : Confidence::medium);
  for (const auto& [names, host] : sets) {
    if (f.evidence.size() < 4)
      f.evidence.push_back(fmt::format("{}: {}: {}", at(log, host->devices_at), host->name, some(names, 8)));
  }
  v.add(std::move(f));
}

// Slow by somebody's own choice, or where nothing faster is known to be there.
bool by_choice(const Finding& f, const NcclLog& log) {
  if (f.cause != "tcp_instead_of_rdma" && f.cause != "p2p_through_host") return false;
  if (f.confidence != Confidence::high) return true;
  return f.cause == "tcp_instead_of_rdma" &&
         std::none_of(log.hosts.begin(), log.hosts.end(), [](const NcclHost& h) { return !h.devices.empty(); });
}

// Whose lines they were, where they say so: the rank is what one looks for next.
void name_ranks(const std::vector<SeenSign>& signs, Verdicts& v) {
  for (const SeenSign& s : signs) {
    Finding* f = v.find(s.cause);
    if (f == nullptr || s.ranks.empty()) continue;
    std::vector<std::string> ranks;
    for (const int rank : s.ranks) ranks.push_back(fmt::format("{}", rank));
    f->title += fmt::format(" ({} {})", ranks.size() == 1 ? "rank" : "ranks", some(ranks, 8));
  }
}

// A closed connection, an exception and a timeout only follow where the cause is told.
bool follows(const Finding& f) { return f.cause == "peer_closed" || f.cause == "collective_timeout"; }

int rank_of(const Finding& f) {
  const Cause* c = cause_named(f.cause);
  return c == nullptr ? 99 : c->rank;
}

std::vector<std::string> looked_for(const DoctorMaterial& m) {
  std::vector<std::string> out;
  if (m.log.lines > 0 || m.log.nccl_lines > 0)
    out.push_back(fmt::format(
        "{} lines of logs: warnings of NCCL, CUDA, libfabric and the kernel, paths, settings, versions, cards", m.log.lines));
  if (!m.benches.empty()) out.emplace_back("tables of nccl-tests: bandwidth that falls with size, copies that ran side by side");
  if (!m.ports.empty()) out.push_back(fmt::format("{} PCIe devices: ACS, narrow links", m.ports.size()));
  if (!m.topologies.empty() || !m.matrices.empty() || !m.graphs.empty())
    out.emplace_back("the node's topology: cards far from GPUs, links of unknown speed, GPUDirect");
  if (!m.errors.empty()) out.push_back(fmt::format("error counters of {} ports", m.errors.size()));
  if (!m.roce.empty() || !m.counters.empty())
    out.emplace_back("lossless Ethernet: the order of marks and pauses, priorities, headroom, lost packets");
  if (!m.log.settings.empty()) out.push_back(fmt::format("{} settings of NCCL", m.log.settings.size()));
  return out;
}

}  // namespace

Finding doctor_finding(std::string_view cause, std::string title, Confidence confidence) {
  Finding f;
  f.cause = std::string(cause);
  f.title = std::move(title);
  f.confidence = confidence;
  return f;
}

Examination examine(const DoctorMaterial& m, std::span<const GpuModel> gpus, const NcclHint& hint) {
  Verdicts v;
  v.add(find_in_nccl_log(m.log, gpus, hint));
  v.add(check_tables(m));  // before the lines: it tells how much and at which size
  for (const SeenSign& s : m.signs) {
    const Cause* c = cause_named(s.cause);
    if (c == nullptr) continue;
    Finding f = finding_of(*c, s.confidence);
    f.evidence = s.evidence;
    if (s.times > f.evidence.size()) f.evidence.push_back(fmt::format("{} such lines", s.times));
    v.add(std::move(f));
  }
  v.add(m.slow);
  v.add(check_wiring(m));
  v.add(check_roce(m));
  name_ranks(m.signs, v);
  interfaces(m.log, v);
  cards(m.log, v);
  // What is only history explains nothing.
  if (const Finding* flap = v.find("link_flap"); flap != nullptr && flap->confidence != Confidence::low)
    std::erase_if(v.all_, [](const Finding& f) { return f.cause == "rdma_unreachable"; });

  Examination out;
  out.looked_for = looked_for(m);
  for (Finding& f : v.all_) {
    const bool advice = f.confidence == Confidence::low || by_choice(f, m.log);
    (advice ? out.advice : out.verdicts).push_back(std::move(f));
  }
  for (Finding& f : v.advice_) out.advice.push_back(std::move(f));
  std::stable_sort(out.verdicts.begin(), out.verdicts.end(),
                   [](const Finding& x, const Finding& y) { return rank_of(x) < rank_of(y); });
  if (out.verdicts.size() > 1) {
    for (std::size_t i = 1; i < out.verdicts.size(); ++i) {
      if (follows(out.verdicts[i])) out.verdicts[i].title += " (it may only follow from the above)";
    }
  }
  out.forecast = forecast_roce(m.roce);
  return out;
}

}  // namespace muster::diagnose
