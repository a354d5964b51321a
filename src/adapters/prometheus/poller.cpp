#include "adapters/prometheus/poller.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t kAnswerMax = std::size_t{256} << 20;
constexpr Duration kRangeLeast = seconds(60), kRangeMost = minutes(5);
constexpr Duration kBackOffMost = minutes(2);
constexpr std::size_t kParcel = 20'000;
constexpr int kReportAfter = 2;  // turns: the first may fall between two scrapes

Time read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

}  // namespace

PrometheusPoller::PrometheusPoller(Mailbox& mailbox, const Site& site, PrometheusOptions options)
    : mailbox_(mailbox), site_(site), options_(std::move(options)), reader_(site) {
  thread_ = std::thread([this] { run(); });
}

PrometheusPoller::~PrometheusPoller() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  bell_.notify_all();
  fan_.wake();
  thread_.join();
}

Result<void> PrometheusPoller::query(const std::string& text, unsigned number) {
  http::Request q;
  q.method = "POST";
  q.url = options_.url + "/api/v1/query";
  q.headers["Content-Type"] = "application/x-www-form-urlencoded";
  if (!options_.token.empty()) q.headers["Authorization"] = "Bearer " + options_.token;
  q.body = "query=" + http::url_encode(text);
  q.timeout_ms = 30'000;
  ++queries_;
  auto answer = fan_.ask(q, kAnswerMax, stop_);
  if (!answer) {
    Error e = answer.error();
    if (e.code == Code::bad_input) e.next = "so large a cluster is better scraped directly: --scrape FILE_SD.json";
    return tl::unexpected(e);
  }
  if (answer->status == 401 || answer->status == 403) {
    return fail(Code::not_allowed, fmt::format("{} refuses: status {}", options_.url, answer->status),
                "give it a token: --prometheus-token-file FILE");
  }
  if (answer->status == 404) {
    return fail(Code::not_found, fmt::format("{} has no /api/v1/query: status 404", options_.url),
                "is this a Prometheus? behind a proxy its address may have a path, as in http://head/prometheus");
  }
  // 400 and 422 have an answer that says why; anything else may be a proxy's page.
  if (answer->status != 200 && answer->status != 400 && answer->status != 422) {
    return fail(Code::unreachable,
                fmt::format("{}: status {}: {}", options_.url, answer->status, printable(error_in_answer(answer->body))));
  }
  const auto refused = read_prom_answer(answer->body, [&](const PromSeries& s) { reader_.take(s, number); });
  if (!refused)
    return fail(refused.error().code, fmt::format("{}: {}", options_.url, refused.error().what), refused.error().next);
  refused_ += *refused;
  return {};
}

Result<void> PrometheusPoller::turn() {
  // What is asked for reaches back over everything since the last answer, and is filtered by what was seen.
  const Time now = read_clock(CLOCK_MONOTONIC);
  Duration range = answered_.ns == 0 ? kRangeLeast : now - answered_ + options_.every * 2;
  range = std::clamp(range, std::max(kRangeLeast, options_.every * 2), std::max(kRangeMost, options_.every * 2));
  const auto queries = prom_queries(fmt::format("{}s", range.ns / 1'000'000'000));
  for (unsigned i = 0; i < queries.size(); ++i) {
    if (auto ok = query(queries[i], i); !ok) {
      reader_.drop();
      return ok;
    }
  }
  answered_ = now;
  const std::vector<Sample> samples = reader_.finish();
  const PromReader::Counts& c = reader_.counts();
  series_ = c.series;
  old_ = c.old;
  unknown_ = c.unknown;
  deliver(samples);
  if (turns_ < kReportAfter) {
    coverage_.add(samples);
    if (++turns_ == kReportAfter) report();
  }
  return {};
}

void PrometheusPoller::report() {
  if (!options_.tell) return;
  const std::string name = fmt::format("prometheus {}: ", options_.url);
  for (const std::string& line : coverage_.describe(site_)) options_.tell(name + line);
  if (!reader_.some_unknown().empty()) {
    options_.tell(fmt::format("{}{} series belong to no node of the cluster file (such as instance {}) and are left out", name,
                              reader_.counts().unknown, reader_.some_unknown()));
  }
  coverage_ = {};
}

void PrometheusPoller::deliver(const std::vector<Sample>& samples) {
  for (std::size_t at = 0; at < samples.size(); at += kParcel) {
    const std::size_t end = std::min(samples.size(), at + kParcel);
    const auto piece = std::make_shared<const std::vector<Sample>>(samples.begin() + static_cast<std::ptrdiff_t>(at),
                                                                   samples.begin() + static_cast<std::ptrdiff_t>(end));
    bool taken = false;
    for (int tries = 0; tries < 50 && !taken && !stop_; ++tries) {  // the loop may be behind: it is waited for, not run over
      Parcel parcel;
      parcel.records = piece->size();
      parcel.open = [piece](Time utc, Inbox& out) {
        for (Sample s : *piece) {
          s.at = std::min(s.at, utc);  // a clock that runs ahead brings nothing from the future
          out.samples.push_back(s);
        }
      };
      parcel.turn_away = [](const Error&) {};
      taken = mailbox_.deliver(std::move(parcel));
      if (!taken) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    (taken ? samples_ : dropped_) += piece->size();
  }
}

void PrometheusPoller::run() {
  int failed = 0;
  while (!stop_) {
    const Time began = read_clock(CLOCK_MONOTONIC);
    const Result<void> r = turn();
    if (stop_) return;
    failed = r ? 0 : failed + 1;
    up_ = r.has_value();
    if (!r) ++failures_;
    Duration rest = options_.every;
    for (int i = 1; i < failed && rest < kBackOffMost; ++i) rest = std::min(rest * 2, std::max(kBackOffMost, options_.every));
    std::unique_lock hold(lock_);
    trouble_ = r ? "" : r.error().what + (r.error().next.empty() ? "" : ": " + r.error().next);
    const Duration took = read_clock(CLOCK_MONOTONIC) - began;
    bell_.wait_for(hold, std::chrono::nanoseconds(std::max<std::int64_t>(100'000'000, (rest - took).ns)),
                   [&] { return stop_.load(); });
  }
}

std::string PrometheusPoller::trouble() const {
  const std::lock_guard hold(lock_);
  return trouble_;
}

std::vector<Meter> PrometheusPoller::meters() const {
  const auto n = [](const auto& x) { return static_cast<double>(x.load()); };
  return {
      {"muster_prometheus_up", "gauge", "1 when Prometheus answered the last turn", "", {{"", up_ ? 1.0 : 0.0}}},
      {"muster_prometheus_queries_total", "counter", "Queries sent", "", {{"", n(queries_)}}},
      {"muster_prometheus_failures_total", "counter", "Turns without a whole answer", "", {{"", n(failures_)}}},
      {"muster_prometheus_series_total",
       "counter",
       "Series in answers, by what became of them",
       "outcome",
       {{"taken", n(series_) - n(old_) - n(unknown_)},
        {"old", n(old_)},
        {"unknown_node", n(unknown_)},
        {"refused", n(refused_)}}},
      {"muster_prometheus_samples_total", "counter", "Readings taken from answers", "", {{"", n(samples_)}}},
      {"muster_prometheus_samples_dropped_total",
       "counter",
       "Readings lost because the controller was behind",
       "",
       {{"", n(dropped_)}}},
  };
}

}  // namespace muster
