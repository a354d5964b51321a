// muster agent: what runs on a node. Wires the agent to its folder, its server and the signals that end it.
#include "adapters/agent/agent.h"

#include <fmt/core.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "adapters/http/server.h"
#include "agent_token.h"
#include "commands.h"
#include "files.h"
#include "say.h"

namespace muster::cmd {
namespace {

volatile std::sig_atomic_t stop_signal = 0;
void on_signal(int s) { stop_signal = s; }

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

Result<agent::Options> make_options(const AgentOptions& o) {
  agent::Options a;
  a.node = o.node.empty() ? host_name() : o.node;
  if (o.kernel_log != "none") a.kernel_log = o.kernel_log;
  a.trust_kernel_log = o.trust_kernel_log;
  a.controller = o.controller;
  auto token = agent_token_for(o.controller, o.token_file);
  if (!token) return tl::unexpected(token.error());
  a.token = *token;
  a.folder = o.spool;
  a.spool_bytes = o.spool_mb << 20;
  if (!o.nvml.empty()) a.nvml = o.nvml;
  a.deadline = from_seconds(o.deadline_s);
  a.mounts = o.mounts;
  for (const std::string& p : o.probes) a.commands.emplace_back(p.substr(0, p.find('=')), p.substr(p.find('=') + 1));
  a.job_logs = o.job_logs;
  a.job_socket = o.job_socket;
  a.nccl_ras = o.nccl_ras;
  a.job_environments = !o.no_job_environments;
  std::error_code failed;
  std::filesystem::create_directories(a.folder, failed);
  if (failed) return tl::unexpected(file_error("make", a.folder, failed.value()));
  chmod(a.folder.c_str(), 0700);
  return a;
}

// Asks every probe once, prints what they say, and is done.
int ask_once(const AgentOptions& o, const agent::Options& options) {
  const auto specs = agent::make_probes(options);
  auto probes = agent::Probes::start(specs, {});
  if (!probes) return say_error(probes.error());
  agent::Picture picture;
  const Time until = agent::monotonic_now() + options.deadline + seconds(1);
  while (picture.figures.probes.size() < specs.size() && agent::monotonic_now() < until) {
    auto reports = (*probes)->read();
    if (!reports) return say_error(reports.error());
    for (const agent::ProbeReport& r : *reports) {
      if (r.state == agent::ProbeState::told) continue;
      picture.figures.probes[r.name] = {r.state == agent::ProbeState::hung, r.took.seconds(), agent::trouble_of(r)};
      const bool values = r.name == "nvml" || r.name == "sysfs" || r.name == "versions";
      if (values) agent::merge_readings(picture.readings, agent::parse_readings(r.text));
    }
    usleep(5000);
  }
  for (const agent::ProbeSpec& s : specs) picture.figures.probes.try_emplace(s.name, agent::ProbeStatus{true, 0, {}});
  put(o.format == report::Format::json ? agent::render_json(picture, options.node) + "\n"
                                       : agent::render_exposition(picture, options.node));
  return 0;
}

Result<std::unique_ptr<http::Server>> serve(const AgentOptions& o, agent::Agent& a) {
  http::Options s;
  s.handler = a.handler();
  s.unix_path = o.spool + "/agent.sock";
  s.anywhere = true;
  const auto colon = o.listen.rfind(':');
  s.port = o.listen == "none" ? -1 : std::atoi(o.listen.c_str() + colon + 1);
  if (o.listen != "none") s.address = o.listen.substr(0, colon);
  if (s.address.size() > 2 && s.address.front() == '[') s.address = s.address.substr(1, s.address.size() - 2);
  s.limits.connections = 64;
  s.limits.bodies_bytes = 1 << 20;
  s.limits.body_bytes = 1 << 10;
  return http::Server::start(std::move(s));
}

}  // namespace

int run_agent(const AgentOptions& o) {
  auto options = make_options(o);
  if (!options) return say_error(options.error());
  if (o.once) return ask_once(o, *options);
  malloc_trim(0);  // what the words of all commands took: every probe would keep its share of it for years
  auto agent = agent::Agent::start(*options);
  if (!agent) return say_error(agent.error());
  auto server = serve(o, **agent);
  if (!server) return say_error(server.error());
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
  say(fmt::format("muster agent of node {}", options->node));
  say(fmt::format("kernel log {}{}", options->kernel_log.empty() ? "none" : options->kernel_log,
                  options->kernel_log.empty() || (*agent)->picture().figures.kernel_trusted
                      ? ""
                      : "   (a file: what it says is shown and never acted on)"));
  say(fmt::format("controller {}", options->controller.empty() ? "none: nothing is sent" : options->controller));
  if ((*server)->port() >= 0)
    say(fmt::format("metrics    http://{}:{}/metrics", o.listen.substr(0, o.listen.rfind(':')), (*server)->port()));
  if (!options->job_socket.empty()) say(fmt::format("jobs       MUSTER_SOCKET={}", options->job_socket));
  say(fmt::format("spool      {}", options->folder));
  while (stop_signal == 0) {
    if (auto r = (*agent)->turn(); !r) {
      (*server)->stop();
      return say_error(r.error());
    }
  }
  (*server)->stop();
  return 0;
}

}  // namespace muster::cmd
