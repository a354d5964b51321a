// PrometheusPoller: the thread that asks a Prometheus for what is new and leaves it in the mailbox.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "adapters/http/fan.h"
#include "adapters/mailbox/mailbox.h"
#include "adapters/prometheus/coverage.h"
#include "ingest/prom_api.h"
#include "ports/meter.h"

namespace muster {

struct PrometheusOptions {
  std::string url;    // "http://head:9090", also with a path before /api/v1
  std::string token;  // empty: none
  Duration every = seconds(15);
  std::function<void(const std::string&)> tell;  // what was found at the start; from this thread
};

class PrometheusPoller {
 public:
  PrometheusPoller(Mailbox& mailbox, const Site& site, PrometheusOptions options);  // `site` must outlive this
  ~PrometheusPoller();
  PrometheusPoller(const PrometheusPoller&) = delete;
  PrometheusPoller& operator=(const PrometheusPoller&) = delete;

  std::vector<Meter> meters() const;
  std::string trouble() const;  // in words; empty: none

 private:
  void run();
  Result<void> turn();
  Result<void> query(const std::string& text, unsigned number);
  void deliver(const std::vector<Sample>& samples);
  void report();

  Mailbox& mailbox_;
  const Site& site_;
  PrometheusOptions options_;
  http::Fan fan_{1};
  PromReader reader_;
  Coverage coverage_;
  int turns_ = 0;
  Time answered_;  // steady, of the last whole turn
  std::atomic<bool> stop_{false}, up_{false};
  std::atomic<std::uint64_t> queries_{0}, failures_{0}, series_{0}, samples_{0}, old_{0}, unknown_{0}, refused_{0}, dropped_{0};
  mutable std::mutex lock_;
  std::condition_variable bell_;
  std::string trouble_;  // under lock_
  std::thread thread_;
};

}  // namespace muster
