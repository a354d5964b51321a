// `muster account charge`: charges runs of jobs once, by rates, into a ledger; and shows what is in it.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "account/charges.h"
#include "account_files.h"
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

Time moment(const std::string& text, Time otherwise) {
  const auto t = text.empty() ? std::nullopt : report::parse_utc(text);
  return t.value_or(otherwise);
}

Time wall_clock() {
  return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

Result<account::Charging> charge_runs(const AccountChargeOptions& o, const Ledger& ledger) {
  const auto text = read_file(o.rates);
  if (!text) return tl::unexpected(text.error());
  const auto rates = parse_rates(*text, o.rates);
  if (!rates) return tl::unexpected(rates.error());
  AccountRead read;
  if (const auto ok = read_runs(o.files, read); !ok) return tl::unexpected(ok.error());
  for (const std::string& n : read.notes) say(n);
  const auto [begin, end] = std::pair(ledger.charges.begin(), ledger.charges.end());
  const auto other = std::find_if(begin, end, [&](const Charge& c) { return c.cluster != read.runs.cluster(); });
  if (other != end && !read.runs.runs().empty())
    say(fmt::format("note: the ledger has charges of cluster '{}', these records are of '{}'", other->cluster,
                    read.runs.cluster()));
  return account::charge(read.runs, *rates, ledger, moment(o.until, kNever), wall_clock());
}

// What a person should look at.
bool wants_a_look(const account::Charging& c) {
  return std::any_of(c.not_charged.begin(), c.not_charged.end(),
                     [](const account::Uncharged& u) { return u.why != account::NotCharged::runs; });
}

void show(const report::ChargesView& v, report::Format format) {
  switch (format) {
    case report::Format::json: return put(report::render_json(parse_json(report::charges_json(v)).value()));
    case report::Format::csv: return put(report::charges_csv(v));
    default: return put(report::charges_text(v, {.colour = colour_wanted(), .now = {}}));
  }
}

}  // namespace

int run_account_charge(const AccountChargeOptions& o) {
  const bool charges = !o.files.sacct.empty();
  if (charges && o.rates.empty())
    return say_error(
        {Code::bad_input, "--sacct is given, and no --rates", "--rates FILE says what a GPU-hour costs: docs/account_money.md"});
  if (!charges && (!o.rates.empty() || !o.until.empty() || o.dry_run))
    return say_error({Code::bad_input, "nothing is to be charged without --sacct",
                      "leave out --rates, --until and --dry-run to see the ledger"});
  // A first trial needs no ledger yet.
  std::optional<LedgerFile> file;
  auto opened = LedgerFile::open(o.ledger, charges && !o.dry_run);
  if (opened) {
    file.emplace(std::move(*opened));
  } else if (!o.dry_run || opened.error().code != Code::not_found) {
    return say_error(opened.error());
  }
  const Ledger none;
  const Ledger& ledger = file ? file->ledger() : none;
  if (ledger.torn)
    say(fmt::format(
        "note: {} ends with a line that was not written to its end, which is no charge. A head that was kept tells whether "
        "it was one",
        o.ledger));
  report::ChargesView v;
  v.ledger = o.ledger;
  v.before = &ledger;
  v.dry_run = o.dry_run;
  v.from = moment(o.from, Time{INT64_MIN});
  v.to = moment(o.to, kNever);
  v.limit = o.limit;
  v.head = ledger.head;
  const auto ways = account::names(account::ChargesBy{});
  v.by = static_cast<account::ChargesBy>(std::find(ways.begin(), ways.end(), o.by) - ways.begin());
  account::Charging charging;
  if (charges) {
    auto c = charge_runs(o, ledger);
    if (!c) return say_error(c.error());
    charging = std::move(*c);
    v.charging = &charging;
    const std::string lines = render_ledger_lines(charging.charges, v.head);
    if (!o.dry_run && !lines.empty()) {
      if (const auto ok = file->append(lines); !ok) return say_error(ok.error());
    }
  }
  show(v, o.format);
  const int shown = finish_output();
  return shown != 0 ? shown : wants_a_look(charging) ? kFindings : 0;
}

}  // namespace muster::cmd
