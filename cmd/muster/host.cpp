#include "host.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "account_tool.h"
#include "adapters/http/server.h"
#include "adapters/intake/intake.h"
#include "address.h"
#include "api/api.h"
#include "audit_tool.h"
#include "background.h"
#include "base/log.h"
#include "console.h"
#include "design_tool.h"
#include "explain_tool.h"
#include "goodput_tool.h"
#include "ingest/json.h"
#include "job_environment_tool.h"
#include "job_tools.h"
#include "journal_past.h"
#include "plan_tool.h"
#include "record_reading.h"
#include "say.h"
#include "secrets.h"
#include "timeline_tool.h"
#include "tool_sheets.h"
#include "week_tool.h"
#include "whatif_tool.h"

namespace muster::cmd {
namespace {

std::atomic<int> stop_signal{0};

void on_signal(int s) { stop_signal = s; }

void listen_to_signals() {
  struct sigaction a {};
  a.sa_handler = on_signal;
  sigaction(SIGTERM, &a, nullptr);
  sigaction(SIGINT, &a, nullptr);
}

Time steady_now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

// The faces of a host: who may come in, and what they are answered.
struct Faces {
  Console console;
  ExplainTool explain;
  IncidentReportTool incident_report;
  ShadowReportTool shadow_report;
  GoodputTool goodput;
  AccountTool account;
  TimelineTool timeline;
  JobStepsTool job_steps;
  JobRanksTool job_ranks;
  DiagnoseJobTool diagnose_job;
  JobEnvironmentTool job_environment;
  AuditTool audit;
  WeekTool week;
  WhatIfTool whatif;
  Errands errands;
  PlanTool plan;
  DesignTool design;
  api::Auth auth;
  Background background;
  AgentIntake intake;
  JournalPast past;
  api::Api api;

  Faces(const HostOptions& o, Mailbox& mailbox)
      : console(o.simulation),
        explain(console, o.journal),
        incident_report(o.journal),
        shadow_report(o.journal),
        goodput(o.journal, &console),
        account(o.journal, &console),
        timeline(o.journal),
        job_steps(console, past, timeline),
        job_ranks(console, past),
        diagnose_job(console, past),
        job_environment(o.journal),
        audit(o.journal),
        week(o.journal),
        whatif(o.journal, console, o.world),
        plan(o.site, errands),
        design(errands),
        auth({random_bytes, steady_now, static_cast<std::int64_t>(getuid()), user_name}),
        intake(mailbox, o.site, &console),
        past(o.journal, console),
        api({console, console, mailbox, with_own(o.tools), auth, random_bytes,
             [this](auto work) { background.run(std::move(work)); }, &intake,
             [this, more = o.meters] {
               std::vector<Meter> all = more ? more() : std::vector<Meter>();
               all.push_back(intake.meter());
               return all;
             },
             &past, sheet_of}) {}

  Tools with_own(Tools tools) {
    tools["explain"] = &explain;
    tools["incident_report"] = &incident_report;
    tools["shadow_report"] = &shadow_report;
    tools["goodput"] = &goodput;
    tools["account"] = &account;
    tools["timeline"] = &timeline;
    tools["job_steps"] = &job_steps;
    tools["job_ranks"] = &job_ranks;
    tools["diagnose_job"] = &diagnose_job;
    tools["job_environment"] = &job_environment;
    tools["audit"] = &audit;
    tools["week"] = &week;
    tools["whatif"] = &whatif;
    tools["plan"] = &plan;
    tools["design"] = &design;
    return tools;
  }
};

Result<void> turn_until_told(const HostOptions& o, const Edges& e, control::Loop& loop, Console& console,
                             const Journal& journal) {
  std::uint64_t shown = 0;
  std::string said;
  while (stop_signal == 0) {
    auto turn = loop.turn();
    if (!turn) return tl::unexpected(turn.error());
    console.on_samples(loop.inbox(), loop.state().site);
    const Result<std::string> trouble = o.trouble ? o.trouble() : Result<std::string>("");
    if (!trouble) return tl::unexpected(trouble.error());
    if (*trouble != said && !trouble->empty()) log(LogLevel::warning, *trouble);
    if (trouble->empty() && !said.empty()) log(LogLevel::warning, "what was in trouble answers again");
    console.publish(loop, journal, turn->now, *trouble, turn->seq != shown || *trouble != said);
    if (o.on_snapshot) o.on_snapshot(console.latest());
    said = *trouble;
    shown = turn->seq;
    if (turn->now.utc >= o.stop_at) return {};
    e.observatory.wait(turn->wake_at);
  }
  return {};
}

}  // namespace

int host(const HostOptions& o, const Edges& e, StateDir& dir, sqlite::StoredJournal& journal) {
  listen_to_signals();
  const auto token = open_token(dir.token());
  if (!token) return say_error(token.error());
  const auto agent_token = open_token(dir.agent_token());
  if (!agent_token) return say_error(agent_token.error());
  control::LoopConfig config;
  config.site = o.site;
  config.policy = o.policy;
  config.journal_id = journal.id().substr(0, 8);
  config.simulation = o.simulation;
  config.parse_json = [](std::string_view text) { return parse_json(text); };
  config.turn_max = seconds(10);
  auto loop = control::Loop::start(e.clock, e.observatory, e.actuator, journal, std::move(config));
  if (!loop) return say_error(loop.error());

  Faces faces(o, e.mailbox);
  faces.auth.accept_token(*token, "token", Role::admin);
  faces.auth.accept_token(*agent_token, "agent", Role::agent);
  faces.intake.remember((*loop)->state());
  (*loop)->on_event = [&](const Event& event) { faces.console.on_event(event); };
  faces.console.publish(**loop, journal, e.clock.now(), {}, true);
  auto server = http::Server::start({.port = o.port, .unix_path = dir.socket(), .handler = faces.api.handler()});
  if (!server) return say_error(server.error());

  const std::string base = fmt::format("http://127.0.0.1:{}", (*server)->port());
  leave_address(dir.path, base);
  say(fmt::format("muster {} of cluster {}: {} nodes, {} GPUs{}", o.name, o.site.name, o.site.nodes.size(), o.site.gpus(),
                  o.simulation.empty() ? "" : ", SIMULATED (" + o.simulation + ")"));
  say(fmt::format("page       {}/", base));
  say(fmt::format("log in     {}/login?code={}   (once, within 15 minutes; `muster login` makes another)", base,
                  faces.auth.new_login_code(Role::admin)));
  say(fmt::format("state      {}", dir.path));
  say("stop       Ctrl-C");

  if (o.on_served) o.on_served(base, [&faces] { return faces.api.metrics(); });
  const Result<void> end = turn_until_told(o, e, **loop, faces.console, journal);
  e.mailbox.close({Code::unreachable, "muster is shutting down", "start it again and repeat the command"});
  if (o.on_end) o.on_end();
  (*server)->stop();
  faces.background.finish();
  if (!end) return say_error(end.error());
  if (auto r = (*loop)->stop(); !r) return say_error(r.error());
  say(fmt::format("stopped at event {}: nothing was lost", journal.last_seq()));
  return 0;
}

}  // namespace muster::cmd
