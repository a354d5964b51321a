// muster fleet check: versions that do not go together, and settings that matter.
#include "report/fleet_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "fleet/causes.h"
#include "fleet/check.h"
#include "fleet/cohorts.h"
#include "fleet_facts.h"
#include "fleet_held.h"
#include "fleet_jobs.h"
#include "fleet_options.h"
#include "fleet_rule_set.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;

Result<std::vector<std::vector<std::uint32_t>>> read_jobs(const std::string& file, const FactTable& facts) {
  std::vector<std::vector<std::uint32_t>> out;
  if (file.empty()) return out;
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  const auto lines = read_job_lines(*text, file);
  if (!lines) return tl::unexpected(lines.error());
  for (const JobLine& line : *lines) {
    std::vector<std::uint32_t> nodes;
    for (const std::string& name : line.nodes) {
      const std::ptrdiff_t at = facts.find_node(name);
      if (at < 0)
        return fail(Code::bad_input, fmt::format("{}:{}: there are no facts of {}", file, line.line, printable(name)),
                    "name only nodes of the facts");
      nodes.push_back(static_cast<std::uint32_t>(at));
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    out.push_back(std::move(nodes));
  }
  if (out.empty())
    return fail(Code::bad_input, fmt::format("{}: it names no job", file),
                "write a node list a line, or leave out --jobs: any nodes of a kind might then be of one job");
  return out;
}

// The day that the facts are of, where nobody names one: the newest of them. A node whose clock is ahead of ours, which is named,
// says nothing of the day.
Result<std::string> day_of(const std::string& given, const FactTable& facts) {
  if (!given.empty()) {
    if (const auto end = end_of_day(given); !end) return tl::unexpected(end.error());
    return given;
  }
  const Time now = wall_now();
  constexpr std::int64_t kAheadMost = 3600LL * 1'000'000'000;  // clocks that are badly kept, and not wrong
  Time newest;
  std::vector<std::string> ahead;
  for (const FactNode& n : facts.nodes()) {
    if (n.at.ns > now.ns + kAheadMost) {
      ahead.push_back(n.name);
    } else {
      newest = std::max(newest, std::min(n.at, now));
    }
  }
  const std::string day = render_utc(newest.ns == 0 ? now : newest).substr(0, 10);
  if (!ahead.empty())
    say(fmt::format("{} of {} nodes {} facts of the future, so a clock is wrong: {}; ends of life are held against {}",
                    ahead.size(),
                    facts.nodes().size(), ahead.size() == 1 ? "has" : "have", printable(clipped(compress_node_list(ahead), 400)),
                    day));
  return newest.ns == 0 && ahead.empty() ? std::string() : day;
}

// What settings were measured to cost: none where nothing was measured.
Result<std::vector<fleet::SettingEffect>> effects_of(const FactTable& facts, const std::string& file) {
  std::vector<fleet::SettingEffect> out;
  if (file.empty()) return out;
  const auto performance = load_performance(file);
  if (!performance) return tl::unexpected(performance.error());
  const fleet::Explanation told = fleet::explain_slow(facts, fact_book(), *performance, {});
  for (const std::string& n : told.notes) say("note: " + printable(n));
  for (const fleet::MeasuredEffect& e : fleet::measured_effects(told)) {
    const FactColumn& c = facts.columns()[e.fact.column];
    const bool absent = e.fact.code == kFactAbsent;
    const std::string part = e.fact.some ? std::string() : c.entity;  // whichever part has it
    out.push_back({part, c.key, absent ? std::string() : c.values[e.fact.code - kFirstValue], absent, 100 * e.effect, e.p});
  }
  return out;
}

}  // namespace

Result<std::vector<FleetRule>> rule_set(const std::string& site_file, const std::vector<std::string>& only) {
  std::vector<FleetRule> rules = fleet_rules();
  if (!site_file.empty()) {
    const auto text = read_file(site_file);
    if (!text) return tl::unexpected(text.error());
    auto own = read_fleet_rules(*text, site_file);
    if (!own) return tl::unexpected(own.error());
    if (auto ok = fleet::validate_rules(*own, fact_book()); !ok) return tl::unexpected(ok.error());
    for (FleetRule& r : *own) {
      const auto same = [&](const FleetRule& x) { return x.id == r.id; };
      if (const auto it = std::find_if(rules.begin(), rules.end(), same); it != rules.end())
        *it = std::move(r);
      else
        rules.push_back(std::move(r));
    }
  }
  if (only.empty()) return rules;
  std::vector<FleetRule> out;
  for (const std::string& id : only) {
    const auto it = std::find_if(rules.begin(), rules.end(), [&](const FleetRule& r) { return lower(r.id) == lower(id); });
    if (it == rules.end())
      return fail(Code::not_found, fmt::format("there is no rule {}", printable(id)), "muster fleet rules lists them");
    out.push_back(*it);
  }
  return out;
}

int run_fleet_check(const FleetCheckOptions& o) {
  const auto rules = rule_set(o.rules, o.only);
  if (!rules) return say_error(rules.error());
  const auto facts = load_facts(o.facts);
  if (!facts) return say_error(facts.error());
  fleet::CheckOptions options;
  auto today = day_of(o.today, *facts);
  if (!today) return say_error(today.error());
  options.today = std::move(*today);
  auto jobs = read_jobs(o.jobs, *facts);
  if (!jobs) return say_error(jobs.error());
  options.jobs = std::move(*jobs);
  auto effects = effects_of(*facts, o.performance);
  if (!effects) return say_error(effects.error());
  options.effects = std::move(*effects);

  options.kinds = fleet::cohorts_of(*facts, fact_book());
  const fleet::Verdicts verdicts = fleet::check_rules(*facts, fact_book(), *rules, options);
  report::FleetChecked checked{*facts, *rules, verdicts, RuleSeverity::warn, o.unknown, options.today, {}};
  checked.hardly_known = fleet::hardly_known(*facts, options.kinds);
  // A rule that was asked for by name is shown whatever its severity.
  checked.least = o.only.empty() ? (o.least == "error"  ? RuleSeverity::error
                                    : o.least == "info" ? RuleSeverity::info
                                                        : RuleSeverity::warn)
                                 : RuleSeverity::info;
  switch (o.format) {
    case report::Format::json: put(report::fleet_check_json(checked)); break;
    case report::Format::jsonl: put(report::fleet_check_jsonl(checked)); break;
    case report::Format::csv: put(report::render_csv(report::fleet_check_table(checked), true)); break;
    default: put(report::render_fleet_check(checked, colour_wanted()));
  }
  const int written = finish_output();
  if (written != 0 || report::any_broken(checked)) return written != 0 ? written : kFindings;
  if (!o.only.empty() || report::any_judged(checked)) return 0;
  return say_error({Code::unreachable, "nothing was judged: the facts have nothing that a rule asks about",
                    "gather them anew: muster fleet inventory --ssh NODES --out facts.jsonl"});
}

}  // namespace muster::cmd
