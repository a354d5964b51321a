// Of `muster report month`.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "account_options.h"
#include "connection.h"
#include "energy_options.h"

namespace muster::cmd {

enum class MonthFormat : std::uint8_t { html, json, csv };
constexpr std::array<std::string_view, 3> names(MonthFormat) { return {"html", "json", "csv"}; }

struct MonthOptions {
  Connection connection;
  std::string zone = "UTC";                          // whose calendar the month and its days follow
  std::string month;                                 // "2026-10"; empty: the last one that is whole
  std::string journal;                               // a file to read instead of asking
  AccountFiles files;                                // instead of both
  std::string site;                                  // cost file
  std::optional<double> price;                       // of a GPU-hour owned
  std::optional<double> cost_per_year;               // of all of it
  std::string currency;                              // empty: the policy's, else USD
  std::string rates, ledger, allocations, capacity;  // files; empty: none
  EnergyOptions energy;                              // its files of readings and rates; the others are filled in
  double target_pct = 94;
  MonthFormat format = MonthFormat::html;
  std::string file;  // "-": standard output; empty: the usual name
};

}  // namespace muster::cmd
