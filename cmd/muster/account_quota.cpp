// `muster account quota`: what accounts were granted against what they used.
#include <fmt/core.h>

#include <algorithm>

#include "account/quota.h"
#include "account_files.h"
#include "account_tool.h"
#include "charge_options.h"
#include "commands.h"
#include "files.h"
#include "ingest/charge_files.h"
#include "ingest/json.h"
#include "ledger_file.h"
#include "report/document.h"
#include "report/money_views.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;

struct Known {
  std::vector<account::Use> uses;
  Time last;  // that is known
};

Result<Known> known_of_runs(const AccountQuotaOptions& o, std::optional<Time> at) {
  AccountRead read;
  if (const auto ok = read_runs(o.files, read); !ok) return tl::unexpected(ok.error());
  for (const std::string& n : read.notes) say(n);
  std::int64_t last_ms = 0;
  for (const account::SiteRun& r : read.runs.runs()) last_ms = std::max({last_ms, r.submitted_ms, r.started_ms, r.ended_ms});
  const Time last{last_ms * 1'000'000};
  return Known{account::use_of(read.runs, at.value_or(last)), last};
}

Result<Known> known_of_ledger(const AccountQuotaOptions& o) {
  const auto file = LedgerFile::open(o.ledger, false);
  if (!file) return tl::unexpected(file.error());
  Known k{account::use_of(file->ledger().charges), {}};
  for (const account::Use& u : k.uses) k.last = std::max(k.last, u.to);
  return k;
}

Result<Known> known_of_journal(const AccountQuotaOptions& o) {
  const auto read = read_flow(o.journal, nullptr, {});
  if (!read) return tl::unexpected(read.error());
  return Known{account::use_of(read->flow), read->flow.to};
}

Result<Known> known_of(const AccountQuotaOptions& o, std::optional<Time> at) {
  const int sources = (o.files.sacct.empty() ? 0 : 1) + (o.journal.empty() ? 0 : 1) + (o.ledger.empty() ? 0 : 1);
  if (sources != 1)
    return fail(Code::bad_input, sources == 0 ? "nothing says what was used" : "what was used has more than one source",
                "give one of --sacct FILE, --ledger FILE and --journal FILE");
  if (!o.ledger.empty()) return known_of_ledger(o);
  return o.journal.empty() ? known_of_runs(o, at) : known_of_journal(o);
}

bool wants_a_look(const account::Quotas& q) {
  using account::Standing;
  return !q.ungranted.empty() || std::any_of(q.burns.begin(), q.burns.end(), [](const account::Burn& b) {
    return b.standing == Standing::overspent || b.standing == Standing::runs_out;
  });
}

}  // namespace

int run_account_quota(const AccountQuotaOptions& o) {
  const auto text = read_file(o.allocations);
  if (!text) return say_error(text.error());
  const auto granted = parse_allocations(*text, o.allocations);
  if (!granted) return say_error(granted.error());
  const auto at = o.at.empty() ? std::nullopt : report::parse_utc(o.at);
  const auto known = known_of(o, at);
  if (!known) return say_error(known.error());
  if (known->uses.empty())
    return say_error({Code::not_found, "nobody used a GPU, as far as is known here", "is it the right file?"});
  const bool money = std::any_of(granted->begin(), granted->end(), [](const Allocation& a) { return a.money_micro.has_value(); });
  if (money && !o.files.sacct.empty())
    return say_error({Code::bad_input, fmt::format("{} grants money, and sacct knows none", o.allocations),
                      "charge the runs (`muster account charge`), and give --ledger instead of --sacct"});
  const account::Quotas q = account::burn_down(*granted, known->uses, at.value_or(known->last));
  switch (o.format) {
    case report::Format::json: put(report::render_json(parse_json(report::quota_json(q)).value())); break;
    case report::Format::csv: put(report::quota_csv(q)); break;
    default: put(report::quota_text(q, {.colour = colour_wanted(), .now = {}}));
  }
  const int shown = finish_output();
  return shown != 0 ? shown : wants_a_look(q) ? kFindings : 0;
}

}  // namespace muster::cmd
