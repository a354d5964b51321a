#include "diagnose/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/nccl_sizes.h"
#include "diagnose/nccl_troubles.h"

namespace muster::diagnose {
namespace {

constexpr std::size_t kNamed = 6;

bool rdma(std::string_view network) { return network != "Socket"; }

struct NetCount {
  std::uint64_t all = 0, gdr = 0;
  std::set<std::int32_t> devices;
};

NetCount net_paths(const NcclHost& h, bool over_sockets) {
  NetCount out;
  for (const NcclPath& p : h.paths) {
    if (p.transport != NcclTransport::net || rdma(p.via) == over_sockets) continue;
    out.all += p.channels;
    out.gdr += p.gdr ? p.channels : 0;
    out.devices.insert(p.device);
  }
  return out;
}

class Rules {
 public:
  Rules(const NcclLog& log, std::span<const GpuModel> gpus, const NcclHint& hint) : log_(log), gpus_(gpus), hint_(hint) {
    for (const NcclComm& c : log.comms) {
      nodes_ = std::max(nodes_, c.nodes);
      local_ = std::max(local_, c.local_ranks);
    }
    if (nodes_ == 0 && log.hosts.size() > 1) nodes_ = static_cast<std::uint32_t>(log.hosts.size());
  }

  std::vector<Finding> find() {
    sockets();
    no_gdr();
    shared_memory();
    settings();
    mixed_settings();
    fewer_cards();
    idle_cards();
    nvls();
    few_channels();
    interface();
    versions();
    slow_choice();
    slow_start();
    return std::move(out_);
  }

 private:
  const NcclSetting* set(std::string_view name) const {
    const auto it =
        std::find_if(log_.settings.begin(), log_.settings.end(), [&](const NcclSetting& s) { return s.name == name; });
    return it == log_.settings.end() ? nullptr : &*it;
  }

  // A number other than 0.
  const NcclSetting* on(std::string_view name) const {
    const NcclSetting* s = set(name);
    return s != nullptr && s->value != "0" && s->value != "-2" ? s : nullptr;
  }

  Finding& add(std::string title, Confidence confidence) {
    out_.push_back({});
    out_.back().title = std::move(title);
    out_.back().confidence = confidence;
    return out_.back();
  }

  std::string echoed(const NcclSetting& s) const { return fmt::format("{}: {} is {}", at(log_, s.at), s.name, s.value); }

  static std::string names_of(const std::vector<const NcclHost*>& hosts) {
    std::vector<std::string> names;
    for (const NcclHost* h : hosts) names.push_back(h->name);
    return some(names, kNamed);
  }

  void sockets() {
    std::vector<const NcclHost*> hosts;
    for (const NcclHost& h : log_.hosts) {
      const bool said = std::find(h.networks.begin(), h.networks.end(), "Socket") != h.networks.end();
      if ((said && nodes_ > 1) || net_paths(h, true).all > 0) hosts.push_back(&h);
    }
    if (hosts.empty() || nodes_ <= 1) return;
    const auto with_cards =
        std::find_if(log_.hosts.begin(), log_.hosts.end(), [](const NcclHost& h) { return !h.devices.empty(); });
    const NcclSetting* disabled = on("NCCL_IB_DISABLE");
    const NcclSetting* net = set("NCCL_NET");
    const bool fast = with_cards != log_.hosts.end();
    Finding& f =
        add("nodes talk over TCP sockets and not over RDMA cards", fast || disabled ? Confidence::high : Confidence::medium);
    f.cause = "tcp_instead_of_rdma";
    f.evidence.push_back(fmt::format("{}: network Socket on {}", at(log_, hosts.front()->network_at), names_of(hosts)));
    if (disabled) f.evidence.push_back(echoed(*disabled));
    if (net) f.evidence.push_back(echoed(*net));
    if (fast) f.evidence.push_back(fmt::format("{}: {} has RDMA cards", at(log_, with_cards->devices_at), with_cards->name));
    const bool none = std::any_of(hosts.begin(), hosts.end(), [](const NcclHost* h) { return h->no_rdma_device; });
    if (none) f.evidence.push_back("NET/IB found no device there");
    f.expected = "Using network IB, or the cloud's own plugin (AWS Libfabric, FastSocket, gIB)";
    f.achieved = "Using network Socket";
    f.remedy =
        disabled                        ? "unset NCCL_IB_DISABLE"
        : net && net->value == "Socket" ? "unset NCCL_NET"
        : none ? "let the job see the cards: ibv_devices inside the container lists them (--device=/dev/infiniband, "
                 "--ulimit memlock=-1, rdma resources of the device plugin), libibverbs is installed, NCCL_IB_HCA names cards "
                 "that exist"
               : "set NCCL_NET=IB so that it fails where it cannot, and see NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET "
                 "for why; on clouds load their plugin (aws-ofi-nccl, gIB)";
    f.verify = "NCCL_DEBUG=INFO: 'Using network IB' on every rank and 'via NET/IB/n/GDRDMA' between nodes";
  }

  void no_gdr() {
    std::vector<const NcclHost*> none, some_of;
    std::uint64_t all = 0, direct = 0;
    const NcclPath* first = nullptr;
    for (const NcclHost& h : log_.hosts) {
      const NetCount n = net_paths(h, false);
      all += n.all;
      direct += n.gdr;
      if (n.all > 0 && n.gdr < n.all) (n.gdr == 0 ? none : some_of).push_back(&h);
      for (const NcclPath& p : h.paths) {
        if (first == nullptr && p.transport == NcclTransport::net && rdma(p.via) && !p.gdr) first = &p;
      }
    }
    if (first == nullptr) return;
    Finding& f = add(direct == 0 ? "network cards do not read and write the GPUs' memory (no GPUDirect RDMA)"
                                 : fmt::format("{} of {} connections between nodes go without GPUDirect RDMA", all - direct, all),
                     Confidence::high);
    f.evidence.push_back(fmt::format("{}: via NET/{}/{} without /GDRDMA", at(log_, first->at), first->via, first->device));
    f.cause = "no_gpudirect";
    if (!none.empty()) f.evidence.push_back(fmt::format("on none of the connections of {}", names_of(none)));
    if (!some_of.empty()) f.evidence.push_back(fmt::format("on a part of those of {}", names_of(some_of)));
    std::vector<std::string> refused;
    for (const NcclHost& h : log_.hosts) {
      for (const NcclDevice& d : h.devices) {
        if (d.gdr && !*d.gdr) refused.push_back(h.name + " " + d.name);
      }
    }
    if (!refused.empty()) f.evidence.push_back(fmt::format("GPU Direct RDMA Disabled: {}", some(refused, kNamed)));
    const NcclSetting* level = set("NCCL_NET_GDR_LEVEL");
    if (level) f.evidence.push_back(echoed(*level));
    f.expected = "every NET connection with /GDRDMA";
    f.achieved = fmt::format("{} of {}", direct, all);
    f.remedy =
        level ? "unset NCCL_NET_GDR_LEVEL"
        : !refused.empty() || direct == 0
            ? "load nvidia-peermem on these nodes (modprobe nvidia-peermem), or use a kernel and driver with DMA-BUF; in VMs "
              "turn ACS and ATS on as the provider says"
            : "the card is too far from the GPU: nvidia-smi topo -m; give each GPU the card on its PCIe switch, or set "
              "NCCL_NET_GDR_LEVEL=PHB where the CPU's root port is fast enough";
    f.verify = "NCCL_DEBUG=INFO: '/GDRDMA' at the end of every 'via NET/...' line; all_reduce_perf over two nodes";
  }

  void shared_memory() {
    std::vector<const NcclHost*> hosts;
    std::uint64_t shm = 0, p2p = 0;
    NcclPlace first;
    for (const NcclHost& h : log_.hosts) {
      std::uint64_t here = 0;
      for (const NcclPath& p : h.paths) {
        if (p.transport == NcclTransport::p2p) p2p += p.channels;
        if (p.transport != NcclTransport::shm) continue;
        if (shm + here == 0) first = p.at;
        here += p.channels;
      }
      if (here > 0) hosts.push_back(&h);
      shm += here;
    }
    const NcclSetting* disabled = on("NCCL_P2P_DISABLE");
    if (hosts.empty()) return;
    const GpuModel* gpu = hint_.gpu.empty() ? nullptr : gpu_model_of(hint_.gpu, gpus_);
    const bool sure = disabled != nullptr || (gpu != nullptr && gpu->nvlink_gb_s > 0) || p2p > 0;
    Finding& f =
        add("GPUs of one node exchange through the host's memory and not directly", sure ? Confidence::high : Confidence::medium);
    f.cause = "p2p_through_host";
    f.evidence.push_back(fmt::format("{}: via SHM: {} connections on {}, {} by P2P", at(log_, first), shm, names_of(hosts), p2p));
    if (disabled) f.evidence.push_back(echoed(*disabled));
    const NcclSetting* level = set("NCCL_P2P_LEVEL");
    if (level) f.evidence.push_back(echoed(*level));
    std::uint32_t refused = 0;
    for (const NcclHost* h : hosts) refused += h->p2p_refused;
    if (refused > 0) f.evidence.push_back("'P2P is disabled between' GPUs, says the driver");
    f.expected = "P2P/CUMEM or P2P/IPC within a node";
    f.achieved = fmt::format("SHM on {} of {} connections", shm, shm + p2p);
    f.remedy = disabled ? "unset NCCL_P2P_DISABLE"
               : level  ? "unset NCCL_P2P_LEVEL"
               : refused
                   ? "look at nvidia-smi topo -p2p rw and the fabric manager: the driver refuses P2P; turn the IOMMU off or ACS "
                     "off on PCIe switches"
                   : "look at nvidia-smi topo -m: with NVLink this must not be; on PCIe alone set NCCL_P2P_LEVEL=PHB or SYS and "
                     "compare; containers of one node need the same IPC and PID view";
    f.verify = "NCCL_DEBUG=INFO: 'via P2P/' within a node; all_reduce_perf -g 8 on one node";
  }

  struct Harmful {
    std::string_view name;
    std::string_view when;  // value that hurts; empty: any but 0
    std::string_view why;
  };

  void settings() {
    constexpr Harmful kHarmful[] = {
        {"NCCL_P2P_DISABLE", "1", "GPUs of one node exchange through the host's memory"},
        {"NCCL_IB_DISABLE", "1", "nodes talk over TCP sockets"},
        {"NCCL_NET_GDR_LEVEL", "LOC", "network cards do not read and write the GPUs' memory"},
        {"NCCL_SHM_DISABLE", "1", "what P2P cannot carry within a node goes over the network"},
        {"NCCL_NET_GDR_READ", "0", "sends are copied through the host's memory"},
        {"NCCL_NVLS_ENABLE", "0", "switches do not add up what is sent through them"},
        {"NCCL_CUMEM_ENABLE", "0", "NVLS and buffers that are registered need it"},
        {"NCCL_PXN_DISABLE", "1", "all-to-all between nodes crosses rails at the spine and not through NVLink"},
        {"NCCL_CROSS_NIC", "1", "rings cross rails: congestion where leaf switches are rails"},
        {"NCCL_ALGO", "", "one algorithm for all sizes: what is best for some is slow for others"},
        {"NCCL_PROTO", "", "one protocol for all sizes: LL halves the bandwidth of large ones, Simple delays small ones"},
        {"NCCL_MAX_NCHANNELS", "", "fewer channels cannot fill all links"},
        {"NCCL_MAX_CTAS", "", "fewer channels cannot fill all links"},
        {"NCCL_MAX_NRINGS", "", "fewer channels cannot fill all links"},
        {"NCCL_NTHREADS", "", "threads of a channel are fixed"},
        {"NCCL_BUFFSIZE", "", "the buffer is fixed: a small one cannot fill a long link"},
        {"NCCL_LAUNCH_MODE", "", "an old way to start kernels"},
        {"CUDA_LAUNCH_BLOCKING", "1", "every kernel is waited for"},
        {"NCCL_IB_PCI_RELAXED_ORDERING", "0", "writes to the GPU wait for each other"},
        {"NCCL_CHECK_POINTERS", "1", "each call is checked at a cost"},
    };
    for (const Harmful& h : kHarmful) {
      const NcclSetting* s = set(h.name);
      if (s == nullptr) continue;
      if (h.when.empty() ? s->value == "0" || s->value.empty() : s->value != h.when) continue;
      // Said already, with what came of it.
      if (std::any_of(out_.begin(), out_.end(), [&](const Finding& f) { return f.remedy == "unset " + s->name; })) continue;
      // A buffer or a number of channels that is larger than what NCCL would take costs memory, not time.
      const auto n = parse_uint(s->value);
      if (h.name == "NCCL_BUFFSIZE" && n && *n >= 4 << 20) continue;
      if ((h.name == "NCCL_MAX_NCHANNELS" || h.name == "NCCL_MAX_CTAS") && n && *n >= 32) continue;
      const bool choice = h.name == "NCCL_ALGO" || h.name == "NCCL_PROTO" || h.name == "NCCL_MAX_NCHANNELS";
      Finding& f =
          add(fmt::format("{} is set to {}: {}", s->name, s->value, h.why), choice ? Confidence::medium : Confidence::low);
      if (h.name.ends_with("_DISABLE")) f.confidence = Confidence::high;
      f.evidence.push_back(echoed(*s));
      f.remedy = fmt::format("unset {} and let NCCL choose", s->name);
      f.verify = "nccl-tests with and without it, at the sizes that the job uses (NCCL_DEBUG_SUBSYS=COLL shows them)";
    }
  }

  void mixed_settings() {
    for (std::size_t i = 0; i + 1 < log_.settings.size(); ++i) {
      const NcclSetting& s = log_.settings[i];
      if (log_.settings[i + 1].name != s.name || (i > 0 && log_.settings[i - 1].name == s.name)) continue;
      if (!matters_alike(s.name)) continue;
      // On the same nodes, one after the other: several runs in one log.
      const bool elsewhere = std::any_of(log_.settings.begin(), log_.settings.end(),
                                         [&](const NcclSetting& x) { return x.name == s.name && x.hosts != s.hosts; });
      if (!elsewhere) continue;
      std::vector<std::string> values;
      for (const NcclSetting& x : log_.settings) {
        if (x.name == s.name && !x.hosts.empty())
          values.push_back(fmt::format("{} on {}{}", x.value, log_.hosts[x.hosts.front()].name,
                                       x.hosts.size() > 1 ? fmt::format(" and {} more", x.hosts.size() - 1) : ""));
      }
      Finding& f = add(fmt::format("{} is not the same on all ranks", s.name), Confidence::high);
      f.cause = "rank_mismatch";
      f.evidence.push_back(fmt::format("{}: {}", at(log_, s.at), some(values, kNamed)));
      f.remedy = fmt::format("give all ranks the same {}: where ranks choose differently, NCCL hangs or takes the worst", s.name);
      f.verify = "NCCL_DEBUG=INFO echoes one value on every node";
    }
  }

  static bool matters_alike(std::string_view name) {
    constexpr std::string_view kAlike[] = {"NCCL_ALGO",        "NCCL_PROTO",        "NCCL_MAX_NCHANNELS", "NCCL_MIN_NCHANNELS",
                                           "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE",   "NCCL_NET_GDR_LEVEL", "NCCL_CROSS_NIC",
                                           "NCCL_BUFFSIZE",    "NCCL_NVLS_ENABLE",  "NCCL_NET",           "NCCL_IB_TC",
                                           "NCCL_IB_SL",       "NCCL_IB_GID_INDEX", "NCCL_CUMEM_ENABLE",  "NCCL_PXN_DISABLE"};
    return std::find(std::begin(kAlike), std::end(kAlike), name) != std::end(kAlike);
  }

  // A node that sees fewer cards than most.
  void fewer_cards() {
    std::map<std::size_t, std::size_t> counts;
    for (const NcclHost& h : log_.hosts) {
      if (!h.devices.empty()) ++counts[h.devices.size()];
    }
    if (counts.size() < 2) return;
    const auto usual = std::max_element(counts.begin(), counts.end(), [](const auto& x, const auto& y) {
      return x.second < y.second || (x.second == y.second && x.first < y.first);
    });
    std::vector<std::string> fewer;
    NcclPlace first;
    for (const NcclHost& h : log_.hosts) {
      if (h.devices.empty() || h.devices.size() >= usual->first) continue;
      if (fewer.empty()) first = h.devices_at;
      fewer.push_back(fmt::format("{} ({})", h.name, h.devices.size()));
    }
    if (fewer.empty()) return;
    Finding& f = add(fmt::format("nodes with fewer RDMA cards than the {} of most: {}", usual->first, some(fewer, kNamed)),
                     Confidence::high);
    f.evidence.push_back(fmt::format("{}: NET/IB : Using lists fewer", at(log_, first)));
    f.cause = "fewer_cards";
    f.expected = fmt::format("{} cards", usual->first);
    f.achieved = some(fewer, kNamed);
    f.remedy =
        "bring the card up there (ibstat: State Active, Physical state LinkUp; lspci), or leave the node out: the ring goes at "
        "the pace of its slowest";
    f.verify = "NCCL_DEBUG=INFO: every node lists the same cards";
  }

  void idle_cards() {
    for (const NcclHost& h : log_.hosts) {
      const NetCount n = net_paths(h, false);
      if (n.all < 2 || h.devices.empty() || nodes_ <= 1) continue;
      const bool one_of_many = h.devices.size() >= 2 && n.devices.size() == 1;
      const bool shared = local_ >= 4 && h.devices.size() * 4 <= local_;
      const NcclSetting* hca = set("NCCL_IB_HCA");
      if (!one_of_many && !(shared && hca != nullptr)) continue;
      Finding& f = add(one_of_many ? fmt::format("one of {} RDMA cards carries all that leaves the node", h.devices.size())
                                   : fmt::format("{} GPUs share {} RDMA {}", local_, h.devices.size(),
                                                 h.devices.size() == 1 ? "card" : "cards"),
                       one_of_many ? Confidence::medium : Confidence::low);
      std::vector<std::string> cards;
      for (const NcclDevice& d : h.devices) cards.push_back(d.name);
      f.evidence.push_back(fmt::format("{}: {} lists {}; connections use {} of them", at(log_, h.devices_at), h.name,
                                       some(cards, 16), n.devices.size()));
      if (hca) f.evidence.push_back(echoed(*hca));
      f.remedy =
          hca ? "unset NCCL_IB_HCA, or name all cards of the compute network in it (NCCL_IB_HCA=mlx5)"
              : "look at nvidia-smi topo -m and NCCL_TOPO_FILE: in a VM NCCL needs the provider's topology file to pair GPUs and "
                "cards; one GPU a node uses one card by right";
      f.verify = "NCCL_DEBUG=INFO: 'via NET/IB/n' with every n";
      return;
    }
  }

  void nvls() {
    std::vector<const NcclHost*> without, with;
    for (const NcclHost& h : log_.hosts) {
      if (h.no_nvls > 0) without.push_back(&h);
      if (h.nvls > 0) with.push_back(&h);
    }
    const GpuModel* gpu = hint_.gpu.empty() ? nullptr : gpu_model_of(hint_.gpu, gpus_);
    if (without.empty() || (with.empty() && (gpu == nullptr || !gpu->nvls)) || local_ == 1 || local_ == 2) return;
    Finding& f = add(with.empty() ? "NVLink SHARP (NVLS) is not available although the GPUs have it"
                                  : fmt::format("NVLink SHARP (NVLS) is not available on {}", names_of(without)),
                     Confidence::high);
    f.evidence.push_back(fmt::format("{}: NVLS multicast support is not available", at(log_, without.front()->nvls_at)));
    f.cause = "nvls_missing";
    const NcclSetting* off = set("NCCL_NVLS_ENABLE");
    const NcclSetting* cumem = set("NCCL_CUMEM_ENABLE");
    if (off) f.evidence.push_back(echoed(*off));
    if (cumem) f.evidence.push_back(echoed(*cumem));
    f.remedy = off && off->value == "0" ? "unset NCCL_NVLS_ENABLE"
               : cumem && cumem->value == "0"
                   ? "unset NCCL_CUMEM_ENABLE"
                   : "look at the fabric manager on these nodes (systemctl status nvidia-fabricmanager, "
                     "nvidia-smi -q | grep -A3 Fabric: State Completed), the driver's version, and for "
                     "GB200 the IMEX daemon";
    f.verify = "NCCL_DEBUG=INFO: 'NVLS multicast support is available', and more than 0 nvls channels";
  }

  void few_channels() {
    const NcclComm* least = nullptr;
    for (const NcclComm& c : log_.comms) {
      if (c.channels < 1 || c.ranks < 2 || (c.local_ranks < 4 && c.nodes != 1)) continue;
      if (c.ranks >= 4 && (least == nullptr || c.channels < least->channels)) least = &c;
    }
    if (least == nullptr || least->channels > 2) return;
    Finding& f = add(fmt::format("a communicator of {} ranks has {} {} only", least->ranks, least->channels,
                                 least->channels == 1 ? "channel" : "channels"),
                     Confidence::medium);
    f.evidence.push_back(fmt::format("{}: rank {} on {}", at(log_, least->at), least->rank, least->host));
    f.remedy =
        "unset NCCL_MAX_NCHANNELS and NCCL_MAX_CTAS; with none set NCCL sees slow links between GPUs (nvidia-smi topo -m), or "
        "has no topology file in a VM";
    f.verify = "NCCL_DEBUG=INFO: 16 or more coll channels on nodes with NVLink switches";
  }

  // Every communicator began: whatever they met over, they reached each other.
  bool all_met() const {
    return !log_.comms.empty() && std::all_of(log_.comms.begin(), log_.comms.end(), [](const NcclComm& c) { return c.complete; });
  }

  void interface() {
    for (const NcclHost& h : log_.hosts) {
      std::vector<std::string> names = h.interfaces;
      if (!h.oob.empty()) names.push_back(h.oob);
      for (const std::string& n : names) {
        if (!n.starts_with("docker") && !n.starts_with("virbr") && !n.starts_with("veth") && !n.starts_with("cni") && n != "lo")
          continue;
        if (nodes_ <= 1 || all_met()) continue;
        Finding& f = add(fmt::format("NCCL meets over the interface {}, which other nodes do not reach", n), Confidence::medium);
        f.evidence.push_back(fmt::format("{}: on {}", at(log_, h.devices_at), h.name));
        f.cause = "wrong_interface";
        f.remedy =
            "set NCCL_SOCKET_IFNAME to the interface of the cluster's network (ip -br addr), for instance "
            "NCCL_SOCKET_IFNAME=eth0";
        f.verify = "NCCL_DEBUG=INFO: OOB names that interface";
        return;
      }
    }
  }

  void versions() {
    if (log_.versions.size() < 2) return;
    std::vector<std::string> words;
    for (const auto& [v, n] : log_.versions) {
      std::string where;
      for (const NcclHost& h : log_.hosts) {
        if (where.empty() && std::find(h.versions.begin(), h.versions.end(), v) != h.versions.end()) where = " on " + h.name;
      }
      words.push_back(v + where);
    }
    Finding& f = add("ranks run different versions of NCCL", Confidence::high);
    f.cause = "version_mismatch";
    f.evidence.push_back(some(words, kNamed));
    f.remedy =
        "use the same container image on all nodes, and look for a second library: LD_LIBRARY_PATH, LD_PRELOAD, the nvidia-nccl "
        "package of pip";
    f.verify = "NCCL_DEBUG=VERSION prints one version";
  }

  void slow_choice() {
    for (const NcclChoice& c : log_.choices) {
      if (c.protocol != "LL" || c.most_bytes < 16 << 20) continue;
      Finding& f = add(fmt::format("{} of {} goes by the protocol LL, which carries half", c.op.empty() ? "an operation" : c.op,
                                   size_words(c.most_bytes)),
                       Confidence::medium);
      f.evidence.push_back(
          fmt::format("tuning chose {} {} {} times, up to {}", c.algorithm, c.protocol, c.times, size_words(c.most_bytes)));
      f.remedy =
          "unset NCCL_PROTO, and the tuner plugin or configuration file (NCCL_TUNER_PLUGIN, NCCL_TUNER_CONFIG_FILE) that chose "
          "it";
      f.verify = "NCCL_DEBUG_SUBSYS=TUNING: proto SIMPLE or LL128 at these sizes";
      return;
    }
  }

  static std::string part_remedy(std::string_view part) {
    if (part == "bootstrap")
      return "ranks find each other slowly: set NCCL_SOCKET_IFNAME to a fast interface, look for a rank that "
             "starts late (its image or data is still being loaded), use more than one root (ncclCommInitRankScalable)";
    if (part == "allgathers")
      return "ranks wait for each other's answers: look for a rank that starts late, and at the network that "
             "NCCL_SOCKET_IFNAME names";
    if (part == "topo") return "reading PCIe and NVML is slow: nvidia-smi -pm 1 (persistence mode), or give NCCL_TOPO_FILE";
    if (part == "graphs")
      return "search for rings and trees is slow: give the graph of a run before (NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_FILE)";
    if (part == "connections") return "connections are made at once: NCCL_RUNTIME_CONNECT=1 makes them when they are first used";
    if (part == "kernels") return "kernels are loaded: CUDA_MODULE_LOADING=LAZY and nvidia-smi -pm 1";
    if (part == "alloc") return "memory is made ready: nvidia-smi -pm 1, and no other process on these GPUs";
    return "see NCCL_DEBUG=INFO of the rank that took longest, between Init START and Init COMPLETE";
  }

  void slow_start() {
    const NcclComm* slowest = nullptr;
    for (const NcclComm& c : log_.comms) {
      if (c.init.total_s > 0 && (slowest == nullptr || c.init.total_s > slowest->init.total_s)) slowest = &c;
    }
    if (slowest == nullptr || slowest->init.total_s < 10 + slowest->ranks / 100.0) return;
    std::pair<std::string, double> part{"", 0};
    std::string all;
    for (const auto& p : slowest->init.parts_s) {
      all += fmt::format("{}{} {:.1f}", all.empty() ? "" : ", ", p.first, p.second);
      if (p.second > part.second) part = p;
    }
    Finding& f = add(fmt::format("a communicator of {} ranks took {:.0f} s to begin{}", slowest->ranks, slowest->init.total_s,
                                 part.first.empty() ? "" : fmt::format(", {:.0f} of them {}", part.second, part.first)),
                     Confidence::high);
    f.evidence.push_back(fmt::format("{}: rank {} on {}: {}", at(log_, slowest->at), slowest->rank, slowest->host, all));
    f.expected = "a few seconds";
    f.achieved = fmt::format("{:.1f} s", slowest->init.total_s);
    f.remedy = part_remedy(part.first);
    f.verify = "'Init timings' of the next start";
  }

  const NcclLog& log_;
  std::span<const GpuModel> gpus_;
  const NcclHint& hint_;
  std::uint32_t nodes_ = 0, local_ = 0;
  std::vector<Finding> out_;
};

}  // namespace

std::string network_of(const NcclLog& log) {
  for (const NcclHost& h : log.hosts) {
    for (const std::string& n : h.networks) {
      const std::string name = lower(n);
      const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
      if (has("libfabric") || has("ofi") || has("efa")) return "efa";
      if (has("tcpx") || has("fastrak")) return "tcpx";
      if (has("socket")) continue;
      if (has("ib") || has("rdma")) return !h.devices.empty() && h.devices.front().link == "RoCE" ? "roce" : "infiniband";
    }
  }
  return {};
}

std::vector<Finding> find_in_nccl_log(const NcclLog& log, std::span<const GpuModel> gpus, const NcclHint& hint) {
  std::vector<Finding> out = find_troubles(log);
  for (Finding& f : Rules(log, gpus, hint).find()) out.push_back(std::move(f));
  return out;
}

}  // namespace muster::diagnose
