#include "live_edges.h"

#include <fmt/core.h>

#include "agent_token.h"
#include "base/text.h"
#include "files.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<std::string> read_token(const UpOptions& o) {
  if (o.prometheus_token_file.empty()) return std::string();
  if (crosses_network_in_clear(o.prometheus)) {
    return fail(Code::bad_input, "the token for Prometheus would cross the network in the clear",
                "use https://, or a tunnel to 127.0.0.1");
  }
  auto text = read_file(o.prometheus_token_file);
  if (!text) return tl::unexpected(text.error());
  const std::string token(trim(*text));
  if (token.empty() || token.find_first_of(" \t\r\n") != std::string::npos || !valid_utf8(token)) {
    return fail(Code::bad_input, fmt::format("{} holds no token", o.prometheus_token_file), "it should be one word on one line");
  }
  return token;
}

}  // namespace

Result<std::unique_ptr<LiveEdges>> LiveEdges::start(const UpOptions& o, Mailbox& mailbox, const Site& site) {
  std::unique_ptr<LiveEdges> e(new LiveEdges(o, site));
  const Duration every = from_seconds(o.every_s);
  if (!o.scrape.empty()) {
    ScrapeOptions s;
    s.file = o.scrape;
    s.every = every;
    auto scraper = Scraper::start(mailbox, site, std::move(s));
    if (!scraper) return tl::unexpected(scraper.error());
    e->scraper_ = std::move(*scraper);
    say(fmt::format("scrape     {}: {} targets, every {}", o.scrape, e->scraper_->targets(), render_duration(every)));
  }
  if (!o.prometheus.empty()) {
    const auto token = read_token(o);
    if (!token) return tl::unexpected(token.error());
    e->prometheus_ = std::make_unique<PrometheusPoller>(
        mailbox, site, PrometheusOptions{o.prometheus, *token, every, [](const std::string& line) { say(line); }});
  }
  return e;
}

void LiveEdges::attach(HostOptions& host) {
  host.meters = [this] { return meters(); };
  host.trouble = [this]() -> Result<std::string> { return trouble(); };
  host.on_served = [this](const std::string& base, std::function<std::string()> metrics) { served(base, std::move(metrics)); };
  host.on_snapshot = [this](const std::shared_ptr<const Snapshot>& s) {
    for (const auto& a : alerts_) a->show(s);  // the loop's thread, which also fills and empties the list
  };
  host.on_end = [this] {
    std::vector<std::unique_ptr<AlertSender>> alerts;
    std::unique_ptr<RemoteWriter> writer;
    const std::lock_guard hold(lock_);
    alerts.swap(alerts_);
    writer.swap(writer_);
  };
}

void LiveEdges::served(const std::string& base, std::function<std::string()> metrics) {
  const std::lock_guard hold(lock_);
  for (const std::string& url : options_.alertmanagers) {
    alerts_.push_back(
        std::make_unique<AlertSender>(AlertSenderOptions{url, options_.page_url.empty() ? base : options_.page_url}));
  }
  if (options_.remote_write.empty()) return;
  RemoteWriteOptions w;
  w.url = options_.remote_write;
  w.every = from_seconds(options_.every_s);
  w.labels = {{"job", "muster"}, {"cluster", to_valid_utf8(site_.name)}};
  w.page = std::move(metrics);
  writer_ = std::make_unique<RemoteWriter>(std::move(w));
}

std::vector<Meter> LiveEdges::meters() const {
  std::vector<Meter> out;
  const auto add = [&out](std::vector<Meter> more) { out.insert(out.end(), more.begin(), more.end()); };
  if (scraper_) add(scraper_->meters());
  if (prometheus_) add(prometheus_->meters());
  const std::lock_guard hold(lock_);
  if (!alerts_.empty()) add(alert_meters(alerts_));
  if (writer_) add(writer_->meters());
  return out;
}

std::string LiveEdges::trouble() const {
  std::string out = scraper_ ? scraper_->trouble() : std::string();
  const std::string other = prometheus_ ? prometheus_->trouble() : std::string();
  if (!out.empty() && !other.empty()) out += "; ";
  return out + other;
}

}  // namespace muster::cmd
