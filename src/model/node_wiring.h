// What a node's own tools say of the ways between its GPUs and its network cards: lspci, NCCL's topology and graph files,
// `nvidia-smi topo -m`, and error counters of ports. Texts are untrusted, and printable already.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// One device of `lspci -vvv`, or one line of it that somebody cut out.
struct PciPort {
  std::string file;
  std::uint32_t line = 0;
  std::string address;                                // "0000:17:00.0"; empty: not told
  std::string what;                                   // "PCI bridge: Broadcom PEX890xx"; empty: not told
  bool acs = false;                                   // it has the switch that follows
  bool source_validated = false, redirected = false;  // ACSCtl: SrcValid+; ReqRedir+, CmpltRedir+ or UpstreamFwd+
  double gt_s = 0, gt_s_most = 0;                     // of a lane; 0: not told
  std::uint32_t lanes = 0, lanes_most = 0;            // 0: not told

  bool bridge() const { return what.find("bridge") != std::string::npos; }
  bool gpu() const { return what.starts_with("3D controller") || what.starts_with("VGA compatible controller"); }
  bool card() const { return what.starts_with("Infiniband") || what.starts_with("InfiniBand") || what.starts_with("Ethernet"); }
};

struct TopologyPart {
  std::string name;                   // of a card its own, of a GPU "GPU 3"
  std::vector<std::string> switches;  // PCI bus ids above it, the outermost first
  std::uint32_t lanes = 0;            // of its own link; 0: not told
  double gt_s = 0;                    // of a lane; 0: not told
  double gb_s = 0;                    // of a card
  bool gdr = false;
  std::uint32_t line = 0;
};

// NCCL_TOPO_DUMP_FILE.
struct NcclTopology {
  std::string file;
  std::vector<TopologyPart> gpus, cards;
  bool numa_unknown = false;  // processors without a number
};

// One search of NCCL_GRAPH_DUMP_FILE.
struct NcclGraph {
  std::string file;
  std::uint32_t line = 0;
  int id = -1, pattern = -1;
  std::uint32_t channels = 0;
  double gb_s_intra = 0, gb_s_inter = 0;
  std::string type_intra, type_inter;  // "NVL", "PIX", "PXB", "PHB", "SYS"
};

// `nvidia-smi topo -m`.
struct GpuMatrix {
  std::string file;
  std::uint32_t line = 0;
  std::vector<std::string> gpus, cards;
  std::vector<std::vector<std::string>> to_gpus, to_cards;  // of each GPU: "NV18", "PIX"
};

// Error counters of one port, as ibqueryerrors tells them.
struct PortErrors {
  std::string file, node;
  int port = -1;
  std::vector<std::pair<std::string, std::uint64_t>> counters;
};

}  // namespace muster
