#include "diagnose/fabric_doctor_signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace muster::diagnose {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLineMax = 8192, kShown = 200, kEvidence = 4, kRanks = 65536;

struct Sign {
  std::string_view cause;
  Confidence confidence;
  std::array<std::string_view, 3> all;  // in small letters; each that is not empty is in the line
  std::string_view none = {};           // and this is not
};
using enum Confidence;

// The first that fits counts: the particular before the general.
constexpr Sign kSigns[] = {
    {"gpu_fault", high, {"uncorrectable nvlink error"}},
    {"gpu_fault", high, {"uncorrectable ecc error"}},
    {"gpu_fault", high, {"fallen off the bus"}},
    {"gpu_fault", medium, {"cuda", "unspecified launch failure"}},
    {"gpu_fault", high, {"nvrm: xid"}},
    {"fabric_manager", high, {"system not yet initialized"}},
    {"fabric_manager", medium, {"nvls.cc", "invalid argument"}, "commreclaim"},
    {"imex", high, {"mnnvl", "not working"}},
    {"imex", medium, {"cuda failure", "operation not permitted"}},
    {"driver_too_old", high, {"driver version is insufficient"}},
    {"driver_mismatch", high, {"driver/library version mismatch"}},
    {"driver_mismatch", high, {"unsupported display driver / cuda driver combination"}},
    {"nvls_memory", high, {"nvls", "out of memory"}},
    {"gpu_memory", high, {"cuda failure", "out of memory"}},
    {"gpu_memory", medium, {"failed to cuda calloc"}},
    {"gpu_memory", medium, {"failed to cuda malloc"}},
    {"gpu_memory", high, {"cuda out of memory"}},
    {"gpu_memory", high, {"hip out of memory"}},
    {"gpu_memory", high, {"torch", "outofmemoryerror"}},
    {"gpu_memory", high, {"resource_exhausted: out of memory"}},
    {"host_memory", high, {"out of memory: kill"}},  // "Kill process" of older kernels, "Killed process"
    {"host_memory", high, {"invoked oom-killer"}},
    {"host_memory", high, {"oom-kill:constraint="}},
    {"host_memory", high, {"detected ", "oom_kill event"}},  // Slurm's words; "oom-kill event" before 22.05
    {"host_memory", high, {"detected ", "oom-kill event"}},
    {"host_memory", medium, {"oomkilled"}, "false"},  // Kubernetes
    {"corrupt_data", high, {"out of bounds values :", "failed"}},
    {"shm_too_small", high, {"posix_fallocate", "no space left"}},
    {"shm_too_small", high, {"/dev/shm", "no space left"}},
    {"shm_too_small", medium, {"failed to extend /dev/shm"}},
    {"shm_too_small", high, {"insufficient shared memory"}},
    {"shm_too_small", medium, {"error while creating shared memory segment"}, "invalid argument"},
    {"memlock_limit", high, {"ibv_", "cannot allocate memory"}},
    {"memlock_limit", medium, {"fi_mr_reg", "cannot allocate memory"}},
    // Without the reason: what these calls lack most often is memory that may be locked.
    {"memlock_limit", medium, {"call to ibv_create_cq failed"}, "with error"},
    {"memlock_limit", medium, {"call to ibv_create_qp failed"}, "with error"},
    {"memlock_limit", medium, {"call to ibv_reg_mr", " failed"}, "with error"},
    {"open_files_limit", high, {"too many open files"}},
    {"device_ordinal", high, {"invalid device ordinal"}},
    {"duplicate_gpu", high, {"duplicate gpu detected"}},
    {"peer_mapping_limit", high, {"peer mapping resources exhausted"}},
    {"peer_mapping_limit", high, {"cuda_error_too_many_peers"}},
    {"no_interface", high, {"no socket interface found"}},
    {"no_interface", high, {"is neither af_inet"}},
    {"no_interface", medium, {"socket creation failed", "address family not supported"}},
    {"rdma_not_in_container", high, {"ibv_open_device failed"}},
    {"rdma_not_in_container", high, {"net/ib", "unable to open device"}},
    {"rdma_not_in_container", medium, {"no userspace device-specific driver found"}},
    {"efa_provider", high, {"provider efa output empty list"}},
    {"efa_provider", high, {"net/ofi", "no eligible providers"}},
    {"efa_provider", medium, {"net/ofi", "unable to find a protocol"}},
    {"rank_mismatch", high, {"collective mismatch error"}},
    {"rank_mismatch", high, {"mismatched collective detected"}},
    {"rank_mismatch", high, {"message truncated"}},
    {"rdma_unreachable", high, {"ibv_modify_qp failed"}},
    {"pcie_acs", medium, {"got completion", "error 4,"}},
    {"pcie_acs", medium, {"got completion", "status=4 "}},
    {"rdma_unreachable", medium, {"got completion", "error 12,"}},
    {"rdma_unreachable", medium, {"got completion", "status=12 "}},
    {"rdma_card_fault", high, {"async", "catastrophic"}},
    {"rdma_card_fault", high, {"async", "device fatal"}},
    {"rdma_card_fault", high, {"mlx5_core", "health compromised"}},
    {"link_flap", high, {"async", "port error"}},
    {"iommu", medium, {"missing \"iommu=pt\""}},
    {"iommu", high, {"io_page_fault"}},
    {"iommu", high, {"dmar:", "fault addr"}},
    {"wrong_interface", high, {"connect to 127.", "failed"}},
    {"wrong_interface", high, {"connect to ::1", "failed"}},
    {"wrong_interface", medium, {"connect to fe80:", "failed"}},
    {"wrong_interface", medium, {"connect to 169.254.", "failed"}},
    {"wrong_interface", medium, {"connect to 172.17.", "failed"}},  // docker0's own
    {"peer_unreachable", high, {"connect to ", "failed : "}},
    {"peer_unreachable", medium, {"call to connect ", "timed out"}},
    {"peer_unreachable", medium, {"call to connect ", "refused"}},
    {"peer_unreachable", medium, {"call to connect ", "unreachable"}},
    {"peer_unreachable", medium, {"call to connect ", "no route"}},
    {"peer_unreachable", high, {"client socket has timed out", "connect to"}},
    {"peer_unreachable", high, {"client socket has failed to connect"}},
    {"topology_file", high, {"could not open xml"}},
    {"topology_file", high, {"xml parse error"}},
    {"no_gpudirect", medium, {"net/ib", "gpu direct rdma disabled for hca"}},
    {"no_gpudirect", medium, {"] via net/ib"}, "/gdrdma"},
    {"vm_topology", medium, {"could not find real path of /sys/class/pci_bus"}},
    {"speed_guess", Confidence::low, {"could not get speed from", "defaulting to 10 gbps"}},
    {"peer_closed", medium, {"connection closed by remote peer"}},
    {"peer_closed", medium, {"nccl warn", "connection reset by peer"}},
    {"peer_closed", medium, {"remote process exited or there was a network error"}},
};

// "... NCCL INFO + PCI[0.2] - PCI/0-65000": a link that carries nothing is one whose speed is not known.
bool idle_link(std::string_view low) {
  const std::size_t at = low.find("+ pci[");
  if (at == npos || low.find("nccl info") == npos) return false;
  const auto end = low.find(']', at);
  const auto speed = end == npos ? std::nullopt : parse_double(low.substr(at + 6, end - at - 6));
  return speed && *speed < 1;
}

// "NVRM: Xid (PCI:0000:3b:00): 45, pid=12": what a program did, or what became of it when it was ended. The GPU has nothing.
bool xid_of_program(std::string_view low) {
  const std::size_t at = low.find("nvrm: xid");
  const std::size_t close = at == npos ? npos : low.find("): ", at);
  if (close == npos) return false;
  const std::string_view rest = low.substr(close + 3);
  const auto xid = parse_uint(rest.substr(0, rest.find_first_not_of("0123456789")));
  return xid && (*xid == 13 || *xid == 31 || *xid == 43 || *xid == 45);
}

// "n1" of "n1:12:13 [0] NCCL INFO ..."; empty: it is not told.
std::string host_of(std::string_view line) {
  const std::size_t mark = line.find(" [");
  if (mark == npos) return {};
  std::string_view word = line.substr(0, mark);
  word = word.substr(word.find_last_of(" >") == npos ? 0 : word.find_last_of(" >") + 1);
  const std::size_t colon = word.find(':');
  return colon == npos || colon == 0 ? std::string() : printable(word.substr(0, std::min<std::size_t>(colon, 64)));
}

// 3 of "[rank3]: ...", "[Rank 3] ...", "[PG ID 0 PG GUID 0 Rank 3] ...": whose line it is; -1: it is not told.
int rank_in(std::string_view line) {
  const std::string head = lower(line.substr(0, 128));
  const std::size_t open = head.find('[');
  for (std::size_t at = head.find("rank"); at != npos && open < at; at = head.find("rank", at + 4)) {
    std::size_t from = at + 4;
    while (from < head.size() && head[from] == ' ') ++from;
    std::size_t end = from;
    while (end < head.size() && head[end] >= '0' && head[end] <= '9') ++end;
    const auto rank = end < head.size() && head[end] == ']' ? parse_uint(std::string_view(head).substr(from, end - from))
                                                            : std::optional<std::uint64_t>();
    if (rank && *rank < 100'000'000) return static_cast<int>(*rank);
  }
  return -1;
}

}  // namespace

SignMatch sign_of(std::string_view line) {
  const std::string low = lower(line.substr(0, kLineMax));
  for (const Sign& s : kSigns) {
    const bool here = std::all_of(s.all.begin(), s.all.end(), [&](std::string_view w) { return low.find(w) != npos; });
    if (!here || (!s.none.empty() && low.find(s.none) != npos) || (s.all[0] == "nvrm: xid" && xid_of_program(low))) continue;
    return {s.cause, s.confidence};
  }
  if (idle_link(low)) return {"vm_topology", medium};
  return {};
}

void SignReader::begin_file(std::string_view name) {
  if (!carry_.empty()) line(carry_);
  carry_.clear();
  too_long_ = false;
  number_ = 0;
  headers_ = averages_ = 0;
  first_ranks_.clear();
  file_ = printable(name.substr(0, kShown));
}

void SignReader::note(std::string_view cause, Confidence confidence, std::string_view text) {
  SeenSign& s = seen_[cause];
  s.cause = cause;
  s.confidence = s.times == 0 ? confidence : std::max(s.confidence, confidence);
  ++s.times;
  if (const int rank = rank_in(text); rank >= 0 && s.ranks.size() < kRanks) s.ranks.insert(rank);
  if (s.evidence.size() < kEvidence)
    s.evidence.push_back(fmt::format("{}:{}: {}", file_, number_, printable(trim(text).substr(0, kShown))));
}

// Several copies at once: a second beginning or end where the first is not through, two ranks 0.
void SignReader::tests_line(std::string_view text) {
  if (text.find("nThread ") != npos && text.find("minBytes ") != npos) {
    if (++headers_ > 1 && averages_ == 0) note("tests_without_mpi", high, text);
    averages_ = 0;
    first_ranks_.clear();
  } else if (text.find("Avg bus bandwidth") != npos) {
    if (++averages_ > 1) note("tests_without_mpi", high, text);
    headers_ = 0;
  } else if (const std::size_t rank = text.find("Rank  0 "); rank != npos && text.find(" Pid ") != npos) {
    const std::string_view pid = trim(text.substr(text.find(" Pid ") + 5));
    if (first_ranks_.size() < 64) first_ranks_.insert(std::string(pid.substr(0, pid.find(' '))));
    if (first_ranks_.size() > 1) note("tests_without_mpi", high, text);
  }
}

void SignReader::line(std::string_view text) {
  ++number_;
  text = text.substr(0, kLineMax);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return;
  tests_line(text);
  if (text.find("libnccl-net") != npos || text.find("NET/Plugin") != npos) {
    const std::string host = host_of(text);
    const bool has = text.find("Plugin Path :") != npos,
               lacks = text.find("Could not find: libnccl-net") != npos || text.find("No plugin found") != npos;
    auto& hosts = has ? with_plugin_ : without_plugin_;
    if (!host.empty() && (has || lacks) && hosts.size() < 4096) {
      hosts.insert(host);
      const bool other = std::any_of((has ? without_plugin_ : with_plugin_).begin(), (has ? without_plugin_ : with_plugin_).end(),
                                     [&](const auto& h) { return h != host; });
      if (other && with_plugin_.count(host) + without_plugin_.count(host) == 1) note("plugin_mismatch", medium, text);
    }
    return;
  }
  if (const SignMatch m = sign_of(text); !m.cause.empty()) note(m.cause, m.confidence, text);
}

void SignReader::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(end == npos ? text.size() : end + 1);
    if (end != npos && carry_.empty() && !too_long_) {
      line(piece);
      continue;
    }
    if (!too_long_) carry_ += piece.substr(0, kLineMax - std::min(kLineMax, carry_.size()));
    too_long_ = carry_.size() >= kLineMax;
    if (end == npos) continue;
    line(carry_);
    carry_.clear();
    too_long_ = false;
  }
}

std::vector<SeenSign> SignReader::finish() {
  if (!carry_.empty()) line(carry_);
  carry_.clear();
  std::vector<SeenSign> out;
  for (const Cause* c : known_causes()) {
    if (const auto it = seen_.find(c->name); it != seen_.end()) out.push_back(std::move(it->second));
  }
  seen_.clear();
  return out;
}

}  // namespace muster::diagnose
