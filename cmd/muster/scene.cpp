#include "scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/node_list.h"
#include "base/text.h"
#include "decide/quota/quota.h"
#include "files.h"
#include "ingest/cluster_file.h"
#include "ingest/embedded.h"
#include "ingest/form.h"
#include "ingest/policy_file.h"
#include "ingest/price_file.h"
#include "ingest/workload_file.h"
#include "model/job_check.h"
#include "say.h"
#include "zones.h"

namespace muster::cmd {
namespace {

template <class Names>
bool contains(const Names& all, const std::string& name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

// A group that names none of the nodes would do nothing, and nobody would notice before one of its nodes is acted on: it is
// refused. One that names some that are not there (a rack that comes next month) is only spoken of.
Result<void> fit_groups(const Policy& policy, const Site& site, const std::string& file) {
  if (policy.groups.empty() || site.nodes.empty()) return {};
  std::set<std::string_view> there;
  for (const NodeSpec& n : site.nodes) there.insert(n.name);
  const auto [first, last] = std::minmax_element(there.begin(), there.end(), natural_less);
  for (const NodeGroup& g : policy.groups) {
    const auto names = expand_node_list(g.nodes);
    if (!names) return tl::unexpected(names.error());
    std::vector<std::string> unknown;
    std::copy_if(names->begin(), names->end(), std::back_inserter(unknown), [&](const auto& n) { return !there.count(n); });
    if (unknown.empty()) continue;
    constexpr std::size_t kListShown = 200;
    const std::string list = printable(g.nodes.substr(0, kListShown)) + (g.nodes.size() > kListShown ? "..." : "");
    if (unknown.size() == names->size()) {
      return fail(Code::bad_input,
                  fmt::format("{}: group {} ({}) names no node of the cluster", file, quoted(g.name), list),
                  there.size() == 1 ? fmt::format("its only node is called {}", printable(*first))
                                    : fmt::format("nodes are called {} to {}", printable(*first), printable(*last)));
    }
    constexpr std::size_t kShown = 3;
    const std::vector<std::string> few(unknown.begin(), unknown.begin() + std::min(kShown, unknown.size()));
    say(fmt::format("warning: {}: group {} ({}): {} of its {} nodes are not in the cluster: {}{}", file, quoted(g.name), list,
                    unknown.size(), names->size(), printable(join(few, ", ")), unknown.size() > kShown ? ", ..." : ""));
  }
  return {};
}

}  // namespace

Result<Site> load_cluster(const std::string& name, CableCounts* cables) {
  if (contains(preset_cluster_names(), name)) return preset_cluster(name);
  const auto text = read_file(name);
  if (!text) {
    Error e = text.error();
    e.next = "give a file, or one of the presets: " + [&] {
      std::string s;
      for (const auto& n : preset_cluster_names()) s += (s.empty() ? "" : ", ") + n;
      return s;
    }();
    return tl::unexpected(e);
  }
  return parse_cluster(*text, name, read_file, cables);
}

Result<Policy> load_policy(const std::string& name) {
  if (name.empty()) return default_policy();
  if (contains(preset_policy_names(), name)) return preset_policy(name);
  const auto text = read_file(name);
  if (!text) return tl::unexpected(text.error());
  return read_policy(*text, name);
}

Result<Policy> read_policy(const std::string& text, const std::string& name) {
  auto policy = parse_policy(text, name);
  if (!policy) return policy;
  if (const auto ok = resolve_zones(*policy, name, text); !ok) return tl::unexpected(ok.error());
  if (const auto ok = decide::check_queues(policy->queues); !ok) {
    Error e = ok.error();
    e.what = name + ": " + e.what;
    return tl::unexpected(e);
  }
  return policy;
}

Result<void> fit_policy(Policy& policy, const Site& site, const std::string& file) {
  std::uint64_t guaranteed = 0;
  std::map<std::string, std::uint64_t> of_model;
  for (QueueSpec& q : policy.queues) {
    guaranteed += q.parent.empty() ? q.guaranteed_gpus : 0;
    for (ModelQuota& m : q.models) {
      const std::string known = model_given(site, m.model);
      if (known.empty()) {
        return fail(Code::bad_input,
                    fmt::format("{}: queue {} names {} GPUs, and no node has any", file, q.name, printable(m.model)),
                    "the cluster has " + join(models_of(site), ", "));
      }
      m.model = known;
      of_model[known] += q.parent.empty() ? m.guaranteed_gpus : 0;
    }
  }
  const auto too_many = [&](std::uint64_t promised, const std::string& what, std::uint64_t there) {
    return fail(Code::bad_input,
                fmt::format("{}: queues are guaranteed {} {}GPUs and the cluster has {}", file, promised, what, there),
                "guarantee less, or give a larger cluster");
  };
  if (guaranteed > site.gpus()) return too_many(guaranteed, "", site.gpus());
  for (const auto& [model, promised] : of_model) {
    std::uint64_t there = 0;
    for (const NodeSpec& n : site.nodes)
      there += (n.gpu_model.empty() ? site.gpu_model : n.gpu_model) == model ? site.gpus_per_node : 0;
    if (promised > there) return too_many(promised, model + " ", there);
  }
  return fit_groups(policy, site, file);
}

Result<Scene> build_scene(const TwinChoice& c, const Site* given) {
  Scene scene;
  auto site = given != nullptr ? Result<Site>(*given) : c.cluster.empty() ? plain_cluster(c.gpus) : load_cluster(c.cluster);
  if (!site) return tl::unexpected(site.error());
  scene.twin.site = std::move(*site);
  std::string jobs_text;
  if (!is_mix_flag(c.jobs)) {
    auto text = read_file(c.jobs);
    if (!text) return tl::unexpected(text.error());
    jobs_text = std::move(*text);
  }
  auto workload = workload_from_flag(c.jobs, jobs_text);
  if (!workload) return tl::unexpected(workload.error());
  for (TimedJob& j : workload->jobs) {
    if (const std::string model = model_given(scene.twin.site, j.spec.gpu_model); !j.spec.gpu_model.empty() && !model.empty()) {
      j.spec.gpu_model = model;  // as the cluster writes it
    }
    JobSpec spec = j.spec;
    if (j.deadline_in.ns > 0) spec.deadline = scene.twin.start_utc;  // it will have one
    const std::string wrong = problem_with(spec, &scene.twin.site);
    if (wrong.empty()) continue;
    return fail(Code::bad_input, fmt::format("{}: job '{}': {}", c.jobs, printable(j.spec.name), wrong),
                "it could never start: ask for less, or give a larger cluster");
  }
  scene.twin.workload = std::move(*workload);
  if (!c.prices.empty()) {
    const auto text = read_file(c.prices);
    if (!text) return tl::unexpected(text.error());
    auto power = parse_power(*text, c.prices);
    if (!power) return tl::unexpected(power.error());
    if (const std::string missing = about_missing(power->price); !missing.empty()) say(c.prices + ": " + missing);
    scene.twin.prices = std::move(power->price);
    scene.twin.carbon = std::move(power->carbon);
    begin_prices(scene.twin);
  }
  auto policy = load_policy(c.policy);
  if (!policy) return tl::unexpected(policy.error());
  scene.policy = std::move(*policy);
  if (scene.twin.carbon.hours() > 0 && scene.policy.scheduling.carbon_per_tonne == 0) {
    say(c.prices + ": its carbon counts for nothing while the policy's scheduling: carbon_per_tonne is 0");
  }
  if (auto ok = fit_policy(scene.policy, scene.twin.site, c.policy); !ok) return tl::unexpected(ok.error());
  const auto csv = embedded_file("fault_rates.csv");
  MUSTER_CHECK(csv);
  auto rates = twin::parse_rates(*csv, "data/fault_rates.csv");
  if (!rates) return tl::unexpected(rates.error());
  scene.twin.weather.rates = std::move(*rates);
  scene.twin.weather.factor = c.weather;
  scene.twin.seed = c.seed;
  return scene;
}

void begin_prices(twin::Config& config) {
  constexpr std::int64_t kDayNs = days(1).ns;
  const Time midnight{config.start_utc.ns / kDayNs * kDayNs};
  for (PriceSeries* s : {&config.prices, &config.carbon}) {
    s->begins = midnight + Duration{s->begins.ns % kDayNs};
    if (s->begins > config.start_utc) s->begins = s->begins - days(1);
  }
}

bool affords_full_scrapes(const Site& site, double speed) {
  constexpr double kScrapesPerSecond = 400;  // a few per cent of a core
  return speed * static_cast<double>(site.nodes.size()) / 60.0 <= kScrapesPerSecond;
}

}  // namespace muster::cmd
