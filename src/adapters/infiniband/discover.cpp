#include "adapters/infiniband/discover.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "adapters/infiniband/describe.h"
#include "adapters/infiniband/library.h"
#include "adapters/infiniband/port_info.h"
#include "base/text.h"

namespace muster::infiniband {
namespace {

constexpr std::uint32_t kUnansweredMax = 64;  // each takes timeouts of seconds
constexpr unsigned kEntries = 64;             // of a forwarding table in one packet

// libibmad complains on standard error of every packet that is lost, and cannot be told not to: a line for each port of a fabric
// whose routes are stale. They are counted here and told once.
class Hushed {
 public:
  Hushed() : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept_ >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
  }
  ~Hushed() {
    if (kept_ < 0) return;
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  Hushed(const Hushed&) = delete;
  Hushed& operator=(const Hushed&) = delete;

 private:
  int kept_;
};

// Questions that are answered one at a time.
class Questions {
 public:
  Questions(const Library& mad, const DiscoverAsk& ask)
      : query_(mad.function<std::uint8_t*(void*, PortId*, int, unsigned, unsigned, const MadPort*)>("pma_query_via")),
        subnet_(mad.function<std::uint8_t*(void*, PortId*, unsigned, unsigned, unsigned, const MadPort*)>("smp_query_via")),
        close_(mad.function<void(MadPort*)>("mad_rpc_close_port")),
        timeout_ms_(ask.timeout_ms) {
    const auto open = mad.function<MadPort*(char*, int, int*, int)>("mad_rpc_open_port");
    const auto retries = mad.function<void(MadPort*, int)>("mad_rpc_set_retries");
    int classes[] = {kSubnetClass, kAdministrationClass, kPerformanceClass};
    std::string device = ask.device;
    if (open != nullptr && query_ != nullptr && subnet_ != nullptr && close_ != nullptr)
      port_ = open(device.empty() ? nullptr : device.data(), ask.port, classes, 3);
    if (port_ != nullptr && retries != nullptr) retries(port_, static_cast<int>(ask.retries));
  }
  ~Questions() {
    if (port_ != nullptr) close_(port_);
  }
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  bool ready() const { return port_ != nullptr; }
  std::uint32_t unanswered() const { return unanswered_; }
  bool given_up() const { return unanswered_ >= kUnansweredMax; }

  std::optional<std::vector<std::uint8_t>> counters(unsigned lid, int number) {
    std::vector<std::uint8_t> bytes(1024, 0);
    PortId to{};
    to.lid = static_cast<int>(lid);
    return answered(query_(bytes.data(), &to, number, timeout_ms_, kPortCounters, port_), bytes);
  }
  std::optional<std::vector<std::uint8_t>> table(unsigned lid, unsigned block) {
    std::vector<std::uint8_t> bytes(1024, 0);
    PortId to{};
    to.lid = static_cast<int>(lid);
    return answered(subnet_(bytes.data(), &to, kForwardingTable, block, timeout_ms_, port_), bytes);
  }

 private:
  std::optional<std::vector<std::uint8_t>> answered(const std::uint8_t* p, std::vector<std::uint8_t>& bytes) {
    if (p != nullptr) return std::move(bytes);
    ++unanswered_;
    return {};
  }

  std::uint8_t* (*query_)(void*, PortId*, int, unsigned, unsigned, const MadPort*);
  std::uint8_t* (*subnet_)(void*, PortId*, unsigned, unsigned, unsigned, const MadPort*);
  void (*close_)(MadPort*);
  unsigned timeout_ms_;
  MadPort* port_ = nullptr;
  std::uint32_t unanswered_ = 0;
};

void read_counters(const NetFabric& fabric, Questions& ask, Discovered& out) {
  for (const NetNode* n = fabric.nodes; n != nullptr; n = n->next) {
    for (int i = 1; i <= n->port_count && !ask.given_up(); ++i) {
      const NetPort* p = n->ports[i];
      if (p == nullptr || lid_of(*p) == 0) continue;
      const auto bytes = ask.counters(lid_of(*p), i);
      if (!bytes) continue;
      PortCounters counters{end_of(*p), {}};
      for (const auto& [name, value] : decode_port_counters(*bytes)) counters.values.emplace_back(name, value);
      out.counters.ports.push_back(std::move(counters));
    }
  }
  out.counters.lists_all = true;
  out.counters.complete = ask.unanswered() == 0;
}

void read_tables(const NetFabric& fabric, Questions& ask, Discovered& out) {
  for (const NetNode* n = fabric.nodes; n != nullptr; n = n->next) {
    for (int i = 1; i <= n->port_count; ++i) {
      const NetPort* p = n->ports[i];
      if (n->type != kSwitch && p != nullptr && p->lid != 0) out.tables.lids[p->guid] = p->lid;
    }
    if (n->type != kSwitch || n->lid == 0) continue;
    const unsigned top = static_cast<unsigned>(n->switch_info[6]) << 8U | n->switch_info[7];
    std::vector<std::uint8_t> table;
    for (unsigned block = 0; block <= top / kEntries && !ask.given_up(); ++block) {
      const auto bytes = ask.table(n->lid, block);
      table.resize((block + 1UL) * kEntries, ForwardingTables::kNoPort);
      if (bytes) std::copy_n(bytes->begin(), kEntries, table.end() - kEntries);
    }
    out.tables.switches[n->guid] = std::move(table);
  }
}

}  // namespace

Result<Discovered> discover(const DiscoverAsk& ask) {
  static constexpr const char* kInstall =
      "install rdma-core's libibnetdisc5 and libibmad5, or give files that ibnetdiscover wrote";
  Library mad, net;
  if (!mad.open(ask.packet_library)) return fail(Code::unreachable, printable(mad.why()), kInstall);
  if (!net.open(ask.discovery_library)) return fail(Code::unreachable, printable(net.why()), kInstall);
  const auto walk = net.function<NetFabric*(char*, int, PortId*, NetConfig*)>("ibnd_discover_fabric");
  const auto destroy = net.function<void(NetFabric*)>("ibnd_destroy_fabric");
  if (walk == nullptr || destroy == nullptr)
    return fail(Code::unreachable, printable(ask.discovery_library) + " has no ibnd_discover_fabric", kInstall);
  NetConfig config{};
  config.timeout_ms = ask.timeout_ms;
  config.retries = ask.retries;
  std::string device = ask.device;
  NetFabric* fabric = walk(device.empty() ? nullptr : device.data(), ask.port, nullptr, &config);
  if (fabric == nullptr || fabric->from == nullptr) {
    std::string through = ask.device.empty() ? "" : " through " + printable(ask.device);
    if (ask.port != 0) through += (through.empty() ? " through port " : ", port ") + std::to_string(ask.port);
    return fail(Code::unreachable, "the InfiniBand fabric cannot be asked" + through,
                "is there a card with a port that is up (ibstat), and may this user open /dev/infiniband/umad0?");
  }
  Discovered out;
  out.net = render_net(*fabric);
  out.ports = port_states(*fabric);
  if (ask.counters || ask.tables) {
    Questions questions(mad, ask);
    if (!questions.ready()) {
      destroy(fabric);
      return fail(Code::unreachable, "the InfiniBand port for management packets cannot be opened",
                  "may this user open /dev/infiniband/umad0?");
    }
    const Hushed hushed;
    if (ask.counters) read_counters(*fabric, questions, out);
    if (ask.tables) read_tables(*fabric, questions, out);
    out.unanswered = questions.unanswered();
  }
  destroy(fabric);
  return out;
}

}  // namespace muster::infiniband
