// muster report, muster timeline, muster audit: what the record holds.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_report() {
  auto* sub = command(app_, "report",
                      "One page for a weekly meeting: what was useful, what was lost to what, what was done, what to do", kLook,
                      "  muster report\n"
                      "  muster report --since 2026-11-01 --until 2026-11-08 week.html\n"
                      "  muster report --since 30d -o md -\n"
                      "  muster report --journal week.db -o json | jq .all.useful_share");
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
