// LiveEdges: what `muster up --cluster` puts around a watched cluster besides its agents: scraping, Prometheus, Alertmanager,
// remote write.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "adapters/alertmanager/alert_sender.h"
#include "adapters/prometheus/poller.h"
#include "adapters/remote_write/remote_writer.h"
#include "adapters/scrape/scraper.h"
#include "host.h"
#include "options.h"

namespace muster::cmd {

class LiveEdges {
 public:
  // Starts what brings samples in. `site` must outlive this.
  static Result<std::unique_ptr<LiveEdges>> start(const UpOptions& options, Mailbox& mailbox, const Site& site);
  // Makes the host start, feed and end what sends things out.
  void attach(HostOptions& host);

 private:
  explicit LiveEdges(const UpOptions& options, const Site& site) : options_(options), site_(site) {}
  void served(const std::string& base, std::function<std::string()> metrics);
  std::vector<Meter> meters() const;
  std::string trouble() const;

  UpOptions options_;
  const Site& site_;
  std::unique_ptr<Scraper> scraper_;
  std::unique_ptr<PrometheusPoller> prometheus_;
  // Below, under lock_: they come and go while meters are read.
  mutable std::mutex lock_;
  std::vector<std::unique_ptr<AlertSender>> alerts_;
  std::unique_ptr<RemoteWriter> writer_;
};

}  // namespace muster::cmd
