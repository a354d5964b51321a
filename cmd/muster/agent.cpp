// muster agent: what runs on a node. Wires the agent to its folder, its server and the signals that end it.
#include "adapters/agent/agent.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "adapters/http/server.h"
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

Result<std::string> read_agent_token(const AgentOptions& o) {
  if (!o.token_file.empty()) {
    auto text = read_file(o.token_file);
    if (!text) return tl::unexpected(text.error());
    while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    if (text->empty() || text->find_first_of(" \t\r\n") != std::string::npos) {
      return fail(Code::bad_input, fmt::format("{} holds no token", o.token_file), "it should be one word on one line");
    }
    return *text;
  }
  const char* from_environment = std::getenv("MUSTER_TOKEN");
  return std::string(from_environment == nullptr ? "" : from_environment);
}

Result<agent::Options> make_options(const AgentOptions& o) {
  agent::Options a;
  a.node = o.node.empty() ? host_name() : o.node;
  if (o.kernel_log != "none") a.kernel_log = o.kernel_log;
  a.trust_kernel_log = o.trust_kernel_log;
  a.controller = o.controller;
  const bool clear_text = o.controller.rfind("http://", 0) == 0 && o.controller.rfind("http://127.", 0) != 0 &&
                          o.controller.rfind("http://localhost", 0) != 0 && o.controller.rfind("http://[::1]", 0) != 0;
  if (clear_text) {
    return fail(Code::bad_input, "the token would cross the network in the clear", "use https://, or a tunnel to 127.0.0.1");
  }
  auto token = read_agent_token(o);
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
