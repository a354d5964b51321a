// muster account charge, muster account quota: money and what was granted.
#include "account/charges.h"
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_account_charge(CLI::App& account) {
  auto* sub = command(account, "charge", "Charge runs of jobs by rates, each once, into a ledger; or show the ledger", nullptr,
                      "  muster account charge --sacct jobs.txt --rates rates.csv --ledger ledger.jsonl --dry-run\n"
                      "  muster account charge --sacct jobs.txt --rates rates.csv --ledger ledger.jsonl\n"
                      "  muster account charge --ledger ledger.jsonl --by month -o csv");
  AccountChargeOptions& o = account_charge_;
  add_many(sub, "--sacct", "FILE", "What `sacct -a -X -D -P` or `sacct --json` printed; may be given again; - is standard input",
           o.files.sacct, {WordKind::file, {}});
  words(sub, "--zone", "ZONE", "Of times without one, e.g. Europe/Berlin [UTC]", o.files.zone, {}, 100);
  words(sub, "--rates", "FILE", "What a GPU-hour costs: CSV with id, valid_from, price_per_gpu_hour, currency", o.rates,
        {WordKind::file, {}}, 4095);
  words(sub, "--ledger", "FILE", "What was charged; it is made if it is not there, and only ever added to", o.ledger,
        {WordKind::file, {}}, 4095);
  sub->get_option("--ledger")->required();
  value(sub, "--until", "UTC", "Charge runs that go on, up to then, such as 2026-12-01 [only those that have ended]",
        [&o](const std::string& s) { o.until = checked(parse_moment("--until", s)); });
  flag(sub, "--dry-run", o.dry_run, "Say what would be charged, and write nothing");
  const Words ways = as_words(names(account::ChargesBy{}));
  choice(sub, "--by", "WAY", "Sums by " + join(ways, ", ") + " [account]", ways, [&o, ways](std::size_t i) { o.by = ways[i]; });
  value(sub, "--from", "UTC", "Show charges for time from then on",
        [&o](const std::string& s) { o.from = checked(parse_moment("--from", s)); });
  value(sub, "--to", "UTC", "Show charges for time before then",
        [&o](const std::string& s) { o.to = checked(parse_moment("--to", s)); });
  value(sub, "--limit", "N", "Rows of the table; JSON and CSV have all [20]",
        [&o](const std::string& s) { o.limit = checked(parse_count("--limit", s, 1, 1'000'000)); });
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  chosen(sub, o);
}

void Parser::add_account_quota(CLI::App& account) {
  auto* sub = command(account, "quota", "What accounts were granted, what is left of it, and when that runs out", nullptr,
                      "  muster account quota --sacct jobs.txt --allocations allocations.csv\n"
                      "  muster account quota --ledger ledger.jsonl --allocations allocations.csv   grants of money\n"
                      "  muster account quota --journal muster.db --allocations allocations.csv -o json\n"
                      "  muster account quota --allocations allocations.csv   asks a running Muster");
  AccountQuotaOptions& o = account_quota_;
  words(sub, "--allocations", "FILE", "What was granted: CSV with account, from, to, and gpu_hours, or money and currency",
        o.allocations, {WordKind::file, {}}, 4095);
  sub->get_option("--allocations")->required();
  add_many(sub, "--sacct", "FILE", "What was used, as sacct printed it; may be given again; - is standard input", o.files.sacct,
           {WordKind::file, {}});
  words(sub, "--zone", "ZONE", "Of times without one, e.g. Europe/Berlin [UTC]", o.files.zone, {}, 100);
  words(sub, "--ledger", "FILE", "Or: what was charged", o.ledger, {WordKind::file, {}}, 4095);
  words(sub, "--journal", "FILE", "Or: the journal of a Muster", o.journal, {WordKind::file, {}}, 4095);
  value(sub, "--at", "UTC", "As it stood then, such as 2026-12-01 [the last moment that is known]",
        [&o](const std::string& s) { o.at = checked(parse_moment("--at", s)); });
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  add_connection(sub, o.connection);
  chosen(sub, o);
}

}  // namespace muster::cmd
