// muster fleet provision: files from which the nodes of a cluster are installed, and the gate that a new node passes.
#include <fmt/core.h>

#include "files.h"
#include "fleet/repair.h"
#include "fleet_files.h"
#include "fleet_held.h"
#include "fleet_options.h"
#include "ingest/cloud_config.h"
#include "ingest/fact_book.h"
#include "ingest/remedies.h"
#include "report/fleet_files.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

int write_provision(const FleetProvisionOptions& o) {
  const auto site = load_cluster(o.cluster);
  if (!site) return say_error(site.error());
  const auto declared = load_declared(o.declared);
  if (!declared) return say_error(declared.error());
  const fleet::RepairOf wanted = fleet::declared_for(*site, *declared);
  const fleet::Repair repair = fleet::plan_repair(wanted, fact_book(), remedy_book());
  const auto files = report::provision_files(*site, repair, o.declared.empty() ? o.cluster : o.declared);
  if (auto ok = write_folder(o.out, files); !ok) return say_error(ok.error());
  say(fmt::format("written    {} files to {} for {} nodes; {}/README.md says what each is for", files.size(), o.out,
                  site->nodes.size(), o.out));
  for (const std::string& note : repair.notes) say("left out   " + note);
  return 0;
}

int check_user_data(const FleetProvisionOptions& o) {
  constexpr int kPassedOver = 6;
  std::size_t found = 0;
  for (const std::string& file : o.user_data) {
    const auto text = read_file(file);
    if (!text) return say_error(text.error());
    const auto says = check_cloud_config(*text, file);
    if (!says) return say_error(says.error());
    for (const std::string& line : *says) put(line + "\n");
    found += says->size();
  }
  const int output = finish_output();
  return output != 0 ? output : found == 0 ? 0 : kPassedOver;
}

}  // namespace

int run_fleet_provision(const FleetProvisionOptions& o) {
  if (o.what == FleetProvisionOptions::What::join) return join_node(o);
  if (o.what == FleetProvisionOptions::What::check) return check_user_data(o);
  return write_provision(o);
}

}  // namespace muster::cmd
