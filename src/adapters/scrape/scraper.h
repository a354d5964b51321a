// Scraper: asks the exporters of a file_sd file and leaves what they say in the mailbox.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/fan.h"
#include "adapters/mailbox/mailbox.h"
#include "ingest/file_sd.h"
#include "ingest/node_names.h"
#include "ingest/prom_api.h"
#include "ports/meter.h"

namespace muster {

struct ScrapeOptions {
  std::string file;
  Duration every = seconds(15);
  Duration timeout = seconds(10);  // of one exchange; never longer than `every`
  std::size_t body_max = std::size_t{16} << 20;
  std::size_t in_flight_max = 256;
};

class Scraper {
 public:
  // An error: the file cannot be read now, at the start. Later the old targets stay. `site` must outlive this.
  static Result<std::unique_ptr<Scraper>> start(Mailbox& mailbox, const Site& site, ScrapeOptions options);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  std::size_t targets() const { return targets_count_; }
  std::vector<Meter> meters() const;
  std::string trouble() const;  // in words; empty: none

 private:
  struct Target {
    ScrapeTarget spec;
    NodeId node;         // none: nothing has said which
    bool gone = false;   // no longer in the file
    bool asked = false;  // has answered or failed once
    bool up = false;
    bool large = false;  // worth compressing
    GpuRoll roll;
    GpuPlaces places;
    bool dark = false;           // shows no GPU any more
    bool empty = false;          // its last page said nothing of its node
    std::uint32_t failures = 0;  // in a row
    Time due;                    // steady
  };
  struct Due {
    Time at;
    std::shared_ptr<Target> target;
    bool operator<(const Due& o) const { return at > o.at; }  // the earliest on top of the queue
  };

  Scraper(Mailbox& mailbox, const Site& site, ScrapeOptions options);
  void run();
  void look_at_file();
  void use(const std::vector<ScrapeTarget>& specs);
  void ask(const std::shared_ptr<Target>& target);
  void answered(const std::shared_ptr<Target>& target, const Result<http::Response>& answer);
  Result<std::vector<Sample>> read(Target& target, const Result<http::Response>& answer);
  void deliver();
  void again(const std::shared_ptr<Target>& target);
  void complain(const Target& target, const std::string& why);
  void sum_up();
  void count_unknown();

  Mailbox& mailbox_;
  const Site& site_;
  ScrapeOptions options_;
  NodeNames names_;
  http::Fan fan_;
  std::string stamp_;  // of the file as last looked at
  Time looked_;
  std::map<std::string, std::shared_ptr<Target>> targets_;  // by URL
  std::priority_queue<Due> queue_;
  std::vector<Sample> read_;  // in this round, not yet delivered: one parcel wakes the controller once
  std::size_t unknown_said_ = 0;
  std::size_t complaints_ = 0;  // in this minute: the log is for people
  Time complaints_since_;
  bool strange_said_ = false;
  std::string file_trouble_, last_complaint_;

  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> targets_count_{0}, up_{0}, unknown_{0};
  std::atomic<std::uint64_t> ok_{0}, failed_{0}, samples_{0}, refused_{0}, dropped_{0}, bytes_{0}, reloads_failed_{0};
  mutable std::mutex lock_;
  std::string trouble_;  // under lock_
  std::thread thread_;
};

}  // namespace muster
