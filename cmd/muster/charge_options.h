// Of `muster account charge` and `muster account quota`.
#pragma once
#include <cstdint>
#include <string>

#include "account_options.h"

namespace muster::cmd {

struct AccountChargeOptions {
  AccountFiles files;  // no sacct: nothing is charged, and only the ledger is shown
  std::string rates, ledger;
  std::string until;     // utc, up to which runs are charged that have not ended; empty: they are not
  std::string from, to;  // utc, of what is shown
  std::string by = "account";
  std::uint64_t limit = 20;  // rows of the table
  bool dry_run = false;
  report::Format format = report::Format::table;  // table, json or csv
};

struct AccountQuotaOptions {
  AccountFiles files;
  std::string journal, ledger;  // or one of these; none: a running Muster is asked
  Connection connection;        // to that
  std::string allocations;
  std::string at;                                 // utc; empty: the last that is known
  report::Format format = report::Format::table;  // table, json or csv
};

}  // namespace muster::cmd
