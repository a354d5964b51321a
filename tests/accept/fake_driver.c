/* The stand-in for NVIDIA's library that the agent's tests use, with what a bench asks besides. Folder FAKE_GPUS: a file gpuN.PID for
 * each process that holds GPU N, which counts as long as that process lives; a file gpuN.NAME with a number for other things: leak
 * (MiB that stay in use), busy (%), user (a process that is none of ours), status, divided, and any counter. FAKE_NVML_INIT is what
 * nvmlInit answers, FAKE_NVML_COUNT how many GPUs there are (4), FAKE_NVML_OUTSIDE what is added to the numbers of processes, as for one
 * that looks at them out of a container. */
#define nvmlInit_v2 agents_init
#define nvmlDeviceGetCount_v2 agents_count
#define nvmlDeviceGetHandleByIndex_v2 agents_handle
#define nvmlDeviceGetTotalEccErrors agents_ecc
#define nvmlDeviceGetPowerUsage agents_power
#define nvmlEventSetWait_v2 agents_wait
#include "../live/agent/fake_nvml.c"
#undef nvmlInit_v2
#undef nvmlDeviceGetCount_v2
#undef nvmlDeviceGetHandleByIndex_v2
#undef nvmlDeviceGetTotalEccErrors
#undef nvmlDeviceGetPowerUsage
#undef nvmlEventSetWait_v2

#include <dirent.h>

struct memory {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct utilization {
  unsigned gpu, memory;
};
struct field {
  unsigned id, scope;
  long long timestamp, latency_us;
  int type, status;
  union {
    double real;
    unsigned u32;
    unsigned long long u64;
  } value;
};

static const char* folder(void) {
  const char* name = getenv("FAKE_GPUS");
  return name == NULL ? "/nowhere" : name;
}

static long number_of(unsigned gpu, const char* name, long otherwise) {
  char path[512];
  snprintf(path, sizeof path, "%s/gpu%u.%s", folder(), gpu, name);
  FILE* file = fopen(path, "r");
  long n = otherwise;
  if (file == NULL) return otherwise;
  if (fscanf(file, "%ld", &n) != 1) n = otherwise;
  fclose(file);
  return n;
}

/* As a driver sees it: a process that has ended holds nothing, whether or not somebody has waited for it. */
static int alive(long pid) {
  char path[64], state = 'Z';
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
  fclose(file);
  return state != 'Z' && state != 'X';
}

static unsigned processes_of(unsigned gpu, unsigned* pids, unsigned most) {
  char begin[32];
  unsigned n = 0;
  DIR* d = opendir(folder());
  snprintf(begin, sizeof begin, "gpu%u.", gpu);
  for (const struct dirent* e = NULL; d != NULL && (e = readdir(d)) != NULL;) {
    if (strncmp(e->d_name, begin, strlen(begin)) != 0) continue;
    const long pid = strtol(e->d_name + strlen(begin), NULL, 10);
    if (pid > 0 && alive(pid) && n < most) pids[n++] = (unsigned)pid;
  }
  if (d != NULL) closedir(d);
  const long user = number_of(gpu, "user", 0);
  if (user > 0 && n < most) pids[n++] = (unsigned)user;
  return n;
}

int nvmlInit_v2(void) {
  const char* answer = getenv("FAKE_NVML_INIT");
  return answer == NULL ? 0 : atoi(answer);
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const char* n = getenv("FAKE_NVML_COUNT");
  *count = n == NULL ? 4 : (unsigned)atoi(n);
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
  *device = (char*)1000 + i;
  return (int)number_of(i, "status", 0);
}
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory* m) {
  unsigned pids[64];
  const unsigned gpu = index_of(device);
  m->total = 143771ULL << 20;
  m->reserved = 600ULL << 20;
  m->used = (4 + 500ULL * processes_of(gpu, pids, 64) + (unsigned long long)number_of(gpu, "leak", 0)) << 20;
  m->free = m->total - m->reserved - m->used;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* out) {
  unsigned pids[64];
  const unsigned n = processes_of(index_of(device), pids, 64);
  const unsigned room = out == NULL ? 0 : *count;
  const char* outside = getenv("FAKE_NVML_OUTSIDE");
  const unsigned shift = outside == NULL ? 0 : (unsigned)atoi(outside);
  for (unsigned i = 0; i < n && i < room; ++i) out[i] = (struct process){pids[i] + shift, 500ULL << 20, ~0U, ~0U};
  *count = n;
  return n > room ? 7 : 0;
}
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* u) {
  u->gpu = (unsigned)number_of(index_of(device), "busy", 0);
  u->memory = 0;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* out) {
  (void)counter;
  *out = (unsigned long long)number_of(index_of(device), type == 1 ? "ecc_uncorrected" : "ecc_corrected", 0);
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  *now = *later = (unsigned)number_of(index_of(device), "divided", 0);
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* mhz) {
  (void)device;
  (void)clock;
  *mhz = 1484;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  (void)device;
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  (void)device;
  *out = 5;
  return 0;
}
/* As the real one: slow while idle. */
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* out) {
  unsigned pids[64];
  *out = processes_of(index_of(device), pids, 64) > 0 ? 5 : 1;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* out) {
  *out = (unsigned)number_of(index_of(device), "width", 16);
  return 0;
}
int nvmlDeviceGetFieldValues(void* device, int count, struct field* fields) {
  for (int i = 0; i < count; ++i) {
    struct field* f = &fields[i];
    f->type = 1;
    f->status = 0;
    if (f->id == 186) {
      f->value.u32 = 345678;
    } else if (f->id == 82) {
      f->value.u32 = 54;
    } else if (f->id == 230) {
      f->value.u32 = (unsigned)number_of(index_of(device), "recovery_action", 0);
    } else {
      f->status = 3;
    }
  }
  return 0;
}
int nvmlEventSetWait_v2(void* set, struct event* event, unsigned timeout_ms) {
  const char* path = getenv("FAKE_NVML_XID");
  (void)timeout_ms;
  return path == NULL || access(path, F_OK) != 0 ? 10 : agents_wait(set, event, 10);
}
