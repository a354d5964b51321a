// Console: what the faces see of a running loop. The loop's thread publishes, other threads read.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <mutex>

#include "control/loop.h"
#include "ports/feed.h"
#include "ports/view.h"

namespace muster::cmd {

class Console final : public View, public Feed {
 public:
  explicit Console(std::string simulation) : simulation_(std::move(simulation)) {}

  std::shared_ptr<const Snapshot> latest() const override;
  std::uint64_t oldest() const override;
  void read(std::uint64_t from_seq, std::size_t max,
            const std::function<void(std::uint64_t, std::string_view, std::string_view)>& visit) const override;
  void on_change(std::function<void()> hook) override;

  // From the loop's thread.
  void on_event(const Event& e);
  void on_samples(const Inbox& inbox, const Site& site);
  // A new snapshot, unless the last one is younger than a fifth of a second and `now_please` is false.
  void publish(const control::Loop& loop, const Journal& journal, Now now, std::string trouble, bool now_please);

 private:
  struct Held {
    std::uint64_t seq;
    std::string_view type;
    std::string bytes;
  };
  std::string simulation_;
  mutable std::mutex lock_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::deque<Held> ring_;
  std::function<void()> hook_;
  // Of the loop's thread alone:
  std::vector<GpuReading> readings_;
  std::map<JobId, StepReport> steps_;  // newest step each running job told of: fresher than its last checkpoint
  std::chrono::steady_clock::time_point published_{};
};

}  // namespace muster::cmd
