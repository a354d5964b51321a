// muster fleet upgrade: a rolling upgrade planned by the rules, and handed to
// the running Muster.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/node_list.h"
#include "base/text.h"
#include "client.h"
#include "files.h"
#include "fleet/upgrade_exposure.h"
#include "fleet/upgrade_plan.h"
#include "fleet_facts.h"
#include "fleet_held.h"
#include "fleet_jobs.h"
#include "fleet_options.h"
#include "give.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "ingest/json.h"
#include "ingest/upgrade_order.h"
#include "model/policy.h"
#include "report/units.h"
#include "report/upgrade_plan_view.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

constexpr int kExitFindings = 6;

Result<fleet::UpgradeAsk> ask_of(const FleetUpgradeOptions& o) {
  fleet::UpgradeAsk ask;
  for (const std::string& to : o.to) {
    const std::size_t at = to.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == to.size())
      return fail(Code::bad_input, fmt::format("--to '{}' is not WHAT=VERSION", printable(to)), "e.g. --to driver=580.159.04");
    ask.to.emplace_back(to.substr(0, at), to.substr(at + 1));
  }
  if (!o.nodes.empty()) {
    auto names = expand_node_list(o.nodes);
    if (!names) return tl::unexpected(names.error());
    ask.nodes = std::move(*names);
  }
  ask.canaries = o.spec.canaries;
  ask.allow_downgrade = o.allow_downgrade;
  const auto now = o.today.empty() ? Result<Time>(wall_now()) : end_of_day(o.today);
  if (!now) return tl::unexpected(now.error());
  ask.now = *now;
  ask.today = render_utc(*now).substr(0, 10);
  return ask;
}

Result<fleet::UpgradePlan> plan_of(const FleetUpgradeOptions& o, const Site& site) {
  const auto ask = ask_of(o);
  if (!ask) return tl::unexpected(ask.error());
  const auto table = load_facts(o.facts);
  if (!table) return tl::unexpected(table.error());
  std::vector<FleetRule> rules = fleet_rules();
  if (!o.rules.empty()) {
    const auto text = read_file(o.rules);
    if (!text) return tl::unexpected(text.error());
    auto own = read_fleet_rules(*text, o.rules);
    if (!own) return tl::unexpected(own.error());
    rules.insert(rules.end(), own->begin(), own->end());
    if (auto ok = fleet::validate_rules(rules, fact_book()); !ok) return tl::unexpected(ok.error());
  }
  return fleet::plan_upgrade(*ask, *table, fact_book(), site, upgrade_order(), rules);
}

std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 200;
  const std::string all = printable(compress_node_list(names));
  return all.size() <= kShown ? all : all.substr(0, kShown) + "...";
}

// The plan was made for the cluster of a file: where another one runs, its racks and domains are not those that are kept apart.
Result<void> check_same_cluster(const Client& client, const Site& site, const std::string& file) {
  const auto list = client.get("/api/v1/nodes");
  if (!list) return tl::unexpected(list.error());
  std::map<std::string, const NodeSpec*> of_file;
  for (const NodeSpec& n : site.nodes) of_file[n.name] = &n;
  std::vector<std::string> strangers, racks, models, domains;
  std::map<std::string, std::uint32_t> file_domain;  // of Muster's number, and the other way round: numbers are each one's own
  std::map<std::uint32_t, std::string> running_domain;
  for (const Value& v : report::list_of(*list, "items")) {
    const std::string name = report::text_of(v, "name"), model = report::text_of(v, "gpu_model");
    const std::string domain = report::text_of(v, "domain");
    const auto it = of_file.find(name);
    if (it == of_file.end()) {
      strangers.push_back(name);
      continue;
    }
    const NodeSpec& x = *it->second;
    of_file.erase(it);
    if (x.rack < site.racks.size() && report::text_of(v, "rack") != site.racks[x.rack]) racks.push_back(name);
    if (!model.empty() && model != (x.gpu_model.empty() ? site.gpu_model : x.gpu_model)) models.push_back(name);
    const bool alike = file_domain.emplace(domain, x.domain).first->second == x.domain &&
                       running_domain.emplace(x.domain, domain).first->second == domain;
    if (!alike) domains.push_back(name);
  }
  std::vector<std::string> lost;
  for (const auto& [name, spec] : of_file) lost.push_back(name);
  std::string why;
  for (const auto& [nodes, what] : {std::pair(&lost, "in the file alone: "), std::pair(&strangers, "in Muster alone: "),
                                    std::pair(&racks, "in other racks: "), std::pair(&domains, "in other NVLink domains: "),
                                    std::pair(&models, "with other GPUs: ")}) {
    if (!nodes->empty()) why += (why.empty() ? "" : "; ") + std::string(what) + some(*nodes);
  }
  if (why.empty()) return {};
  return fail(Code::refused, fmt::format("{} is not the cluster that Muster runs: {}", printable(file), why),
              "plan with the file that Muster was started with");
}

// From the file, else from the Muster that runs this cluster. Where nobody can be asked the plan is as good, but without numbers.
Result<fleet::Exposure> exposure_of(const FleetUpgradeOptions& o, const fleet::UpgradePlan& plan, const Site& site) {
  fleet::Exposure unknown;
  if (plan.nodes.empty()) return unknown;
  const std::uint32_t away = allowance(o.spec.at_once_pct, 1, static_cast<std::uint32_t>(site.nodes.size()));
  const auto counted = [&](const JobsNow& now, std::string from) {
    fleet::Exposure e = fleet::exposure_of(plan, site, now.jobs, now.tells_waiting, away);
    e.from = std::move(from);
    return e;
  };
  if (!o.jobs.empty()) {
    const auto now = jobs_of_file(o.jobs, site);
    if (!now) return tl::unexpected(now.error());
    return counted(*now, "by " + o.jobs);
  }
  const auto why_not = [&](const Error& e) {
    unknown.why_not = e.what;
    return unknown;
  };
  const auto client = Client::open(o.connection);
  if (!client) return why_not(client.error());
  if (const auto same = check_same_cluster(*client, site, o.cluster); !same) return why_not(same.error());
  const auto now = jobs_of_muster(*client, site);
  return now ? counted(*now, "by the running Muster") : why_not(now.error());
}

// That nothing is lost by writing the plan there: no file that it is made of, and nothing but an older plan.
Result<void> check_out(const FleetUpgradeOptions& o) {
  if (o.out.empty()) return {};
  std::error_code why;
  std::vector<std::string> inputs = o.facts.files;
  for (const std::string& file : {o.cluster, o.rules, o.jobs}) {
    if (!file.empty()) inputs.push_back(file);
  }
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(input, o.out, why))
      return fail(Code::bad_input, fmt::format("--out {} is what the plan is made of", printable(o.out)), "name another file");
  }
  if (!std::filesystem::is_regular_file(o.out, why)) return {};
  const auto text = read_file(o.out);
  if (!text) return tl::unexpected(text.error());
  if (trim(*text).empty()) return {};
  const auto old = parse_json(*text);
  if (old && old->find("canary_candidates") != nullptr && old->find("waves") != nullptr) return {};
  return fail(Code::bad_input, fmt::format("{} is there, and is no plan of an upgrade: it is left as it is", printable(o.out)),
              "name another file, or remove it");
}

int not_begun(const fleet::UpgradePlan& plan) {
  if (!plan.refused.empty()) {
    const fleet::PlanWord& w = plan.refused.front();
    if (w.rule.empty()) return say_error({Code::refused, "refused: " + printable(w.says), w.next});
    return say_error({Code::refused, fmt::format("rule {} refuses it: {}", printable(w.rule), printable(w.says)),
                      (w.next.empty() ? "" : w.next + "; ") + "its source: " + printable(w.source)});
  }
  const fleet::PlanWord& w = plan.unknown.front();
  const std::string key = w.missing.empty() ? "KEY" : printable(w.missing.front());
  return say_error({Code::refused, fmt::format("not known, and so not begun: {}", printable(w.says)),
                    !w.next.empty()
                        ? w.next
                        : fmt::format("read it with `muster fleet inventory`, or say it: --set {}=VALUE, or --set {}= "
                                      "where there is none",
                                      key, key)});
}

int start(const FleetUpgradeOptions& o, const fleet::UpgradePlan& plan, const UpgradeSpec& spec, const Site& site) {
  if (!plan.refused.empty() || !plan.unknown.empty()) return not_begun(plan);
  if (plan.nothing_to_do()) {
    say("nothing to do, and so nothing was begun");
    return 0;
  }
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  if (auto same = check_same_cluster(*client, site, o.cluster); !same) return say_error(same.error());
  if (!o.yes) {
    if (::isatty(STDIN_FILENO) != 1 || !stderr_is_terminal())
      return say_error({Code::bad_input, "nothing was done: this needs a yes", "add --yes"});
    if (!ask_yes("Upgrade?")) {
      say("nothing was done");
      return 1;
    }
  }
  const auto seq = give(*client, {.verb = "upgrade", .reason = o.reason, .upgrade = report::upgrade_request_json(spec)});
  if (!seq) return say_error(seq.error());
  say(fmt::format("begun (event {}); `muster upgrade status` tells how far it is", *seq));
  return 0;
}

}  // namespace

int run_fleet_upgrade(const FleetUpgradeOptions& o) {
  if (auto ok = check_out(o); !ok) return say_error(ok.error());
  const auto site = load_cluster(o.cluster);
  if (!site) return say_error(site.error());
  const auto plan = plan_of(o, *site);
  if (!plan) return say_error(plan.error());
  UpgradeSpec spec = o.spec;
  fleet::put_plan(*plan, spec);
  const auto exposure = exposure_of(o, *plan, *site);
  if (!exposure) return say_error(exposure.error());
  const std::string json = report::upgrade_plan_json(*plan, spec, *exposure);
  if (!o.out.empty()) {
    if (auto ok = replace_file(o.out, json); !ok) return say_error(ok.error());
  }
  put(o.format == report::Format::json ? json : report::upgrade_plan_words(*plan, spec, *exposure));
  if (o.start) return start(o, *plan, spec, *site);
  return plan->refused.empty() && plan->unknown.empty() ? 0 : kExitFindings;
}

}  // namespace muster::cmd
