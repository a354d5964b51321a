// The desk where what-ifs are asked: works at one of them at a time, on a thread of its own, and remembers the last answers.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ports/view.h"
#include "trial/what_if.h"

namespace muster::trial {

class WhatIfDesk {
 public:
  struct Options {
    std::function<Result<control::Books>()> read;  // where the record ends; called on the desk's thread
    std::function<std::shared_ptr<const Snapshot>()> latest;
    std::function<Result<WhatIfWorld>(const Site&)> world;
    std::function<std::string()> new_id;
    std::function<void()> on_thread;  // first of all on that thread: to be polite to others
  };
  explicit WhatIfDesk(Options options) : options_(std::move(options)) {}
  ~WhatIfDesk();
  WhatIfDesk(const WhatIfDesk&) = delete;
  WhatIfDesk& operator=(const WhatIfDesk&) = delete;

  // Nothing is started or stopped by it: all may ask.
  static bool only_reads(const Value& input);
  // A question as parse_what_if takes it -> {"id","state":"running","done":0,...}; refused while another one is worked at.
  // {"id": ID} -> how far it is, or the answer. {"cancel": ID} -> stops it. {} -> the last ones, newest first.
  Result<std::string> call(const Value& input);

 private:
  enum class Stage : std::uint8_t { running, done, failed, cancelled };
  struct Case {
    std::string id;
    WhatIf ask;
    std::string command;
    std::vector<std::string> changes;
    double node_days = 0;
    double weather = 1;
    std::string asked_utc;
    std::atomic<double> done{0};
    std::atomic<bool> stop{false};
    Stage stage = Stage::running;  // under the desk's lock, as the two below
    std::string answer;            // members of the JSON
    Error error;
  };
  using CasePtr = std::shared_ptr<Case>;

  Result<std::string> start(const Value& input);
  Result<CasePtr> find(const Value& id) const;
  Result<std::string> work(Case& c) const;
  void finish(Case& c, Result<std::string> answer);
  static std::string render(const Case& c, bool whole);

  Options options_;
  mutable std::mutex lock_;
  std::deque<CasePtr> cases_;  // newest first
  std::thread thread_;
};

}  // namespace muster::trial
