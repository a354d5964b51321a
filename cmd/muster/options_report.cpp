// muster report, muster timeline, muster audit: what the record holds.
#include "options_parser.h"
#include "report/units.h"

namespace muster::cmd {

void Parser::add_report() {
  auto* sub = command(app_, "report",
                      "One page for a weekly meeting: what was useful, what was lost to what, what was done, what to do", kLook,
                      "  muster report\n"
                      "  muster report --since 2026-11-01 --until 2026-11-08 week.html\n"
                      "  muster report --since 30d -o md -\n"
                      "  muster report --journal week.db -o json | jq .all.useful_share\n"
                      "  muster report month --month 2026-10            one page about a month, for who pays and who runs it");
  ReportOptions& o = report_;
  value(sub, "--since", "TIME|UTC", "How far back from the end, as 7d, or a day such as 2026-11-01 [7d]",
        [&o](const std::string& s) {
          const auto length = parse_some_time("--since", s, 3650.0 * 86400);
          const auto moment = parse_moment("--since", s);
          if (!length && !moment)
            throw BadValue{{Code::bad_input, "--since must be a length of time or a day, is \"" + s + "\"",
                            "such as 7d, 36h or 2026-11-01"}};
          if (length) o.since_s = *length;
          if (!length) o.since_utc = *moment;
        });
  value(sub, "--until", "UTC", "The end, such as 2026-11-08 [now]",
        [&o](const std::string& s) { o.until = checked(parse_moment("--until", s)); });
  value(sub, "--price", "MONEY", "Of a GPU-hour [the policy's gpu_hour_price]",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1e6)); });
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", o.journal, {WordKind::file, {}},
        4095);
  choice(sub, "-o,--output", "FORMAT", "html, md or json [html]", as_words(names(ReportFormat{})),
         [&o](std::size_t i) { o.format = static_cast<ReportFormat>(i); });
  words(sub, "FILE", "FILE",
        "Where to; - is standard output [muster-report-CLUSTER-DAY.html in this folder; md and json: standard output]", o.file,
        {WordKind::file, {}}, 4095);
  add_connection(sub, o.connection);
  sub->callback([this, sub] {
    if (sub->get_subcommands().empty()) {
      command_ = report_;
      return;
    }
    for (const CLI::Option* given : sub->get_options()) {
      if (given->count() > 0)
        throw BadValue{
            {Code::bad_input, given->get_name() + " stands before the word month", "options of the month come behind it"}};
    }
  });
  add_report_month(*sub);
}

// What money is known, and of what.
void Parser::add_month_money(CLI::App* sub, MonthOptions& o) {
  constexpr const char* kMoney = "Money, energy and quotas";
  const auto file = [&](const char* name, const char* about, std::string& to) {
    words(sub, name, "FILE", about, to, {WordKind::file, {}}, 4095);
    sub->get_option(name)->group(kMoney);
  };
  file("--site", "Cost file: what all of it costs, by what it goes into (docs/cost.md)", o.site);
  value(sub, "--price", "MONEY", "Instead: of a GPU-hour owned [the policy's gpu_hour_price]",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1e6)); })
      ->group(kMoney)
      ->excludes(sub->get_option("--site"));
  value(sub, "--cost-per-year", "MONEY", "Instead: what all of it costs in a year of 365 days",
        [&o](const std::string& s) { o.cost_per_year = checked(parse_quantity("--cost-per-year", s, 0, 1e12)); })
      ->group(kMoney)
      ->excludes(sub->get_option("--site"))
      ->excludes(sub->get_option("--price"));
  words(sub, "--currency", "WORD", "Of that money [the policy's, else USD]; a cost file names its own", o.currency, {}, 8);
  sub->get_option("--currency")->group(kMoney)->excludes(sub->get_option("--site"));
  file("--rates", "Charge by these rates: CSV (with --sacct)", o.rates);
  file("--ledger", "What was charged already, of `muster account charge`", o.ledger);
  sub->get_option("--ledger")->excludes(sub->get_option("--rates"));
  file("--allocations", "What accounts were granted: CSV", o.allocations);
  file("--capacity", "The outlook: what `muster capacity forecast -o json` printed", o.capacity);
  EnergyOptions& e = o.energy;
  add_many(sub, "--power", "FILE", "Readings of power, as `muster energy --power` takes them; may be given again", e.power,
           {WordKind::file, {}});
  value(sub, "--gap", "TIME", "Readings of power further apart are a gap [three times the usual, 1s to 10m]",
        [&e](const std::string& s) { e.gap_s = checked(parse_some_time("--gap", s, 86400)); });
  words(sub, "--tariff", "FILE|example", "Electricity tariff (docs/formats/tariff.md)", e.rates.tariff,
        {WordKind::file, {"example"}}, 4095);
  words(sub, "--carbon", "G|FILE", "Of the grid: g/kWh, or hourly", e.rates.carbon, {WordKind::file, {}}, 4095);
  value(sub, "--pue", "RATIO", "The site's energy over that of its computers [1.3, and said to be assumed]",
        [&e](const std::string& s) { e.pue = checked(parse_quantity("--pue", s, 1, 5)); });
  words(sub, "--gpu", "NAME", "Model of GPU of jobs that do not say, to estimate energy that was not measured", e.gpu,
        {WordKind::choice, gpu_names()}, 60);
  for (const char* name : {"--power", "--gap", "--tariff", "--carbon", "--pue", "--gpu"}) sub->get_option(name)->group(kMoney);
}

void Parser::add_report_month(CLI::App& report) {
  auto* sub = command(report, "month",
                      "One page about a month: from owned to useful in GPU-hours and money, by whom, against the target", nullptr,
                      "  muster report month\n"
                      "  muster report month --journal muster.db --month 2026-10 --site costs.yaml october.html\n"
                      "  muster report month --sacct jobs.txt --nodes nodes.txt --cost-per-year 19e6 --month 2026-10\n"
                      "  muster report month --journal muster.db -o csv > october.csv");
  MonthOptions& o = report_month_;
  value(sub, "--month", "MONTH", "Such as 2026-10 [the last one that is whole, else the one that runs]",
        [&o](const std::string& s) {
          const auto first = report::parse_utc(s + "-01T00:00:00Z");
          if (!first) throw BadValue{{Code::bad_input, "--month must be a month, is \"" + s + "\"", "such as 2026-10"}};
          o.month = render_utc(*first).substr(0, 7);
        });
  words(sub, "--tz", "ZONE", "Whose calendar the month and its days follow, e.g. Europe/Berlin [UTC]", o.zone, {}, 100);
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", o.journal, {WordKind::file, {}},
        4095);
  add_account_files(sub, o.files);
  sub->get_option("--journal")->excludes(sub->get_option("--sacct"));
  add_month_money(sub, o);
  value(sub, "--target", "PERCENT", "Efficiency to reach: useful GPU-hours of those that are known [94]",
        [&o](const std::string& s) { o.target_pct = checked(parse_quantity("--target", s, 0, 100, "percent")); });
  choice(sub, "-o,--output", "FORMAT", "html, json or csv [html]", as_words(names(MonthFormat{})),
         [&o](std::size_t i) { o.format = static_cast<MonthFormat>(i); });
  words(sub, "FILE", "FILE",
        "Where to; - is standard output [muster-report-CLUSTER-MONTH.html in this folder; json and csv: standard output]", o.file,
        {WordKind::file, {}}, 4095);
  add_connection(sub, o.connection);
  chosen(sub, o);
}

void Parser::add_timeline() {
  auto* sub = command(app_, "timeline", "Nodes by time: incidents, ends of jobs, nodes drained or down in a stretch", kLook,
                      "  muster timeline\n"
                      "  muster timeline --from 2026-11-15T00:00:00Z --to 2026-11-15T06:00:00Z\n"
                      "  muster timeline --journal week.db --from 2026-11-01 -o json");
  TimelineOptions& o = timeline_;
  value(sub, "--from", "UTC", "Begin, such as 2026-11-15T02:03:04Z [six hours before the end]",
        [&o](const std::string& s) { o.from = checked(parse_moment("--from", s)); });
  value(sub, "--to", "UTC", "End [now]", [&o](const std::string& s) { o.to = checked(parse_moment("--to", s)); });
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", o.journal, {WordKind::file, {}},
        4095);
  add_format(sub, o.format, {Format::table, Format::json});
  add_connection(sub, o.connection);
  chosen(sub, o);
}

void Parser::add_audit() {
  auto* sub = command(app_, "audit", "Who did what, why, and what came of it; and whether the record is whole", kLook,
                      "  muster audit\n  muster audit --filter 'ada drain'\n"
                      "  muster audit --at 2026-11-15T02:03:04Z -o json");
  AuditOptions& o = audit_;
  words(sub, "--filter", "TEXT", "Only what has all these words in it", o.filter, {}, 200);
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", o.journal, {WordKind::file, {}},
        4095);
  value(sub, "--at", "UTC", "As it was known then, such as 2026-11-15T02:03:04Z",
        [&o](const std::string& s) { o.connection.at = checked(parse_moment("--at", s)); });
  add_format(sub, o.format, {Format::table, Format::json});
  add_connection(sub, o.connection);
  chosen(sub, o);
}

}  // namespace muster::cmd
