// muster fabric design: a network as it is bought, with the files that build, route and schedule it; muster fabric topology: the
// files of the schedulers, from any network that was discovered.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "commands.h"
#include "files.h"
#include "ingest/ib_net.h"
#include "model_choice.h"
#include "report/fabric_files.h"
#include "report/fabric_topology.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

constexpr double kFastGbS = 100;  // from where lanes of 200 Gb/s shorten copper

Result<void> write_all(const fs::path& folder, const std::vector<report::TextFile>& files) {
  for (const report::TextFile& f : files) {
    const fs::path path = folder / f.name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) return tl::unexpected(file_error("make", path.parent_path().string(), failed.value()));
    if (auto ok = write_file(path.string(), f.text); !ok) return ok;
  }
  return {};
}

// Files of a design that was there before and that this one does not have: they would be taken for parts of it.
void remove_stale(const fs::path& folder, const std::vector<report::TextFile>& files) {
  std::set<std::string> now, known = {"root_guids.txt"};  // a dragonfly has none
  for (const report::TextFile& f : files) {
    now.insert(f.name);
    known.insert(fs::path(f.name).filename().string());
  }
  std::error_code failed;
  std::vector<fs::path> stale;
  for (const fs::directory_entry& step : fs::directory_iterator(folder, failed)) {
    if (!step.is_directory(failed)) {
      const std::string name = step.path().filename().string();
      if (known.contains(name) && !now.contains(name)) stale.push_back(step.path());
    } else if (step.path().filename().string().starts_with("grow-")) {
      for (const fs::directory_entry& file : fs::directory_iterator(step.path(), failed)) {
        const std::string name = file.path().filename().string();
        if (known.contains(name) && !now.contains(step.path().filename().string() + "/" + name)) stale.push_back(file.path());
      }
      stale.push_back(step.path());  // goes only where it is empty
    }
  }
  for (const fs::path& path : stale) fs::remove(path, failed);
}

// Everything that a folder holds into the one above it.
std::error_code move_out(const fs::path& part, const fs::path& whole) {
  std::error_code failed;
  std::vector<fs::path> held;
  for (const fs::directory_entry& entry : fs::directory_iterator(part, failed)) held.push_back(entry.path());
  for (std::size_t i = 0; i < held.size() && !failed; ++i) fs::rename(held[i], whole / held[i].filename(), failed);
  if (!failed) fs::remove(part, failed);
  return failed;
}

// All of them or none: a folder beside it gets the name when it is whole. A folder that is there and empty (a mount, the one that
// one stands in, what a link leads to) stays, and gets what one within it holds. One that holds something is only filled on
// request, file by file.
Result<void> write_design(const std::string& folder, const std::vector<report::TextFile>& files, bool force) {
  std::error_code failed;
  const fs::path at = fs::path(folder).lexically_normal();
  const fs::path whole = at.has_filename() ? at : at.parent_path();
  if (fs::exists(whole, failed) && !fs::is_directory(whole, failed))
    return fail(Code::conflict, fmt::format("{} is there already and is no folder", folder), "name a new folder");
  const bool filled = fs::exists(whole, failed) && !fs::is_empty(whole, failed);
  if (filled && !force)
    return fail(Code::conflict, fmt::format("{} is not empty: nothing was written", folder), "name a new folder, or --force");
  if (filled) {
    auto ok = write_all(whole, files);
    if (ok) remove_stale(whole, files);
    return ok;
  }
  const bool there = fs::exists(whole, failed);
  const std::string name = fmt::format(".part-{}", getpid());
  const fs::path part = there ? whole / name : fs::path(whole.string() + name);
  if (auto ok = write_all(part, files); !ok) {
    fs::remove_all(part, failed);
    return ok;
  }
  if (there) {
    failed = move_out(part, whole);
  } else {
    fs::rename(part, whole, failed);
  }
  if (!failed) return {};
  const int why = failed.value();
  fs::remove_all(part, failed);
  return tl::unexpected(file_error("make", folder, why));
}

Result<design::FabricPlan> plan_of(const FabricDesignOptions& o) {
  design::FabricPlanAsk ask = o.ask;
  const bool fast = ask.fabric.gb_s >= kFastGbS;
  ask.reach.dac_m = o.dac_m >= 0 ? o.dac_m : fast ? 1.5 : 3;
  ask.reach.aec_m = o.aec_m >= 0 ? o.aec_m : fast ? 3 : 7;
  ask.reach.aoc_m = o.aoc_m >= 0 ? o.aoc_m : 30;
  auto prices = chosen_prices(o.prices);
  if (!prices) return tl::unexpected(prices.error());
  ask.prices = std::move(*prices);
  return design::plan_fabric(std::move(ask));
}

}  // namespace

int run_fabric_design(const FabricDesignOptions& o) {
  const auto plan = plan_of(o);
  if (!plan) return say_error(plan.error());
  if (!o.folder.empty()) {
    const auto files = report::fabric_files(*plan, o.wishes);
    if (!files) return say_error(files.error());
    if (auto ok = write_design(o.folder, *files, o.force); !ok) return say_error(ok.error());
    say(fmt::format("written    {} files in {}", files->size(), o.folder));
  }
  for (const std::string& note : plan->notes) say("note       " + note);
  if (o.format == report::Format::json) {
    put(report::render_fabric_summary(*plan));
    return finish_output();
  }
  const report::Table table = o.bill ? report::fabric_bill_table(*plan) : report::fabric_plan_table(*plan);
  put(o.format == report::Format::csv ? report::render_csv(table, true)
                                      : report::render_table(table, {.colour = colour_wanted()}));
  return finish_output();
}

int run_fabric_topology(const FabricTopologyOptions& o) {
  const auto text = read_fabric_file(o.net);
  if (!text) return say_error(text.error());
  const auto fabric = parse_ib_net(*text, o.net);
  if (!fabric) return say_error(fabric.error());
  const auto topology = report::fabric_topology(*fabric);
  if (!topology) return say_error({topology.error().code, o.net + ": " + topology.error().what, topology.error().next});
  if (topology->unnamed_cards > 0)
    say(fmt::format("note       {} cards are of no node: they are not described as HOST CARD", topology->unnamed_cards));
  if (topology->torn_nodes > 0) {
    say(fmt::format("note       {} nodes have cards in leaves that lead to different nodes: each is under the first of them",
                    topology->torn_nodes));
  }
  if (!topology->nodes_on_spines.empty()) {
    say(fmt::format("note       {} plugged in above the leaves, as {}: there such a switch has a leaf beside it, NAME-hosts",
                    report::counted(static_cast<std::int64_t>(topology->nodes_on_spines.size()), "node"),
                    topology->nodes_on_spines.front()));
  }
  if (topology->joined)
    say("note       no switch is above all of it: a switch that is none joins the parts, so that jobs may span them");
  const auto switches = report::slurm_switches(*topology);
  switch (o.form) {
    case TopologyForm::slurm: put(report::render_topology_conf(switches)); break;
    case TopologyForm::slurm_yaml: put(report::render_topology_yaml(switches)); break;
    case TopologyForm::k8s: put(report::render_node_labels(*topology, o.domain_nodes)); break;
  }
  return finish_output();
}

}  // namespace muster::cmd
