// A stand-in for NVIDIA's library: eight GPUs that answer, until the file named by FAKE_NVML_HANG exists; then a call never returns.
// A file named by FAKE_NVML_XID, with a number in it, is an Xid of GPU 2; it is taken away when it was told of.
// With FAKE_NVML_WAVE power is 600 W for two seconds and 100 W for the next two, and energy is counted; its value is how many percent more.
// Where FAKE_NVML_DEV names a folder, GPU k is lost while there is no gpuk in it; FAKE_NVML_NODE makes UUIDs and serials those of one node.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct pci_info {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};

struct event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

static int text(char* out, unsigned size, const char* value) {
  snprintf(out, size, "%s", value);
  return 0;
}

static unsigned index_of(void* device) { return (unsigned)((char*)device - (char*)1000); }

static const char* node(void) {
  const char* name = getenv("FAKE_NVML_NODE");
  return name == NULL ? "" : name;
}

// 15 is NVML's word for a GPU that fell off the bus.
static int presence(unsigned i) {
  const char* folder = getenv("FAKE_NVML_DEV");
  char path[512];
  if (folder == NULL) return 0;
  snprintf(path, sizeof path, "%s/gpu%u", folder, i);
  return access(path, F_OK) == 0 ? 0 : 15;
}

int nvmlInit_v2(void) { return 0; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return text(out, size, "999.1"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 8;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
  *device = (char*)1000 + i;
  return presence(i);
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  snprintf(out, size, "GPU-fake-%s%s%u", node(), *node() ? "-" : "", index_of(device));
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  (void)device;
  return text(out, size, "NVIDIA H200");
}
int nvmlDeviceGetSerial(void* device, char* out, unsigned size) {
  snprintf(out, size, "%s16500000%u", node(), index_of(device));
  return 0;
}
int nvmlDeviceGetVbiosVersion(void* device, char* out, unsigned size) {
  (void)device;
  return text(out, size, "96.00.5E.00.01");
}
int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* info) {
  memset(info, 0, sizeof *info);
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", 0x1b + 16 * index_of(device));
  return 0;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* out) {
  const char* hang = getenv("FAKE_NVML_HANG");
  (void)sensor;
  while (hang != NULL && access(hang, F_OK) == 0) pause();
  *out = 41;
  return presence(index_of(device));
}
static long long wave_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  (void)device;
  *out = getenv("FAKE_NVML_WAVE") == NULL ? 123456 : wave_ms() % 4000 < 2000 ? 600000 : 100000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* out) {
  const char* wave = getenv("FAKE_NVML_WAVE");
  const long long now = wave_ms(), part = now % 4000;
  long long mj;
  if (wave == NULL) return 3;  // not supported
  mj = now / 4000 * 1400000 + (part < 2000 ? part * 600 : 1200000 + (part - 2000) * 100);
  *out = (unsigned long long)(mj + mj / 100 * atoi(wave)) + index_of(device);
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* out) {
  (void)device;
  (void)type;
  (void)counter;
  *out = 0;
  return 0;
}
int nvmlEventSetCreate(void** set) {
  *set = (char*)2000;
  return 0;
}
int nvmlEventSetFree(void* set) {
  (void)set;
  return 0;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  (void)device;
  (void)set;
  return types == 8 ? 0 : 2;
}
int nvmlEventSetWait_v2(void* set, struct event* event, unsigned timeout_ms) {
  const char* path = getenv("FAKE_NVML_XID");
  (void)set;
  for (unsigned waited = 0; waited < timeout_ms; waited += 10) {
    FILE* file = path == NULL ? NULL : fopen(path, "r");
    memset(event, 0, sizeof *event);
    const int got = file == NULL ? 0 : fscanf(file, "%llu", &event->data);
    if (file != NULL) fclose(file);
    if (got == 1) {
      remove(path);
      event->device = (char*)1000 + 2;
      event->type = 8;
      return 0;
    }
    usleep(path == NULL ? timeout_ms * 1000 : 10000);
    if (path == NULL) break;
  }
  return 10;
}
