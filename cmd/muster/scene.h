// From flags to a simulated cluster: reads the cluster, workload and policy files a command names.
#pragma once
#include "base/result.h"
#include "ingest/cables.h"
#include "model/policy.h"
#include "options.h"
#include "twin/twin.h"

namespace muster::cmd {

struct Scene {
  twin::Config twin;
  Policy policy;
};

// `site`: the cluster, where it is not for the choice to say.
Result<Scene> build_scene(const TwinChoice& choice, const Site* site = nullptr);
// The series of prices begin on the day the history begins, at the hour of the day of their first row: dear evenings stay
// evenings. To be called again when the start is moved.
void begin_prices(twin::Config& config);
// Whether every report can be a whole scrape when the twin keeps step with the wall clock at this speed.
bool affords_full_scrapes(const Site& site, double speed);
// Whether a policy suits a cluster: its queues' guarantees, its groups' nodes; GPU models it names are written as the cluster
// writes them. Names of nodes that are not there are told on stderr, where a group has others that are.
Result<void> fit_policy(Policy& policy, const Site& site, const std::string& file);
// A policy file's text, with its time zones and its queues checked; `name` is for messages.
Result<Policy> read_policy(const std::string& text, const std::string& name);
// A policy that ships with Muster, by name, or a file; empty: the default one.
Result<Policy> load_policy(const std::string& name_or_file);
// A cluster that ships with Muster, by name, or a file. `cables`, if given: how many the file lists.
Result<Site> load_cluster(const std::string& name_or_file, CableCounts* cables = nullptr);

}  // namespace muster::cmd
