// `muster account`: where a site's GPU-hours went, from its own files, or from a journal.
#include <algorithm>

#include "account_files.h"
#include "commands.h"
#include "report/site_account.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<account::SiteBy> by_of(const std::string& word) {
  const auto all = names(account::SiteBy{});
  const auto it = std::find(all.begin(), all.end(), word);
  if (it == all.end()) return fail(Code::bad_input, "--by " + word + " is for journals", "leave out --sacct, or choose another");
  return static_cast<account::SiteBy>(it - all.begin());
}

}  // namespace

int run_account(const AccountOptions& o) {
  if (o.files.sacct.empty()) return run_account_journal(o);
  if (!o.journal.empty()) return say_error({Code::bad_input, "--journal and --sacct are two sources", "give one of them"});
  const auto by = by_of(o.by);
  if (!by) return say_error(by.error());
  if (!o.only_account.empty() || !o.only_partition.empty() || !o.only_user.empty())
    return say_error({Code::bad_input, "--account, --partition and --user are for journals",
                      "leave out --sacct; or let sacct choose: it has -A, -r and -u"});
  AccountRead read;
  if (const auto ok = read_account(o, read); !ok) return say_error(ok.error());
  const account::SiteAccount a = account_site(read.runs, read.question);
  if (a.too_large)
    return say_error({Code::bad_input, "so many GPUs for so long cannot be summed", "a shorter time: --from and --to"});
  if (a.gpus_milli == 0)
    return say_error(
        {Code::not_found, "no run in these files says that it had GPUs, and nothing says what is installed",
         "Slurm keeps GPUs only with AccountingStorageTRES=gres/gpu in slurm.conf; name the column AllocTRES, or give --nodes"});
  report::SiteView v;
  v.cluster = read.runs.cluster();
  v.runs = &read.runs;
  v.account = &a;
  v.by = *by;
  v.limit = o.limit;
  v.price = {o.price, o.cost_per_year, o.currency.empty() ? "USD" : o.currency};
  v.target = o.target_pct / 100;
  v.zone = o.files.zone;
  v.metric = read.metric;
  v.notes = std::move(read.notes);
  switch (o.format) {
    case report::Format::json: put(site_account_json(v) + "\n"); break;
    case report::Format::csv: put(site_account_csv(v)); break;
    default: put(site_account_text(v, {.colour = colour_wanted(), .width = 110, .now = {}}));
  }
  return finish_output();
}

}  // namespace muster::cmd
