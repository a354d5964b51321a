// A meeting is a folder. Each rank leaves its vote there, a symbolic link whose target is the hash of its table; one counts; and
// the decision is again a symbolic link, which the file system lets exactly one rank create, whatever the others propose. A link
// is made with its content in one step, on local file systems and over NFS alike, so that nobody ever reads half of one.
#define _GNU_SOURCE
#include "meeting.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DECISION "decision"
#define COUNTER "counter"
#define VOTE "vote-"
#define USE "use-"
#define OWN "own: "
#define NO_TABLE "none"  // a vote with which no table can win

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void rest(int64_t ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

// Opens a folder below `at`, which it makes if need be; -1 and errno otherwise. statx rather than fstat: older C libraries have
// it too.
static int folder(int at, const char* name, int ours_alone) {
  if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) return -1;
  const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct statx found;
  if (fd < 0 || !ours_alone) return fd;
  // In a folder that everybody may write to (/dev/shm), somebody else may have made it first, and could forge a decision.
  if (statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &found) == 0 && found.stx_uid == geteuid() &&
      (found.stx_mode & 022) == 0)
    return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

static int open_users(const struct meeting* m) {
  const int place = open(m->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return -1;
  char name[40];
  snprintf(name, sizeof name, "muster-tuner-%u", (unsigned)geteuid());
  const int fd = folder(place, name, 1);
  const int why = errno;
  close(place);
  errno = why;
  return fd;
}

static void name_of(const struct meeting* m, char name[64]) {
  snprintf(name, 64, "%016llx-%zu", (unsigned long long)m->communicator, m->ranks);
}

// How many votes lie in the folder, and whether one differs from `hash`.
static size_t count_votes(int fd, const char* hash, int* differ) {
  size_t votes = 0;
  const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again < 0 ? NULL : fdopendir(again);
  if (list == NULL) {
    if (again >= 0) close(again);
    return 0;
  }
  for (struct dirent* e; (e = readdir(list)) != NULL;) {
    if (strncmp(e->d_name, VOTE, sizeof VOTE - 1) != 0) continue;
    char text[64];
    const ssize_t length = readlinkat(fd, e->d_name, text, sizeof text);
    if (length < 0) continue;
    ++votes;
    if ((size_t)length != strlen(hash) || memcmp(text, hash, (size_t)length) != 0) *differ = 1;
  }
  closedir(list);
  return votes;
}

// 1 when the decision is there; `text` holds it.
static int decided(int fd, char text[160]) {
  const ssize_t length = readlinkat(fd, DECISION, text, 159);
  if (length <= 0) return 0;
  text[length] = '\0';
  return 1;
}

static void propose(int fd, const char* decision) {
  if (symlinkat(decision, fd, DECISION) != 0) return;  // somebody else's stands, and is read next; so is an error
}

// Folders of jobs that ended without leaving are taken away after a day.
static void sweep(int users) {
  const int again = openat(users, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again < 0 ? NULL : fdopendir(again);
  if (list == NULL) {
    if (again >= 0) close(again);
    return;
  }
  const time_t now = time(NULL);
  int swept = 0;
  for (struct dirent* e; swept < 64 && (e = readdir(list)) != NULL;) {
    struct statx found;
    if (e->d_name[0] == '.' || statx(users, e->d_name, AT_SYMLINK_NOFOLLOW, STATX_MTIME, &found) != 0) continue;
    if (now - (time_t)found.stx_mtime.tv_sec < 86400) continue;
    ++swept;
    const int old = openat(users, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* links = old < 0 ? NULL : fdopendir(old);
    if (links == NULL) continue;
    for (struct dirent* l; (l = readdir(links)) != NULL;) unlinkat(dirfd(links), l->d_name, 0);
    closedir(links);
    unlinkat(users, e->d_name, AT_REMOVEDIR);
  }
  closedir(list);
}

// One look at the votes; proposes as soon as there is something to decide.
static void count(struct meeting* m, int fd, const char* hash) {
  char decision[64];
  int differ = 0;
  const size_t votes = count_votes(fd, hash, &differ);
  if (differ || votes > m->ranks) {
    propose(fd, OWN "the ranks have different tables");
  } else if (votes == m->ranks) {
    snprintf(decision, sizeof decision, USE "%s", hash);
    propose(fd, decision);
  }
}

static void give_up(struct meeting* m, int fd, const char* hash) {
  char decision[96];
  int differ = 0;
  snprintf(decision, sizeof decision, OWN "%zu of %zu ranks came in time", count_votes(fd, hash, &differ), m->ranks);
  propose(fd, decision);
}

// Having voted, a rank is bound by the decision: it waits for it, makes it when nobody else does, and never guesses.
static enum verdict await(struct meeting* m, int fd, const char* hash, int counts) {
  char text[160];
  const int64_t start = now_ms(), given_up_at = start + (counts ? 1 : 2) * m->wait_ms,
                lost_at = given_up_at + 4 * m->wait_ms + 1000;
  for (int64_t pause = 1; !decided(fd, text); pause = pause < 50 ? pause * 2 : 50) {
    const int64_t now = now_ms();
    if (now >= lost_at) {
      snprintf(m->reason, sizeof m->reason, "the decision of the other ranks cannot be read");
      return VERDICT_LOST;
    }
    if (counts) count(m, fd, hash);
    if (now >= given_up_at) give_up(m, fd, hash);
    if (!decided(fd, text)) rest(pause);
  }
  if (strncmp(text, USE, sizeof USE - 1) == 0) {
    if (strcmp(text + sizeof USE - 1, hash) == 0) return VERDICT_USE;
    snprintf(m->reason, sizeof m->reason, "the other ranks agreed on table %.16s", text + sizeof USE - 1);
    return VERDICT_LOST;
  }
  snprintf(m->reason, sizeof m->reason, "%s", strncmp(text, OWN, sizeof OWN - 1) == 0 ? text + sizeof OWN - 1 : text);
  m->timed_out = strstr(text, "in time") != NULL;
  return VERDICT_OWN;
}

// Errors after which the vote is certainly not there; after others (a server that does not answer) it may be.
static int certain(int error) {
  return error == ENOENT || error == EACCES || error == EPERM || error == EROFS || error == ENOSPC || error == EDQUOT ||
         error == ENOTDIR || error == ENOSYS || error == EOPNOTSUPP;
}

static enum verdict vote(struct meeting* m, int fd, int users) {
  char hash[17];
  uint64_t mark = 0;
  if (getrandom(&mark, sizeof mark, 0) != (ssize_t)sizeof mark) {
    propose(fd, OWN "a rank has no random numbers");
    snprintf(m->reason, sizeof m->reason, "no random numbers");
    return VERDICT_OWN;
  }
  // No rank knows its number here. By chance alone two marks are never the same, so EEXIST is this very request, repeated by NFS.
  snprintf(m->vote, sizeof m->vote, VOTE "%016llx", (unsigned long long)mark);
  if (m->hash != 0) {
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)m->hash);
  } else {
    snprintf(hash, sizeof hash, NO_TABLE);
  }
  if (symlinkat(hash, fd, m->vote) != 0 && errno != EEXIST) {
    const int error = errno;
    propose(fd, OWN "a rank could not vote");
    if (certain(error)) {
      snprintf(m->reason, sizeof m->reason, "%s: %s", m->place, strerror(error));
      m->vote[0] = '\0';
      return VERDICT_OWN;
    }
  }
  if (m->hash == 0) {
    propose(fd, OWN "a rank has no table for this");
    return VERDICT_OWN;
  }
  const int counts = symlinkat(COUNTER, fd, COUNTER) == 0;
  if (counts) sweep(users);
  return await(m, fd, hash, counts);
}

enum verdict meeting_hold(struct meeting* m) {
  char name[64];
  name_of(m, name);
  m->vote[0] = m->reason[0] = '\0';
  m->timed_out = 0;
  const int users = open_users(m);
  const int fd = users < 0 ? -1 : folder(users, name, 0);
  enum verdict verdict = VERDICT_OWN;
  if (fd < 0) {
    // Without this rank's vote nobody can decide otherwise.
    snprintf(m->reason, sizeof m->reason, "%s: %s", m->place, strerror(errno));
  } else {
    verdict = vote(m, fd, users);
  }
  if (fd >= 0) close(fd);
  if (users >= 0) close(users);
  return verdict;
}

void meeting_leave(const struct meeting* m) {
  if (m->vote[0] == '\0') return;
  char name[64];
  name_of(m, name);
  const int users = open_users(m);
  const int fd = users < 0 ? -1 : openat(users, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int differ = 0;
  if (fd >= 0) {
    unlinkat(fd, m->vote, 0);
    // Everybody who voted has read the decision before leaving, so after the last one nobody needs it.
    if (count_votes(fd, "", &differ) == 0) {
      unlinkat(fd, DECISION, 0);
      unlinkat(fd, COUNTER, 0);
      unlinkat(users, name, AT_REMOVEDIR);
    }
    close(fd);
  }
  if (users >= 0) close(users);
}
