// muster fleet emit: files for the programs around a cluster. They ship inside the binary, so that they always speak of the
// series this version has; those for Slurm are written for a cluster.
#include <fmt/core.h>

#include <filesystem>

#include "base/check.h"
#include "commands.h"
#include "files.h"
#include "ingest/embedded.h"
#include "report/slurm_files.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

// Into a folder that may hold other files, but none of these with another text: a gres.conf that is in use is not written over.
Result<void> write_folder(const std::string& folder, const std::vector<report::TextFile>& files) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return tl::unexpected(file_error("make", folder, failed.value()));
  for (const report::TextFile& f : files) {
    const std::string path = folder + "/" + f.name;
    if (!fs::exists(path, failed)) continue;
    const auto there = read_file(path);
    if (!there) return tl::unexpected(there.error());
    if (*there != f.text)
      return fail(Code::conflict, fmt::format("{} is there already and differs: nothing was written", path),
                  "name a new folder, compare, and copy what you want");
  }
  for (const report::TextFile& f : files) {
    const std::string path = folder + "/" + f.name;
    if (auto ok = write_file(path, f.text); !ok) return ok;
    if (f.program) fs::permissions(path, fs::perms(0755), failed);
  }
  return {};
}

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
  const std::pair<const char*, const std::string&> of_slurm[] = {{"--cluster", o.cluster},
                                                                 {"--partition", o.partition},
                                                                 {"--hardware", o.hardware},
                                                                 {"--folder", o.folder},
                                                                 {"--heartbeat", o.heartbeat}};
  for (const auto& [flag, value] : of_slurm) {
    if (!value.empty())
      return say_error({Code::bad_input, fmt::format("{} is for slurm: this file is the same for every cluster", flag), ""});
  }
  const char* path = o.what == EmittedFile::prometheus ? "emit/prometheus_rules.yaml"
                     : o.what == EmittedFile::grafana  ? "emit/grafana.json"
                                                       : "emit/dcgm_counters.csv";
  const auto text = embedded_file(path);
  MUSTER_CHECK(text.has_value());
  if (o.out.empty()) {
    put(*text);
    return 0;
  }
  if (auto ok = write_file(o.out, *text); !ok) return say_error(ok.error());
  return 0;
}

}  // namespace muster::cmd
