#include "report/upgrade_plan_view.h"

#include <fmt/core.h>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "report/table.h"

namespace muster::report {
namespace {

constexpr std::size_t kShown = 60;  // bytes of a list of nodes on a line

std::string some(const std::vector<std::string>& nodes) {
  const std::string all = printable(compress_node_list(nodes));
  return all.size() <= kShown ? all : fmt::format("{}... ({} nodes)", all.substr(0, kShown), nodes.size());
}

void words_json(JsonWriter& w, std::string_view key, const std::vector<fleet::PlanWord>& all) {
  w.key(key).array();
  for (const fleet::PlanWord& x : all) {
    w.object().field("says", x.says).field("rule", x.rule).field("source", x.source);
    w.field("nodes", compress_node_list(x.nodes)).key("missing").array();
    for (const std::string& m : x.missing) w.value(m);
    w.end_array().field("next", x.next).end_object();
  }
  w.end_array();
}

std::string words_text(std::string_view head, const std::vector<fleet::PlanWord>& all) {
  std::string s;
  for (const fleet::PlanWord& x : all) {
    s += fmt::format("{}{}", head, printable(x.says));
    if (!x.rule.empty()) s += fmt::format(" [{}: {}]", printable(x.rule), printable(x.source));
    if (!x.nodes.empty()) s += "\n           on " + some(x.nodes);
    if (!x.next.empty()) s += "\n           " + printable(x.next);
    s += "\n";
  }
  return s;
}

std::string count_of(std::size_t n) { return fmt::format("{} node{}", n, n == 1 ? "" : "s"); }

std::string parts_table(const fleet::UpgradePlan& plan) {
  Table t;
  t.columns = {{"STEP", true}, {"WHAT"}, {"FROM"}, {"TO"}, {"HAVE IT", true}, {"WHY", false}, {"RULE"}};
  for (std::size_t k = 0; k < plan.parts.size(); ++k) {
    const fleet::PlannedPart& p = plan.parts[k];
    std::string from = !p.before.empty() ? p.before : plan.nodes.empty() ? "-" : "not known";
    if (p.have_another > 0 && !plan.nodes.empty()) from += fmt::format(" (another on {})", p.have_another);
    t.rows.push_back({Cell(std::to_string(k + 1)), Cell(p.what), Cell(from), Cell(p.version),
                      Cell(fmt::format("{} of {}", p.have_it, plan.looked_at)),
                      Cell((p.added ? "added: " : "") + p.why, p.added ? Tone::warn : Tone::plain), Cell(p.rule)});
  }
  return render_table(t, {});
}

// Who goes first and in which steps the rest follows.
std::string steps_text(const fleet::UpgradePlan& plan, const UpgradeSpec& spec) {
  std::string s =
      fmt::format("nodes      {} of {} that were looked at: {}\n", plan.nodes.size(), plan.looked_at, some(plan.nodes));
  s += "turn       drained when its jobs have ended, measured, installed in this order, tested, measured, back\n";
  if (plan.canaries.size() > plan.canaries_wanted)
    s += fmt::format("canaries   {}, those that come free first of {}; watched for {}\n", plan.canaries_wanted,
                     some(plan.canaries), render_duration(spec.watch));
  else
    s += fmt::format("canaries   {}: {}; watched for {}\n", plan.canaries_wanted, some(plan.canaries),
                     render_duration(spec.watch));
  std::string waves;
  for (const fleet::UpgradeWave& v : plan.waves)
    waves += fmt::format("{}{}{}", waves.empty() ? "" : ", then ", count_of(v.nodes),
                         v.up_to_pct < 100 ? fmt::format(" (to {:.0f} %)", v.up_to_pct) : "");
  if (!plan.waves.empty())
    s += fmt::format("waves      {}; which: as their jobs end, of NVLink domains that have begun first\n", waves);
  s += fmt::format("at once    at most {:g} % of the cluster, whatever else is away counted in\n", spec.at_once_pct);
  s += "gates      each wave: returned, tested, and no slower than before beyond noise; else it is stopped and taken back\n";
  if (plan.apart.empty()) s += "exposure   no rule forbids a job on nodes with it and nodes without\n";
  s += words_text("apart      ", plan.apart);
  if (plan.apart_within == ApartWithin::domain)
    s += "           that is about the nodes of a job within one NVLink domain: different domains may be of different versions\n";
  return s;
}

std::string jobs_of(std::uint32_t n, std::string_view verb_of_one, std::string_view verb_of_many) {
  return fmt::format("{} job{} {}", n, n == 1 ? "" : "s", n == 1 ? verb_of_one : verb_of_many);
}

// Numbers of jobs: who is met half-way by it, and who has to wait.
std::string exposure_text(const fleet::UpgradePlan& plan, const fleet::Exposure& e) {
  if (!e.known()) return fmt::format("jobs       not known without the running Muster: {}\n", printable(e.why_not));
  const bool by_domain = plan.apart_within == ApartWithin::domain;
  std::string s = fmt::format("jobs       {} ({}), {} of them on several nodes{}", jobs_of(e.running, "runs", "run"),
                              printable(e.from), e.several, by_domain ? " of an NVLink domain" : "");
  if (e.both_now > 0) s += fmt::format(", {} on both versions already", e.both_now);
  s += "\n";
  if (e.several > 0) {
    s += "           as they lie now, at most so many would be on both versions:";
    for (std::size_t k = 0; k < e.steps.size(); ++k)
      s += fmt::format("{} {} with {}", k == 0 ? "" : ",", e.steps[k].jobs_most,
                       k == 0 ? fmt::format("the canaries ({})", e.steps[k].with_it) : count_of(e.steps[k].with_it));
    s += "\n";
  }
  if (!e.waiting) return s + "           waiting jobs: not known without the running Muster\n";
  if (plan.apart.empty()) return s + fmt::format("           {}, none of them for this\n", jobs_of(*e.waiting, "waits", "wait"));
  return s + fmt::format("           {}; {} of them for more than {}, {}\n", jobs_of(*e.waiting, "waits", "wait"), e.too_large,
                         count_of(e.side_nodes),
                         by_domain ? "which a job can have at least, should all NVLink domains be half-way at once"
                                   : "which one side has at the widest moment");
}

void exposure_json(JsonWriter& w, const fleet::Exposure& e) {
  w.key("jobs").object().field("known", e.known());
  if (!e.known()) {
    w.field("why", e.why_not).end_object();
    return;
  }
  w.field("from", e.from).field("running", e.running).field("on_several_nodes", e.several).field("on_both_now", e.both_now);
  w.key("steps").array();
  for (const fleet::Exposure::Step& x : e.steps)
    w.object().field("with_it", x.with_it).field("on_both_most", x.jobs_most).end_object();
  w.end_array();
  const auto known = [&](std::string_view key, std::uint32_t value) { e.waiting ? w.field(key, value) : w.key(key).null(); };
  known("waiting", e.waiting.value_or(0));
  known("too_large", e.too_large);
  w.field("side_nodes_least", e.side_nodes).end_object();
}

void spec_json(JsonWriter& w, const UpgradeSpec& s) {
  w.object().field("what", s.what).field("version", s.version).field("before", s.before).field("nodes", s.nodes);
  w.field("canaries", s.canaries).field("watch_s", s.watch.seconds()).field("at_once_pct", s.at_once_pct);
  w.field("finish_in_s", s.finish_in.seconds()).key("parts").array();
  for (const UpgradePart& p : s.parts)
    w.object().field("what", p.what).field("version", p.version).field("before", p.before).end_object();
  w.end_array().field("canary_nodes", s.canary_nodes).field("apart", s.apart);
  w.field("apart_within", name_of(s.apart_within));
  w.field("wait_for_jobs", s.wait_for_jobs).field("measured", s.measured).end_object();
}

}  // namespace

std::string upgrade_request_json(const UpgradeSpec& spec) {
  JsonWriter w;
  spec_json(w, spec);
  return w.take();
}

std::string upgrade_plan_json(const fleet::UpgradePlan& plan, const UpgradeSpec& spec, const fleet::Exposure& exposure) {
  JsonWriter w;
  w.object().field("nodes", compress_node_list(plan.nodes)).field("count", plan.nodes.size());
  w.field("looked_at", plan.looked_at).field("nothing_to_do", plan.nothing_to_do()).key("parts").array();
  for (const fleet::PlannedPart& p : plan.parts) {
    w.object().field("what", p.what).field("version", p.version).field("before", p.before).field("have_it", p.have_it);
    w.field("have_another", p.have_another).field("added", p.added).field("why", p.why).field("rule", p.rule);
    w.field("source", p.source).end_object();
  }
  w.end_array().field("canaries", plan.canaries_wanted).field("canary_candidates", compress_node_list(plan.canaries));
  w.key("waves").array();
  for (const fleet::UpgradeWave& v : plan.waves) w.object().field("up_to_pct", v.up_to_pct).field("count", v.nodes).end_object();
  w.end_array();
  words_json(w, "apart", plan.apart);
  if (!plan.nodes.empty()) exposure_json(w, exposure);
  words_json(w, "refused", plan.refused);
  words_json(w, "unknown", plan.unknown);
  w.key("notes").array();
  for (const std::string& n : plan.notes) w.value(n);
  w.end_array().key("upgrade");
  // Without nodes it would mean all of them.
  if (plan.nodes.empty())
    w.null();
  else
    spec_json(w, spec);
  return w.end_object().take() + "\n";
}

std::string upgrade_plan_words(const fleet::UpgradePlan& plan, const UpgradeSpec& spec, const fleet::Exposure& exposure) {
  std::string s = plan.parts.empty() ? std::string() : parts_table(plan) + "\n";
  if (plan.nothing_to_do()) s += "nothing to do\n";
  if (!plan.nodes.empty()) s += steps_text(plan, spec) + exposure_text(plan, exposure);
  s += words_text("unknown    ", plan.unknown);
  s += words_text("REFUSED    ", plan.refused);
  for (const std::string& n : plan.notes) s += "note       " + printable(n) + "\n";
  return s;
}

}  // namespace muster::report
