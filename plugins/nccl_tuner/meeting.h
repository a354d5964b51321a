// How the ranks of one communicator agree to use a table, all of them or none: README.md argues why this is safe.
#ifndef MUSTER_TUNER_MEETING_H
#define MUSTER_TUNER_MEETING_H

#include <stddef.h>
#include <stdint.h>

enum verdict {
  VERDICT_OWN,   // NCCL's own choice, on all ranks
  VERDICT_USE,   // all ranks hold the same table
  VERDICT_LOST,  // the others may have agreed, and this rank cannot find out
};

struct meeting {
  const char* place;  // a folder that all ranks of the communicator share
  uint64_t communicator;
  size_t ranks;
  uint64_t hash;     // of this rank's table; 0: it has none
  int64_t wait_ms;   // for the other ranks
  char vote[32];     // this rank's mark in the folder; empty when it has none
  char reason[160];  // of the verdict, unless it is VERDICT_USE
  int timed_out;     // somebody did not come
};

enum verdict meeting_hold(struct meeting* m);
// Takes this rank's mark away; the last one takes away what the meeting left.
void meeting_leave(const struct meeting* m);

#endif
