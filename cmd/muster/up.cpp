// muster up: the controller of a cluster that runs somewhere else: a twin in another process, or real nodes with agents on them,
// which today are only watched.
#include <fmt/core.h>

#include "adapters/twin/remote_twin.h"
#include "commands.h"
#include "control/restore.h"
#include "fault_list.h"
#include "host.h"
#include "ingest/json.h"
#include "live_edges.h"
#include "observer.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

// Passes an injection on to the process that serves the twin.
class RemoteInject final : public Tool {
 public:
  explicit RemoteInject(RemoteTwin& twin) : twin_(twin) {}
  Role role() const override { return Role::operator_; }
  Role role_for(const Value& input) const override { return asks_for_faults(input) ? Role::viewer : role(); }
  Result<std::string> call(const Value& input) override {
    if (asks_for_faults(input)) return fault_list();
    std::string body = "{";
    for (const char* name : {"fault", "node"}) {
      const Value* v = input.find(name);
      if (v == nullptr || v->string() == nullptr || v->string()->find_first_of("\"\\") != std::string::npos) continue;
      body += (body.size() > 1 ? "," : "") + std::string("\"") + name + "\":\"" + *v->string() + "\"";
    }
    for (const char* name : {"slot", "lasts_s", "share"}) {
      double number = 0;
      if (const Value* v = input.find(name); v != nullptr && v->number(number))
        body += fmt::format("{}\"{}\":{}", body.size() > 1 ? "," : "", name, number);
    }
    return twin_.post("/v1/inject", body + "}");
  }

 private:
  RemoteTwin& twin_;
};

int watch(const UpOptions& o) {
  auto policy = load_policy(o.policy);
  if (!policy) return say_error(policy.error());
  CableCounts cables;
  auto site = load_cluster(o.cluster, &cables);
  if (!site) return say_error(site.error());
  if (cables.read > 0) {
    say(fmt::format("cables: {} read{}", cables.read,
                    cables.of_no_gpu == 0 ? "" : fmt::format(", {} of them of no GPU's NIC: left aside", cables.of_no_gpu)));
  }
  if (auto ok = fit_policy(*policy, *site, o.policy); !ok) return say_error(ok.error());
  auto dir = open_state_dir(state_path(o.state));
  if (!dir) return say_error(dir.error());
  auto journal = sqlite::open({.path = dir->journal(), .create = true});
  if (!journal) return say_error(journal.error());
  Mailbox mailbox;
  Observer observer(mailbox);
  HostOptions host_options;
  host_options.name = "observer (no engine: it watches and never acts)";
  host_options.port = o.port;
  host_options.journal = dir->journal();
  host_options.site = std::move(*site);
  host_options.policy = watching_only(*policy);
  auto edges = LiveEdges::start(o, mailbox, host_options.site);
  if (!edges) return say_error(edges.error());
  (*edges)->attach(host_options);
  return host(host_options, {observer, observer, observer, mailbox}, *dir, **journal);
}

}  // namespace

int run_up(const UpOptions& o) {
  if (!o.cluster.empty() && !o.twin.empty()) {
    return say_error({Code::bad_input, "--cluster and --twin are two clusters: a twin tells itself what it is made of",
                      "give one of them: --twin to control a twin, --cluster to watch real nodes"});
  }
  if (!o.slurm.empty() && (!o.cluster.empty() || !o.twin.empty())) {
    return say_error({Code::bad_input, "--slurm tells what the cluster is made of: --cluster and --twin are others",
                      "give one of the three"});
  }
  if (!o.slurm.empty()) return run_up_slurm(o);
  if (!o.cluster.empty()) return watch(o);
  if (!o.scrape.empty() || !o.prometheus.empty() || !o.alertmanagers.empty() || !o.remote_write.empty()) {
    return say_error({Code::bad_input,
                      "--scrape, --prometheus, --alertmanager and --remote-write belong to a cluster of real nodes",
                      "name it: --cluster FILE"});
  }
  if (o.twin.empty()) {
    const char* engine = o.kubernetes ? "Kubernetes" : "real";
    return say_error(
        {Code::bad_input, std::string("there is no ") + engine + " engine in this version: a twin or Slurm can be controlled",
         "muster up --cluster FILE watches a real one through its agents; muster demo shows everything on a simulated cluster"});
  }
  auto policy = load_policy(o.policy);
  if (!policy) return say_error(policy.error());
  Mailbox mailbox;
  auto twin = RemoteTwin::connect(o.twin, mailbox);
  if (!twin) return say_error(twin.error());
  if (auto ok = fit_policy(*policy, (*twin)->site(), o.policy); !ok) return say_error(ok.error());
  auto dir = open_state_dir(state_path(o.state));
  if (!dir) return say_error(dir.error());
  auto journal = sqlite::open({.path = dir->journal(), .create = true});
  if (!journal) return say_error(journal.error());
  auto books = control::restore(**journal, [](std::string_view text) { return parse_json(text); });
  if (!books) return say_error(books.error());
  const StreamPosition engine = books->state.streams["engine"];
  if (!engine.boot.empty() && engine.boot != (*twin)->boot()) {
    return say_error({Code::conflict,
                      "this state directory belongs to another twin: its jobs and nodes are not those of this one",
                      "give this twin a state directory of its own: --state DIR"});
  }
  (*twin)->begin(engine.boot, engine.seq);
  RemoteInject inject(**twin);
  HostOptions host_options;
  host_options.name = "controller";
  host_options.simulation = (*twin)->simulation();
  host_options.port = o.port;
  host_options.journal = dir->journal();
  host_options.site = (*twin)->site();
  host_options.policy = *policy;
  host_options.tools["inject"] = &inject;
  host_options.trouble = [&] { return (*twin)->trouble(); };
  return host(host_options, {**twin, **twin, **twin, mailbox}, *dir, **journal);
}

}  // namespace muster::cmd
