// Where the GPU-hours of a stretch of time went, from the journal that the running controller writes: the books of every job are
// kept from it, and what is asked for is their difference between two moments.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "account/job_books.h"
#include "ports/tool.h"
#include "ports/view.h"
#include "report/goodput.h"

namespace muster::cmd {

// {"from": "2026-11-15T00:00:00Z", "to": ..., "by": "cause|account|queue|job", "most": "slow", "job": "17"} ->
// report::goodput_json. All may be left out: from the beginning, up to now, by cause, those with the most waste first, of all
// jobs.
class GoodputTool final : public Tool {
 public:
  // `view` says how late it is since the last event; none: the record is all there is.
  explicit GoodputTool(std::string journal, const View* view = nullptr) : journal_(std::move(journal)), view_(view) {}
  Role role() const override { return Role::viewer; }
  Result<std::string> call(const Value& input) override;

 private:
  struct Position {
    State state;
    account::JobBooks books;
  };
  // The books closed at a moment.
  struct Moment {
    Time utc;
    account::JobSums sums;
    std::string cluster;
    double gpu_hour_price = 0;
    std::string currency, price_assumed;
    std::uint64_t seq = 0;
  };
  using Closed = std::shared_ptr<const Moment>;

  // Of one job alone, where it is known.
  Result<void> narrow(report::Goodput& g, const account::JobSums& from, const account::JobSums& to, JobId job) const;
  Result<Closed> at(Time utc);
  Result<Closed> read_until(Position& p, Time utc);
  void keep(const Position& p);

  std::string journal_;
  const View* view_;
  std::mutex lock_;
  Position newest_;                              // as far as was ever read
  std::vector<std::unique_ptr<Position>> kept_;  // earlier ones in their order, to begin from: going back must not mean all
  std::uint64_t stride_ = 20'000;                // events between two of them; grows with the journal, so that they stay few
  std::deque<std::pair<Time, Closed>> asked_;    // moments that are over, asked for last: a page asks for the same ones again
};

}  // namespace muster::cmd
