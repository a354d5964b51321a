// `muster account quota`: what accounts were granted against what they used.
#include <fmt/core.h>

#include <algorithm>

#include "account/quota.h"
#include "account_files.h"
#include "account_tool.h"
#include "charge_options.h"
#include "client.h"
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
  const account::UseUnknown u = account::unknown_use(read.runs);
  const auto left_out = [](std::uint64_t n, std::string_view why) {
    if (n > 0) say(fmt::format("{} in nobody's use: {}", report::counted(static_cast<std::int64_t>(n), "run"), why));
  };
  left_out(u.gpus, "nothing says how many GPUs");
  left_out(u.start, "no start that can be read");
  left_out(u.end, "over, without an end that can be read");
  left_out(u.backwards, "the end is before the start");
  return Known{account::use_of(read.runs, at.value_or(last)), last};
}

Result<Known> known_of_ledger(const AccountQuotaOptions& o) {
  const auto file = LedgerFile::open(o.ledger, false);
  if (!file) return tl::unexpected(file.error());
  Known k{account::use_of(file->ledger().charges), {}};
  for (const account::Use& u : k.uses) k.last = std::max(k.last, u.to);
  return k;
}

// What accounts had by the record of a Muster: of one that runs, or of its journal.
Result<Known> known_of_record(const AccountQuotaOptions& o) {
  constexpr const char* kQuestion = R"({"uses":true})";
  Result<Value> told = Value{};
  if (o.journal.empty()) {
    const auto client = Client::open(o.connection);
    if (!client) return tl::unexpected(client.error());
    told = client->post("/api/v1/tools/account", kQuestion);
  } else {
    AccountTool tool(o.journal);
    const auto text = tool.call(parse_json(kQuestion).value());
    if (!text) return tl::unexpected(text.error());
    told = parse_json(*text);
  }
  if (!told) return tl::unexpected(told.error());
  const auto whole = [](const Value& v, std::string_view key) {
    const Value* n = v.find(key);
    return n == nullptr || n->integer() == nullptr ? std::int64_t{0} : *n->integer();
  };
  Known k{{}, Time{whole(*told, "to_ns")}};
  for (const Value& u : report::list_of(*told, "uses"))
    k.uses.push_back({report::text_of(u, "account"), Time{whole(u, "from_ns")}, Time{whole(u, "to_ns")}, whole(u, "milli_gpu_ms"),
                      whole(u, "money_micro"), report::text_of(u, "currency")});
  return k;
}

Result<Known> known_of(const AccountQuotaOptions& o, std::optional<Time> at) {
  const int sources = (o.files.sacct.empty() ? 0 : 1) + (o.journal.empty() ? 0 : 1) + (o.ledger.empty() ? 0 : 1);
  if (sources > 1)
    return fail(Code::bad_input, "what was used has more than one source",
                "give one of --sacct FILE, --ledger FILE and --journal FILE, or none to ask a running Muster");
  if (!o.ledger.empty()) return known_of_ledger(o);
  return o.files.sacct.empty() ? known_of_record(o) : known_of_runs(o, at);
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
