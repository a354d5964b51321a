#include "report/clusters.h"

#include <fmt/format.h>

#include <algorithm>

#include "design/pareto.h"
#include "model/fields.h"
#include "report/members.h"
#include "report/plan.h"
#include "report/units.h"

namespace muster::report {
namespace {

std::string network_words(const design::FabricAsk& f) {
  return fmt::format("{}{}", f.kind == design::FabricKind::fat_tree ? "fat tree" : std::string(name_of(f.kind)),
                     f.oversubscription > 1 ? fmt::format(" {:g}:1", f.oversubscription) : "");
}

void say_storage(const design::ClusterDesign& d, std::vector<std::string>& out) {
  if (d.stores.empty()) return;
  const design::SizedStore& s = d.stores.front();
  out.push_back(fmt::format(
      "storage: {} of {} with {:.2f} PB ({} asks for so many: {:.0f} GB/s written for a checkpoint in time, {:.0f} GB/s "
      "read), {:.2f} PB of objects on {}; {:.1f} million USD with their network",
      counted(s.blocks, "block"), s.kind.name, s.pb(), s.bound, d.write_gb_s, d.read_gb_s, d.objects.pb(), d.objects.blocks,
      d.storage_usd / 1e6));
  for (std::size_t i = 1; i < d.stores.size(); ++i) {
    const design::SizedStore& o = d.stores[i];
    out.push_back(
        fmt::format("  or {} of {}: {:.2f} PB, {:.0f} GB/s written, {:.0f} read, {:.1f} kW; {:.2f} million USD "
                    "instead of {:.2f}",
                    counted(o.blocks, "block"), o.kind.name, o.pb(), o.write_gb_s(), o.read_gb_s(), o.kw(), o.usd / 1e6,
                    s.usd / 1e6));
  }
  const design::StorageNetwork& n = d.storage_network;
  out.push_back(fmt::format("their network: {} ports of nodes and blocks, {} switches{}, {:.1f} million USD", n.ports, n.switches,
                            n.oversubscription > 1 ? fmt::format(", {:g}:1 towards its spines", n.oversubscription) : "",
                            n.usd / 1e6));
}

double all_usd(const design::ClusterDesign& d, double years) { return d.capital_usd() + d.yearly_usd * years; }

std::vector<bool> front_of(const design::ClusterDesigns& found, double years) {
  std::vector<design::Merits> all;
  for (const design::ClusterDesign& d : found.designs) all.push_back({all_usd(d, years), d.run ? d.run->s : -d.peak_pflops});
  return design::pareto_front(all);
}

Value design_value(const design::ClusterDesign& d, double years) {
  constexpr double kHoursAYear = 8766, kDayS = 86'400;
  const double gpu_hour = all_usd(d, years) / (years * kHoursAYear * d.gpus);
  Members o, usd, cables;
  o.text("gpu", d.gpu).count("gpus", d.gpus).count("nodes", d.nodes).count("racks", d.racks);
  o.text("network", network_words(d.fabric)).number("oversubscription", d.fabric.oversubscription);
  o.count("switches", d.switches).count("leaves", d.leaves).text("cooling", std::string(name_of(d.cooling)));
  o.number("it_mw", d.it_mw).number("mw", d.mw).number("peak_pflops", d.peak_pflops);
  o.number("usd", all_usd(d, years)).number("capital_usd", d.capital_usd()).number("yearly_usd", d.yearly_usd);
  usd.number("servers", d.servers_usd).number("network", d.network_usd).number("storage", d.storage_usd);
  usd.number("spares", d.spares_usd).number("hall_and_people", d.yearly_usd * years);
  o.put("parts_usd", usd.take()).number("usd_per_gpu_hour", gpu_hour);
  if (d.run) {
    o.number("days", d.run->s / kDayS).number("step_s", d.step_s).number("interruptions", d.run->interruptions);
    o.number("useful", d.run->useful).number("run_usd", gpu_hour * d.run->gpu_hours);
  }
  if (d.plan) o.text("plan", say_plan(*d.plan));
  o.number("bisection", d.bisection).number("one_down", d.one_down).number("hops", d.hops);
  o.number("all_reduce_ms", d.all_reduce_s * 1e3).number("write_gb_s", d.write_gb_s).number("read_gb_s", d.read_gb_s);
  if (!d.stores.empty()) o.text("store", d.stores.front().kind.name).number("flash_pb", d.stores.front().pb());
  o.number("object_pb", d.objects.pb()).count("spare_nodes", d.spare_nodes);
  cables.count("copper", d.cables.copper).count("active", d.cables.active).count("fibre", d.cables.fibre);
  o.put("cables", cables.take()).count("transceivers", d.transceivers).yes("best", d.front);
  return o.put("lines", texts(say_cluster(d, years))).take();
}

}  // namespace

Table cluster_table(std::span<const design::ClusterDesign> designs) {
  struct Shown {
    Column column;
    const char* format;
    double (*of)(const design::ClusterDesign&);
  };
  using D = const design::ClusterDesign&;
  constexpr double kNone = -1;  // there is no run
  const Shown kNumbers[] = {
      {{"GPUS", true}, "{:.0f}", [](D d) { return static_cast<double>(d.gpus); }},
      {{"SWITCHES", true}, "{:.0f}", [](D d) { return static_cast<double>(d.switches); }},
      {{"RACKS", true}, "{:.0f}", [](D d) { return static_cast<double>(d.racks); }},
      {{"MW", true}, "{:.2f}", [](D d) { return d.mw; }},
      {{"CAPITAL", true}, "{:.1f} M", [](D d) { return d.capital_usd() / 1e6; }},
      {{"YEARLY", true}, "{:.1f} M", [](D d) { return d.yearly_usd / 1e6; }},
      {{"DAYS", true}, "{:.1f}", [](D d) { return d.run ? d.run->s / 86'400 : kNone; }},
      {{"BISECTION", true}, "{:.0f} %", [](D d) { return 100 * d.bisection; }},
      {{"NODES", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.nodes); }},
      {{"COPPER", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.cables.copper); }},
      {{"ACTIVE", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.cables.active); }},
      {{"FIBRE", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.cables.fibre); }},
      {{"TRANSCEIVERS", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.transceivers); }},
      {{"HOPS", true, true}, "{:.2f}", [](D d) { return d.hops; }},
      {{"ONE DOWN", true, true}, "{:.1f} %", [](D d) { return 100 * d.one_down; }},
      {{"ALLREDUCE MS", true, true}, "{:.2f}", [](D d) { return d.all_reduce_s * 1e3; }},
      {{"FLASH PB", true, true}, "{:.2f}", [](D d) { return d.stores.empty() ? kNone : d.stores.front().pb(); }},
      {{"OBJECT PB", true, true}, "{:.2f}", [](D d) { return d.objects.pb(); }},
      {{"SPARE NODES", true, true}, "{:.0f}", [](D d) { return static_cast<double>(d.spare_nodes); }},
      {{"WRITE GB/S", true, true}, "{:.0f}", [](D d) { return d.write_gb_s; }},
      {{"READ GB/S", true, true}, "{:.0f}", [](D d) { return d.read_gb_s; }},
      {{"STEP S", true, true}, "{:.3f}", [](D d) { return d.run ? d.step_s : kNone; }},
      {{"INTERRUPTIONS", true, true}, "{:.0f}", [](D d) { return d.run ? d.run->interruptions : kNone; }},
  };
  Table t;
  t.columns = {{"#", true}, {"GPU"}, {"NETWORK"}, {"BEST"}};
  for (const Shown& n : kNumbers) t.columns.push_back(n.column);
  for (const design::ClusterDesign& d : designs) {
    std::vector<Cell> row = {Cell(fmt::format("{}", t.rows.size() + 1)), Cell(d.gpu), Cell(network_words(d.fabric)),
                             Cell(d.front ? "yes" : "", d.front ? Tone::good : Tone::plain)};
    for (const Shown& n : kNumbers) {
      const double v = n.of(d);
      Cell c(v == kNone ? "-" : fmt::format(fmt::runtime(n.format), v));
      c.raw = v == kNone ? "" : fmt::format("{:.6g}", v);
      c.key = v;
      row.push_back(std::move(c));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::vector<std::string> say_cluster(const design::ClusterDesign& d, double years) {
  std::vector<std::string> out;
  out.push_back(fmt::format("servers: {} of {} {} in racks of {}, {:.1f} million USD", d.nodes, d.node_gpus, upper(d.gpu),
                            d.nodes_per_rack, d.servers_usd / 1e6));
  out.push_back(
      fmt::format("network: {}, {} leaves of {} switches, cables: {} copper, {} active, {} fibre with {} transceivers; {:.1f} "
                  "million USD",
                  network_words(d.fabric), d.leaves, d.switches, d.cables.copper, d.cables.active, d.cables.fibre, d.transceivers,
                  d.network_usd / 1e6));
  out.push_back(fmt::format(
      "it crosses {:.2f} switches on average; its narrowest tier carries {:.0f} % of the cards' rate, {:.1f} % with one switch "
      "gone; 1 GiB is all-reduced in about {:.1f} ms",
      d.hops, 100 * d.bisection, 100 * d.one_down, d.all_reduce_s * 1e3));
  say_storage(d, out);
  out.push_back(fmt::format("on the shelf: {} nodes for those away for repair, {} cables and a switch; {:.1f} million USD",
                            d.spare_nodes, d.spare_cables, d.spares_usd / 1e6));
  out.push_back(fmt::format(
      "power: {:.2f} MW of machines, {:.2f} MW with cooling; hall and people {:.1f} million USD a year, {:.0f} million "
      "USD in {:g} years with what is bought",
      d.it_mw, d.mw, d.yearly_usd / 1e6, (d.capital_usd() + d.yearly_usd * years) / 1e6, years));
  if (d.growth) {
    out.push_back(
        fmt::format("to {} GPUs later: {} nodes, {} switches and {} cables more, with as much more storage; {:.1f} "
                    "million USD at today's prices",
                    d.growth->gpus, d.growth->nodes, d.growth->switches, d.growth->cables, d.growth->usd / 1e6));
  }
  if (d.run && d.plan) {
    out.push_back(fmt::format("the run: {}; a step of {:.2f} s, {:.1f} days, about {:.0f} interruptions", say_plan(*d.plan),
                              d.step_s, d.run->s / 86'400, d.run->interruptions));
  }
  return out;
}

Value clusters_value(const design::ClusterDesigns& found, double years) {
  const std::vector<bool> front = front_of(found, years);
  Value::Array designs;
  for (std::size_t i = 0; i < found.designs.size(); ++i) {
    Members one;
    one.count("number", i + 1).yes("front", front[i]);
    designs.push_back(one.with(design_value(found.designs[i], years)).take());
  }
  Members out;
  out.number("years", years).put("designs", Value(std::move(designs))).put("left_out", texts(found.left_out));
  return out.take();
}

std::string render_cluster_file(const design::ClusterDesign& d) {
  const bool rack_domain = d.node_gpus < 8;
  const std::uint32_t down = design::leaf_ports_down(d.fabric);
  const std::uint32_t per_leaf =
      std::min(d.nodes, rack_domain                                 ? d.nodes_per_rack
                        : d.fabric.kind == design::FabricKind::rail ? down
                                                                    : std::max(1U, down / d.node_gpus));
  const std::uint32_t groups = (d.nodes + per_leaf - 1) / per_leaf;
  return fmt::format(
      "# {} {}, {}\nname: {}-{}\ngpu: {}\nnodes: {}\ngpus_per_node: {}\nnodes_per_rack: {}\nnodes_per_leaf: {}\nleaves_per_pod: "
      "{}\n"
      "nvlink_domain: {}\nlink_gbps: {:g}\noversubscription: {:.3g}\nstorage_write_gbs: {:.0f}\n",
      d.gpus, upper(d.gpu), network_words(d.fabric), d.gpu, d.gpus, upper(d.gpu), d.nodes, d.node_gpus, d.nodes_per_rack,
      per_leaf, std::min(groups, 8U), rack_domain ? "rack" : "node", d.fabric.gb_s * 8,
      d.bisection > 0 ? std::max(1.0, 1 / d.bisection) : 1, std::max(5.0, d.write_gb_s));
}

}  // namespace muster::report
