// RemoteWriter: the thread that pushes /metrics. What is not taken waits, oldest first, within a bound.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "adapters/http/fan.h"
#include "base/time.h"
#include "ports/meter.h"

namespace muster {

struct RemoteWriteOptions {
  std::string url;  // "http://127.0.0.1:9090/api/v1/write"
  Duration every = seconds(15);
  std::map<std::string, std::string> labels;  // of every series
  std::function<std::string()> page;          // /metrics; from this thread
  std::size_t waiting_max = 240;              // pages: an hour
};

class RemoteWriter {
 public:
  explicit RemoteWriter(RemoteWriteOptions options);
  ~RemoteWriter();
  RemoteWriter(const RemoteWriter&) = delete;
  RemoteWriter& operator=(const RemoteWriter&) = delete;

  std::vector<Meter> meters() const;

 private:
  struct Load {
    std::string body;
    std::size_t samples = 0;
  };
  void run();
  void add_page();
  // False: not taken, to be tried again.
  bool send(const Load& load);
  void failed(const std::string& what);

  RemoteWriteOptions options_;
  http::Fan fan_{1};
  std::deque<Load> waiting_;
  std::string said_;
  std::mutex lock_;
  std::condition_variable bell_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> sent_{0}, dropped_{0}, failures_{0}, queued_{0};
  std::thread thread_;
};

}  // namespace muster
