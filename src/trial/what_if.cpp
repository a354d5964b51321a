#include "trial/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/node_list.h"
#include "base/text.h"
#include "decide/cluster_view.h"
#include "ingest/embedded.h"
#include "ingest/form.h"
#include "ingest/policy_file.h"
#include "model/codec.h"
#include "model/job_check.h"

namespace muster::trial {
namespace {

constexpr double kConfidenceMax = 0.999;  // that a policy file may ask for
constexpr std::uint32_t kNodesMax = 131'072;
constexpr std::size_t kPolicyBytesMax = 512 * 1024;
constexpr std::size_t kFileNameBytesMax = 4096;
constexpr std::size_t kSettingsMax = 64;
constexpr std::string_view kBySlurm = "Slurm places it";

std::string counted(std::uint64_t n, std::string_view one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

// The value of a setting as a policy file would write it.
std::optional<std::string> written(const Value& v) {
  double number = 0;
  if (v.string() != nullptr) return *v.string();
  if (v.boolean() != nullptr) return *v.boolean() ? "true" : "false";
  if (v.number(number)) return render_number(number);
  return std::nullopt;
}

void read_settings(Form& f, WhatIf& out) {
  const Value* policy = f.object("policy");
  if (policy == nullptr) return;
  if (policy->object()->size() > kSettingsMax) return f.error(*policy, fmt::format("policy: at most {} settings", kSettingsMax));
  for (const Value::Member& m : *policy->object()) {
    const auto text = written(m.value);
    if (!text) return f.error(m.value, fmt::format("policy: {} must be a number, text, true or false", quoted(m.key)));
    out.set.emplace_back(m.key, *text);
  }
}

// A shipped policy by its name, or any other by its text, with the name of the file that it is of.
void read_whole_policy(Form& f, const Value& input, WhatIf& out) {
  const bool by_text = f.text("policy_yaml", out.policy_text, kPolicyBytesMax);
  const bool of_file = f.text("policy_file", out.policy_called, kFileNameBytesMax);
  std::string name;
  const bool by_name = f.text("policy_name", name);
  if (of_file && !by_text) return f.error(*input.find("policy_file"), "policy_file is the name of what policy_yaml holds");
  if (!by_name) return;
  if (by_text) return f.error(*input.find("policy_name"), "policy_name or policy_yaml, not both");
  const auto shipped = preset_policy_names();
  if (std::find(shipped.begin(), shipped.end(), name) == shipped.end()) {
    return f.error(*input.find("policy_name"),
                   fmt::format("policy_name must be one of {}, is {}", join(shipped, ", "), quoted(name)));
  }
  out.policy_text = std::string(embedded_file("policies/" + name + ".yaml").value_or(""));
  out.policy_called = name;
}

void read_removed(Form& f, WhatIf& out) {
  const auto* names = f.list("remove", kNodesMax);
  if (names == nullptr) return;
  for (const Value& v : *names) {
    const auto list = v.string() == nullptr ? Result<std::vector<std::string>>(fail(Code::bad_input, "it is no text"))
                                            : expand_node_list(*v.string(), kNodesMax);
    if (!list) return f.error(v, "remove: " + list.error().what);
    out.site.remove_named.insert(out.site.remove_named.end(), list->begin(), list->end());
  }
}

// A word for a shell, in quotes where it needs them.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.,:@%+=/-").find(c) != std::string_view::npos;
  };
  const std::string shown = printable(text);
  if (!shown.empty() && std::all_of(shown.begin(), shown.end(), plain)) return shown;
  std::string out = "'";
  for (const char c : shown) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What the policy in force is before anything is changed. In shadow mode nothing would be done, and on the twin nothing would
// run.
Policy in_force(const State& s) {
  Policy p = s.policy;
  p.shadow = false;
  for (NodeGroup& g : p.groups) g.shadow = false;
  return p;
}

Result<Policy> changed_policy(const WhatIf& ask, const State& s, const Site& site, const WhatIfWorld& world) {
  Result<Policy> p = in_force(s);
  if (!ask.policy_text.empty()) p = world.read_policy(ask.policy_text);
  if (!p) return p;
  if (p->gpu_hour_price <= 0) {  // a price that is assumed holds for any policy that names none, and is no change
    p->gpu_hour_price = s.policy.gpu_hour_price;
    p->currency = s.policy.currency;
    p->price_assumed = s.policy.price_assumed;
  }
  p = change_policy(*p, ask.set);
  if (!p) return p;
  if (p->shadow) {
    return fail(Code::bad_input, "with shadow mode the policy does nothing, and on the twin nothing would run",
                "ask without `shadow: true`");
  }
  if (ask.spares && *ask.spares != spares_of(site, p->scheduling.spare_confidence)) {
    const auto confidence = spare_confidence_for(site, *ask.spares);
    if (!confidence) return tl::unexpected(confidence.error());
    p->scheduling.spare_confidence = *confidence;
  }
  if (world.fit_policy) {
    if (auto ok = world.fit_policy(*p, site); !ok) return tl::unexpected(ok.error());
  }
  return p;
}

void say_changes(const WhatIf& ask, const State& s, WhatIfPlan& out) {
  auto& words = out.changes;
  if (ask.site.add > 0) words.push_back(counted(ask.site.add, "more node"));
  const auto gone =
      static_cast<std::size_t>(std::count_if(out.site.now_at.begin(), out.site.now_at.end(), [](NodeId n) { return !n.some(); }));
  if (gone > 0) words.push_back(fmt::format("{} fewer node{}", gone, gone == 1 ? "" : "s"));
  if (ask.spares)
    words.push_back(fmt::format("{} kept free as {}", out.changed.spares == 0 ? "no node" : counted(out.changed.spares, "node"),
                                out.changed.spares == 1 ? "a spare" : "spares"));
  if (!ask.policy_text.empty()) words.push_back(fmt::format("the policy {}", quoted(out.changed.policy.name)));
  const auto before = settings_of(s.policy), after = settings_of(out.changed.policy);
  const auto value_of = [](const std::vector<PolicySetting>& all, const std::string& key) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const PolicySetting& x) { return x.first == key; });
    return at == all.end() ? std::string() : at->second;
  };
  std::vector<std::string> unchanged;
  for (const auto& [key, value] : ask.set) {
    const std::string was = ask.policy_text.empty() ? value_of(before, key) : "";
    const std::string instead = was.empty() ? "" : fmt::format(" instead of {}", was);
    (!was.empty() && was == value_of(after, key) ? unchanged : words)
        .push_back(fmt::format("{} {}{}", key, printable(value), instead));
  }
  if (words.empty()) words = std::move(unchanged);
}

void assume_cluster(const WhatIf& ask, const State& s, WhatIfPlan& out) {
  auto& say = out.assumptions;
  if (ask.site.add > 0) {
    const Site& site = out.site.site;
    const NodeSpec& first = site.nodes[site.nodes.size() - out.site.added];
    const NodeSpec& last = site.nodes.back();
    say.push_back(fmt::format(
        "New nodes ({}) are like {}, in racks, leaves and pods of the usual sizes; storage and limits of "
        "power stay as they are.",
        printable(out.site.added == 1 ? first.name : first.name + " to " + last.name), printable(s.site.nodes.back().name)));
  }
  if (out.stopped > 0)
    say.push_back(fmt::format("{} on nodes that go {} put back into the queue at the start, to go on from the last checkpoint.",
                              counted(out.stopped, "job"), out.stopped == 1 ? "is" : "are"));
  std::uint64_t never = 0;
  for (const auto& [id, j] : s.jobs) {
    if (!ended(j.phase) && !problem_of_site(j.spec, out.site.site).empty() && problem_of_site(j.spec, s.site).empty()) ++never;
  }
  if (never > 0)
    say.push_back(fmt::format("{} more than the changed cluster has and never {} there.",
                              counted(never, "job") + (never == 1 ? " asks for" : " ask for"), never == 1 ? "runs" : "run"));
  if (ask.spares) {
    say.push_back(
        fmt::format("Spares are nodes that the policy keeps free in each pod for repairs: {} in all with spare_confidence {} "
                    "(now {} with {}).",
                    out.changed.spares, render_number(out.changed.policy.scheduling.spare_confidence), out.base.spares,
                    render_number(out.base.policy.scheduling.spare_confidence)));
  }
}

void assume_work(const WhatIfPlan& plan, const State& s, const WhatIfWorld& world, std::vector<std::string>& say) {
  const Workload& work = plan.compare.run.twin.workload;
  if (!work.mix.empty()) {
    say.push_back(
        fmt::format("New jobs are those of the mix {}, {} times as much work as the {} nodes of now can do, the same for "
                    "both{}.",
                    work.mix, render_number(work.load), plan.base.nodes,
                    world.own ? "" : "; they are assumed, not the jobs that this cluster is usually given"));
  }
  if (!work.jobs.empty()) say.push_back(fmt::format("{} still to come by the list of jobs.", counted(work.jobs.size(), "job")));
  say.push_back(fmt::format("Faults strike at x{} of the published rates, by the same seeds for both{}.",
                            render_number(plan.compare.run.twin.weather.factor),
                            world.own ? "" : "; this cluster's own are not known"));
  say.push_back("Faults that nobody has found yet are not in it, nor are users' changes of plan.");
  if (s.policy.shadow || std::any_of(s.policy.groups.begin(), s.policy.groups.end(), [](const NodeGroup& g) { return g.shadow; }))
    say.push_back("The policy in force is in shadow mode, wholly or for some nodes; here both act.");
  if (s.paused) say.push_back("Muster is paused; here both act.");
  const auto barred = std::count_if(s.jobs.begin(), s.jobs.end(), [](const auto& j) {
    return !ended(j.second.phase) && j.second.spec.barred.starts_with(kBySlurm);
  });
  if (barred > 0)
    say.push_back(fmt::format("{} that Slurm would place {} placed by Muster's rules here.",
                              counted(static_cast<std::uint64_t>(barred), "job"), barred == 1 ? "is" : "are"));
}

// Jobs that are listed by the time since the beginning, from now on.
void leave_out_past(Workload& work, Duration elapsed) {
  std::erase_if(work.jobs, [&](const TimedJob& j) { return j.at <= elapsed; });
  for (TimedJob& j : work.jobs) j.at = j.at - elapsed;
}

// Two runs of the same would be a long way to say that nothing differs.
Result<void> check_change(const WhatIf& ask, const WhatIfPlan& plan) {
  if (!ask.site.none() || encode_policy(plan.base.policy) != encode_policy(plan.changed.policy)) return {};
  return fail(Code::bad_input, fmt::format("{}: nothing changes", join(plan.changes, ", ")),
              "it is so already: give another value, or change something else");
}

Result<void> check_size(const WhatIf& ask, const WhatIfPlan& plan) {
  if (plan.node_days <= kNodeDaysMax) return {};
  const double nodes = plan.base.nodes + plan.changed.nodes;
  const double days = kNodeDaysMax / (nodes * ask.seeds);
  const auto seeds = static_cast<std::uint32_t>(kNodeDaysMax / (nodes * ask.days));
  return fail(Code::refused,
              fmt::format("{} and {} nodes for {} days, {} seeds: {:.0f} node-days, about {:.0f} min of a core; at most {:.0f} "
                          "are simulated beside "
                          "a running controller",
                          plan.base.nodes, plan.changed.nodes, render_number(ask.days), ask.seeds, plan.node_days,
                          plan.node_days * kCpuPerNodeDay_s / 60, kNodeDaysMax),
              days >= 0.25
                  ? fmt::format("ask for at most {:.2g} days{}", days, seeds >= 6 ? fmt::format(", or {} seeds", seeds) : "")
                  : "the cluster is too large for it: use `muster twin compare --journal FILE` on another machine");
}

}  // namespace

Result<WhatIf> parse_what_if(const Value& input) {
  WhatIf out;
  Form f(input, "what-if");
  read_settings(f, out);
  read_whole_policy(f, input, out);
  f.whole("add_nodes", out.site.add, 0, kNodesMax);
  f.whole("remove_nodes", out.site.remove, 0, kNodesMax);
  read_removed(f, out);
  std::uint32_t spares = 0;
  if (f.whole("spares", spares, 0, kNodesMax)) out.spares = spares;
  f.number("days", out.days, 0.25, 60);
  f.whole("seeds", out.seeds, 2, 64);
  double number = 0;
  if (f.number("weather", number, 0, 1000)) out.weather = number;
  if (f.number("load", number, 0.01, 5)) out.load = number;
  if (f.text("mix", out.mix)) {
    const std::vector<std::string> mixes = {"llm", "research", "mixed", "shared"};
    if (std::find(mixes.begin(), mixes.end(), out.mix) == mixes.end())
      f.error(*input.find("mix"), fmt::format("mix must be one of {}, is {}", join(mixes, ", "), quoted(out.mix)));
  }
  if (const auto r = f.finish(); !r) {
    Error e = r.error();
    const std::size_t colon = e.what.find(": ");
    if (e.what.starts_with("what-if:") && colon != std::string::npos) e.what.erase(0, colon + 2);
    if (e.next.empty()) e.next = "`muster whatif --help` says what can be asked";
    return tl::unexpected(e);
  }
  if (out.site.none() && !out.spares && out.set.empty() && out.policy_text.empty()) {
    return fail(Code::bad_input, "nothing is changed: there is nothing to compare",
                "change a setting of the policy, the nodes or the spares");
  }
  return out;
}

std::string command_of(const WhatIf& ask) {
  const WhatIf usual;
  std::string s = "muster whatif";
  if (!ask.policy_text.empty()) s += " --policy " + (ask.policy_called.empty() ? "FILE" : shell_word(ask.policy_called));
  for (const auto& [key, value] : ask.set) s += " --set " + shell_word(key + "=" + value);
  if (ask.site.add > 0) s += fmt::format(" --add-nodes {}", ask.site.add);
  if (ask.site.remove > 0) s += fmt::format(" --remove-nodes {}", ask.site.remove);
  if (!ask.site.remove_named.empty()) s += " --remove " + shell_word(compress_node_list(ask.site.remove_named));
  if (ask.spares) s += fmt::format(" --spares {}", *ask.spares);
  if (ask.days != usual.days) s += " --days " + render_number(ask.days);
  if (ask.seeds != usual.seeds) s += fmt::format(" --seeds {}", ask.seeds);
  if (ask.weather) s += " --weather x" + render_number(*ask.weather);
  if (!ask.mix.empty()) s += " --jobs mix:" + ask.mix;
  if (ask.load) s += " --load " + render_number(*ask.load);
  return s;
}

std::uint32_t spares_of(const Site& site, double confidence) {
  if (confidence <= 0) return 0;
  const auto each = decide::spares_by_pod(site, confidence);
  return std::accumulate(each.begin(), each.end(), 0U);
}

Result<double> spare_confidence_for(const Site& site, std::uint32_t spares) {
  if (spares == 0) return 0.0;
  const std::uint32_t most = spares_of(site, kConfidenceMax);
  if (most < spares) {
    return fail(
        Code::bad_input,
        fmt::format("{} spares: the policy keeps as many as failures need, in this cluster at most {} (spare_confidence {})",
                    spares, most, kConfidenceMax),
        most > 0 ? fmt::format("ask for at most {}, or add nodes", most) : "add nodes instead");
  }
  // In steps that a person can write into a policy file.
  constexpr std::uint32_t kSteps = 1000;
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(kConfidenceMax * kSteps);
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (spares_of(site, static_cast<double>(middle) / kSteps) >= spares ? high : low) = middle;
  }
  return static_cast<double>(high) / kSteps;
}

control::Books free_to_act(control::Books books) {
  books.state.paused = false;
  for (auto& [id, j] : books.state.jobs) {
    if (j.spec.barred.starts_with(kBySlurm)) j.spec.barred.clear();
  }
  return books;
}

Result<WhatIfPlan> plan_what_if(const WhatIf& ask, const State& now, const WhatIfWorld& world) {
  if (now.site.nodes.empty()) return fail(Code::unreachable, "the record holds no cluster yet", "try again in a moment");
  WhatIfPlan out;
  // First of all, or making the cluster that is too large would take longer than is waited for.
  out.base.nodes = static_cast<std::uint32_t>(now.site.nodes.size());
  const auto gone = ask.site.remove + static_cast<std::uint32_t>(ask.site.remove_named.size());
  out.changed.nodes = out.base.nodes + ask.site.add - std::min(out.base.nodes, gone);
  out.node_days = static_cast<double>(out.base.nodes + out.changed.nodes) * ask.days * ask.seeds;
  if (auto ok = check_size(ask, out); !ok) return tl::unexpected(ok.error());
  auto changed = change_site(now.site, ask.site);
  if (!changed) return tl::unexpected(changed.error());
  out.site = std::move(*changed);
  auto policy = changed_policy(ask, now, out.site.site, world);
  if (!policy) return tl::unexpected(policy.error());
  out.base.policy = in_force(now);
  out.changed.policy = std::move(*policy);
  const auto fill = [](Side& side, const Site& site) {
    side.nodes = static_cast<std::uint32_t>(site.nodes.size());
    side.gpus = site.gpus();
    side.spares = spares_of(site, side.policy.scheduling.spare_confidence);
  };
  fill(out.base, now.site);
  fill(out.changed, out.site.site);
  // One price for both: else a policy would be better by saying that GPU-hours are cheap.
  out.price = now.policy.gpu_hour_price > 0 ? now.policy.gpu_hour_price : out.changed.policy.gpu_hour_price;
  out.stopped = jobs_to_stop(now, out.site);

  CompareOptions& c = out.compare;
  c.run.twin = world.twin;
  c.run.twin.site = now.site;
  c.run.twin.full_scrapes = false;  // nobody looks
  if (ask.weather) c.run.twin.weather.factor = *ask.weather;
  if (!ask.mix.empty()) c.run.twin.workload.mix = ask.mix;
  if (ask.load) c.run.twin.workload.load = *ask.load;
  leave_out_past(c.run.twin.workload, now.now.utc - world.begun);
  c.run.length = from_seconds(ask.days * 86400);
  c.contenders = {{"as it is", out.base.policy}, {"the change", out.changed.policy, ask.site}};
  c.seeds = ask.seeds;
  c.price = out.price;
  c.judged = Judged::work;
  c.make_journal = world.make_journal;
  say_changes(ask, now, out);
  if (auto ok = check_change(ask, out); !ok) return tl::unexpected(ok.error());
  out.assumptions.push_back(
      fmt::format("Both begin with the cluster as it was at {} (event {}): jobs where they ran, nodes as they were.",
                  render_utc(now.now.utc), now.seq));
  assume_work(out, now, world, out.assumptions);
  assume_cluster(ask, now, out);
  return out;
}

}  // namespace muster::trial
