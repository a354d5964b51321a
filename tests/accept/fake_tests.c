/* Tests that pretend: a library with the interface of plugins/accept_cuda/accept.h that needs no GPU. FAKE_ACCEPT says where it is to
 * misbehave: "TEST=WHAT" or "TEST:GPU=WHAT", several with commas; TEST may also be abi, open or close. FAKE_GPUS names a folder in which
 * a file gpuN.PID stands for each process that holds GPU N: the driver that pretends reads it. */
#include <accept_cuda/accept.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#define GPUS_MAX 64

struct opened {
  int gpus[GPUS_MAX], count;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_ms(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

/* What FAKE_ACCEPT says of a test on a GPU; empty: nothing. */
static const char *what(const char *test, int gpu) {
  static char found[64];
  const char *at = getenv("FAKE_ACCEPT");
  char named[64], of[96];
  snprintf(named, sizeof named, "%s=", test);
  snprintf(of, sizeof of, "%s:%d=", test, gpu);
  for (; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
    const size_t n = strncmp(at, named, strlen(named)) == 0 ? strlen(named) : strncmp(at, of, strlen(of)) == 0 ? strlen(of) : 0;
    if (n == 0) continue;
    snprintf(found, sizeof found, "%.*s", (int)strcspn(at + n, ","), at + n);
    return found;
  }
  return "";
}

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void hold(int gpu, int on) {
  char path[512];
  const char *folder = getenv("FAKE_GPUS");
  if (folder == NULL) return;
  snprintf(path, sizeof path, "%s/gpu%d.%d", folder, gpu, (int)getpid());
  if (!on) {
    unlink(path);
    return;
  }
  FILE *file = fopen(path, "w");
  if (file != NULL) fclose(file);
}

static void hang(void) {
  for (;;) pause();
}

/* Somebody who looks at this process as a debugger does, and never looks away: killed, it does not go. */
static void be_stuck(void) {
  const char *folder = getenv("FAKE_GPUS");
  char path[512];
  snprintf(path, sizeof path, "%s/stuck", folder == NULL ? "/nowhere" : folder);
  const pid_t me = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (fork() == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    if (ptrace(PTRACE_SEIZE, me, 0, 0) != 0) _exit(1);
    FILE *file = fopen(path, "w");
    if (file != NULL) fclose(file);
    for (const double until = now_s() + 60; access(path, F_OK) == 0 && now_s() < until;) wait_ms(5);
    _exit(0);
  }
  hang();
}

int muster_accept_abi(void) { return is(what("abi", -1), "other") ? MUSTER_ACCEPT_ABI + 6 : MUSTER_ACCEPT_ABI; }

int muster_accept_open(const char *gpu, struct muster_accept_device *device, char *why, size_t why_bytes, void **handle) {
  struct opened *o = calloc(1, sizeof *o);
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  for (; visible != NULL && *visible != '\0' && o->count < GPUS_MAX; visible += *visible == ',') {
    const size_t n = strcspn(visible, ",");
    o->gpus[o->count++] = atoi(visible + strlen("GPU-fake-"));
    visible += n;
  }
  const char *how = what("open", o->gpus[0]);
  if (is(how, "hang")) hang();
  if (is(how, "die")) abort();
  if (is(how, "cannot")) {
    snprintf(why, why_bytes, "out of memory");
    return MUSTER_ACCEPT_COULD_NOT_RUN;
  }
  memset(device, 0, sizeof *device);
  snprintf(device->name, sizeof device->name, "NVIDIA H200");
  snprintf(device->uuid, sizeof device->uuid, "%s", is(how, "another") ? "GPU-fake-99" : gpu);
  device->sms = 132;
  device->capability = 90;
  device->memory_bytes = 150754820096ULL;
  device->driver = 13000, device->runtime = 13000;
  device->cublas = 130100;
  for (int i = 0; i < o->count; ++i) hold(o->gpus[i], 1);
  *handle = o;
  return MUSTER_ACCEPT_DONE;
}

/* Figures of the tests between GPUs, as a worker that sees several numbers them. */
static void between(const struct opened *o, const struct muster_accept_task *task, const struct muster_accept_host *host) {
  char name[64];
  for (int a = 0; a < o->count; ++a) {
    for (int b = 0; b < o->count && is(task->test, "peers"); ++b) {
      snprintf(name, sizeof name, "pair_gb_s:%d>%d", a, b);
      if (a != b) host->measured(host->self, name, 300);
    }
  }
  if (is(what(task->test, -1), "wrong")) host->wrong(host->self, "GPU 1 to GPU 0", 5, "words that arrived otherwise");
  if (is(task->test, "nccl")) host->measured(host->self, "nccl_busbw", 470);
}

static int misbehave(const char *how, const struct muster_accept_host *host, char *why, size_t why_bytes) {
  if (is(how, "hang")) hang();
  if (is(how, "stuck")) be_stuck();
  if (is(how, "exit")) exit(3);
  if (is(how, "die")) {
    fprintf(stderr, "malloc(): corrupted top size\n");
    fflush(stderr);
    raise(SIGSEGV);
  }
  if (is(how, "cannot")) {
    snprintf(why, why_bytes, "CUDA: out of memory");
    return MUSTER_ACCEPT_COULD_NOT_RUN;
  }
  if (is(how, "silent")) return MUSTER_ACCEPT_COULD_NOT_RUN;
  if (is(how, "odd")) return 77;
  if (is(how, "wrong")) host->wrong(host->self, "SM 17", 3, "unit fp32: 0x1 instead of 0x2");
  if (is(how, "nan")) host->measured(host->self, "fake_gb_s", (double)NAN);
  if (is(how, "flood")) {
    for (int i = 0; i < 200000; ++i) host->measured(host->self, "flood", i);
    for (int i = 0; i < 100000; ++i) host->wrong(host->self, "row", 2, "flood");
    for (int i = 0; i < 100000; ++i) printf("a library that prints and prints and prints\n");
  }
  if (is(how, "rude")) {
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[0] = '\x1b', text[1] = '\n', text[2] = (char)0xff;
    host->measured(host->self, text, 1);
    host->wrong(host->self, text, 0, text);
    snprintf(why, why_bytes, "%s", text);
  }
  return MUSTER_ACCEPT_DONE;
}

int muster_accept_run(void *handle, const struct muster_accept_task *task, const struct muster_accept_host *host, char *why,
                      size_t why_bytes) {
  const struct opened *o = handle;
  const char *how = what(task->test, o->gpus[0]);
  const int r = misbehave(how, host, why, why_bytes);
  if (r != MUSTER_ACCEPT_DONE) return r;
  const double begun = now_s();
  do {
    if (!is(how, "deaf") && host->stop(host->self)) return MUSTER_ACCEPT_STOPPED;
    host->progress(host->self, task->seconds > 0 ? (now_s() - begun) / task->seconds : 1);
    wait_ms(2);
  } while (now_s() < begun + task->seconds);
  between(o, task, host);
  if (o->count == 1) {
    host->measured(host->self, "fake_gb_s", 100 + o->gpus[0]);
    host->measured(host->self, "fake_seed", (double)task->seed);
    host->held(host->self, task->test, 700, begun, now_s() - begun, 1484);
    if (task->plant != NULL && *task->plant != '\0') host->wrong(host->self, "address 0x1f", 1, task->plant);
  }
  return MUSTER_ACCEPT_DONE;
}

void muster_accept_close(void *handle) {
  struct opened *o = handle;
  if (is(what("close", o->gpus[0]), "hang")) hang();
  for (int i = 0; i < o->count; ++i) hold(o->gpus[i], 0);
  free(o);
}
