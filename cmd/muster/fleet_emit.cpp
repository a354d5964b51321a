// muster fleet emit: files for the programs around a cluster. They ship inside the binary, so that they always speak of the
// series this version has; those for Slurm are written for a cluster.
#include <fmt/core.h>

#include "base/check.h"
#include "commands.h"
#include "files.h"
#include "fleet_files.h"
#include "ingest/embedded.h"
#include "report/slurm_files.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

void say_next(const std::string& folder, const report::SlurmWishes& w) {
  say(fmt::format("written    {} for {}", folder, w.folder));
  say("next       in slurm.conf: include muster.conf, without the keys that stand in muster.conf already");
  say("           job_submit.lua.example is one to start from; a site's own calls muster.lua as it does");
  say("           the .service and .timer into /etc/systemd/system, then: systemctl enable --now muster-release.timer");
}

int emit_slurm(const FleetEmitOptions& o) {
  if (o.cluster.empty())
    return say_error({Code::bad_input, "which cluster? Slurm's files are written for one", "name the cluster: --cluster FILE"});
  const auto site = load_cluster(o.cluster);
  if (!site) return say_error(site.error());
  report::SlurmWishes w;
  if (!o.hardware.empty()) {
    auto hardware = report::slurm_hardware(o.hardware);
    if (!hardware) return say_error(hardware.error());
    w.hardware = std::move(*hardware);
  }
  if (!o.partition.empty()) w.partition = o.partition;
  if (!o.folder.empty()) w.folder = o.folder;
  if (!o.heartbeat.empty()) w.heartbeat = o.heartbeat;
  const auto files = report::slurm_files(*site, w);
  if (o.out.empty()) {
    for (const report::TextFile& f : files) put(fmt::format("#### {}\n{}\n", f.name, f.text));
    return 0;
  }
  if (auto ok = write_folder(o.out, files); !ok) return say_error(ok.error());
  say_next(o.out, w);
  return 0;
}

}  // namespace

int run_fleet_emit(const FleetEmitOptions& o) {
  if (o.what == EmittedFile::slurm) return emit_slurm(o);
  const bool of_facts = o.what >= EmittedFile::ansible;
  const std::pair<const char*, const std::string&> of_slurm[] = {{"--cluster", o.cluster},
                                                                 {"--partition", o.partition},
                                                                 {"--hardware", o.hardware},
                                                                 {"--folder", o.folder},
                                                                 {"--heartbeat", o.heartbeat}};
  for (const auto& [flag, value] : of_slurm) {
    if (value.empty() || (of_facts && &value == &o.cluster)) continue;
    if (of_facts)
      return say_error({Code::bad_input, fmt::format("{} is for slurm: {} is made of facts", flag, name_of(o.what)), ""});
    return say_error({Code::bad_input, fmt::format("{} is for slurm: this file is the same for every cluster", flag), ""});
  }
  if (of_facts) return emit_difference(o);
  if (!o.facts.files.empty() || !o.facts.set.empty() || !o.declared.empty())
    return say_error({Code::bad_input, fmt::format("{} is the same for every fleet: it takes no facts", name_of(o.what)), ""});
  const char* path = o.what == EmittedFile::prometheus ? "emit/prometheus_rules.yaml"
                     : o.what == EmittedFile::grafana  ? "emit/grafana.json"
                                                       : "emit/dcgm_counters.csv";
  const auto text = embedded_file(path);
  MUSTER_CHECK(text.has_value());
  if (o.out.empty()) {
    put(*text);
    return 0;
  }
  if (auto ok = replace_file(o.out, *text); !ok) return say_error(ok.error());
  return 0;
}

}  // namespace muster::cmd
