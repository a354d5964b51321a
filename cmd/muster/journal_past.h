// The cluster as it was, from the journal that the running controller writes: events are folded again up to the moment asked for.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/books.h"
#include "ports/past.h"

namespace muster::cmd {

class JournalPast final : public Past {
 public:
  // `view` says what is the same at all times: whether this is a simulation.
  JournalPast(std::string journal, const View& view) : journal_(std::move(journal)), view_(view) {}

  Result<std::shared_ptr<const Snapshot>> at(Time utc) override;

 private:
  // Books as they were, to begin from: going back an hour must not mean reading a month.
  struct Kept {
    Time utc;
    std::uint64_t seq = 0;
    std::shared_ptr<const control::Books> books;
  };
  void keep(Time utc, const control::Books& books);

  std::string journal_;
  const View& view_;
  std::mutex lock_;
  std::vector<Kept> kept_;         // in their order
  std::uint64_t stride_ = 20'000;  // events between two of them; grows with the journal, so that they stay few
};

}  // namespace muster::cmd
