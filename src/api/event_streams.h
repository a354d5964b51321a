// Live pages: every event as it is stored, and the summary when something changed. One thread serves all readers; each has its
// own position in the feed, so that a slow one falls behind alone and is told (`reset`) when it has fallen out of what is kept.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ports/feed.h"
#include "ports/http.h"

namespace muster::api {

class EventStreams {
 public:
  struct Timing {
    int summary_ms = 250;       // at most one in so long
    int heartbeat_ms = 15'000;  // comment when nothing else was sent
    int retry_ms = 50;          // look again at a reader that was full
  };

  // `summary` gives the newest summary's JSON. `newest_seq` is where a reader without a position begins.
  EventStreams(Feed& feed, std::function<std::string()> summary, std::function<std::uint64_t()> newest_seq, Timing timing);
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // `from`: first seq wanted; none: only what comes from now on.
  void add(std::shared_ptr<HttpStream> stream, std::optional<std::uint64_t> from);
  std::size_t open() const { return open_; }

 private:
  struct Reader {
    std::shared_ptr<HttpStream> stream;
    std::uint64_t next = 0;
    std::chrono::steady_clock::time_point last_sent;
  };
  // Outlives this object inside the feed's hook.
  struct Bell {
    std::mutex mutex;
    std::condition_variable rung;
    bool changed = false;
    bool stop = false;
    std::vector<std::pair<std::shared_ptr<HttpStream>, std::optional<std::uint64_t>>> arrivals;
  };
  void run();
  void welcome(std::shared_ptr<HttpStream> stream, std::optional<std::uint64_t> from);
  bool held(std::uint64_t from) const;
  bool serve(Reader& reader, bool& full);
  void send_all(const std::string& text);

  Feed& feed_;
  std::function<std::string()> summary_;
  std::function<std::uint64_t()> newest_seq_;
  Timing timing_;
  std::shared_ptr<Bell> bell_;
  std::vector<Reader> readers_;  // the thread's own
  std::atomic<std::size_t> open_{0};
  std::thread thread_;
};

}  // namespace muster::api
