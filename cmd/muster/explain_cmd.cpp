// `muster explain`: why, in plain words.
#include <cstdio>

#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "progress.h"
#include "record_reading.h"
#include "report/describe.h"
#include "report/document.h"
#include "report/explain.h"
#include "say.h"
#include "scene.h"

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

// From a file, without any server.
int explain_from_journal(const ExplainOptions& options) {
  Result<std::string> text;
  {
    Progress progress("read", stderr_is_terminal() ? ProgressMode::automatic : ProgressMode::never);
    text = why_from_journal(options.journal, options.what, [&](double done) { progress.update(done); });
  }
  if (!text) return say_error(text.error());
  const auto answer = parse_json(*text);
  if (!answer) return say_error(answer.error());
  return show(options, *answer, {});
}

// "xid 999": meant as a code even when it is not a known one.
bool is_code(std::string_view what) {
  return what.size() > 3 && (what.substr(0, 3) == "xid" || what.substr(0, 3) == "Xid" || what.substr(0, 4) == "sxid" ||
                             what.substr(0, 4) == "SXid" || what.substr(0, 5) == "DCGM_" ||
                             what.find("Xid") != std::string_view::npos || what.find(' ') != std::string_view::npos);
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  if (options.what.rfind("start ", 0) == 0) return explain_start(options);
  std::optional<Policy> policy;
  if (!options.policy.empty()) {
    auto loaded = load_policy(options.policy);
    if (!loaded) return say_error(loaded.error());
    policy = std::move(*loaded);
    if (policy->name == default_policy().name) policy->name = options.policy;  // a file that gives itself no name
  }
  if (!options.journal.empty()) return explain_from_journal(options);
  if (!options.file.empty()) return explain_file(options, policy ? &*policy : nullptr);
  std::string what = options.what;
  if (what == "-") {
    auto line = read_line();
    if (!line) return say_error(line.error());
    what = std::move(*line);
  }
  // Fault codes and log lines are explained without any server; one that runs is asked first, since its policy may say otherwise.
  const bool number = parse_uint(what).has_value();
  const auto fault = number && !policy ? Result<report::Explanation>(fail(Code::not_found, ""))
                                       : report::explain_fault(what, policy ? &*policy : nullptr);
  if (!fault && policy) return say_error(fault.error());
  const auto client = Client::open(options.connection);
  std::optional<Error> unreachable;
  if (!client) unreachable = client.error();
  if (client && !policy) {
    Client::Query question{{"what", what}};
    if (options.connection.at.empty()) question["record"] = "1";  // the record tells of all times by itself
    const auto answer = client->get("/api/v1/explain", question);
    if (answer) return show(options, *answer, client->cluster_now());
    if (!fault && answer.error().code != Code::unreachable) return say_error(answer.error());
    unreachable = answer.error();
  }
  if (!fault && is_code(what)) return say_error(fault.error());
  const auto code = number && !fault ? report::explain_fault(what, nullptr) : fault;
  if (!code) return say_error(*unreachable);
  const auto answer = parse_json(report::render_json(*code));
  if (!answer) return say_error(answer.error());
  return show(options, *answer, {});
}

}  // namespace muster::cmd
