// muster cost: what a year of owning a site costs, and which of its commands.
#include <algorithm>

#include "commands.h"
#include "cost_options.h"
#include "cost_site.h"
#include "files.h"
#include "ingest/cost_file.h"
#include "report/cost.h"
#include "say.h"

namespace muster::cmd {
namespace {

struct Dispatch {
  int operator()(const CostOptions& o) const { return run_cost_table(o); }
  int operator()(const CostImportOptions& o) const { return run_cost_import(o); }
  int operator()(const CostCompareOptions& o) const { return run_cost_compare(o); }
  int operator()(const CostBurstOptions& o) const { return run_cost_burst(o); }
};

report::CostSide side_of(const CostSite& site, const CostOptions& o) {
  return {site, predict::yearly_cost(site), predict::uncertain_cost(site, o.seed, o.draws)};
}

}  // namespace

Result<CostSite> named_site(const std::string& name) {
  const auto shipped = shipped_cost_site_names();
  if (std::find(shipped.begin(), shipped.end(), name) != shipped.end()) return shipped_cost_site(name);
  const auto text = read_file(name);
  if (!text) {
    Error e = text.error();
    if (e.code == Code::not_found) e.next = shipped_cost_site(name).error().next;
    return tl::unexpected(e);
  }
  return parse_cost_site(*text, name);
}

Result<CostSite> chosen_site(const SiteChoice& choice) {
  const auto site = named_site(choice.site);
  if (!site || choice.set.empty()) return site;
  return change_cost_site(*site, choice.set);
}

int run_cost(const CostCommand& command) { return std::visit(Dispatch{}, command); }

int run_cost_table(const CostOptions& o) {
  const auto site = named_site(o.site.site);
  if (!site) return say_error(site.error());
  report::CostView view{side_of(*site, o), {}, o.site.set, o.seed};
  if (!o.site.set.empty()) {
    const auto changed = change_cost_site(*site, o.site.set);
    if (!changed) return say_error(changed.error());
    view.changed = side_of(*changed, o);
  }
  if (o.format == report::Format::json) {
    put(report::cost_json(view));
  } else if (o.format == report::Format::csv) {
    put(report::cost_csv(view));
  } else {
    put(report::cost_text(view, {o.format == report::Format::wide, colour_wanted(), true}));
  }
  return finish_output();
}

}  // namespace muster::cmd
