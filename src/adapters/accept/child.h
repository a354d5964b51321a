// A process of a bench: forked, in a process group of its own, dead as soon as the bench is. It is told what to do and answers
// over one socket; what it prints is kept for the case that it dies of it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/accept/message.h"
#include "base/result.h"

namespace muster::bench {

class Child {
 public:
  // `live` is all that it does, with its end of the socket. Call where no other thread runs.
  static Result<std::unique_ptr<Child>> start(const std::string& name, const std::function<void(int socket)>& live);
  ~Child();  // killed; waited for briefly
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  int fd() const { return fd_; }  // readable when it has said something, or is gone
  bool tell(const Order& order);  // false: it does not listen
  std::optional<Said> take();     // never blocks
  void kill();                    // with whatever it started
  // Whether it has ended: not at once after a kill, and never while it is stuck in the kernel.
  bool gone();
  std::string how() const;   // "was ended by signal 11 (Segmentation fault)"; of one that is gone
  std::string last_words(); // the last line that it printed

 private:
  Child(pid_t pid, int fd, int words) : pid_(pid), fd_(fd), words_(words) {}
  pid_t pid_;
  int fd_, words_;
  bool gone_ = false;
  int status_ = 0;
};

// In the process: says it, or ends where nobody listens any more.
void say(int socket, const Said& said);
// Likewise, unless that would have to wait: then it is not said.
void say_if_heard(int socket, const Said& said);

double steady_s();  // CLOCK_MONOTONIC

}  // namespace muster::bench
