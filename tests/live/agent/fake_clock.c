// Loaded into a program (LD_PRELOAD) to set its wall clock off by the whole seconds in the file that FAKE_CLOCK names, read anew at
// each question. The monotonic clock stays as it is, as it does when a machine's time is set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
  const char* path = getenv("FAKE_CLOCK");
  char text[32] = {0};
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int r = real(clock, t);
  if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += offset();
  return r;
}

int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  struct timespec s;
  (void)zone;
  const int r = clock_gettime(CLOCK_REALTIME, &s);
  t->tv_sec = s.tv_sec;
  t->tv_usec = s.tv_nsec / 1000;
  return r;
}

time_t time(time_t* out) {
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  if (out != NULL) *out = s.tv_sec;
  return s.tv_sec;
}
