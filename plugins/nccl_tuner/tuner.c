// The NCCL tuner plugin: hands NCCL what a table of measurements says, where all ranks of a communicator hold the same table, and
// otherwise leaves NCCL alone. README.md says what is promised; abi.h what NCCL asks; table.h how the table is read.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "meeting.h"
#include "table.h"

#define EXPORTED __attribute__((visibility("default")))
#define NAME "muster"
#define TABLE_DEFAULT "/etc/muster/tuner.table"
// NCCL multiplies by 1024 the cost of what it can but should not use (rings that would lose precision in eight bits).
#define RELEGATED 512.0f

struct context {  // written while a communicator starts, then only read
  struct table table;
  void* bytes;
  size_t count;
  struct table_slot slots[TABLE_COLLECTIVES][2];
  struct meeting meeting;
  char place[512];
};

struct communicator {
  uint64_t id;
  int has_id;  // NCCL before 2.28 does not tell it
  size_t ranks;
  size_t nodes;
  uint32_t nvlink_domain;  // 0: not known
  nccl_logger log;
};

static atomic_int warned;    // one warning a process; what follows is only informative
static atomic_int given_up;  // somebody did not come to a meeting: this process does not wait a second time

static void fall_back(const struct communicator* c, int quiet, const char* why) {
  if (c->log == NULL) return;
  const int level = quiet || atomic_exchange(&warned, 1) ? LOG_INFO : LOG_WARN;
  c->log(level, LOG_OF_INIT | LOG_OF_TUNING, "muster_tuner", __LINE__, "muster tuner: NCCL chooses by itself: %s", why);
}

// The communicator fails to start, with this line: the only safe answer of a rank that cannot know what the others do.
static void refuse(const struct communicator* c, const char* why) {
  if (c->log != NULL)
    c->log(LOG_WARN, LOG_OF_INIT | LOG_OF_TUNING, "muster_tuner", __LINE__, "muster tuner: this rank stops: %s", why);
}

static uint64_t parse_hash(const char* text) {
  uint64_t hash = 0;
  int digits = 0;
  for (; *text != '\0'; ++text, ++digits) {
    const char c = *text;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || digits == 16) return 0;
    hash = hash << 4 | (uint64_t)digit;
  }
  return digits == 16 ? hash : 0;
}

static int64_t wait_ms(void) {
  const char* text = getenv("MUSTER_TUNER_WAIT_MS");
  int64_t ms = 0;
  if (text == NULL || *text == '\0') return 10000;
  for (; *text >= '0' && *text <= '9' && ms <= 600000; ++text) ms = ms * 10 + (*text - '0');
  return *text != '\0' || ms > 600000 ? 10000 : ms;
}

// A private copy rather than a mapping of the file: whoever rewrites or truncates the file under a running job must neither kill
// it nor let its ranks see different tables from one collective to the next. NULL when it was read; else what went wrong.
static const char* read_table(struct context* x, const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return strerror(errno);
  const off_t size = lseek(fd, 0, SEEK_END);
  const char* wrong = size < (off_t)sizeof(struct table_header) || size > TABLE_BYTES_MAX ? "this is no tuner table" : NULL;
  if (wrong == NULL) {
    x->count = (size_t)size;
    x->bytes = mmap(NULL, x->count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (x->bytes == MAP_FAILED) {
      x->bytes = NULL;
      wrong = "no memory";
    }
  }
  for (size_t at = 0; wrong == NULL && at < x->count;) {
    const ssize_t got = pread(fd, (char*)x->bytes + at, x->count - at, (off_t)at);
    if (got > 0) at += (size_t)got;
    if (got == 0) wrong = "it is cut short or too long";
    if (got < 0 && errno != EINTR) wrong = strerror(errno);
  }
  close(fd);
  if (wrong == NULL) wrong = table_open(x->bytes, x->count, &x->table);
  if (wrong == NULL && mprotect(x->bytes, x->count, PROT_READ) != 0) wrong = strerror(errno);
  return wrong;
}

// How many of the ten (collective, registered) this table has something for, in a communicator of this shape.
static int find_slots(struct context* x, const struct communicator* c) {
  int found = 0;
  if (c->nodes == 0 || c->ranks % c->nodes != 0 || c->ranks > TABLE_RANKS_MAX) return 0;  // nodes with different numbers of ranks
  for (int collective = 0; collective < TABLE_COLLECTIVES; ++collective) {
    for (int registered = 0; registered < 2; ++registered) {
      found += table_find(&x->table, collective, registered, (uint32_t)c->nodes, (uint32_t)(c->ranks / c->nodes),
                          c->nvlink_domain, &x->slots[collective][registered]);
    }
  }
  return found;
}

static void drop(struct context* x) {
  if (x == NULL) return;
  if (x->bytes != NULL) munmap(x->bytes, x->count);
  free(x);
}

// Where the ranks meet: NULL for nowhere.
static const char* meeting_place(const struct communicator* c) {
  const char* place = getenv("MUSTER_TUNER_MEET");
  if (place != NULL && *place != '\0') return place;
  return c->nodes == 1 ? "/dev/shm" : NULL;
}

// The table that this rank could use; its reason why not, otherwise. Either way the other ranks have to be told.
static int ready(struct context* x, const struct communicator* c, char why[640], int* quiet) {
  const char* named = getenv("MUSTER_TUNER_TABLE");
  const char* path = named != NULL && *named != '\0' ? named : TABLE_DEFAULT;
  const char* wrong = read_table(x, path);
  if (wrong != NULL) {
    snprintf(why, 640, "%s: %s", path, wrong);
    *quiet = path != named && access(path, F_OK) != 0;  // nobody asked for a table
    return 0;
  }
  const char* wanted = getenv("MUSTER_TUNER_HASH");
  if (wanted != NULL && *wanted != '\0' && parse_hash(wanted) != x->table.header->hash) {
    snprintf(why, 640, "%s: its hash is %016llx, and MUSTER_TUNER_HASH asks for %.16s", path,
             (unsigned long long)x->table.header->hash, wanted);
    return 0;
  }
  if (find_slots(x, c) == 0) {
    snprintf(why, 640, "%s: nothing was measured for %zu ranks on %zu nodes", path, c->ranks, c->nodes);
    *quiet = 1;  // a shape of no interest, such as a single rank
    return 0;
  }
  return 1;
}

// MUSTER_TUNER_MEET=trust: whoever starts the job answers for equal tables. A rank that breaks that must not go on: the others
// will follow the table, and a job that waits for ever is worse than one that says why it stopped.
static int trusting(struct context* x, const struct communicator* c, int usable, const char* why) {
  const char* wanted = getenv("MUSTER_TUNER_HASH");
  if (wanted == NULL || parse_hash(wanted) == 0) {
    refuse(c, "MUSTER_TUNER_MEET=trust needs MUSTER_TUNER_HASH, 16 hex digits");
    return RESULT_INVALID_USAGE;
  }
  if (!usable && (x->table.header == NULL || x->table.header->hash != parse_hash(wanted))) {
    refuse(c, why);
    return RESULT_INVALID_USAGE;
  }
  return RESULT_SUCCESS;
}

// VERDICT_USE, or the reason why not.
static enum verdict agree(struct context* x, const struct communicator* c, int usable, char why[640], int* quiet) {
  const char* place = meeting_place(c);
  if (place == NULL || !c->has_id || getenv("NCCL_COMM_ID") != NULL) {
    if (usable) {
      snprintf(why, 640, "%s",
               place == NULL ? "the ranks have nowhere to compare tables (MUSTER_TUNER_MEET is not set)"
               : !c->has_id  ? "this NCCL has no number for the communicator (MUSTER_TUNER_MEET=trust, or NCCL 2.28)"
                             : "with NCCL_COMM_ID communicators cannot be told apart");
    }
    return VERDICT_OWN;
  }
  if (usable && atomic_load(&given_up)) {
    snprintf(why, 640, "ranks did not come to an earlier meeting");
    *quiet = 1;
    usable = 0;
  }
  snprintf(x->place, sizeof x->place, "%s", place);
  x->meeting = (struct meeting){.place = x->place,
                                .communicator = c->id,
                                .ranks = c->ranks,
                                .hash = usable ? x->table.header->hash : 0,
                                .wait_ms = wait_ms()};
  const enum verdict verdict = meeting_hold(&x->meeting);
  if (x->meeting.timed_out) atomic_store(&given_up, 1);
  if (usable) snprintf(why, 640, "%s", x->meeting.reason);
  return verdict;
}

static int start(void** context, const struct communicator* c) {
  char why[640] = "";
  int quiet = 0;
  *context = NULL;
  struct context* x = calloc(1, sizeof *x);
  if (x == NULL) {
    refuse(c, "no memory");
    return RESULT_SYSTEM_ERROR;
  }
  const int usable = ready(x, c, why, &quiet);
  const char* place = meeting_place(c);
  enum verdict verdict = VERDICT_OWN;
  const int trust = place != NULL && strcmp(place, "trust") == 0;
  if (trust) {
    const int result = trusting(x, c, usable, why);
    if (result != RESULT_SUCCESS) {
      drop(x);
      return result;
    }
    verdict = usable ? VERDICT_USE : VERDICT_OWN;
  } else {
    verdict = agree(x, c, usable, why, &quiet);
  }
  if (verdict == VERDICT_USE) {
    if (c->log != NULL) {
      c->log(LOG_INFO, LOG_OF_INIT | LOG_OF_TUNING, "muster_tuner", __LINE__,
             "muster tuner: table %016llx, %u entries; %zu ranks on %zu nodes (NVLink domain %u) %s",
             (unsigned long long)x->table.header->hash, x->table.header->entries, c->ranks, c->nodes, c->nvlink_domain,
             trust ? "taken on trust: nothing was compared" : "agree");
    }
    *context = x;
    return RESULT_SUCCESS;
  }
  if (verdict == VERDICT_LOST) {
    refuse(c, why);
    drop(x);
    return RESULT_SYSTEM_ERROR;
  }
  fall_back(c, quiet, why);
  memset(x->slots, 0, sizeof x->slots);
  *context = x;  // it has a mark in the meeting's folder still, for those who come later
  return RESULT_SUCCESS;
}

static int stop(void* context) {
  struct context* x = context;
  if (x != NULL && x->meeting.place != NULL) meeting_leave(&x->meeting);
  drop(x);
  return RESULT_SUCCESS;
}

static const struct table_span* choose(const struct context* x, int collective, size_t bytes, int registered) {
  if (x == NULL || collective < 0 || collective >= TABLE_COLLECTIVES) return NULL;
  const struct table_slot* slot = &x->slots[collective][registered != 0];
  return slot->below == NULL ? NULL : table_choose(&x->table, slot, bytes);
}

// NCCL bounds the number of channels for rings and trees, and takes any number at its word for the others.
static int channels_of(const struct table_span* s) {
  return s->algorithm == ALGORITHM_TREE || s->algorithm == ALGORITHM_RING ? s->channels : 0;
}

static int choose_v2(void* context, int collective, size_t bytes, int collnet_support, int nvls_support, int pipe_ops,
                     int* algorithm, int* protocol, int* channels) {
  (void)pipe_ops;
  const struct table_span* s = choose(context, collective, bytes, 0);
  if (s == NULL || s->algorithm >= ALGORITHM_PAT) return RESULT_SUCCESS;  // NCCL 2.21 knows the first six
  const int collnet = s->algorithm == ALGORITHM_COLLNET_DIRECT || s->algorithm == ALGORITHM_COLLNET_CHAIN;
  const int nvls = s->algorithm == ALGORITHM_NVLS || s->algorithm == ALGORITHM_NVLS_TREE;
  if ((collnet && !collnet_support) || (nvls && !nvls_support)) return RESULT_SUCCESS;
  *algorithm = s->algorithm;
  *protocol = s->protocol;
  if (channels_of(s) > 0) *channels = channels_of(s);
  return RESULT_SUCCESS;
}

static int choose_v4(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                     int registered, int* channels) {
  (void)pipe_ops;
  const struct table_span* s = choose(context, collective, bytes, registered);
  if (s == NULL || s->algorithm >= algorithms || s->protocol >= protocols) return RESULT_SUCCESS;
  float* cost = (float*)(void*)costs;
  float* chosen = &cost[s->algorithm * protocols + s->protocol];
  if (!(*chosen >= 0.0f)) return RESULT_SUCCESS;
  float least = *chosen;
  for (int i = 0; i < algorithms * protocols; ++i) {
    if (cost[i] >= 0.0f && cost[i] < least) least = cost[i];
  }
  if (*chosen > RELEGATED * least) return RESULT_SUCCESS;
  *chosen = 0.0f;
  if (channels_of(s) > 0) *channels = channels_of(s);
  return RESULT_SUCCESS;
}

static int choose_v3(void* context, int collective, size_t bytes, int pipe_ops, float** costs, int algorithms, int protocols,
                     int* channels) {
  return choose_v4(context, collective, bytes, pipe_ops, costs, algorithms, protocols, 0, channels);
}

// Whether buffers are registered is not told here; where the two would differ, the size is left alone.
static int chunk_v6(void* context, int collective, size_t bytes, int algorithm, int protocol, int channels, size_t* chunk_bytes) {
  (void)channels;
  const struct table_span* plain = choose(context, collective, bytes, 0);
  const struct table_span* registered = choose(context, collective, bytes, 1);
  const struct table_span* s = plain != NULL ? plain : registered;
  if (s == NULL || s->chunk_bytes == 0 || s->algorithm != algorithm || s->protocol != protocol) return RESULT_SUCCESS;
  if (plain != NULL && registered != NULL && plain->chunk_bytes != registered->chunk_bytes) return RESULT_SUCCESS;
  *chunk_bytes = s->chunk_bytes;
  return RESULT_SUCCESS;
}

static int start_v2(size_t ranks, size_t nodes, nccl_logger log, void** context) {
  const struct communicator c = {.ranks = ranks, .nodes = nodes, .log = log};
  return start(context, &c);
}

// NCCL's constants are left as they are: the table says what was measured, and what NCCL expects of the rest stays NCCL's.
static int start_v5(void** context, uint64_t id, size_t ranks, size_t nodes, nccl_logger log, struct nvlink_domains_v5* nvlink,
                    struct tuner_constants_v5* constants) {
  (void)constants;
  struct communicator c = {.id = id, .has_id = 1, .ranks = ranks, .nodes = nodes, .log = log};
  // Domains of different sizes match no entry.
  if (nvlink != NULL)
    c.nvlink_domain = nvlink->ranks_min == nvlink->ranks_max && nvlink->ranks_max > 0 ? (uint32_t)nvlink->ranks_max : UINT32_MAX;
  return start(context, &c);
}

extern const struct tuner_v2 ncclTunerPlugin_v2;
extern const struct tuner_v3 ncclTunerPlugin_v3;
extern const struct tuner_v4 ncclTunerPlugin_v4;
extern const struct tuner_v5 ncclTunerPlugin_v5;
extern const struct tuner_v6 ncclTunerPlugin_v6;
EXPORTED const struct tuner_v2 ncclTunerPlugin_v2 = {NAME, start_v2, choose_v2, stop};
EXPORTED const struct tuner_v3 ncclTunerPlugin_v3 = {NAME, start_v2, choose_v3, stop};
EXPORTED const struct tuner_v4 ncclTunerPlugin_v4 = {NAME, start_v2, choose_v4, stop};
EXPORTED const struct tuner_v5 ncclTunerPlugin_v5 = {NAME, start_v5, choose_v4, stop};
EXPORTED const struct tuner_v6 ncclTunerPlugin_v6 = {NAME, start_v5, choose_v4, stop, chunk_v6};
