// What is used of libibnetdisc and libibmad (rdma-core, both .so.5), as their headers lay it out: the program is built without
// these and runs without the libraries.
#pragma once
#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace muster::infiniband {

struct PortId {
  int lid;  // 0: by the path
  struct {
    int count;
    std::uint8_t ports[64];
    std::uint16_t source_lid, destination_lid;
  } path;
  int global;
  std::uint8_t gid[16];
  std::uint32_t queue_pair, queue_key;
  std::uint8_t service_level;
  unsigned partition_index;
};

struct NetPort;
struct NetNode {
  NetNode* next;
  PortId path;
  std::uint16_t lid;
  std::uint8_t lmc;
  int enhanced_port_0;
  std::uint8_t switch_info[64];
  std::uint64_t guid;
  int type, port_count;
  std::uint8_t info[64];
  char description[65];
  NetPort** ports;  // by number; any may be null
  // Chassis and the library's own follow.
};
struct NetPort {
  std::uint64_t guid;
  int number, external_number;
  NetNode* node;
  NetPort* remote;  // may be null
  std::uint16_t lid;
  std::uint8_t lmc;
  std::uint8_t info[64], vendor_info[64];
};
struct NetFabric {
  NetNode* from;
  int from_port;
  NetNode* nodes;
  // Chassis and the library's own follow.
};
struct NetConfig {
  unsigned packets_at_once, show_progress, hops_max, debug, timeout_ms, retries;
  std::uint32_t flags;
  std::uint64_t key;
  std::uint8_t pad[44];
};
using MadPort = struct OpaqueMadPort;

constexpr int kAdapter = 1, kSwitch = 2, kRouter = 3;  // NetNode::type
constexpr int kSubnetClass = 1, kAdministrationClass = 3, kPerformanceClass = 4;
constexpr unsigned kPortCounters = 0x12, kForwardingTable = 0x19;

// One shared library, from when it is opened to the end of the program: both register with each other and are not unloaded.
class Library {
 public:
  bool open(const std::string& path) {
    handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    if (handle_ != nullptr) return true;
    const char* why = dlerror();
    why_ = why != nullptr ? why : path;
    return false;
  }
  const std::string& why() const { return why_; }
  template <class F>
  F* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
  std::string why_;
};

}  // namespace muster::infiniband
