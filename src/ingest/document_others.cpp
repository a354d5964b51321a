// What is wrong by the word of NCCL's RAS, of ibqueryerrors and of amd-smi.
#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "ingest/amd_smi.h"
#include "ingest/documents.h"
#include "ingest/ib_errors.h"
#include "ingest/nccl_ras.h"
#include "ingest/pci.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;

struct Own {
  std::string_view code;
  const char* fault;  // of the catalogue; empty: the words that follow
  const char *meaning, *severity, *scope, *action;
};

DocumentProblem problem(const Own& o, std::string words) {
  DocumentProblem p;
  p.code = o.code;
  p.fault = o.fault;
  p.meaning = o.meaning;
  p.severity = o.severity;
  p.scope = o.scope;
  p.action = o.action;
  p.words = std::move(words);
  return p;
}

constexpr const char* kRasDead = "NCCL RAS keepalive warn/dead";
constexpr Own kRas[] = {
    {"DEAD", kRasDead, "", "", "", ""},
    {"TIMEOUT", kRasDead, "", "", "", ""},
    {"INCOMPLETE", "", "Ranks of a communicator have not answered RAS: dead, or too busy to answer", "error", "app",
     "Locate the ranks; look at their processes and nodes"},
    {"MISMATCH", "", "Ranks of a communicator are not equally far: a moment's difference, or those behind (or ahead) hang",
     "warning", "app", "Ask again in a few seconds; where it stays, look at the ranks that are named"},
    {"NOCOMM", "", "Processes of the job have no communicator: they have not begun, or have ended", "info", "app",
     "Look whether they should have one"},
};
constexpr Own kRasOther = {"",        "",    "NCCL's RAS names a problem of a kind that this Muster does not know",
                           "warning", "app", "Read its own words; nothing is advised"};

std::string who(const RasProblem& p) {
  constexpr std::size_t kNamed = 4;
  std::string out;
  for (std::size_t i = 0; i < p.members.size() && i < kNamed; ++i) {
    const RasMember& m = p.members[i];
    out += out.empty() ? "" : "; ";
    if (m.rank >= 0) out += fmt::format("rank {}", m.rank);
    if (m.pid >= 0) out += fmt::format("{}process {}", m.rank >= 0 ? ", " : "", m.pid);
    if (!m.node.empty()) out += " on " + m.node;
    if (!m.gpus.empty()) out += ", GPU " + m.gpus;
  }
  if (p.members.size() > kNamed) out += fmt::format("; and {} more", p.members.size() - kNamed);
  return out;
}

// Heads of problems stand at the beginning of a line, in their order; what belongs to one is indented.
void number_lines(std::string_view text, const RasReport& r, DocumentReading& out) {
  std::size_t next = 0;
  DocumentProblem* current = nullptr;
  bool begun = false;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, std::min(end, kRasLineMax));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = trim(raw);
    begun = begun || line == "Errors" || line == "Warnings";
    if (line.empty() || !begun) {
      current = nullptr;
    } else if (raw.front() == ' ') {
      if (current != nullptr) current->line_last = number;
    } else if (next < r.problems.size() && line.ends_with(r.problems[next].what)) {
      current = &out.problems[next++];
      current->line_first = current->line_last = number;
    }
  }
}

// ibqueryerrors' names of the counters, and the catalogue's.
constexpr std::pair<std::string_view, const char*> kCounters[] = {
    {"SymbolErrorCounter", "IB symbol_error"},
    {"LinkErrorRecoveryCounter", "IB link_error_recovery"},
    {"LinkDownedCounter", "IB link_downed"},
    {"PortRcvErrors", "IB port_rcv_errors"},
    {"PortRcvRemotePhysicalErrors", "IB port_rcv_remote_physical_errors"},
    {"PortRcvSwitchRelayErrors", "IB port_rcv_switch_relay_errors"},
    {"PortXmitDiscards", "IB port_xmit_discards"},
    {"PortXmitConstraintErrors", "IB port_xmit_constraint_errors"},
    {"PortRcvConstraintErrors", "IB port_rcv_constraint_errors"},
    {"LocalLinkIntegrityErrors", "IB local_link_integrity_errors"},
    {"ExcessiveBufferOverrunErrors", "IB excessive_buffer_overrun_errors"},
    {"VL15Dropped", "IB VL15_dropped"},
    {"PortXmitWait", "IB port_xmit_wait"},
};
constexpr Own kOtherCounter = {"",        "",       "A port's counter is beyond the threshold that ibqueryerrors was given",
                               "warning", "fabric", "Look at the port, its cable and the other end"};
constexpr Own kNoAnswer = {"no_answer", "",       "A part of the fabric did not answer ibqueryerrors: down, or cut off",
                           "warning",   "fabric", "Look whether the node or switch is up, and at its link"};

// What a port has carried, told beside the errors.
bool traffic(std::string_view counter) {
  return counter.ends_with("Data") || counter.ends_with("Pkts") || counter.ends_with("Packets");
}

void add_counter(const IbPortErrors& port, const std::pair<std::string, std::uint64_t>& c, std::uint64_t line,
                 DocumentReading& out) {
  const auto* it = std::find_if(std::begin(kCounters), std::end(kCounters), [&](const auto& k) { return k.first == c.first; });
  const bool stopped = c.second == 65535 || c.second == 255;  // those of 16 and of 8 bits
  DocumentProblem p = problem(kOtherCounter, fmt::format("{}, port {}: {}{}{}", port.node.empty() ? "a node" : port.node,
                                                         port.port < 0 ? "ALL" : std::to_string(port.port), c.second,
                                                         stopped ? " (where the counter stops)" : "",
                                                         port.link.empty() ? "" : "; link " + std::string(trim(port.link))));
  p.code = c.first;
  if (it != std::end(kCounters)) p.fault = it->second;
  p.line_first = p.line_last = line;
  out.problems.push_back(std::move(p));
}

constexpr Own kAmd[] = {
    {"ecc_uncorrectable", "", "The GPU's memory or caches had errors that could not be corrected", "fatal", "gpu",
     "DRAIN; RESET_GPU; repeat -> RMA"},
    {"ecc_deferred", "", "Damaged data was found and set aside: it fails the program that uses it", "warning", "gpu",
     "Look for bad pages; RESET_GPU at job end"},
    {"bad_page_pending", "", "Bad pages of the GPU's memory wait for a reset to be retired", "warning", "gpu",
     "RESET_GPU at job end"},
    {"bad_page_unreservable", "", "Bad pages of the GPU's memory could not be set aside: programs may still get them", "error",
     "gpu", "DRAIN; RESET_GPU; repeat -> RMA"},
};

// Past the object that begins at `at`; npos: its end is not there.
std::size_t object_end(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_text = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return npos;
}

// A list of those GPUs that are there to their end, of a JSON that is cut off or several in a row.
std::string whole_gpus(std::string_view text) {
  std::string out;
  for (std::size_t at = text.find('{'); at != npos; at = text.find('{', at)) {
    std::size_t end = npos;
    if (trim(text.substr(at + 1, 64)).starts_with("\"gpu\"")) {
      end = object_end(text, at);
      if (end == npos) break;
      out += (out.empty() ? "[" : ",") + std::string(text.substr(at, end - at));
    }
    at = end == npos ? at + 1 : end;
  }
  return out.empty() ? "[]" : out + "]";
}

}  // namespace

void read_nccl_ras(std::string_view text, DocumentReading& out) {
  const RasReport r = parse_nccl_ras(text);
  out.source = "nccl_ras";
  out.what = fmt::format("a report of NCCL's RAS{}", r.gpus < 0 ? "" : fmt::format(" on a job of {} GPUs", r.gpus));
  for (const RasProblem& p : r.problems) {
    const auto* o = std::find_if(std::begin(kRas), std::end(kRas), [&](const Own& k) { return k.code == p.what; });
    const std::string names = who(p);
    DocumentProblem d = problem(o == std::end(kRas) ? kRasOther : *o, names.empty()    ? p.text
                                                                      : p.text.empty() ? names
                                                                                       : p.text + ": " + names);
    d.code = p.what;
    if (p.members.size() == 1) d.pid = p.members[0].pid;
    out.problems.push_back(std::move(d));
  }
  number_lines(text, r, out);
  if (r.not_understood > 0) out.notes.push_back(fmt::format("{} lines in a form that is not known", r.not_understood));
  if (r.left_out > 0) out.notes.push_back(fmt::format("{} problems or ranks too many: not read", r.left_out));
}

void read_ib_errors(std::string_view text, DocumentReading& out) {
  const IbErrors e = parse_ib_errors(text);
  out.source = "ibqueryerrors";
  out.what = e.ports_checked < 0 ? "ibqueryerrors" : fmt::format("ibqueryerrors of {} ports", e.ports_checked);
  Lines lines(text);
  std::set<std::uint64_t> single;  // nodes whose ports are told one by one: the sum over all says it again
  for (const IbPortErrors& p : e.ports) {
    if (p.port >= 0) single.insert(p.guid);
  }
  std::size_t from = 0;
  for (const IbPortErrors& p : e.ports) {
    // Each port that was read has its line, in the same order; lines in between were not understood.
    const std::string mark = p.port < 0 ? " port ALL:" : fmt::format(" port {}:", p.port);
    const std::size_t at = text.find(mark, from);
    from = at == npos ? text.size() : at + 1;
    if (p.port < 0 && single.count(p.guid) != 0) continue;
    for (const auto& c : p.counters) {
      if (c.second > 0 && !traffic(c.first)) add_counter(p, c, lines.of(at == npos ? 0 : at), out);
      if (out.problems.size() > kDocumentProblemsMax) return;
    }
  }
  for (const std::string& w : e.warnings) {
    DocumentProblem p = problem(kNoAnswer, w);
    const std::size_t at = text.find("ibwarn: ");
    p.line_first = p.line_last = lines.of(at == npos ? 0 : at);
    out.problems.push_back(std::move(p));
  }
  if (!e.complete) out.notes.push_back("its summary is missing: it was cut off, or did not finish");
  if (e.not_understood > 0) out.notes.push_back(fmt::format("{} lines in a form that is not known", e.not_understood));
  if (e.left_out > 0) out.notes.push_back(fmt::format("{} ports or counters too many: not read", e.left_out));
}

void read_amd_smi(std::string_view text, DocumentReading& out) {
  out.source = "amd_smi";
  out.what = "amd-smi's JSON";
  auto smi = parse_amd_smi(text);
  if (!smi) {
    out.broken = "it could not be read as a whole: " + printable(smi.error().what);
    smi = parse_amd_smi(whole_gpus(text));
    if (!smi || smi->gpus.empty()) return;
  }
  out.what = fmt::format("amd-smi's JSON of {} GPU{}", smi->gpus.size(), smi->gpus.size() == 1 ? "" : "s");
  Lines lines(text);
  std::size_t from = 0;
  for (const AmdGpu& g : smi->gpus) {
    const std::size_t at = std::min(text.find("\"gpu\"", from), text.size());
    from = std::min(at + 1, text.size());
    const auto address = read_pci(g.bdf);
    const auto add = [&](DocumentProblem p) {
      p.line_first = p.line_last = lines.of(at);
      p.pci = address ? render(*address) : g.bdf;
      out.problems.push_back(std::move(p));
    };
    const std::string name = g.gpu < 0 ? "a GPU" : fmt::format("GPU {}", g.gpu);
    const std::optional<double> counts[] = {g.uncorrected, g.deferred, g.pages_pending, g.pages_unreservable};
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      if (counts[i].value_or(0) > 0) add(problem(kAmd[i], fmt::format("{}: {:.0f}", name, *counts[i])));
    }
    if (g.pcie_width && g.pcie_width_max && *g.pcie_width > 0 && *g.pcie_width < *g.pcie_width_max)
      add(problem({"pcie_width", "PCIe link gen/width", "", "", "", ""},
                  fmt::format("{}: {:.0f} of {:.0f} lanes", name, *g.pcie_width, *g.pcie_width_max)));
    if (g.hotspot_c && g.slowdown_hotspot_c && *g.slowdown_hotspot_c > 0 && *g.hotspot_c > *g.slowdown_hotspot_c - 5)
      add(problem({"gpu_temp", "GPU temp", "", "", "", ""},
                  fmt::format("{}: {:.0f} C, slows down at {:.0f} C", name, *g.hotspot_c, *g.slowdown_hotspot_c)));
  }
  if (smi->not_understood > 0) out.notes.push_back(fmt::format("{} values in a form that is not known", smi->not_understood));
  if (smi->left_out > 0) out.notes.push_back(fmt::format("{} GPUs too many: not read", smi->left_out));
}

}  // namespace muster
