// muster up --slurm: the controller of a Slurm cluster. Slurm keeps the jobs; Muster watches, heals, and where a partition is in
// mode `place` chooses the nodes.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "adapters/slurm/engine.h"
#include "adapters/slurm/heartbeat.h"
#include "adapters/slurm/rest.h"
#include "adapters/slurm/site.h"
#include "commands.h"
#include "control/restore.h"
#include "files.h"
#include "host.h"
#include "ingest/json.h"
#include "ingest/slurm_file.h"
#include "live_edges.h"
#include "say.h"
#include "scene.h"
#include "secrets.h"

namespace muster::cmd {
namespace {

constexpr auto kLeaveWithin = std::chrono::seconds(20);
constexpr Duration kRequeueWithin = seconds(5);

// Slurm's order holds: nobody is overdue, steps aside, moves or makes room by Muster's rules.
void fit_to_slurm(Policy& p) {
  p.scheduling.in_order = true;
  p.scheduling.defrag = false;
  p.scheduling.wait_limit = days(3650);
  p.scheduling.pause = false;
  p.scheduling.preempt = false;
  p.queues.clear();
  // A job that dies of a lost node by itself has failed, for Slurm, and does not come back: it is put back before that.
  p.requeue_after = std::min(p.requeue_after, kRequeueWithin);
}

// A Slurm that is away is no reason to be away too: until it answers, the cluster is what the journal last knew of it.
Result<Site> site_of_slurm(slurm::Tools& tools, const Site& known) {
  auto site = slurm::discover_site(tools, known);
  if (site || known.nodes.empty() || site.error().code == Code::bad_input) return site;
  say(fmt::format("slurm      does not answer ({}): its {} nodes are taken from the journal", site.error().what,
                  known.nodes.size()));
  return known;
}

// A program that is not there is found out when a node needs it, unless somebody says so before.
void warn_of_hands(const slurm::Settings& settings) {
  for (const auto& [verb, argv] : settings.hands) {
    if (argv.empty() || argv.front().front() != '/' || access(argv.front().c_str(), X_OK) == 0) continue;
    say(fmt::format("hands      {}: {} cannot be run ({}): muster doctor --slurm says more", name_of(verb), argv.front(),
                    strerror(errno)));
  }
}

// Whether slurmrestd is there is told at the start; the engine looks for itself, again and again.
void say_rest(const slurm::RestSettings& rest) {
  if (rest.url.empty()) return;
  const auto facts = slurm::discover_rest(rest);
  if (facts && facts->problem.empty())
    say(fmt::format("rest       nodes are read from slurmrestd {} ({}) at {}", facts->slurm, facts->version, rest.url));
}

}  // namespace

int run_up_slurm(const UpOptions& o) {
  const auto text = read_file(o.slurm);
  if (!text) return say_error(text.error());
  auto settings = slurm::parse_settings(*text, o.slurm);
  if (!settings) return say_error(settings.error());
  if (auto ok = slurm::check_conf(settings->conf); !ok) return say_error(ok.error());
  if (auto ok = slurm::check_heartbeat(*settings); !ok) return say_error(ok.error());
  auto policy = load_policy(o.policy);
  if (!policy) return say_error(policy.error());
  if (o.policy.empty()) {
    policy->shadow = true;
    say("shadow     nothing is done to this cluster; `muster shadow report` tells what would have been. To act: --policy "
        "default");
  }
  auto dir = open_state_dir(state_path(o.state));
  if (!dir) return say_error(dir.error());
  auto journal = sqlite::open({.path = dir->journal(), .create = true});
  if (!journal) return say_error(journal.error());
  auto books = control::restore(**journal, [](std::string_view json) { return parse_json(json); });
  if (!books) return say_error(books.error());
  slurm::Tools tools(settings->conf, settings->tools);
  auto site = site_of_slurm(tools, books->state.site);
  if (!site) return say_error(site.error());
  if (auto ok = fit_policy(*policy, *site, o.policy); !ok) return say_error(ok.error());
  fit_to_slurm(*policy);
  say_rest(settings->rest);
  warn_of_hands(*settings);
  settings->owner = (*journal)->id();
  if (auto ok = slurm::check_alone(*settings); !ok && !policy->shadow) return say_error(ok.error());
  settings->spool = dir->path + "/hands";
  std::error_code made;
  std::filesystem::create_directories(settings->spool, made);
  if (made) return say_error({Code::internal, fmt::format("{} cannot be made: {}", settings->spool, made.message()), {}});
  Mailbox mailbox;
  HostOptions host_options;
  host_options.name = "controller of Slurm";
  host_options.port = o.port;
  host_options.journal = dir->journal();
  host_options.site = std::move(*site);
  host_options.policy = *policy;
  slurm::Engine engine(*settings, host_options.site, random_hex(8), mailbox);
  auto edges = LiveEdges::start(o, mailbox, host_options.site);
  if (!edges) return say_error(edges.error());
  (*edges)->attach(host_options);
  const auto served = host_options.on_snapshot;
  const bool shadow = policy->shadow;
  host_options.on_snapshot = [&engine, served, shadow](const std::shared_ptr<const Snapshot>& s) {
    engine.open_for_business(!shadow && !s->state.paused);
    if (served) served(s);
  };
  const auto edges_trouble = host_options.trouble;
  host_options.trouble = [&engine, edges_trouble]() -> Result<std::string> {
    if (std::string wrong = engine.trouble(); !wrong.empty()) return wrong;
    return edges_trouble ? edges_trouble() : Result<std::string>(std::string());
  };
  engine.begin(books->state);
  const int code = host(host_options, {engine, engine, engine, mailbox}, *dir, **journal);
  engine.leave(kLeaveWithin);
  return code;
}

}  // namespace muster::cmd
