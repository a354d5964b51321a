// muster report.
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

}  // namespace muster::cmd
