// muster fabric design and topology: networks with all that they are built, routed and scheduled with.
#include "options_parser.h"

namespace muster::cmd {
namespace {

// Gigabits a second of a port with four lanes, by the names of InfiniBand's speeds.
double parse_link_speed(const std::string& text) {
  constexpr std::pair<std::string_view, double> kSpeeds[] = {{"edr", 100}, {"hdr", 200}, {"ndr", 400}, {"xdr", 800}};
  for (const auto& [name, gbit_s] : kSpeeds) {
    if (lower(text) == name) return gbit_s;
  }
  if (const auto number = parse_double(text); number && *number >= 1 && *number <= 8000) return *number;
  throw BadValue{{Code::bad_input, "--speed must be hdr, ndr, xdr or gigabits a second, is \"" + text + "\"", "--speed ndr"}};
}

std::vector<std::uint32_t> parse_steps(const std::string& text) {
  std::vector<std::uint32_t> out;
  for (const std::string_view part : split(text, ','))
    out.push_back(static_cast<std::uint32_t>(checked(parse_count("--grow", trim(part), 1, 1'048'576))));
  return out;
}

}  // namespace

void Parser::add_fabric_design(CLI::App& fabric) {
  FabricDesignOptions& o = fabric_design_;
  auto* sub = command(fabric, "design", "A network with its cables, racks, price, and files to route and schedule it by", nullptr,
                      "  muster fabric design --nodes 128 --nics 8 --radix 64 --speed ndr --kind rail plan/\n"
                      "  muster fabric design --nodes 128 --grow 256,512 --kind rail --bill\n"
                      "  muster fabric design --nodes 1024 --nics 1 --radix 40 --speed hdr --levels 3 -o json plan/");
  design::FabricAsk& a = o.ask.fabric;
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t min, std::uint64_t max) {
    value(sub, flag, "N", about, [flag, &to, min, max](const std::string& s) {
      to = static_cast<std::uint32_t>(checked(parse_count(flag, s, min, max)));
    });
  };
  const auto number = [&](const char* flag, const char* unit, const char* about, double& to, double min, double max) {
    value(sub, flag, unit, about,
          [flag, &to, min, max](const std::string& s) { to = checked(parse_quantity(flag, s, min, max)); });
  };
  words(sub, "DIR", "DIR", "Folder for the files; it must be new or empty [only the figures are printed]", o.folder,
        {WordKind::directory, {}});
  flag(sub, "--force", o.force, "Write over what the folder holds");
  count("--nodes", "Nodes that are bought now", a.nodes, 1, 1'048'576);
  sub->get_option("--nodes")->required();
  count("--nics", "Network cards of a node [8]", a.nics, 1, 16);
  count("--radix", "Ports of a switch [64]", a.radix, 4, 254);
  value(sub, "--speed", "SPEED", "Of a port: hdr, ndr, xdr or gigabits a second [ndr]",
        [&a](const std::string& s) { a.gb_s = parse_link_speed(s) / 8; });
  Words kinds = as_words(names(design::FabricKind{}));
  choice(sub, "--kind", "KIND", join(kinds, ", ") + " [fat_tree]", kinds,
         [&a](std::size_t i) { a.kind = static_cast<design::FabricKind>(i); });
  number("--oversubscription", "X", "Ports down for one up, of a leaf [1]", a.oversubscription, 1, 16);
  value(sub, "--levels", "N", "Levels of switches, 2 or 3; 0: as few as reach [0]", [&a](const std::string& s) {
    const auto n = parse_count("--levels", s, 0, 3);
    if (!n || *n == 1)
      throw BadValue{{Code::bad_input, "--levels must be 2 or 3, or 0 for as few as reach, is \"" + s + "\"", "--levels 2"}};
    a.levels = static_cast<std::uint32_t>(*n);
  });
  value(sub, "--grow", "N,N", "Nodes after each later step: what is laid now is never moved [it does not grow]",
        [&o](const std::string& s) { o.ask.grow = parse_steps(s); });
  words(sub, "--name-format", "NAME", "Of nodes: the run of # becomes the number, from 1, as gpu#### [node00000 and on, from 0]",
        o.ask.name_format);
  number("--rack-kw", "KW", "That a rack may draw [45]", o.ask.rack_kw, 1, 1000);
  number("--node-kw", "KW", "That a node draws [10.2]", o.ask.node_kw, 0.1, 1000);
  count("--nodes-per-rack", "Instead of what the power allows", o.ask.floor.nodes_per_rack, 1, design::kRackUnits);
  count("--node-units", "Height of a node, in rack units [8]", o.ask.floor.node_units, 1, design::kRackUnits);
  count("--racks-per-row", "Racks in a row [16]", o.ask.floor.racks_per_row, 1, 1000);
  number("--dac-m", "M", "Longest passive copper cable; 0: none [3; from 800 Gb/s on 1.5]", o.dac_m, 0, 100);
  number("--aec-m", "M", "Longest active copper cable; 0: none [7; from 800 Gb/s on 3]", o.aec_m, 0, 100);
  number("--aoc-m", "M", "Longest active optical cable, beyond it modules and fibre; 0: none [30]", o.aoc_m, 0, 1000);
  words(sub, "--prices", "FILE", "Prices instead of those of data/hardware/prices.csv, in the same form", o.prices,
        {WordKind::file, {}});
  value(sub, "--opensm-folder", "DIR", "Where OpenSM will find its files [/etc/opensm]",
        [&o](const std::string& s) { o.wishes.opensm_folder = checked(parse_plain_path("--opensm-folder", s)); });
  count("--nvlink-nodes", "Nodes in order that share one NVLink domain [1]", o.wishes.domain_nodes, 1, 1024);
  flag(sub, "--bill", o.bill, "Print what is bought line by line, with where its price is from");
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  chosen(sub, o);
}

void Parser::add_fabric_topology(CLI::App& fabric) {
  FabricTopologyOptions& o = fabric_topology_;
  auto* sub = command(fabric, "topology", "The tree of a discovered network, for Slurm or Kubernetes to place jobs by", nullptr,
                      "  ibnetdiscover > found.net; muster fabric topology found.net > topology.conf\n"
                      "  muster fabric topology found.net -o slurm-yaml > topology.yaml\n"
                      "  muster fabric topology found.net -o k8s | kubectl apply --server-side -f -");
  words(sub, "FILE", "FILE", "What ibnetdiscover printed", o.net, {WordKind::file, {}});
  sub->get_option("FILE")->required();
  const Words forms = as_words(names(TopologyForm{}));
  choice(sub, "-o,--output", "FORMAT", join(forms, ", ") + " [slurm]", forms,
         [&o](std::size_t i) { o.form = static_cast<TopologyForm>(i); });
  value(sub, "--nvlink-nodes", "N", "Nodes in order that share one NVLink domain, for k8s [1]", [&o](const std::string& s) {
    o.domain_nodes = static_cast<std::uint32_t>(checked(parse_count("--nvlink-nodes", s, 1, 1024)));
  });
  chosen(sub, o);
}

}  // namespace muster::cmd
