// Fan: many HTTP requests at once from one thread, over connections that are kept open. For whoever asks thousands of exporters,
// or one server again and again.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "adapters/http/client.h"

namespace muster::http {

class Fan {
 public:
  using Done = std::function<void(Result<Response>)>;

  // Up to `idle_max` connections stay open while nothing goes over them.
  explicit Fan(std::size_t idle_max);
  ~Fan();  // what is under way is given up, and nobody is called
  Fan(const Fan&) = delete;
  Fan& operator=(const Fan&) = delete;

  // Both from one thread. An answer longer than `body_max` bytes, after decompression, is an error. `gzip`: ask for a compressed
  // answer. `done` may send again.
  void send(const Request& request, std::size_t body_max, bool gzip, Done done);
  // Waits for something to happen, `most` at the longest, and calls back for what has ended.
  void poll(std::chrono::milliseconds most);
  std::size_t in_flight() const;
  // From any thread: a poll that waits returns.
  void wake();

  // One request, waited for; given up soon after `stop` becomes true.
  Result<Response> ask(const Request& request, std::size_t body_max, const std::atomic<bool>& stop);

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

}  // namespace muster::http
