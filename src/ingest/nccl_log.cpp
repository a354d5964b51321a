#include "ingest/nccl_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "ingest/nccl_tuning.h"
#include "ingest/nccl_words.h"
#include "ingest/train_log.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kTextMax = 240, kNameMax = 120;
constexpr std::uint64_t kRanksMax = 100'000'000;
constexpr std::array<std::string_view, 2> kMarks = {" NCCL INFO ", " RCCL INFO "};

std::string kept(std::string_view s, std::size_t most = kTextMax) { return printable(trim(s.substr(0, most))); }

bool name_char(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

void add_once(std::vector<std::string>& list, std::string word) {
  if (list.size() < 32 && std::find(list.begin(), list.end(), word) == list.end()) list.push_back(std::move(word));
}

// "node7:1234:1301 [3]": whose line it is.
struct Speaker {
  std::string_view host;
  std::string thread, process;  // as keys: "node7:1234:1301", "node7:1234"
  int gpu = -1;
  std::size_t begins = 0;  // in what was given
};

std::optional<Speaker> speaker_of(std::string_view before) {
  const std::size_t close = before.find_last_not_of(' ');
  if (close == npos || before[close] != ']') return {};
  const std::size_t open = before.rfind('[');
  if (open == npos || open + 1 >= close) return {};
  const auto gpu = parse_int(before.substr(open + 1, close - open - 1));
  if (!gpu || *gpu < -1 || *gpu > 1024) return {};
  const std::size_t end = before.substr(0, open).find_last_not_of(' ');
  if (end == npos) return {};
  const std::size_t from = before.substr(0, end).find_last_of(" \t>");
  std::string_view word = before.substr(from == npos ? 0 : from + 1, end - (from == npos ? 0 : from + 1) + 1);
  // Open MPI puts its mark before the host without a blank: "[1,0]<stdout>:node7:1:2".
  if (word.starts_with(':')) word.remove_prefix(1);
  if (const std::size_t mark = word.rfind("]:"); mark != npos) word.remove_prefix(mark + 2);
  const std::size_t tid = word.rfind(':');
  if (tid == npos || tid == 0) return {};
  const std::size_t pid = word.rfind(':', tid - 1);
  if (pid == npos || pid == 0) return {};
  if (!parse_uint(word.substr(pid + 1, tid - pid - 1)) || !parse_uint(word.substr(tid + 1))) return {};
  Speaker out;
  out.host = word.substr(0, pid).substr(0, kNameMax);
  out.thread = std::string(word.substr(0, kTextMax));
  out.process = std::string(word.substr(0, tid).substr(0, kTextMax));
  out.gpu = static_cast<int>(*gpu);
  out.begins = static_cast<std::size_t>(word.data() - before.data());
  return out;
}

NcclTroubleKind kind_of(TrainKind k) {
  switch (k) {
    case TrainKind::ib_completion: return NcclTroubleKind::completion;
    case TrainKind::ib_port_error: return NcclTroubleKind::port_down;
    case TrainKind::ib_port_active: return NcclTroubleKind::port_up;
    case TrainKind::ib_event: return NcclTroubleKind::device_event;
    case TrainKind::peer_closed: return NcclTroubleKind::peer_closed;
    case TrainKind::collective_mismatch: return NcclTroubleKind::mismatch;
    case TrainKind::cuda_failure: return NcclTroubleKind::cuda;
    case TrainKind::nccl_warning: return NcclTroubleKind::warning;
    case TrainKind::nccl_error: return NcclTroubleKind::error;
    case TrainKind::watchdog_timeout: return NcclTroubleKind::timeout;
    case TrainKind::watchdog_failure: return NcclTroubleKind::standing;
    case TrainKind::heartbeat_timeout:
    case TrainKind::dump_signal: return NcclTroubleKind::watchdog;
    case TrainKind::not_a_number:
    case TrainKind::not_repeatable: break;
  }
  return NcclTroubleKind::wrong_result;
}

constexpr std::array<std::string_view, 7> kAlgorithms = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                         "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "SIMPLE"};
template <std::size_t N>
std::string word_or_number(std::string_view word, const std::array<std::string_view, N>& names) {
  const auto n = parse_uint(word);
  return n && *n < N ? std::string(names[*n]) : kept(word, 32);
}

// Bytes of ncclDataType_t, by its number.
constexpr std::array<double, 12> kTypeBytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

using PathKey = std::tuple<NcclTransport, std::string, std::int32_t, bool, bool>;

// "NET/IB/0(8)/GDRDMA/Shared", "P2P/direct pointer/read", "SHM/direct/direct".
std::optional<PathKey> path_of(std::string_view s) {
  s = s.substr(0, s.find(" comm "));  // RCCL goes on
  const std::size_t slash = s.find('/');
  if (slash == npos) return {};
  const std::string_view kind = s.substr(0, slash);
  const std::string_view rest = trim(s.substr(slash + 1));
  PathKey key{NcclTransport::p2p, {}, -1, false, false};
  if (kind == "NET" || kind == "COLLNET") {
    std::get<0>(key) = kind == "NET" ? NcclTransport::net : NcclTransport::collnet;
    const std::size_t name_end = rest.find('/');
    std::get<1>(key) = kept(rest.substr(0, name_end), 48);
    const std::string_view device = name_end == npos ? std::string_view{} : rest.substr(name_end + 1);
    if (const auto n = leading_uint(device, 4096)) std::get<2>(key) = static_cast<std::int32_t>(*n);
    std::get<3>(key) = device.find("/GDRDMA") != npos;
    const std::string_view behind = device.substr(std::min(device.find_first_not_of("0123456789"), device.size()));
    std::get<4>(key) = behind.starts_with('(');
    return key;
  }
  if (kind == "SHM") {
    std::get<0>(key) = NcclTransport::shm;
  } else if (kind != "P2P") {
    return {};
  }
  std::get<1>(key) = kept(until(rest, " /"), 48);
  return key;
}

}  // namespace

struct NcclLogReader::Guts {
  NcclLog out;
  std::string carry;      // of a line that has not ended
  bool too_long = false;  // the rest of the line is passed over
  std::uint32_t file = 0, line = 0;

  std::unordered_map<std::string, std::uint32_t> host_index, thread_comm, pointer_comm;
  std::map<std::pair<std::uint32_t, PathKey>, std::size_t> path_index;
  std::map<std::pair<std::string, std::string>, std::size_t> setting_index;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> choice_index;
  std::map<std::tuple<std::string, double, std::uint32_t>, std::size_t> calls_index;
  std::map<std::string, std::size_t> trouble_index;
  std::map<std::pair<std::string, double>, NcclPick> picks;
  NcclTuningReader tuning;

  NcclPlace here() const { return {file, line}; }

  std::uint32_t host_of(std::string_view name) {
    const std::string key = kept(name, kNameMax);
    const auto it = host_index.find(key);
    if (it != host_index.end()) return it->second;
    if (out.hosts.size() >= kNcclHostsMax) {
      ++out.left_out;
      return UINT32_MAX;
    }
    const auto n = static_cast<std::uint32_t>(out.hosts.size());
    out.hosts.push_back({.name = key});
    host_index.emplace(key, n);
    return n;
  }

  NcclComm* comm_at(const std::unordered_map<std::string, std::uint32_t>& map, const std::string& key) {
    const auto it = map.find(key);
    return it == map.end() ? nullptr : &out.comms[it->second];
  }

  // "ncclCommInitRank comm 0x5581 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x8f1c - Init START"
  void init_line(const Speaker& who, std::string_view s, bool complete) {
    const std::string_view of = after(s, "comm 0x");
    const auto rank = uint_after(of, " rank ", kRanksMax), ranks = uint_after(of, " nranks ", kRanksMax);
    if (of.empty() || !rank || !ranks) return;
    const std::string pointer = fmt::format("{} {}", who.process, until(of, " ").substr(0, 20));
    NcclComm* c = comm_at(pointer_comm, pointer);
    // The same address anew, once the first was done with, is another.
    if (c != nullptr && !complete && c->complete) c = nullptr;
    if (c == nullptr) {
      if (out.comms.size() >= kNcclCommsMax) {
        ++out.left_out;
        return;
      }
      const auto n = static_cast<std::uint32_t>(out.comms.size());
      out.comms.push_back({});
      pointer_comm[pointer] = n;
      thread_comm[who.thread] = n;
      c = &out.comms.back();
      c->at = here();
    }
    c->rank = static_cast<std::uint32_t>(*rank);
    c->ranks = static_cast<std::uint32_t>(*ranks);
    c->host = kept(who.host, kNameMax);
    c->gpu = static_cast<int>(uint_after(of, " cudaDev ", 1024).value_or(static_cast<std::uint64_t>(std::max(0, who.gpu))));
    c->bus = kept(until(after(of, " busId "), " "), 32);
    if (const auto id = parse_hex(until(after(of, " commId "), " "))) c->id = *id;
    c->complete = c->complete || complete;
  }

  // "comm 0x5581 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"
  void shape_line(const Speaker& who, std::string_view s) {
    const std::string_view of = after(s, "comm 0x");
    NcclComm* c = comm_at(pointer_comm, fmt::format("{} {}", who.process, until(of, " ").substr(0, 20)));
    if (c == nullptr) return;
    if (thread_comm.size() < kNcclCommsMax || thread_comm.count(who.thread) != 0)
      thread_comm[who.thread] = static_cast<std::uint32_t>(c - out.comms.data());
    c->nodes = static_cast<std::uint32_t>(uint_after(s, " nNodes ", kRanksMax).value_or(0));
    c->local_ranks = static_cast<std::uint32_t>(uint_after(s, " localRanks ", kRanksMax).value_or(0));
  }

  // "Init timings - ncclCommInitRank: rank 0 nranks 16 total 8.31 (kernels 0.20, alloc 0.31, bootstrap 7.02, ...)"
  void timings_line(const Speaker& who, std::string_view s) {
    NcclComm* c = comm_at(thread_comm, who.thread);
    const auto total = leading_double(after(s, " total "));
    if (c == nullptr || !total) return;
    c->init.total_s = *total;
    c->init.parts_s.clear();
    const std::string_view parts = until(after(s, "("), ")");
    for (const std::string_view part : split(parts, ',')) {
      const std::string_view word = trim(part);
      const std::size_t blank = word.find(' ');
      if (blank == npos || c->init.parts_s.size() >= 16) continue;
      if (const auto t = parse_double(word.substr(blank + 1))) c->init.parts_s.emplace_back(kept(word.substr(0, blank), 32), *t);
    }
  }

  void channels_line(const Speaker& who, std::string_view s) {
    NcclComm* c = comm_at(thread_comm, who.thread);
    if (c == nullptr) return;
    const auto before = [&](std::string_view words) {
      const std::size_t at = s.find(words);
      if (at == npos) return -1;
      std::size_t from = at;
      while (from > 0 && s[from - 1] >= '0' && s[from - 1] <= '9') --from;
      return static_cast<int>(leading_uint(s.substr(from), 4096).value_or(0));
    };
    c->channels = before(" coll channels");
    c->nvls_channels = before(" nvls channels");
    c->p2p_channels = before(" p2p channels");
  }

  void path_line(std::uint32_t host, std::string_view s) {
    const auto key = path_of(s);
    if (!key || host == UINT32_MAX) return;
    NcclHost& h = out.hosts[host];
    const auto it = path_index.find({host, *key});
    if (it != path_index.end()) {
      ++h.paths[it->second].channels;
      return;
    }
    if (h.paths.size() >= kNcclPathsMax || path_index.size() >= kNcclPathsAllMax) {
      ++out.left_out;
      return;
    }
    path_index.emplace(std::pair(host, *key), h.paths.size());
    const auto& [transport, via, device, gdr, proxied] = *key;
    h.paths.push_back({transport, via, device, gdr, proxied, 1, here()});
  }

  // "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
  void devices_line(NcclHost& h, std::string_view s, bool rdma) {
    const std::size_t oob = s.find("; OOB ");
    std::string_view list = s.substr(0, oob);
    if (oob != npos) h.oob = kept(until(s.substr(oob + 6), ":"), 48);
    h.devices_at = h.devices_at.line == 0 ? here() : h.devices_at;
    for (std::size_t at = list.find('['); at != npos; at = list.find('[', at + 1)) {
      const std::size_t close = list.find(']', at);
      if (close == npos) return;
      const auto index = parse_uint(list.substr(at + 1, close - at - 1));
      if (!index || *index > 4096) continue;
      const std::string_view word = until(list.substr(close + 1), " ");
      if (!rdma) {
        add_once(h.interfaces, kept(until(word, ":"), 48));
        continue;
      }
      const std::size_t slash = word.rfind('/');
      NcclDevice d{static_cast<std::int32_t>(*index), kept(word.substr(0, slash), 64), "", {}};
      if (slash != npos) d.link = kept(word.substr(slash + 1), 16);
      const bool known = std::any_of(h.devices.begin(), h.devices.end(), [&](const NcclDevice& x) { return x.name == d.name; });
      if (!known && h.devices.size() < kNcclDevicesMax) h.devices.push_back(std::move(d));
    }
  }

  // "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"
  void gdr_line(NcclHost& h, std::string_view s) {
    const bool yes = s.find("GPU Direct RDMA Enabled") != npos;
    const std::string name = kept(until(after(s, "'"), "'"), 64);
    if (name.empty()) return;
    for (NcclDevice& d : h.devices) {
      if (d.name == name || d.name.starts_with(name + ":")) d.gdr = d.gdr.value_or(true) && yes;
    }
  }

  // "NCCL_P2P_DISABLE set by environment to 1." anywhere in the text.
  bool setting_line(std::uint32_t host, std::string_view s) {
    std::size_t words = s.find(" set by environment to ");
    std::size_t length = 23;
    if (words == npos) {
      words = s.find(" set to ");
      length = 8;
    }
    if (words == npos) return false;
    std::size_t from = words;
    while (from > 0 && name_char(s[from - 1])) --from;
    const std::string_view name = s.substr(from, words - from);
    if (!name.starts_with("NCCL_") && !name.starts_with("RCCL_")) return false;
    std::string_view value = trim(s.substr(words + length));
    if (value.ends_with('.')) value.remove_suffix(1);
    const auto key = std::pair(kept(name, 64), kept(value, kNameMax));
    auto it = setting_index.find(key);
    if (it == setting_index.end()) {
      if (out.settings.size() >= kNcclSettingsMax) {
        ++out.left_out;
        return true;
      }
      it = setting_index.emplace(key, out.settings.size()).first;
      out.settings.push_back({key.first, key.second, {}, here()});
    }
    std::vector<std::uint32_t>& hosts = out.settings[it->second].hosts;
    const auto at = std::lower_bound(hosts.begin(), hosts.end(), host);
    if (host != UINT32_MAX && (at == hosts.end() || *at != host)) hosts.insert(at, host);
    return true;
  }

  // "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}"; old: "1048576 Bytes -> Algo 1 proto 2 time 33.2"
  void choice_line(std::string_view s) {
    const std::size_t bytes_at = s.find(" Bytes -> Algo ");
    std::size_t from = bytes_at;
    while (from > 0 && s[from - 1] >= '0' && s[from - 1] <= '9') --from;
    const auto bytes = leading_uint(s.substr(from));
    if (!bytes) return;
    const std::string_view before = trim(s.substr(0, from));
    const std::string op = before.ends_with(':') ? kept(before.substr(0, before.size() - 1), 32) : std::string();
    const std::string_view rest = s.substr(bytes_at + 15);
    const std::string algorithm = word_or_number(until(rest, " "), kAlgorithms);
    const std::string protocol = word_or_number(until(after(rest, " proto "), " "), kProtocols);
    auto it = choice_index.find({op, algorithm, protocol});
    if (it == choice_index.end()) {
      if (out.choices.size() >= kNcclChoicesMax) {
        ++out.left_out;
        return;
      }
      it = choice_index.emplace(std::tuple(op, algorithm, protocol), out.choices.size()).first;
      out.choices.push_back({op, algorithm, protocol, static_cast<double>(*bytes), static_cast<double>(*bytes)});
    }
    NcclChoice& c = out.choices[it->second];
    c.least_bytes = std::min(c.least_bytes, static_cast<double>(*bytes));
    c.most_bytes = std::max(c.most_bytes, static_cast<double>(*bytes));
    ++c.times;
    const std::string_view range = after(rest, "={");
    const auto low = leading_uint(range, 4096), high = leading_uint(after(range, ".."), 4096);
    const int channels = low && high && *high >= *low ? static_cast<int>(*high - *low + 1) : -1;
    c.channels = std::max(c.channels, channels);
    const auto key = std::pair(op, static_cast<double>(*bytes));
    if (picks.size() < kNcclPicksMax || picks.count(key) != 0) picks[key] = {op, algorithm, protocol, key.second, channels};
  }

  // "AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 1048576 datatype 7 op 0 root 0 comm 0x55 [nranks=16] stream 0x55"
  void call_line(std::string_view s, std::size_t op_count) {
    const std::string op = kept(s.substr(0, op_count), 32);
    const auto count = uint_after(s, " count "), type = uint_after(s, " datatype ", kTypeBytes.size() - 1);
    const auto ranks = uint_after(s, "[nranks=", kRanksMax);
    if (!count || !type) return;
    double bytes = static_cast<double>(*count) * kTypeBytes[*type];
    // The call names one rank's piece of these.
    const auto what = collective_of(op);
    if (ranks && (what == Collective::all_gather || what == Collective::reduce_scatter || what == Collective::all_to_all))
      bytes *= static_cast<double>(*ranks);
    const auto key = std::tuple(op, bytes, static_cast<std::uint32_t>(ranks.value_or(0)));
    auto it = calls_index.find(key);
    if (it == calls_index.end()) {
      if (out.calls.size() >= kNcclCallsMax) {
        ++out.left_out;
        return;
      }
      it = calls_index.emplace(key, out.calls.size()).first;
      out.calls.push_back({op, bytes, std::get<2>(key), 0});
    }
    ++out.calls[it->second].times;
  }

  void trouble(TrainEvent e) {
    const NcclTroubleKind kind = kind_of(e.kind);
    const bool by_text = kind == NcclTroubleKind::warning || kind == NcclTroubleKind::error;
    const std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(kind), e.host, e.rank, e.gpu, e.group,
                                        e.device, e.peer, e.seq, e.status, by_text ? e.text : "");
    const auto it = trouble_index.find(key);
    if (it != trouble_index.end()) {
      ++out.troubles[it->second].times;
      return;
    }
    if (out.troubles.size() >= kNcclTroublesMax) {
      ++out.left_out;
      return;
    }
    trouble_index.emplace(key, out.troubles.size());
    NcclTrouble t;
    t.kind = kind;
    t.host = std::move(e.host);
    t.device = std::move(e.device);
    t.peer = std::move(e.peer);
    t.group = std::move(e.group);
    t.op = std::move(e.op);
    t.text = std::move(e.text);
    t.rank = e.rank;
    t.gpu = e.gpu;
    t.status = e.status;
    t.seq = e.seq;
    t.timeout_ms = e.timeout_ms;
    t.ran_ms = e.ran_ms;
    t.last_enqueued = e.last_enqueued;
    t.last_completed = e.last_completed;
    t.at = here();
    out.troubles.push_back(std::move(t));
  }

  // Where a rank stood is told after an error as well as after a timeout: without one in its group it is an error's.
  void settle_standings() {
    std::set<std::string> timed_out;
    for (const NcclTrouble& t : out.troubles) {
      if (t.kind == NcclTroubleKind::timeout) timed_out.insert(t.group);
    }
    if (timed_out.count("") != 0) return;  // older lines name no group
    for (NcclTrouble& t : out.troubles) {
      if (t.kind == NcclTroubleKind::standing && timed_out.count(t.group) == 0) t.kind = NcclTroubleKind::error;
    }
  }

  void version_words(std::string_view s, std::uint32_t host) {
    std::string_view v = after(s, "CCL version ");
    while (!v.empty() && (v.front() == ':' || v.front() == ' ')) v.remove_prefix(1);
    v = until(v, " \t,\r");
    if (v.empty() || v.front() < '0' || v.front() > '9') return;
    const std::string version = kept(v, 64);
    if (out.versions.size() < 64 || out.versions.count(version) != 0) ++out.versions[version];
    if (host != UINT32_MAX) add_once(out.hosts[host].versions, version);
  }

  void network_words(NcclHost& h, std::string_view s) {
    if (s.starts_with("Using network ")) {
      add_once(h.networks, kept(s.substr(14), 64));
      h.network_at = h.network_at.line == 0 ? here() : h.network_at;
    } else if (s.starts_with("NET/IB : Using") && s.find('[') != npos) {
      devices_line(h, s, true);
    } else if (s.starts_with("NET/Socket : Using")) {
      devices_line(h, s, false);
    } else if (s.starts_with("Bootstrap") && h.oob.empty() && s.find("Using ") != npos) {
      // "Bootstrap: Using eth0:10.0.0.7<0>", " [0]eth0:..." in newer ones
      const std::string_view word = trim(after(s, "Using "));
      h.oob = kept(until(word.substr(word.starts_with('[') ? std::min(word.find(']') + 1, word.size()) : 0), ":"), 48);
    } else if (s.find("NET/IB : No device found") != npos) {
      h.no_rdma_device = true;
    } else if (s.find("GPU Direct RDMA ") != npos && s.find(" for HCA ") != npos) {
      gdr_line(h, s);
    } else if (s.starts_with("NVLS multicast support is ")) {
      ++(s.find("not available") != npos ? h.no_nvls : h.nvls);
      h.nvls_at = h.nvls_at.line == 0 ? here() : h.nvls_at;
    } else if (s.find("P2P is disabled between") != npos) {
      ++h.p2p_refused;
      h.p2p_at = h.p2p_at.line == 0 ? here() : h.p2p_at;
    }
  }

  void comm_words(const Speaker& who, std::string_view s) {
    if (s.find(" - Init START") != npos || s.find(" - Init COMPLETE") != npos) {
      init_line(who, s, s.find(" - Init COMPLETE") != npos);
    } else if (s.starts_with("Init timings")) {
      timings_line(who, s);
    } else if (s.find(" nRanks ") != npos && s.find(" nNodes ") != npos) {
      shape_line(who, s);
    } else if (s.find(" coll channels") != npos) {
      channels_line(who, s);
    } else if (s.starts_with("Connected all rings, use ring PXN ")) {
      if (NcclComm* c = comm_at(thread_comm, who.thread)) {
        c->pxn = static_cast<int>(uint_after(s, " PXN ", 1).value_or(0));
        c->gdr = static_cast<int>(uint_after(s, " GDR ", 1).value_or(0));
      }
    } else if (s.starts_with("Trees [")) {
      if (NcclComm* c = comm_at(thread_comm, who.thread)) c->trees = static_cast<int>(std::count(s.begin(), s.end(), '['));
    }
  }

  void message(const Speaker& who, std::string_view s) {
    ++out.nccl_lines;
    const std::uint32_t host = host_of(who.host);
    if (setting_line(host, s)) return;
    if (const std::size_t at = s.find(" via ");
        at != npos && (s.starts_with("Channel ") || s.starts_with("Ring ") || s.starts_with("CollNet "))) {
      path_line(host, s.substr(at + 5));
    } else if (s.starts_with("Channel ") && s.find("->") == npos && s.find(" : ") != npos) {
      // "Channel 00/24 : 0 1 2 3": a ring, told by its first rank
      if (NcclComm* c = comm_at(thread_comm, who.thread))
        c->rings = static_cast<int>(leading_uint(after(until(s, ":"), "/"), 4096).value_or(0));
    } else if (s.find(" Bytes -> Algo ") != npos) {
      choice_line(s);
    } else if (const std::size_t op = s.find(": opCount "); op != npos) {
      call_line(s, op);
    } else if (s.find('|') != npos && tuning.message(who.thread, s)) {
      return;
    } else {
      if (s.find("CCL version ") != npos) version_words(s, host);
      if (host != UINT32_MAX) network_words(out.hosts[host], s);
      comm_words(who, s);
    }
  }

  static std::size_t find_mark(std::string_view s) {
    std::size_t at = npos;
    for (const std::string_view mark : kMarks) at = std::min(at, s.find(mark));
    return at;
  }

  // "busId 532node7": a name that another's line runs into is the known one that it ends with.
  void untear(Speaker& who) {
    if (host_index.count(std::string(who.host)) != 0) return;
    const NcclHost* best = nullptr;
    for (const NcclHost& h : out.hosts) {
      if (who.host.ends_with(h.name) && (best == nullptr || h.name.size() > best->name.size())) best = &h;
    }
    if (best == nullptr) return;
    const std::size_t cut = who.host.size() - best->name.size();
    who.host.remove_prefix(cut);
    who.thread.erase(0, cut);
    who.process.erase(0, cut);
  }

  // Several ranks may have written into one line.
  void line_of(std::string_view s) {
    ++out.lines;
    ++line;
    s = s.substr(0, kNcclLineMax);
    std::string clean;
    if (s.find('\x1b') != npos) {
      clean = without_escapes(s);
      s = clean;
    }
    std::size_t mark = find_mark(s);
    if (mark == npos) {
      if (s.find("CCL version ") != npos) version_words(s, UINT32_MAX);
      if (auto e = parse_train_line(s)) {
        out.nccl_lines += s.find(" NCCL WARN ") != npos;
        trouble(std::move(*e));
      }
      return;
    }
    std::optional<Speaker> who = speaker_of(s.substr(0, mark));
    for (int pieces = 0; mark != npos && pieces < 64; ++pieces) {
      std::string_view rest = s.substr(mark + kMarks[0].size());
      const std::size_t next = find_mark(rest);
      const auto another = next == npos ? std::nullopt : speaker_of(rest.substr(0, next));
      if (who) message(*who, trim(rest.substr(0, another ? another->begins : next)));
      s = rest;
      mark = next;
      who = another;
      if (who) untear(*who);
    }
  }

  void end_line() {
    const bool any = !carry.empty();
    if (any && carry.back() == '\r') carry.pop_back();
    if (any) line_of(carry);
    carry.clear();
    too_long = false;
  }
};

bool looks_like_nccl_log(std::string_view text) {
  text = text.substr(0, 1 << 20);
  if (text.find(" NCCL WARN ") != npos) return true;
  for (const std::string_view mark : kMarks) {
    for (std::size_t at = text.find(mark); at != npos; at = text.find(mark, at + 1)) {
      const std::size_t from = text.substr(0, at).rfind('\n');
      const std::size_t begin = std::max(from == npos ? 0 : from + 1, at > 512 ? at - 512 : 0);
      if (speaker_of(text.substr(begin, at - begin))) return true;
    }
  }
  return false;
}

NcclLogReader::NcclLogReader() : guts_(std::make_unique<Guts>()) {}
NcclLogReader::~NcclLogReader() = default;

void NcclLogReader::begin_file(std::string_view name) {
  guts_->end_line();
  guts_->line = 0;
  if (guts_->out.files.size() < kNcclFilesMax) guts_->out.files.push_back(kept(name));
  guts_->file = static_cast<std::uint32_t>(guts_->out.files.size() - 1);
}

void NcclLogReader::feed(std::string_view text) {
  if (guts_->out.files.empty()) begin_file("");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view piece = text.substr(0, end);
    const bool whole = end != npos && guts_->carry.empty() && !guts_->too_long;
    text.remove_prefix(end == npos ? text.size() : end + 1);
    if (whole) {
      guts_->line_of(piece.ends_with('\r') ? piece.substr(0, piece.size() - 1) : piece);
      continue;
    }
    if (!guts_->too_long) guts_->carry += piece.substr(0, kNcclLineMax - std::min(kNcclLineMax, guts_->carry.size()));
    guts_->too_long = guts_->carry.size() >= kNcclLineMax;
    if (end != npos) {
      if (guts_->carry.empty()) guts_->line_of({});
      guts_->end_line();
    }
  }
}

NcclLog NcclLogReader::finish() {
  guts_->end_line();
  guts_->settle_standings();
  NcclLog out = std::move(guts_->out);
  for (auto& [key, pick] : guts_->picks) out.picks.push_back(std::move(pick));
  out.beliefs = guts_->tuning.finish();
  guts_ = std::make_unique<Guts>();
  // Settings name hosts by their place, which is that of their names from here on.
  std::vector<std::uint32_t> order(out.hosts.size()), place(out.hosts.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto x, auto y) { return out.hosts[x].name < out.hosts[y].name; });
  std::vector<NcclHost> hosts;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    hosts.push_back(std::move(out.hosts[order[i]]));
  }
  out.hosts = std::move(hosts);
  for (NcclSetting& s : out.settings) {
    for (std::uint32_t& h : s.hosts) h = place[h];
    std::sort(s.hosts.begin(), s.hosts.end());
  }
  std::sort(out.settings.begin(), out.settings.end(),
            [](const NcclSetting& x, const NcclSetting& y) { return std::tie(x.name, x.value) < std::tie(y.name, y.value); });
  std::stable_sort(out.comms.begin(), out.comms.end(),
                   [](const NcclComm& x, const NcclComm& y) { return std::tie(x.id, x.rank) < std::tie(y.id, y.rank); });
  return out;
}

NcclLog parse_nccl_log(std::string_view text, std::string_view file) {
  NcclLogReader r;
  r.begin_file(file);
  r.feed(text);
  return r.finish();
}

}  // namespace muster
