// A tuner for measuring: each collective takes what the same process wrote into `force_tuner_choice` before (by ctypes), so that
// one communicator serves a whole sweep. Nothing here keeps ranks from differing; the sweep does, by a barrier.
#include "abi.h"

#define EXPORTED __attribute__((visibility("default")))

struct choice {
  int algorithm;  // -1: NCCL's own
  int protocol;
  int channels;
  int refused;                      // collectives that could not have it
  int nodes, ranks, nvlink_domain;  // of the latest communicator
};
EXPORTED struct choice force_tuner_choice = {-1, -1, 0, 0, 0, 0, 0};

static int start(void** context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
                 struct nvlink_domains_v5* nvlink, struct tuner_constants_v5* constants) {
  (void)communicator, (void)log, (void)constants;
  force_tuner_choice.ranks = (int)ranks;
  force_tuner_choice.nodes = (int)nodes;
  force_tuner_choice.nvlink_domain = nvlink->ranks_max;
  *context = &force_tuner_choice;
  return RESULT_SUCCESS;
}

static int choose(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                  int registered, int* channels) {
  (void)collective, (void)bytes, (void)pipe_ops, (void)registered;
  struct choice* c = context;
  if (c->algorithm < 0) return RESULT_SUCCESS;
  float* cost = (float*)(void*)costs + c->algorithm * protocols + c->protocol;
  if (c->algorithm >= algorithms || c->protocol >= protocols || *cost < 0.0f) {
    ++c->refused;
    return RESULT_SUCCESS;
  }
  *cost = 0.0f;
  if (c->channels > 0) *channels = c->channels;
  return RESULT_SUCCESS;
}

static int stop(void* context) {
  (void)context;
  return RESULT_SUCCESS;
}

EXPORTED const struct tuner_v5 ncclTunerPlugin_v5 = {"force", start, choose, stop};
