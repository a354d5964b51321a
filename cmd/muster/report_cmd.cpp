// `muster report`: one file for a weekly meeting, from a running Muster or from a journal's file.
#include <fmt/core.h>
#include <unistd.h>

#include "audit_tool.h"
#include "client.h"
#include "commands.h"
#include "files.h"
#include "goodput_tool.h"
#include "ingest/json.h"
#include "progress.h"
#include "report/document.h"
#include "report/sections.h"
#include "report/units.h"
#include "say.h"
#include "week_tool.h"
#include "weekly_gather.h"

namespace muster::cmd {
namespace {

Result<report::Weekly> from_server(const ReportOptions& o, const std::function<void(double)>& progress) {
  const auto client = Client::open(o.connection);
  if (!client) return tl::unexpected(client.error());
  const auto summary = client->get("/api/v1/summary");
  if (!summary) return tl::unexpected(summary.error());
  return gather_weekly(
      o, [&](const std::string& tool, const std::string& input) { return client->post("/api/v1/tools/" + tool, input); },
      report::text_of(*summary, "simulation"), progress);
}

Result<report::Weekly> from_file(const ReportOptions& o, const std::function<void(double)>& progress) {
  GoodputTool goodput(o.journal);
  WeekTool week(o.journal);
  AuditTool audit(o.journal);
  const auto ask = [&](const std::string& name, const std::string& input) -> Result<Value> {
    Tool& tool = name == "goodput" ? static_cast<Tool&>(goodput) : name == "week" ? static_cast<Tool&>(week) : audit;
    const auto text = tool.call(parse_json(input).value());
    if (!text) return tl::unexpected(text.error());
    return parse_json(*text);
  };
  return gather_weekly(o, ask, "", progress);
}

std::string usual_name(const report::Weekly& w) {
  return fmt::format("muster-report-{}-{}.html", report::file_word(w.cluster), render_utc(w.all.to).substr(0, 10));
}

std::string rendered(const report::Weekly& w, ReportFormat format) {
  switch (format) {
    case ReportFormat::md: return report::weekly_markdown(w);
    case ReportFormat::json: return report::render_json(parse_json(report::weekly_json(w)).value());
    case ReportFormat::html: break;
  }
  return report::weekly_page(w);
}

}  // namespace

int run_report(const ReportOptions& o) {
  if (!o.file.empty() && o.file != "-") {
    if (const auto ok = check_writable(o.file); !ok) return say_error(ok.error());
  }
  Result<report::Weekly> weekly;
  {
    Progress progress("read", stderr_is_terminal() ? ProgressMode::automatic : ProgressMode::never);
    const auto told = [&](double done) { progress.update(done); };
    weekly = o.journal.empty() ? from_server(o, told) : from_file(o, told);
  }
  if (!weekly) return say_error(weekly.error());
  const std::string text = rendered(*weekly, o.format);
  // A page is for a browser: it goes into a file unless somebody wants it elsewhere.
  const std::string file = !o.file.empty() ? o.file : o.format == ReportFormat::html ? usual_name(*weekly) : "-";
  if (file == "-") {
    put(text);
  } else {
    const bool there = ::access(file.c_str(), F_OK) == 0;
    if (const auto ok = write_file(file, text); !ok) return say_error(ok.error());
    say(fmt::format("{} {}: {} to {}", there ? "replaced" : "wrote", file, render_utc(weekly->all.from),
                    render_utc(weekly->all.to)));
  }
  if (weekly->is_short()) say(fmt::format("the record begins at {}: less than was asked for", render_utc(weekly->record_from)));
  if (!weekly->chain.ok) {
    return say_error({Code::corrupt, fmt::format("the record is not whole: {}", weekly->chain.what),
                      "the report says so; nothing in it is to be relied upon before that is explained"});
  }
  return finish_output();
}

}  // namespace muster::cmd
