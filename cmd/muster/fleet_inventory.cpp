// muster fleet inventory: what the nodes of a fleet are and run, from files and from the nodes themselves.
#include <fmt/core.h>

#include <filesystem>

#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "fleet_ask.h"
#include "fleet_facts.h"
#include "fleet_inventory_shown.h"
#include "fleet_options.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

// As a list, which may be long where the names follow no order.
std::string shown_list(std::vector<std::string> names) {
  constexpr std::size_t kShown = 400;
  std::string out = printable(compress_node_list(std::move(names)));
  return out.size() <= kShown ? out : out.substr(0, out.rfind(',', kShown)) + ",...";
}

// Of a file that nothing was written to.
std::string untouched(const std::string& file) {
  std::error_code why;
  return file + (std::filesystem::exists(file, why) ? " is as it was" : " was not made");
}

// Whose facts there are and whose not, after nodes were asked.
int say_failed(const FleetInventoryOptions& o, const AskedNodes& asked, const FactTable& table) {
  std::vector<std::string> failed, older;
  for (const auto& [node, why] : asked.failed) (table.find_node(node) < 0 ? failed : older).push_back(node);
  const std::string where = o.out.empty() ? "what is shown" : o.out;
  std::vector<std::string> all = failed;
  all.insert(all.end(), older.begin(), older.end());
  const std::size_t count = all.size();
  std::string what = fmt::format("{} node{} did not answer: {}", count, count == 1 ? "" : "s", shown_list(std::move(all)));
  if (asked.answered.empty()) {
    what += table.nodes().empty() ? "; nothing came back" : "; what there is comes from the files";
  } else {
    what += fmt::format("; {} has the facts of {}", where, shown_list(asked.answered));
  }
  if (!older.empty()) what += fmt::format(", and of {} those of the files", shown_list(std::move(older)));
  if (!o.out.empty() && table.nodes().empty()) what += "; " + untouched(o.out);
  return say_error({Code::unreachable, what, "ask these again, or leave them out"});
}

int show(const FleetInventoryOptions& o, const FactTable& table, const NodeTroubles& failed) {
  if (!o.against.empty()) {
    const auto next = load_facts({{o.against}, {}}, true);
    if (!next) return say_error(next.error());
    const ShownBoot boot = show_boot_changes(table, *next, o.format);
    if (next->nodes().empty() || !boot.missing.empty())
      return say_error({Code::not_found,
                        fmt::format("{}: no facts of {}", o.against, boot.missing.empty() ? "any node" : printable(boot.missing)),
                        "give the facts of one image, or a line for each node"});
    if (boot.compared == 0)
      return say_error({Code::internal, fmt::format("{} says nothing that the facts could be held against", o.against),
                        "probe a whole system: muster fleet probe --root IMAGE > image.jsonl"});
    put(boot.text);
    const std::size_t nodes = table.nodes().size();
    say(fmt::format("{} of {} would change; {} facts were compared, {:.0f} of a node", boot.changed,
                    report::counted(static_cast<std::int64_t>(nodes), "node"), boot.compared,
                    static_cast<double>(boot.compared) / static_cast<double>(nodes)));
    const int out = finish_output();
    constexpr int kFindings = 6;
    return out != 0 ? out : boot.changed > 0 ? kFindings : 0;
  }
  put(o.fingerprints ? show_fingerprints(table, o.format) : show_inventory(table, failed, o.format));
  return finish_output();
}

}  // namespace

int run_fleet_inventory(const FleetInventoryOptions& o) {
  const int ways = int{!o.ssh.empty()} + int{!o.srun.empty()} + int{!o.agents.empty()};
  if (ways == 0 && o.facts.files.empty())
    return say_error({Code::bad_input, "inventory needs facts: files, --agents WHERE, --ssh NODES or --srun NODES",
                      "muster fleet inventory --ssh 'gpu[001-064]' --out facts.jsonl"});
  if (o.fingerprints && !o.against.empty())
    return say_error({Code::bad_input, "--fingerprints and --against are two questions: ask one at a time", ""});
  if (ways > 1) return say_error({Code::bad_input, "--agents, --ssh and --srun ask the same: use one of them", ""});
  if (!o.out.empty()) {
    if (auto ok = check_writable(o.out); !ok) return say_error(ok.error());
  }
  auto table = load_facts({o.facts.files, {}}, true);
  if (!table) return say_error(table.error());
  AskedNodes asked;
  if (ways > 0) {
    auto all = ask_nodes(o, *table);
    if (!all) return say_error(all.error());
    asked = std::move(*all);
  }
  if (table->nodes().empty() && !asked.failed.empty()) {
    const int out = show(o, *table, asked.failed);
    return out != 0 ? out : say_failed(o, asked, *table);
  }
  if (auto set = set_facts(o.facts.set, *table); !set) return say_error(set.error());
  if (!o.out.empty()) {
    if (table->nodes().empty())
      return say_error({Code::not_found, "no facts of any node; " + untouched(o.out), "name files that hold some"});
    if (auto ok = replace_file(o.out, show_inventory(*table, {}, report::Format::jsonl)); !ok) return say_error(ok.error());
  }
  const int out = show(o, *table, asked.failed);
  return asked.failed.empty() || out != 0 ? out : say_failed(o, asked, *table);
}

}  // namespace muster::cmd
