// The report of `muster energy`: kWh by who held the GPUs, step by step from the GPU to the site's meter, with money and carbon,
// and how much of each sum was measured.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/energy_money.h"
#include "report/table.h"

namespace muster::report {

enum class EnergyBy : std::uint8_t { job, account, user, partition, gpu_type };
constexpr std::array<std::string_view, 5> names(EnergyBy) { return {"job", "account", "user", "partition", "gpu_type"}; }

struct EnergyReport {
  std::vector<GpuHold> runs;
  account::EnergyBooks books;
  account::EnergyBills bills;
  account::EnergyRates rates;
  std::string currency = "USD";
  double host_w = 0;
  bool host_assumed = true;  // nobody gave it
  bool pue_assumed = true;
  EnergyBy by = EnergyBy::job;
  std::size_t limit = 20;          // rows of the table
  std::vector<std::string> notes;  // what was read, and what was wrong with it
};

// Of a group of runs, of nobody, or of all.
struct EnergyRow {
  std::string name;
  std::string gpu_type, user, account, partition;  // of a job
  std::uint64_t runs = 0;
  std::int64_t gpu_ms = 0;
  account::QuarterEnergy energy;
  account::EnergyBill bill;
  double tokens = 0;
  double token_kwh = 0;  // of the runs with tokens, at the site's meter
  double token_cost = 0, token_kg = 0;
  std::int64_t apportioned_mj = 0;
  double estimate_low_mj = 0, estimate_high_mj = 0;
  std::int64_t estimate_mj = 0;
  std::int64_t unknown_ms = 0;        // of gpu_ms: whose energy is not known, and in no sum
  std::int64_t token_unknown_ms = 0;  // of the runs with tokens
  double untold_kwh = 0;              // at the site's meter, of the runs of jobs without tokens

  double it_kwh() const;
  double gpu_kwh() const;
  double estimated_kwh() const;  // of gpu_kwh(): what nobody measured
  double measured() const;       // share of the GPUs' energy that somebody measured; -1: there is none
};

// By what was asked for, most energy first; then nobody's, where there is some, then all of it.
std::vector<EnergyRow> energy_rows(const EnergyReport& r);

std::string render_energy_text(const EnergyReport& r, const TableStyle& style);
std::string render_energy_json(const EnergyReport& r);
std::string render_energy_csv(const EnergyReport& r);

}  // namespace muster::report
