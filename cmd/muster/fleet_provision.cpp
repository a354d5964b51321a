// muster fleet provision: files from which the nodes of a cluster are installed, and the gate that a new node passes.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "files.h"
#include "fleet/held_back.h"
#include "fleet_files.h"
#include "fleet_held.h"
#include "fleet_options.h"
#include "ingest/cloud_config.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "ingest/remedies.h"
#include "ingest/ssh_key.h"
#include "report/fleet_files.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

Result<std::vector<std::string>> read_ssh_keys(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    auto keys = parse_ssh_keys(*text, file);
    if (!keys) return tl::unexpected(keys.error());
    for (std::string& key : *keys) {
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(std::move(key));
    }
  }
  return out;
}

// What the files do not do, where it is read even if nobody opens them.
void say_rest(const fleet::Repair& repair, const std::vector<std::string>& names, bool keys, const std::string& folder) {
  std::size_t by_hand = 0;
  for (const fleet::ByHand& b : repair.by_hand) by_hand += b.left_out ? 0 : 1;
  const std::size_t left_out = repair.by_hand.size() - by_hand + repair.notes.size() + names.size();
  if (!keys) say("log in     nobody can: no user-data has a key; --ssh-key FILE names a public one");
  if (const auto packages = report::provision_packages(repair); !packages.empty())
    say(fmt::format("offered by a repository that the image has, such as NVIDIA's, must be: {}", join(packages, ", ")));
  if (by_hand + left_out == 0) return;
  say(fmt::format("not done   {} by hand, {} left out; {}/README.md has all of it", by_hand, left_out, folder));
  for (const std::string& name : names) say("  " + name);
  say_left_out(repair);
}

int write_provision(const FleetProvisionOptions& o) {
  const auto site = load_cluster(o.cluster);
  if (!site) return say_error(site.error());
  const auto declared = load_declared(o.declared);
  if (!declared) return say_error(declared.error());
  const auto keys = read_ssh_keys(o.ssh_keys);
  if (!keys) return say_error(keys.error());
  const std::string today = render_utc(wall_now()).substr(0, 10);
  const fleet::Repair repair = fleet::plan_declared(*site, *declared, fact_book(), remedy_book(), fleet_rules(), today);
  const auto files = report::provision_files(*site, repair, o.declared.empty() ? o.cluster : o.declared, *keys);
  if (auto ok = write_folder(o.out, files); !ok) return say_error(ok.error());
  say(fmt::format("written    {} files to {} for {} nodes; {}/README.md says what each is for", files.size(), o.out,
                  site->nodes.size(), o.out));
  say_rest(repair, report::provision_names(*site), !keys->empty(), o.out);
  return 0;
}

int check_user_data(const FleetProvisionOptions& o) {
  constexpr int kPassedOver = 6;
  std::size_t found = 0;
  for (const std::string& file : o.user_data) {
    const auto text = read_file(file == "-" ? "/dev/stdin" : file);
    if (!text) return say_error(text.error());
    const auto says = check_cloud_config(*text, file == "-" ? "stdin" : file);
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
