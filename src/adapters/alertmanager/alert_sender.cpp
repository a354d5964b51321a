#include "adapters/alertmanager/alert_sender.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "ingest/prom_api.h"

namespace muster {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::int64_t kRetryFirstMs = 250, kRetryMostMs = 30'000;
constexpr std::size_t kAnswerMax = 1 << 20;
constexpr Duration kPause = milliseconds(50);  // a flood of events is not a flood of looks at the state

Time read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

}  // namespace

AlertSender::AlertSender(AlertSenderOptions options) : options_(std::move(options)) {
  thread_ = std::thread([this] { run(); });
}

AlertSender::~AlertSender() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  bell_.notify_all();
  fan_.wake();
  thread_.join();
}

void AlertSender::show(std::shared_ptr<const Snapshot> snapshot) {
  {
    const std::lock_guard hold(lock_);
    if (newest_ != nullptr && snapshot != nullptr && newest_->state.seq == snapshot->state.seq) return;  // nothing has happened
    newest_ = std::move(snapshot);
    news_ = true;
  }
  bell_.notify_all();
}

AlertSender::Counts AlertSender::counts() const { return {sent_, refused_, failures_, left_out_, up_}; }

void AlertSender::failed(const std::string& what) {
  ++failures_;
  up_ = false;
  if (what == said_) return;
  said_ = what;
  log(LogLevel::warning, fmt::format("Alertmanager {}: {}; alerts wait and are sent again", options_.url, what));
}

// With nothing to tell, whether anybody is there: better known before the first alert than with it.
bool AlertSender::greet() {
  http::Request q;
  q.url = options_.url + "/api/v2/status";
  const auto answer = fan_.ask(q, kAnswerMax, stop_);
  if (answer && answer->status == 200) {
    up_ = true;
    said_.clear();
    return true;
  }
  failed(answer ? fmt::format("status {} for GET /api/v2/status: no Alertmanager of 0.16 or newer?", answer->status)
                : answer.error().what);
  return false;
}

bool AlertSender::tell(const Snapshot& snapshot) {
  const auto wanted = alerts_of(snapshot.state, options_.page);
  const auto due = book_.due(wanted, read_clock(CLOCK_REALTIME), read_clock(CLOCK_MONOTONIC));
  left_out_ = book_.left_out();
  if (due.empty() && !up_ && !greet()) return false;
  for (std::size_t at = 0; at < due.size(); at += kBatch) {
    const std::vector<Posting> batch(due.begin() + static_cast<std::ptrdiff_t>(at),
                                     due.begin() + static_cast<std::ptrdiff_t>(std::min(due.size(), at + kBatch)));
    http::Request q;
    q.method = "POST";
    q.url = options_.url + "/api/v2/alerts";
    q.headers["Content-Type"] = "application/json";
    q.body = render_alerts(batch);
    q.timeout_ms = 10'000;
    const auto answer = fan_.ask(q, kAnswerMax, stop_);
    if (stop_) return false;
    if (!answer) {
      failed(answer.error().what);
      return false;
    }
    if (answer->status == 400) {
      // It would refuse the same bytes for ever: said, counted, and not sent again before the next round.
      refused_ += batch.size();
      log(LogLevel::warning, fmt::format("Alertmanager {} refuses {} alerts: {}", options_.url, batch.size(),
                                         printable(error_in_answer(answer->body))));
    } else if (answer->status != 200) {
      failed(fmt::format("status {} for POST /api/v2/alerts: {}{}", answer->status, printable(error_in_answer(answer->body)),
                         answer->status == 404 ? " (is this an Alertmanager of 0.16 or newer?)" : ""));
      return false;
    } else {
      sent_ += batch.size();
    }
    book_.settled(batch, read_clock(CLOCK_MONOTONIC));
  }
  if (!due.empty()) {
    if (!up_ && !said_.empty()) log(LogLevel::warning, fmt::format("Alertmanager {} takes alerts again", options_.url));
    up_ = true;
    said_.clear();
  }
  return true;
}

void AlertSender::run() {
  std::int64_t retry_ms = 0;
  Time told;
  while (!stop_) {
    std::shared_ptr<const Snapshot> now;
    {
      std::unique_lock hold(lock_);
      if (const Duration early = told + kPause - read_clock(CLOCK_MONOTONIC); early.ns > 0) {
        bell_.wait_for(hold, std::chrono::nanoseconds(early.ns), [&] { return stop_.load(); });
      }
      std::int64_t rest_ms = 1000;
      if (retry_ms > 0) {
        rest_ms = retry_ms;
      } else if (const Time next = book_.next(); next != kNever) {
        rest_ms = std::clamp<std::int64_t>((next - read_clock(CLOCK_MONOTONIC)).ns / 1'000'000, 1, 1000);
      }
      // While it does not answer, news wait for the next try.
      bell_.wait_for(hold, std::chrono::milliseconds(rest_ms), [&] { return stop_ || (news_ && retry_ms == 0); });
      news_ = false;
      now = newest_;
    }
    if (stop_) return;
    if (now == nullptr) continue;
    const bool done = tell(*now);
    told = read_clock(CLOCK_MONOTONIC);
    retry_ms = done ? 0 : std::clamp<std::int64_t>(retry_ms * 2, kRetryFirstMs, kRetryMostMs);
  }
}

std::vector<Meter> alert_meters(const std::vector<std::unique_ptr<AlertSender>>& senders) {
  std::vector<Meter> out = {
      {"muster_alertmanager_up", "gauge", "1 when the Alertmanager took what was last sent", "url", {}},
      {"muster_alerts_sent_total", "counter", "Alerts taken by an Alertmanager, repeats included", "url", {}},
      {"muster_alerts_refused_total", "counter", "Alerts that an Alertmanager called malformed", "url", {}},
      {"muster_alert_failures_total", "counter", "Attempts that were not answered or not taken", "url", {}},
      {"muster_alerts_left_out_total", "counter", "Alerts not sent because too many were open", "url", {}},
  };
  for (const auto& s : senders) {
    const AlertSender::Counts c = s->counts();
    const double values[] = {c.up ? 1.0 : 0.0, static_cast<double>(c.sent), static_cast<double>(c.refused),
                             static_cast<double>(c.failures), static_cast<double>(c.left_out)};
    for (std::size_t i = 0; i < out.size(); ++i) out[i].readings.emplace_back(s->url(), values[i]);
  }
  return out;
}

}  // namespace muster
