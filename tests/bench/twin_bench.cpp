// twin_bench NODES DAYS [SEED [WEATHER [MIX]]]: what the twin alone costs, under the least controller there can be (first fit,
// and every faulty node replaced at once). docs/twin.md quotes it. Prints one line; the two digests are over the engine's events
// and over all samples, kernel records and step reports, so that histories of two machines can be compared.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ingest/embedded.h"
#include "twin/first_fit.h"

namespace {

using namespace muster;

std::uint64_t bits(double d) {
  std::uint64_t b = 0;
  std::memcpy(&b, &d, sizeof b);
  return b;
}

std::uint64_t absorb(std::uint64_t h, const Inbox& in) {
  for (const KernelRecord& r : in.kernel) h = xxh64(r.text, h + r.seq + r.boot);
  for (const Sample& s : in.samples) {
    h = h * 31 + bits(s.value) + s.node.v + static_cast<std::uint64_t>(s.at.ns) + static_cast<std::uint64_t>(s.field) * 77;
  }
  for (const StepReport& r : in.steps) h = h * 31 + bits(r.step_s) + r.step;
  return h;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arg = [&](int i, const char* otherwise) { return argc > i ? argv[i] : otherwise; };
  const auto nodes = static_cast<std::uint32_t>(std::strtoul(arg(1, "128"), nullptr, 10));
  const double days = std::strtod(arg(2, "1"), nullptr);
  twin::Config config = twin::plain_config(nodes, std::strtoull(arg(3, "1"), nullptr, 10));
  config.weather.factor = std::strtod(arg(4, "1"), nullptr);
  config.workload.mix = arg(5, "mixed");
  const auto rates = twin::parse_rates(embedded_file("fault_rates.csv").value_or(""));
  if (!rates || nodes == 0) {
    std::fprintf(stderr, "twin_bench NODES DAYS [SEED [WEATHER [MIX]]]\n");
    return 2;
  }
  config.weather.rates = *rates;
  twin::Twin twin(std::move(config));
  twin::FirstFit driver(twin, nodes);
  driver.heals = true;
  driver.keep_digest = true;
  std::uint64_t seen = 0;
  const Time end = twin.now().steady + from_seconds(days * 86400);
  while (twin.now().steady < end) {
    driver.turn();
    seen = absorb(seen, driver.inbox);
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const double cpu = static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
  const twin::Counters& c = twin.counters();
  std::printf(
      "nodes %u days %g cpu_s %.2f rss_mb %ld ticks %llu samples %llu scrape_mb %.1f refused_lines %llu faults %zu "
      "allocated %.3f events %llu digest %016llx %016llx\n",
      nodes, days, cpu, use.ru_maxrss / 1024, static_cast<unsigned long long>(c.kernel_events),
      static_cast<unsigned long long>(c.samples), static_cast<double>(c.scrape_bytes) / 1e6,
      static_cast<unsigned long long>(c.refused_lines), twin.faults().size(), twin.allocated_share(),
      static_cast<unsigned long long>(driver.events), static_cast<unsigned long long>(driver.digest),
      static_cast<unsigned long long>(seen));
  return 0;
}
