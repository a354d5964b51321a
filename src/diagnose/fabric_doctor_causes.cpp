// The causes that a doctor of fabrics knows: what each is, what to do about it, and how to see that it was it.
#include <algorithm>

#include "diagnose/fabric_doctor_signs.h"

namespace muster::diagnose {
namespace {

constexpr Cause kCauses[] = {
    {"gpu_fault", "a GPU or its NVLink failed",
     "drain the node; read its kernel log for the Xid (muster explain --file dmesg.txt), reset or replace the GPU",
     "dcgmi diag -r 3 on the node passes, and no new Xid in an hour of work", 10},
    {"rdma_card_fault", "an RDMA card failed",
     "drain the node; dmesg (mlx5_core) tells the syndrome; power cycle, update the firmware, replace the card",
     "the card's async events stay silent for a day of traffic", 11},
    {"link_flap", "a link of the fabric goes down and comes back",
     "replace the cable or transceiver of the port that reports it, then its switch port; NCCL_IB_TIMEOUT=22 rides out short "
     "gaps",
     "link_downed of both ends does not grow while ib_write_bw runs for ten minutes", 12},
    {"fabric_manager",
     "the NVLink switches are not set up: the fabric manager is not running, of another version, or was restarted",
     "systemctl restart nvidia-fabricmanager with all jobs stopped (its version must be the driver's), or reboot the node; "
     "NCCL_NVLS_ENABLE=0 goes around multicast meanwhile",
     "nvidia-smi -q shows Fabric State: Completed, Status: Success on every GPU", 13},
    {"imex", "memory cannot be shared between nodes over NVLink: the IMEX channel is missing",
     "give the container /dev/nvidia-caps-imex-channels/channel0 and run nvidia-imex on every node; NCCL_MNNVL_ENABLE=0 goes "
     "without",
     "nvidia-imex-ctl -N says READY for all nodes", 14},
    {"driver_too_old", "the driver is too old for this CUDA",
     "a newer driver on the node, or an image with an older CUDA (nvidia-smi shows the highest CUDA that the driver takes)",
     "nvidia-smi's CUDA Version is at least that of the image", 15},
    {"driver_mismatch", "the driver's kernel module and its libraries are of different versions",
     "reboot the node or reload the nvidia modules after the upgrade; in containers restart the toolkit", "nvidia-smi runs", 16},
    {"nvls_memory", "NVLink SHARP needs more memory than is left on the GPUs",
     "NCCL_NVLS_ENABLE=0, or leave the GPU 2 GB more; fewer communicators", "the job starts with NCCL_NVLS_ENABLE=0", 17},
    {"host_memory", "a node's memory ran out, and the kernel or the scheduler ended a process for it",
     "more memory for the job or its container, fewer data loader workers, no copy of the checkpoint in each rank; dmesg names "
     "the process that was ended",
     "no 'Killed process' in dmesg and no oom_kill event of the step in the next run", 16},
    {"gpu_memory", "a GPU has no memory left",
     "smaller batches or more sharding where the framework asked for it; for NCCL's buffers let the framework keep 1 to 2 GB "
     "free; end stray processes on the GPU (nvidia-smi); smaller NCCL_BUFFSIZE and fewer channels",
     "nvidia-smi shows free memory on that GPU throughout a step", 18},
    {"shm_too_small", "/dev/shm is full or too small",
     "docker run --shm-size=8g (or --ipc=host); in Kubernetes an emptyDir of medium Memory on /dev/shm; remove stale "
     "/dev/shm/nccl-*",
     "df -h /dev/shm in the container shows more than 1 GB free while the job starts", 19},
    {"memlock_limit", "the process may not lock enough memory for RDMA",
     "ulimit -l unlimited for the launcher's service too (LimitMEMLOCK=infinity, docker --ulimit memlock=-1), then a new login",
     "ulimit -l printed by every rank through the launcher says unlimited", 20},
    {"open_files_limit", "the process may not open enough files and sockets",
     "ulimit -n 1048576 for the launcher's service too (LimitNOFILE); fewer NCCL_NSOCKS_PERTHREAD and NCCL_SOCKET_NTHREADS",
     "ulimit -n printed by every rank through the launcher", 21},
    {"device_ordinal", "a process asks for a GPU that its node does not show it",
     "as many processes a node as GPUs: mpirun -N, -g 1 with one process a GPU, CUDA_VISIBLE_DEVICES, --gpus of the container",
     "nvidia-smi -L run by the launcher on each node lists enough", 22},
    {"duplicate_gpu", "two ranks use the same GPU",
     "set the device from the local rank before the process group begins (torch.cuda.set_device), one process a GPU; MIG parts "
     "of "
     "one GPU cannot meet in NCCL",
     "each rank prints another bus id", 23},
    {"peer_mapping_limit", "more GPUs of a node map each other's memory than CUDA allows (8 peers)",
     "NCCL_P2P_DISABLE=1 or NCCL_P2P_LEVEL=PXB for groups of more than eight GPUs on PCIe, or fewer GPUs a process",
     "the job starts with CUDA_VISIBLE_DEVICES of eight GPUs", 24},
    {"no_interface", "no network interface fits NCCL_SOCKET_IFNAME",
     "name one that exists on every node (ip -br addr), or unset it; inside containers names differ",
     "NCCL_DEBUG=INFO: Bootstrap : Using that interface on every rank", 25},
    {"rdma_not_in_container", "the process cannot open the RDMA cards",
     "give it /dev/infiniband (docker --device=/dev/infiniband --cap-add=IPC_LOCK, or the device plugin's resource), with the "
     "user-space driver of the cards (rdma-core)",
     "ibv_devinfo inside the container lists every card", 26},
    {"efa_provider", "libfabric finds no EFA device",
     "install the EFA software in the image, attach EFA interfaces and give the container /dev/infiniband/uverbs*; the security "
     "group must allow all traffic to itself",
     "fi_info -p efa lists them in the container", 27},
    {"plugin_mismatch", "nodes use different network plugins of NCCL",
     "the same libnccl-net.so on all nodes, or NCCL_NET_PLUGIN=none on all",
     "NCCL_DEBUG=INFO: the same 'Using network' on every rank", 28},
    {"version_mismatch", "ranks run different versions of NCCL",
     "the same image on all nodes; look for a second library (LD_LIBRARY_PATH, LD_PRELOAD, pip's nvidia-nccl)",
     "NCCL_DEBUG=VERSION prints one version", 29},
    {"rank_mismatch", "ranks do not do the same: another size, order or setting on some",
     "compare NCCL's environment of the ranks first (NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE), then the calls: "
     "NCCL_DEBUG_SUBSYS=COLL",
     "it works with NCCL_PROTO=Simple on all ranks: then a setting differs; else the program does", 30},
    {"pcie_acs", "the PCIe switches send what goes between GPU and card through the CPU (ACS), which breaks GPUDirect",
     "turn ACS off on bare metal: in the BIOS, or setpci -s BRIDGE ECAP_ACS+0x6.w=0000 for every bridge after each boot, and "
     "iommu=pt",
     "lspci -vvv | grep ACSCtl shows SrcValid- everywhere; the job works without NCCL_NET_GDR_LEVEL=LOC", 31},
    {"rdma_unreachable", "RDMA cards do not reach each other: wrong GID, no route, or cards of another network",
     "on RoCE show_gids and NCCL_IB_GID_INDEX=3 (RoCE v2 over IPv4; NCCL 2.21 and later choose by themselves), routes between "
     "subnets; name the cards of one network in NCCL_IB_HCA",
     "ib_write_bw -x 3 between the two cards works", 32},
    {"rdma_refused", "the far end of an RDMA transfer refused it",
     "look at the far rank first: one that died, or whose memory was freed, looks like this",
     "the far rank's log has no earlier error", 33},
    {"iommu", "the IOMMU translates what GPUs send to each other",
     "iommu=pt on the kernel's command line (amd_iommu=on iommu=pt), or the IOMMU off in the BIOS",
     "p2pBandwidthLatencyTest gives right values; dmesg has no IO_PAGE_FAULT", 34},
    {"tests_without_mpi", "nccl-tests ran once per process instead of once: it was built without MPI",
     "make clean; make MPI=1 MPI_HOME=... and mpirun of the same MPI", "one header, and ranks numbered from 0 to the last", 35},
    {"wrong_interface", "ranks try to meet over an interface that other nodes do not reach",
     "NCCL_SOCKET_IFNAME=eth0 (the cluster's network), or exclude: NCCL_SOCKET_IFNAME=^lo,docker,veth,virbr",
     "NCCL_DEBUG=INFO: Bootstrap : Using an address that the other nodes ping", 36},
    {"peer_unreachable", "a rank does not reach another over TCP: firewall, address, or a process that is not there",
     "nc -l 12345 there and nc HOST 12345 here; open all ports between the nodes; is the other process alive, on that address?",
     "nc connects both ways", 37},
    {"topology_file", "NCCL's topology or graph file cannot be read",
     "unset NCCL_TOPO_FILE and NCCL_GRAPH_FILE, or give them a file of this machine type", "NCCL_DEBUG=INFO has no such line",
     38},
    {"roce_class", "NCCL's packets do not travel in the lossless class", "", "", 40},
    {"roce_pfc_mismatch", "PFC is not on the same priorities everywhere", "", "", 41},
    {"roce_ecn_off", "a priority is paused but never marked", "", "", 42},
    {"roce_threshold_order", "marks and pauses come in the wrong order", "", "", 43},
    {"roce_headroom", "too little headroom for pauses", "", "", 44},
    {"roce_trust", "priorities come from VLAN tags", "", "", 45},
    {"roce_pfc_priorities", "not one lossless priority", "", "", 46},
    {"roce_loss", "packets of RDMA are lost and sent again", "", "", 47},
    {"roce_pauses", "ports pause each other in steady state", "", "", 48},
    {"vm_topology", "NCCL does not see how GPUs and cards are wired, as in a virtual machine that hides it",
     "NCCL_TOPO_FILE with the provider's file for this machine type (or that of the host with only cpu and pci elements)",
     "NCCL_DEBUG_SUBSYS=GRAPH: each GPU with a NET at PIX or PXB", 50},
    {"no_gpudirect", "network cards do not read and write the GPUs' memory (no GPUDirect RDMA)",
     "modprobe nvidia-peermem on these nodes and at boot, or DMA-BUF (open driver, kernel 5.12 and later); NCCL before 2.23 "
     "knows "
     "nv_peer_mem only",
     "NCCL_DEBUG=INFO: /GDRDMA behind every 'via NET/...'", 51},
    {"wrong_nics", "nodes use different sets of cards, or one of another network",
     "name the cards of the compute network in NCCL_IB_HCA, the same rails on all nodes; NCCL_CROSS_NIC=0 where rails are apart",
     "NCCL_DEBUG=INFO: NET/IB : Using lists the same cards everywhere", 53},
    {"pcie_degraded", "a PCIe link runs narrower than it can",
     "reseat the card or riser, look at the slot's bifurcation in the BIOS; a GPU at rest may lower its speed, never its width",
     "lspci -vvv shows LnkSta as LnkCap under load", 54},
    {"link_errors", "ports of the fabric count errors",
     "clear the counters, wait, and replace the cable or transceiver of those that grow (ibqueryerrors, mlxlink -c)",
     "they stay at 0 for an hour of traffic", 55},
    {"size_collapse", "bandwidth falls apart from one size on",
     "on RoCE look for pauses and lost packets at that size (ethtool -S, muster tune doctor with two readings), NCCL_IB_QPS_PER_"
     "CONNECTION=4 with NCCL_IB_SPLIT_DATA_ON_QPS=0, adaptive routing; on other networks force NCCL_ALGO and NCCL_PROTO around "
     "it",
     "the table of nccl-tests rises with size", 60},
    {"ecmp_congestion", "flows share links by an unlucky hash while others are idle (ECMP)",
     "NCCL_IB_QPS_PER_CONNECTION=4 or 8 with a hash over the UDP source port (RoCE v2), or adaptive routing on the switches",
     "out_of_sequence and CNPs grow less, the slowest rank's busbw rises", 61},
    {"slow_exchange", "exchanges are slower than these links give", "", "", 62},
    {"p2p_through_host", "GPUs of one node exchange through the host's memory", "", "", 63},
    {"tcp_instead_of_rdma", "nodes talk over TCP sockets and not over RDMA cards", "", "", 64},
    {"nvls_missing", "NVLink SHARP is not available", "", "", 65},
    {"fewer_cards", "some nodes have fewer cards", "", "", 66},
    {"wrong_result", "results that cannot be right", "", "", 9},
    {"corrupt_data", "data came out of an exchange other than it should have",
     "run no training on these nodes: the same test within each node, then pair by pair, tells the faulty GPU, link or card "
     "(dcgmi diag -r 3); between GPUs of PCIe look at ACS and the IOMMU as well",
     "the same test with -c 1 shows #wrong 0 at all sizes", 9},
    {"collective_timeout", "a collective did not end in time", "", "", 80},
    {"init_hang", "a communicator never began", "", "", 81},
    {"speed_guess", "NCCL could not read a link's speed and takes 10 Gb/s, by which it chooses algorithms",
     "a table for the tuner plugin (muster tune), or NCCL_TOPO_FILE with the true speed",
     "NCCL_DEBUG_SUBSYS=GRAPH: NET with the true rate", 95},
    {"peer_closed", "the other end closed the connection: somebody else failed first, or something that is no rank knocked",
     "look at the log of the rank at that address for what came first; where there is none, keep scanners off the nodes' ports",
     "that rank's log ends without an earlier error", 90},
};

}  // namespace

const Cause* cause_named(std::string_view name) {
  const auto it = std::find_if(std::begin(kCauses), std::end(kCauses), [&](const Cause& c) { return c.name == name; });
  return it == std::end(kCauses) ? nullptr : &*it;
}

std::vector<const Cause*> known_causes() {
  std::vector<const Cause*> out;
  for (const Cause& c : kCauses) out.push_back(&c);
  std::stable_sort(out.begin(), out.end(), [](const Cause* x, const Cause* y) { return x->rank < y->rank; });
  return out;
}

Finding finding_of(const Cause& cause, Confidence confidence) {
  Finding f;
  f.title = std::string(cause.title);
  f.remedy = std::string(cause.remedy);
  f.verify = std::string(cause.verify);
  f.confidence = confidence;
  f.cause = std::string(cause.name);
  return f;
}

}  // namespace muster::diagnose
