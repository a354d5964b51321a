// Of `muster energy` and what stands under it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "account/power_curve.h"
#include "report/energy.h"
#include "report/format.h"

namespace muster::cmd {

// What electricity costs and emits.
struct EnergyRateFiles {
  std::string tariff;  // file; "example": the one that ships
  std::string prices;  // file of hourly prices
  std::string carbon;  // g/kWh, or a file of hourly intensities
  std::string currency;
};

struct EnergyOptions {
  std::vector<std::string> power;  // files: of nvidia-smi, of `muster energy record`, answers of Prometheus
  std::vector<std::string> sacct;
  std::string jobs;  // a table of one's own
  std::string prometheus, prometheus_token_file;
  double step_s = 15;
  std::string node;          // of power files that name none
  std::string zone = "UTC";  // of times that name none
  std::string from, to;      // utc; empty: as far as is known
  double since_s = 0;        // back from now
  account::Meter meter = account::Meter::best;
  double gap_s = 0;
  EnergyRateFiles rates;
  std::optional<double> pue, host_w;
  std::string gpu;                  // of runs that do not say
  std::string watts;                // file instead of data/energy/gpu_watts.csv
  std::vector<std::string> tokens;  // "JOB=N" or files
  std::optional<double> embodied_kg;
  double server_gpus = 8, server_years = 5;
  report::EnergyBy by = report::EnergyBy::job;
  std::uint64_t limit = 20;
  report::Format format = report::Format::table;  // table, wide, json or csv
};

struct EnergyCapOptions {
  std::string gpu = "h200";
  std::string bound = "compute";
  std::string measured;  // file, with bound "measured"
  std::optional<double> to_w;
  double rate = 1;  // money a GPU-hour costs without its electricity
  double per_kwh = 0.08;
  double pue = 1.3;
  double host_w = 350;
  double gpus = 8, hours = 24;  // of the job, without a cap
  std::string currency = "USD";
  report::Format format = report::Format::table;  // table, json or csv
};

struct EnergyHoursOptions {
  std::string prices, carbon;  // files
  std::uint32_t hours = 6;
  std::uint32_t within = 24;
  double kw = 100;
  bool pausable = false;
  bool market = false;
  bool year = false;  // what waiting saved over the whole series
  std::string at;     // utc; empty: now where the series has it, else the last hour that leaves room
  std::string currency = "USD";
  report::Format format = report::Format::table;  // table or json
};

struct EnergyRecordOptions {
  double every_s = 1;
  double for_s = 0;  // 0: until interrupted
  std::string node;  // empty: the host's name
  std::string out;   // file; empty: standard output
  std::string nvml = "libnvidia-ml.so.1";
};

using EnergyCommand = std::variant<EnergyOptions, EnergyCapOptions, EnergyHoursOptions, EnergyRecordOptions>;

int run_energy(const EnergyCommand& command);
int run_energy_report(const EnergyOptions& options);
int run_energy_cap(const EnergyCapOptions& options);
int run_energy_hours(const EnergyHoursOptions& options);
int run_energy_record(const EnergyRecordOptions& options);

}  // namespace muster::cmd
