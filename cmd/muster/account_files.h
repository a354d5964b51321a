// The files of a site's account, read: what is wrong with them is a sentence each.
#pragma once
#include <string>
#include <vector>

#include "account/site_hours.h"
#include "account_options.h"
#include "base/result.h"
#include "ingest/record_time.h"

namespace muster::cmd {

struct AccountRead {
  account::SiteRuns runs;
  account::SiteQuestion question;
  std::string metric;
  std::vector<std::string> notes;
};

// With from and to, which is as far as the records reach where the options do not say.
Result<void> read_account(const AccountOptions& o, AccountRead& out);
// The records alone, and what is wrong with them.
Result<void> read_runs(const AccountFiles& f, AccountRead& out);
// What GPUs were measured to do, from a file or a Prometheus; into the question.
Result<void> read_activity(const AccountFiles& f, AccountRead& out);

}  // namespace muster::cmd
