// Mailbox: the one thread-safe door into the loop.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "ports/commands.h"
#include "ports/observatory.h"

namespace muster {

// Something that came in from outside, whose times are told from the cluster's clock only when the loop takes it.
struct Parcel {
  std::size_t records = 0;                          // how much it is
  std::function<void(Time utc, Inbox& out)> open;   // from the loop's thread
  std::function<void(const Error& why)> turn_away;  // instead, when the loop will take nothing any more
};

class Mailbox final : public Commands {
 public:
  // From any thread.
  void submit(CommandGiven command, std::function<void(Result<std::uint64_t>)> done) override;
  void post(std::function<void()> work);  // to be run by the loop's thread, before its next turn
  // False: too much waits already, and nothing was taken.
  bool deliver(Parcel parcel);
  void wake();
  // No command is taken any more; those that wait are answered with the reason.
  void close(const Error& why);

  // From the loop's thread. Runs posted work, then adds the commands as arrivals at `utc`.
  void collect(Time utc, Inbox& out);
  // True as soon as something is there or wake() was called, false when the time is over.
  bool wait_for(std::chrono::nanoseconds most);

 private:
  struct Letter {
    CommandGiven command;
    std::function<void(Result<std::uint64_t>)> done;
  };
  std::mutex lock_;
  std::condition_variable bell_;
  std::vector<Letter> letters_;
  std::vector<Parcel> parcels_;
  std::size_t parcel_records_ = 0;
  std::vector<std::function<void()>> works_;
  bool woken_ = false;
  std::optional<Error> closed_;
};

}  // namespace muster
