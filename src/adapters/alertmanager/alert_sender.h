// AlertSender: the thread that keeps one Alertmanager informed. The controller only leaves its newest state here and never waits.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "adapters/alertmanager/alerts.h"
#include "adapters/http/fan.h"
#include "ports/meter.h"
#include "ports/view.h"

namespace muster {

struct AlertSenderOptions {
  std::string url;   // "http://127.0.0.1:9093"
  std::string page;  // of Muster, for links
};

class AlertSender {
 public:
  explicit AlertSender(AlertSenderOptions options);
  ~AlertSender();
  AlertSender(const AlertSender&) = delete;
  AlertSender& operator=(const AlertSender&) = delete;

  void show(std::shared_ptr<const Snapshot> snapshot);  // from the loop's thread
  const std::string& url() const { return options_.url; }
  struct Counts {
    std::uint64_t sent = 0, refused = 0, failures = 0, left_out = 0;
    bool up = false;
  };
  Counts counts() const;

 private:
  void run();
  // True: everything that was due is settled.
  bool tell(const Snapshot& snapshot);
  bool greet();
  void failed(const std::string& what);

  AlertSenderOptions options_;
  AlertBook book_;
  http::Fan fan_{1};
  std::string said_;  // last complaint
  std::mutex lock_;
  std::condition_variable bell_;
  std::shared_ptr<const Snapshot> newest_;  // under lock_
  bool news_ = false;                       // likewise
  std::atomic<bool> stop_{false}, up_{false};
  std::atomic<std::uint64_t> sent_{0}, refused_{0}, failures_{0}, left_out_{0};
  std::thread thread_;
};

// Of all of them together.
std::vector<Meter> alert_meters(const std::vector<std::unique_ptr<AlertSender>>& senders);

}  // namespace muster
