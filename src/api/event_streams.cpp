#include "api/event_streams.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace muster::api {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPendingMax = 256 << 10;  // bytes a reader may have waiting before it gets more
constexpr std::size_t kBatch = 256;             // events read from the feed at a time

std::chrono::milliseconds ms(int n) { return std::chrono::milliseconds(n); }

}  // namespace

EventStreams::EventStreams(Feed& feed, std::function<std::string()> summary, std::function<std::uint64_t()> newest_seq,
                           Timing timing)
    : feed_(feed), summary_(std::move(summary)), newest_seq_(std::move(newest_seq)), timing_(timing),
      bell_(std::make_shared<Bell>()) {
  feed_.on_change([bell = bell_] {
    {
      const std::lock_guard lock(bell->mutex);
      bell->changed = true;
    }
    bell->rung.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

EventStreams::~EventStreams() {
  {
    const std::lock_guard lock(bell_->mutex);
    bell_->stop = true;
  }
  bell_->rung.notify_one();
  thread_.join();
}

void EventStreams::add(std::shared_ptr<HttpStream> stream, std::optional<std::uint64_t> from) {
  {
    const std::lock_guard lock(bell_->mutex);
    bell_->arrivals.emplace_back(std::move(stream), from);
  }
  bell_->rung.notify_one();
}

void EventStreams::run() {
  auto next_summary = Clock::now();
  bool summary_due = false, full = false;
  for (;;) {
    decltype(Bell::arrivals) arrivals;
    {
      std::unique_lock lock(bell_->mutex);
      auto until = Clock::now() + ms(std::min(1'000, timing_.heartbeat_ms));
      if (full) until = Clock::now() + ms(timing_.retry_ms);
      if (summary_due) until = std::min(until, next_summary);
      bell_->rung.wait_until(lock, until, [&] { return bell_->stop || bell_->changed || !bell_->arrivals.empty(); });
      if (bell_->stop) return;
      summary_due = summary_due || bell_->changed;
      bell_->changed = false;
      arrivals.swap(bell_->arrivals);
    }
    for (auto& [stream, from] : arrivals) welcome(std::move(stream), from);
    full = false;
    std::erase_if(readers_, [&](Reader& r) { return !serve(r, full); });
    const auto now = Clock::now();
    if (summary_due && now >= next_summary) {
      if (!readers_.empty()) send_all("event: summary\ndata: " + summary_() + "\n\n");
      next_summary = now + ms(timing_.summary_ms);
      summary_due = false;
    }
    std::erase_if(readers_, [&](Reader& r) {
      if (now - r.last_sent < ms(timing_.heartbeat_ms)) return false;
      r.last_sent = now;
      return !r.stream->send(": still here\n\n");
    });
    open_ = readers_.size();
  }
}

// True where nothing between `from` and now has been dropped, and `from` is not from another journal's future.
bool EventStreams::held(std::uint64_t from) const {
  const std::uint64_t oldest = feed_.oldest();
  if (from < oldest) return false;
  if (from == oldest || from <= 1) return true;
  bool found = false;
  feed_.read(from - 1, 1, [&](std::uint64_t seq, std::string_view, std::string_view) { found = seq == from - 1; });
  return found;
}

void EventStreams::welcome(std::shared_ptr<HttpStream> stream, std::optional<std::uint64_t> from) {
  Reader r{std::move(stream), from.value_or(newest_seq_() + 1), Clock::now()};
  std::string hello = "retry: 1000\n\n";
  if (from && !held(*from)) {
    r.next = feed_.oldest();
    hello += fmt::format("event: reset\ndata: {{\"oldest\":{}}}\n\n", r.next);
  }
  hello += "event: summary\ndata: " + summary_() + "\n\n";
  if (r.stream->send(std::move(hello))) readers_.push_back(std::move(r));
}

bool EventStreams::serve(Reader& r, bool& full) {
  for (;;) {
    if (r.stream->pending() > kPendingMax) {
      full = true;
      return true;
    }
    std::string text;
    if (const std::uint64_t oldest = feed_.oldest(); r.next < oldest) {
      text += fmt::format("event: reset\ndata: {{\"oldest\":{}}}\n\n", oldest);
      r.next = oldest;
    }
    feed_.read(r.next, kBatch, [&](std::uint64_t seq, std::string_view type, std::string_view json) {
      text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", seq, type, json);
      r.next = seq + 1;
    });
    if (text.empty()) return true;
    r.last_sent = Clock::now();
    if (!r.stream->send(std::move(text))) return false;
  }
}

void EventStreams::send_all(const std::string& text) {
  std::erase_if(readers_, [&](Reader& r) {
    // Who lags has no use for a summary that is newer than the events it sees.
    if (r.stream->pending() > kPendingMax) return false;
    r.last_sent = Clock::now();
    return !r.stream->send(text);
  });
}

}  // namespace muster::api
