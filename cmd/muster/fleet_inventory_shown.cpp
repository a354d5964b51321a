#include "fleet_inventory_shown.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "fleet/fingerprint.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "report/table.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Cell;
using report::Format;
using report::Tone;

report::TableStyle style(bool wide = false) { return {.wide = wide, .colour = stdout_is_terminal() && colour_wanted()}; }

// Of the node or all its parts, distinct, with commas; "-": no value.
std::string words_of(const FactTable& t, std::size_t node, std::string_view key) {
  std::set<std::string> out;
  for (const std::size_t c : t.columns_of(key)) {
    if (const std::string* v = t.columns()[c].value(node); v != nullptr && !v->empty()) out.insert(*v);
  }
  return out.empty() ? "-" : join({out.begin(), out.end()}, ", ");
}

std::size_t parts_with(const FactTable& t, std::size_t node, std::string_view key) {
  const auto columns = t.columns_of(key);
  return static_cast<std::size_t>(
      std::count_if(columns.begin(), columns.end(), [&](std::size_t c) { return t.columns()[c].value(node) != nullptr; }));
}

// "8 x NVIDIA H200"
std::string counted(const FactTable& t, std::size_t node, std::string_view count_key, std::string_view key,
                    std::string_view otherwise) {
  const std::string* said = t.value(node, "", count_key);
  const std::string count = said != nullptr ? *said : std::to_string(parts_with(t, node, key));
  if (count == "0") return "-";
  std::string what = words_of(t, node, key);
  if (what == "-" && !otherwise.empty()) what = words_of(t, node, otherwise);
  return count + " x " + what;
}

std::size_t known(const FactTable& t, std::size_t node) {
  return static_cast<std::size_t>(
      std::count_if(t.columns().begin(), t.columns().end(), [&](const FactColumn& c) { return c.code(node) != kFactUnknown; }));
}

report::Table node_table(const FactTable& t) {
  report::Table out;
  out.columns = {{"NODE"},
                 {"MACHINE"},
                 {"GPUS"},
                 {"DRIVER"},
                 {"KERNEL"},
                 {"OS"},
                 {"NICS"},
                 {"FACTS", true},
                 {"VBIOS", false, true},
                 {"NIC FIRMWARE", false, true},
                 {"CUDA", false, true},
                 {"FABRIC MANAGER", false, true},
                 {"NCCL", false, true},
                 {"BIOS", false, true},
                 {"SLURM", false, true},
                 {"SOURCE", false, true}};
  for (std::size_t n = 0; n < t.nodes().size(); ++n) {
    std::string machine = words_of(t, n, "node.product");
    if (machine == "-") machine = words_of(t, n, "node.virt");
    const std::string os = words_of(t, n, "os.id"), version = words_of(t, n, "os.version");
    out.rows.push_back({Cell(t.nodes()[n].name), Cell(machine), Cell(counted(t, n, "gpu.count", "gpu.model", "gpu.class")),
                        Cell(words_of(t, n, "driver.loaded")), Cell(words_of(t, n, "kernel.release")),
                        Cell(os == "-"        ? os
                             : version == "-" ? os
                                              : os + " " + version),
                        Cell(counted(t, n, "nic.count", "nic.model", "")), Cell(std::to_string(known(t, n))),
                        Cell(words_of(t, n, "vbios.version")), Cell(words_of(t, n, "nic.firmware")),
                        Cell(words_of(t, n, "cuda.toolkit")), Cell(words_of(t, n, "fabricmanager.version")),
                        Cell(words_of(t, n, "nccl.mapped")), Cell(words_of(t, n, "bios.version")),
                        Cell(words_of(t, n, "slurm.slurmd")), Cell(t.nodes()[n].source)});
  }
  return out;
}

// All columns; nothing in a cell: unknown.
report::Table fact_csv(const FactTable& t) {
  report::Table out;
  out.columns.push_back({"node"});
  for (const FactColumn& c : t.columns()) out.columns.push_back({fact_name(c.entity, c.key), false, false, true});
  for (std::size_t n = 0; n < t.nodes().size(); ++n) {
    std::vector<Cell> row{Cell(t.nodes()[n].name)};
    for (const FactColumn& c : t.columns()) {
      const std::string* v = c.value(n);
      row.emplace_back(v != nullptr                   ? *v
                       : c.code(n) == kFactAbsent     ? "absent"
                       : c.code(n) == kFactUnreadable ? "unreadable"
                                                      : "");
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string lines_of(const FactTable& t) {
  std::string out;
  for (std::size_t n = 0; n < t.nodes().size(); ++n) out += render_facts(t, n);
  return out;
}

std::string json_of(const FactTable& t, const NodeTroubles& failed) {
  JsonWriter w;
  w.object().key("nodes").array();
  for (std::size_t n = 0; n < t.nodes().size(); ++n) w.raw(trim(render_facts(t, n)));
  w.end_array().key("failed").array();
  for (const auto& [node, why] : failed) w.object().field("node", node).field("why", why).end_object();
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string names_of(const FactTable& t, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t n : nodes) names.push_back(t.nodes()[n].name);
  return compress_node_list(std::move(names));
}

std::string hex_of(std::uint64_t print) { return fmt::format("{:016x}", print); }

using ChangeKey = std::pair<FactLayer, std::array<std::string, 3>>;  // fact, now, then

std::string or_absent(const std::string& s) { return s.empty() ? "absent" : s; }

std::string boot_json(const FactTable& t, const std::map<ChangeKey, std::vector<std::uint32_t>>& changes,
                      const std::vector<std::uint32_t>& unchanged, std::size_t compared) {
  JsonWriter w;
  w.object().key("changes").array();
  for (const auto& [change, nodes] : changes) {
    const auto& [fact, now, then] = change.second;
    w.object().field("layer", name_of(change.first)).field("fact", fact);
    for (const auto& [key, value] : {std::pair("now", &now), {"then", &then}}) {
      w.key(key);
      value->empty() ? w.null() : w.value(*value);
    }
    w.field("nodes", names_of(t, nodes)).field("count", static_cast<std::uint64_t>(nodes.size())).end_object();
  }
  w.end_array().field("unchanged", names_of(t, unchanged)).field("compared", static_cast<std::uint64_t>(compared)).end_object();
  return w.take() + "\n";
}

}  // namespace

std::string show_inventory(const FactTable& table, const NodeTroubles& failed, Format format) {
  switch (format) {
    case Format::json: return json_of(table, failed);
    case Format::jsonl: return lines_of(table);
    case Format::csv: return report::render_csv(fact_csv(table), true);
    case Format::wide: return report::render_table(node_table(table), style(true));
    default: return report::render_table(node_table(table), style());
  }
}

std::string show_fingerprints(const FactTable& table, Format format) {
  const auto layers = fleet::fingerprints_of(table, fact_book());
  if (format == Format::json || format == Format::jsonl) {
    JsonWriter w;
    w.object().key("layers").array();
    for (const fleet::LayerPrints& l : layers) {
      w.object().field("layer", name_of(l.layer)).field("facts", static_cast<std::uint64_t>(l.facts)).key("groups").array();
      for (const fleet::Alike& g : l.groups) {
        w.object().field("print", hex_of(g.print)).field("count", static_cast<std::uint64_t>(g.nodes.size()));
        w.field("nodes", names_of(table, g.nodes)).end_object();
      }
      w.end_array().end_object();
    }
    w.end_array().end_object();
    return w.take() + "\n";
  }
  report::Table out;
  out.columns = {{"LAYER"}, {"FACTS", true}, {"FINGERPRINT"}, {"COUNT", true}, {"NODES"}};
  for (const fleet::LayerPrints& l : layers) {
    for (const fleet::Alike& g : l.groups) {
      out.rows.push_back({Cell(std::string(name_of(l.layer))), Cell(std::to_string(l.facts)), Cell(hex_of(g.print)),
                          Cell(std::to_string(g.nodes.size())), Cell(names_of(table, g.nodes))});
    }
  }
  return format == Format::csv ? report::render_csv(out, true) : report::render_table(out, style());
}

ShownBoot show_boot_changes(const FactTable& table, const FactTable& next, Format format) {
  ShownBoot out;
  std::map<ChangeKey, std::vector<std::uint32_t>> changes;
  std::vector<std::uint32_t> unchanged;
  for (std::size_t n = 0; n < table.nodes().size(); ++n) {
    // One image for all, or one row for each node.
    const std::ptrdiff_t own = next.nodes().size() == 1 ? 0 : next.find_node(table.nodes()[n].name);
    if (own < 0) {
      out.missing = table.nodes()[n].name;
      return out;
    }
    const auto boot = fleet::boot_changes(table, n, next, static_cast<std::size_t>(own), fact_book());
    for (const fleet::BootChange& c : boot.changes)
      changes[{c.layer, {c.fact, c.now, c.then}}].push_back(static_cast<std::uint32_t>(n));
    out.compared += boot.same + boot.changes.size();
    if (boot.changes.empty()) unchanged.push_back(static_cast<std::uint32_t>(n));
  }
  out.changed = table.nodes().size() - unchanged.size();
  if (format == Format::json || format == Format::jsonl) {
    out.text = boot_json(table, changes, unchanged, out.compared);
    return out;
  }
  report::Table shown;
  shown.columns = {{"LAYER"}, {"FACT"}, {"NOW"}, {"AFTER A BOOT"}, {"COUNT", true}, {"NODES"}};
  for (const auto& [change, nodes] : changes) {
    const auto& [fact, now, then] = change.second;
    shown.rows.push_back({Cell(std::string(name_of(change.first))), Cell(fact), Cell(or_absent(now)), Cell(or_absent(then)),
                          Cell(std::to_string(nodes.size())), Cell(names_of(table, nodes))});
  }
  out.text = format == Format::csv ? report::render_csv(shown, true)
             : changes.empty()     ? std::string()
                                   : report::render_table(shown, style());
  return out;
}

}  // namespace muster::cmd
