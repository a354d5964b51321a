// What NCCL asks of a tuner plugin, versions 2 to 6: layouts and numbers as NCCL fixes them, declared here so that nothing of
// NCCL is needed to build. A library offers one object per version, `ncclTunerPlugin_vN`; NCCL takes the newest that both know.
//   v2: NCCL 2.21 and later    v3: 2.22    v4: 2.24    v5: 2.28    v6: 2.30
#ifndef MUSTER_TUNER_ABI_H
#define MUSTER_TUNER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { RESULT_SUCCESS = 0, RESULT_SYSTEM_ERROR = 2, RESULT_INVALID_USAGE = 5 };  // of ncclResult_t
enum { LOG_WARN = 2, LOG_INFO = 3 };                                             // of ncclDebugLogLevel
enum { LOG_OF_INIT = 0x1, LOG_OF_TUNING = 0x40 };                                // of ncclDebugLogSubSys
enum { COLLECTIVE_BROADCAST, COLLECTIVE_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_REDUCE };
enum {
  ALGORITHM_TREE,
  ALGORITHM_RING,
  ALGORITHM_COLLNET_DIRECT,
  ALGORITHM_COLLNET_CHAIN,
  ALGORITHM_NVLS,
  ALGORITHM_NVLS_TREE,
  ALGORITHM_PAT,
  ALGORITHMS
};
enum { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOLS };

typedef void (*nccl_logger)(int level, unsigned long subsystems, const char* file, int line, const char* format, ...);

struct tuner_v2 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int collnet_support, int nvls_support, int pipe_ops,
                       int* algorithm, int* protocol, int* channels);
  int (*destroy)(void* context);
};

// From v3 on the costs NCCL expects, in microseconds, come as one block [algorithms][protocols], although declared float**; what
// cannot be used is negative, and what is set to 0 is taken.
struct tuner_v3 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                       int* channels);
  int (*destroy)(void* context);
};

struct tuner_v4 {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, nccl_logger log, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                       int registered, int* channels);
  int (*destroy)(void* context);
};

struct nvlink_domains_v5 {
  int domains;
  int ranks_min;  // in one domain
  int ranks_max;
};

struct tuner_constants_v5 {
  double base_latencies[7][3];
  double hardware_latencies[3][7][3];  // over NVLink, PCIe, the network
  double ll_bandwidth_max[4][3];       // by Volta, Ampere, Hopper, Blackwell and one, two, four and more nodes
  double ring_ll128_bandwidth_max[4][3];
  double tree_ll128_bandwidth_max[4][3];
  double tree_bandwidth_max[4][3];
  double nvls_tree_bandwidth_max[4][3];
};

struct tuner_v5 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
              struct nvlink_domains_v5* nvlink, struct tuner_constants_v5* constants);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                       int registered, int* channels);
  int (*finalize)(void* context);
};

struct tuner_v6 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
              struct nvlink_domains_v5* nvlink, struct tuner_constants_v5* constants);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                       int registered, int* channels);
  int (*finalize)(void* context);
  int (*get_chunk_size)(void* context, int collective, size_t bytes, int algorithm, int protocol, int channels,
                        size_t* chunk_bytes);
};

#endif
