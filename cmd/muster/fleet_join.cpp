// muster fleet provision join: whether a new node is fit.
#include <fmt/core.h>

#include "accept/judge.h"
#include "accept_known.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "fleet/joining.h"
#include "fleet_facts.h"
#include "fleet_files.h"
#include "fleet_held.h"
#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "ingest/fleet_rules.h"
#include "report/table.h"
#include "say.h"

namespace muster::cmd {
namespace {

using fleet::Fitness;
using fleet::Reason;

constexpr int kNotFit = 6;

Result<fleet::Accepted> accepted(const std::string& file) {
  fleet::Accepted out;
  if (file.empty()) return out;
  const auto recordings = read_recordings({file}, WithReadings::yes);
  if (!recordings) return tl::unexpected(recordings.error());
  if (recordings->all.size() != 1)
    return fail(Code::bad_input, fmt::format("{} holds {} recordings, one is needed", file, recordings->all.size()),
                "name the file that muster accept wrote on the node");
  const Acceptance& a = recordings->all[0];
  const auto limits = known_limits(KnownGpus{});
  if (!limits) return tl::unexpected(limits.error());
  const accept::Judgement j = accept::judge(a, *limits);
  out.recorded = true;
  out.pass = j.verdict == accept::Verdict::pass;
  out.node = a.host.name;
  out.driver = a.host.driver;
  out.gpus = static_cast<std::uint32_t>(a.gpus.size());
  for (const accepting::Gpu& g : a.gpus) out.each.push_back({g.uuid, g.model, g.vbios});
  out.begun = a.host.begun;
  out.verdict = std::string(name_of(j.verdict));
  const auto troubles = j.troubles();
  if (!troubles.empty()) out.verdict += fmt::format(": {}", troubles.front()->what);
  if (j.provisional) out.verdict += ", by too few cards to be sure how fast such a GPU is";
  return out;
}

void show(const FleetProvisionOptions& o, const std::vector<Reason>& reasons) {
  const bool fit = fleet::worst(reasons) == Fitness::fit;
  if (o.format == report::Format::json) {
    JsonWriter w;
    w.object().field("node", o.node).field("fit", fit).key("reasons").array();
    for (const Reason& r : reasons) {
      w.object().field("part", r.part).field("fitness", name_of(r.fitness)).field("what", r.what).field("next", r.next);
      w.end_object();
    }
    w.end_array().end_object();
    put(w.take() + "\n");
    return;
  }
  report::Table t;
  for (const char* name : {"PART", "STATE", "WHAT", "NEXT"}) t.columns.push_back({name});
  for (const Reason& r : reasons) {
    const auto tone = r.fitness == Fitness::fit       ? report::Tone::good
                      : r.fitness == Fitness::unknown ? report::Tone::warn
                                                      : report::Tone::bad;
    t.rows.push_back({report::Cell(r.part), report::Cell(std::string(name_of(r.fitness)), tone), report::Cell(r.what),
                      report::Cell(r.next.empty() ? "-" : r.next)});
  }
  put(report::render_table(t, {true, false, colour_wanted()}));
  put(fmt::format("\n{} is {} to join\n", printable(o.node), fit ? "fit" : "not fit"));
}

}  // namespace

int join_node(const FleetProvisionOptions& o) {
  fleet::Freshness freshness;
  const auto now = o.today.empty() ? Result<Time>(wall_now()) : end_of_day(o.today);
  if (!now) return say_error(now.error());
  freshness.now = *now;
  const auto table = load_facts_newest(o.facts, o.node, freshness.installed_after);
  if (!table) return say_error(table.error());
  const std::ptrdiff_t at = table->find_node(o.node);
  if (at < 0)
    return say_error({Code::not_found, fmt::format("the facts say nothing of {}", printable(o.node)),
                      "run muster fleet probe on it, and give what it prints along with the fleet's"});
  const auto node = static_cast<std::uint32_t>(at);
  const auto declared = load_declared(o.declared);
  if (!declared) return say_error(declared.error());
  const auto acceptance = accepted(o.acceptance);
  if (!acceptance) return say_error(acceptance.error());
  const fleet::GoldenOptions options;
  const fleet::Golden golden = fleet::hold_against_kind(*table, fact_book(), *declared, options);
  std::vector<Reason> reasons = fleet::facts_reasons(*table, fact_book(), node, golden);
  const auto add = [&reasons](std::vector<Reason> more) {
    reasons.insert(reasons.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(fleet::age_reasons(*table, node, freshness));
  add(fleet::peers_age_reasons(*table, node, golden, options, freshness));
  add(fleet::kind_reasons(*table, fact_book(), node, golden, fleet::declared_of(*table, *declared, node), options));
  add(fleet::identity_reasons(*table, node));
  fleet::CheckOptions check;
  check.kinds = golden.cohorts;
  check.today = render_utc(freshness.now).substr(0, 10);
  add(fleet::rules_reasons(fact_book(), node, fleet_rules(), fleet::check_rules(*table, fact_book(), fleet_rules(), check)));
  add(fleet::acceptance_reasons(*table, node, *acceptance, freshness));
  show(o, reasons);
  const int output = finish_output();
  return output != 0 ? output : fleet::worst(reasons) == Fitness::fit ? 0 : kNotFit;
}

}  // namespace muster::cmd
