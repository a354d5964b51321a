// The clock that the SMs had, by their own counters: a mark before and after a stretch of work, in which every SM says how many
// cycles it has counted and what time it is.
#pragma once
#include "device.cuh"

namespace muster_accept {

struct Stamp {
  unsigned long long cycles, ns;
  std::uint32_t sm, valid;
};

// A stretch between two marks: `seconds` by the device's events, `mhz` of the SM in the middle; -1: the counters say nothing.
struct Stretch {
  double seconds = 0, mhz = -1;
};

class Marks {
 public:
  Marks(const Gpu& gpu, std::size_t capacity);
  // Puts the next mark on a stream; its number.
  std::size_t put(cudaStream_t stream);
  std::size_t size() const { return events_.size(); }
  const Event& event(std::size_t mark) const { return events_[mark]; }
  // Between two marks that the device has passed.
  Stretch between(std::size_t from, std::size_t to) const;
  // The numbers of the SMs that answered at a mark.
  std::vector<std::uint32_t> sms(std::size_t mark) const;

 private:
  std::vector<Stamp> read(std::size_t mark) const;

  std::uint32_t blocks_;
  Memory<Stamp> stamps_;
  std::vector<Event> events_;
};

// Sums of stretches, with the clock as the mean over their time.
class Total {
 public:
  void add(const Stretch& s) {
    seconds_ += s.seconds;
    if (s.mhz > 0) told_s_ += s.seconds, cycles_ += s.seconds * s.mhz;
  }
  double seconds() const { return seconds_; }
  double mhz() const { return told_s_ > 0.5 * seconds_ && told_s_ > 0 ? cycles_ / told_s_ : -1; }

 private:
  double seconds_ = 0, told_s_ = 0, cycles_ = 0;
};

}  // namespace muster_accept
