// `muster explain`: why, in plain words.
#include <cstdio>

#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "report/describe.h"
#include "report/document.h"
#include "report/explain.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Format;

// The first line with something on it.
Result<std::string> read_line() {
  char buffer[8192];
  while (std::fgets(buffer, sizeof buffer, stdin)) {
    if (const auto line = trim(buffer); !line.empty()) return to_valid_utf8(line);
  }
  return fail(Code::bad_input, "standard input has no line to explain", "pipe a log line into `muster explain -`");
}

int show(const ExplainOptions& options, const Value& answer, std::optional<Time> now) {
  switch (options.output.format) {
    case Format::json: put(report::render_json(answer)); break;
    case Format::yaml: put(report::render_yaml(answer)); break;
    default: put(report::render_explanation(answer, {.colour = colour_wanted(), .now = now}));
  }
  return 0;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  std::string what = options.what;
  if (what == "-") {
    auto line = read_line();
    if (!line) return say_error(line.error());
    what = std::move(*line);
  }
  // Fault codes and log lines are explained without any server.
  const bool number = parse_uint(what).has_value();
  const auto fault = number ? Result<report::Explanation>(fail(Code::not_found, "")) : report::explain_fault(what);
  if (fault) {
    const auto answer = parse_json(report::render_json(*fault));
    if (!answer) return say_error(answer.error());
    return show(options, *answer, {});
  }
  const auto client = Client::open(options.connection);
  if (!client) return say_error(client.error());
  const auto answer = client->get("/api/v1/explain", {{"what", what}});
  if (!answer) return say_error(answer.error());
  return show(options, *answer, client->cluster_now());
}

}  // namespace muster::cmd
