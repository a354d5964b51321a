// What `muster energy` reads: readings, jobs and rates, from files and from Prometheus.
#pragma once
#include <string>
#include <vector>

#include "account/energy_money.h"
#include "energy_options.h"
#include "ingest/record_time.h"
#include "model/gpu_hold.h"
#include "model/power_reading.h"

namespace muster::cmd {

struct EnergyInput {
  std::vector<GpuHold> runs;
  PowerReadings readings;
  std::vector<std::string> notes;  // what of it was of no use
};

Result<EnergyInput> read_energy_input(const EnergyOptions& options);

// Tariff, prices and carbon; `currency` is what they are in.
struct EnergyRatesRead {
  account::EnergyRates rates;
  std::string currency = "USD";
  std::vector<std::string> notes;
};
Result<EnergyRatesRead> read_energy_rates(const EnergyRateFiles& files);

// All that is asked for, read and reckoned.
Result<report::EnergyReport> make_energy_report(const EnergyOptions& options);

// "2026-11-15T02:03:04Z" of a flag that was checked; 0 for an empty one.
Time moment_of(const std::string& flag);
Time utc_now();

// Every answer of query_range for power, in pieces that a server gives at once.
Result<void> ask_prometheus(const EnergyOptions& options, Time from, Time to,
                            const std::function<Result<void>(std::string& body)>& take);

}  // namespace muster::cmd
