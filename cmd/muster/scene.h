// From flags to a simulated cluster: reads the cluster, workload and policy files a command names.
#pragma once
#include "base/result.h"
#include "model/policy.h"
#include "options.h"
#include "twin/twin.h"

namespace muster::cmd {

struct Scene {
  twin::Config twin;
  Policy policy;
};

Result<Scene> build_scene(const TwinChoice& choice);
// A policy that ships with Muster, by name, or a file; empty: the default one.
Result<Policy> load_policy(const std::string& name_or_file);
Result<std::string> read_file(const std::string& path);

}  // namespace muster::cmd
