// Of `muster account`: from a site's own files, or from the journal of a Muster.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connection.h"
#include "report/format.h"

namespace muster::cmd {

// What the accounting of a site without Muster is made of.
struct AccountFiles {
  std::vector<std::string> sacct;  // what sacct printed; none: the journal, or a running Muster
  std::string nodes;               // what is installed; empty: as the jobs show it
  std::string events;              // of sacctmgr show event; empty: nothing is known to have been down
  std::string activity;            // answers of Prometheus to query_range, in a file
  std::string prometheus;          // asked for them
  std::string prometheus_token_file;
  std::string metric;        // instead of the first of those that are known
  double step_s = 300;       // of --prometheus
  std::string zone = "UTC";  // of times without one
};

struct AccountOptions {
  Connection connection;
  AccountFiles files;
  std::string journal;   // a file to read instead of asking
  double since_s = 0;    // back from the end; 0: from `from`
  std::string from, to;  // utc; empty: as far as is known
  std::string by = "account";
  std::string only_account, only_partition, only_user;  // rows of these alone, of a journal
  std::uint64_t limit = 20;                       // rows of the table
  std::optional<double> price;                    // of a GPU-hour owned
  std::optional<double> cost_per_year;            // of all of it, in the same money
  std::string currency;                           // empty: the policy's, else USD
  double target_pct = 94;                         // GPU-hour efficiency
  report::Format format = report::Format::table;  // table, json or csv
};

// A made-up year, accounted for: how long that takes, and whether every millisecond is where it belongs.
struct BenchAccountOptions {
  std::uint64_t jobs = 500'000;
  std::uint32_t nodes = 128;
  std::uint32_t days = 365;
  std::uint64_t seed = 1;
  std::string write;                              // folder that the files are written to; empty: nowhere
  report::Format format = report::Format::table;  // table or json
};

}  // namespace muster::cmd
