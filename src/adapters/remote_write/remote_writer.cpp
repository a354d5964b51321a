#include "adapters/remote_write/remote_writer.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "adapters/remote_write/write_request.h"
#include "base/log.h"
#include "base/text.h"
#include "ingest/prom_api.h"

namespace muster {
namespace {

constexpr std::int64_t kRetryFirstMs = 500, kRetryMostMs = 60'000;

Time read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

}  // namespace

RemoteWriter::RemoteWriter(RemoteWriteOptions options) : options_(std::move(options)) {
  thread_ = std::thread([this] { run(); });
}

RemoteWriter::~RemoteWriter() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  bell_.notify_all();
  fan_.wake();
  thread_.join();
}

void RemoteWriter::add_page() {
  WriteRequest w = encode_write(options_.page(), read_clock(CLOCK_REALTIME).ms(), options_.labels);
  if (w.samples == 0) return;
  waiting_.push_back({to_snappy(w.bytes), w.samples});
  while (waiting_.size() > options_.waiting_max) {
    dropped_ += waiting_.front().samples;
    waiting_.pop_front();
  }
  queued_ = waiting_.size();
}

void RemoteWriter::failed(const std::string& what) {
  ++failures_;
  if (what == said_) return;
  said_ = what;
  log(LogLevel::warning, fmt::format("remote write to {}: {}", options_.url, what));
}

bool RemoteWriter::send(const Load& load) {
  http::Request q;
  q.method = "POST";
  q.url = options_.url;
  q.headers = {{"Content-Type", "application/x-protobuf"},
               {"Content-Encoding", "snappy"},
               {"X-Prometheus-Remote-Write-Version", "0.1.0"},
               {"User-Agent", "muster"}};
  q.body = load.body;
  const auto answer = fan_.ask(q, 1 << 20, stop_);
  if (!answer) {
    failed(answer.error().what + "; it waits and is sent again");
    return false;
  }
  if (answer->status / 100 == 2) {
    sent_ += load.samples;
    if (!said_.empty()) log(LogLevel::warning, fmt::format("remote write to {} is taken again", options_.url));
    said_.clear();
    return true;
  }
  const std::string why = fmt::format("status {}: {}", answer->status, printable(error_in_answer(answer->body)));
  if (answer->status / 100 == 5 || answer->status == 429) {
    failed(why + "; it waits and is sent again");
    return false;
  }
  // The protocol: such a load is never taken, and must not be sent again.
  failed(why + (answer->status == 404 ? " (Prometheus takes remote writes with --web.enable-remote-write-receiver, at "
                                        "/api/v1/write); dropped"
                                      : "; dropped"));
  dropped_ += load.samples;
  return true;
}

void RemoteWriter::run() {
  std::int64_t retry_ms = 0;
  Time page_due = read_clock(CLOCK_MONOTONIC) + std::min(options_.every, seconds(1));
  Time send_due = page_due;
  while (!stop_) {
    Time now = read_clock(CLOCK_MONOTONIC);
    if (now >= page_due) {
      add_page();
      page_due = now + options_.every;
    }
    while (!waiting_.empty() && now >= send_due && !stop_) {
      if (send(waiting_.front())) {
        waiting_.pop_front();
        retry_ms = 0;
      } else {
        retry_ms = std::clamp<std::int64_t>(retry_ms * 2, kRetryFirstMs, kRetryMostMs);
        send_due = read_clock(CLOCK_MONOTONIC) + milliseconds(retry_ms);
      }
      queued_ = waiting_.size();
      now = read_clock(CLOCK_MONOTONIC);
    }
    const Time next = waiting_.empty() ? page_due : std::min(page_due, send_due);
    std::unique_lock hold(lock_);
    bell_.wait_for(hold, std::chrono::nanoseconds(std::max<std::int64_t>(1'000'000, (next - now).ns)),
                   [&] { return stop_.load(); });
  }
}

std::vector<Meter> RemoteWriter::meters() const {
  const auto n = [](const auto& x) { return static_cast<double>(x.load()); };
  return {
      {"muster_remote_write_samples_total",
       "counter",
       "Samples of Muster's own series pushed, by what became of them",
       "outcome",
       {{"taken", n(sent_)}, {"dropped", n(dropped_)}}},
      {"muster_remote_write_failures_total", "counter", "Pushes that were not taken", "", {{"", n(failures_)}}},
      {"muster_remote_write_waiting", "gauge", "Pages of series that wait to be taken", "", {{"", n(queued_)}}},
  };
}

}  // namespace muster
