/* What libmuster-accept-cuda.so offers and asks for: plain C, so that muster is built without CUDA and runs without a GPU.
 * Whoever calls it does so in a process of its own, one for each GPU: a kernel that hangs hangs that process alone. */
#ifndef MUSTER_ACCEPT_H
#define MUSTER_ACCEPT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_ACCEPT_ABI 1

struct muster_accept_device {
  char name[96];
  char uuid[64]; /* "GPU-..." as the driver prints it */
  char pci[32];
  int32_t sms;
  int32_t capability; /* 90: sm_90 */
  uint64_t memory_bytes;
  int32_t driver, runtime; /* 13000: CUDA 13.0 */
  int64_t cublas;          /* cublasLtGetVersion(); 0: the library is not there */
};

/* What a test calls while it runs, from the thread that runs it. Times are CLOCK_MONOTONIC, in seconds. */
struct muster_accept_host {
  void* self;
  /* A figure of this test; the same name again is a repetition. */
  void (*measured)(void* self, const char* metric, double value);
  /* A rate held from `begun_s` for `took_s`; `mhz` of the SMs by their own counters on the mean, -1: not told. */
  void (*held)(void* self, const char* metric, double value, double begun_s, double took_s, double mhz);
  /* A result that is not what it must be. `place`: "SM 17", "address 0x1f00000040", "row 8191". */
  void (*wrong)(void* self, const char* place, uint64_t count, const char* detail);
  void (*progress)(void* self, double share);
  /* Not 0: come back at once. Asked at least every 50 ms of a test's time. */
  int (*stop)(void* self);
};

struct muster_accept_task {
  const char* test; /* a name of muster::AcceptTest */
  double seconds;   /* that it may take, about; 0: as long as one pass takes */
  uint64_t seed;    /* of all its data */
  /* A fault to plant, "KIND:COUNT" ("bit:640"); NULL or empty: none. See README.md. */
  const char* plant;
};

enum { MUSTER_ACCEPT_DONE = 0, MUSTER_ACCEPT_COULD_NOT_RUN = 1, MUSTER_ACCEPT_STOPPED = 2 };

int muster_accept_abi(void);
/* 0, or one of the above with the reason in `why`. `gpu`: the UUID or PCI address of the device, or its number. */
int muster_accept_open(const char* gpu, struct muster_accept_device* device, char* why, size_t why_bytes, void** handle);
int muster_accept_run(void* handle, const struct muster_accept_task* task, const struct muster_accept_host* host, char* why,
                      size_t why_bytes);
void muster_accept_close(void* handle);

#ifdef __cplusplus
}
#endif
#endif
