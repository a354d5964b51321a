// Commands that build networks and say what they give.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_fabric() {
  auto* design = command(app_, "design", "Design clusters and networks", kDesign);
  add_design_cluster(*design);
  auto* net = command(*design, "fabric", "A network from a few numbers, as ibnetdiscover would print it", nullptr,
                      "  muster design fabric --nodes 128 --kind rail --radix 64 > fabric.net");
  design::FabricAsk& a = design_fabric_.ask;
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t min, std::uint64_t max) {
    value(net, flag, "N", about, [flag, &to, min, max](const std::string& s) {
      to = static_cast<std::uint32_t>(checked(parse_count(flag, s, min, max)));
    });
  };
  count("--nodes", "Nodes", a.nodes, 1, 1'048'576);
  net->get_option("--nodes")->required();
  count("--nics", "Network cards of a node [8]", a.nics, 1, 16);
  count("--radix", "Ports of a switch [64]", a.radix, 4, 254);
  count("--levels", "Levels of switches, 2 or 3 [as few as reach]", a.levels, 2, 3);
  Words kinds;
  for (const auto name : names(design::FabricKind{})) kinds.emplace_back(name);
  choice(net, "--kind", "KIND", join(kinds, ", ") + " [fat_tree]", kinds,
         [&a](std::size_t i) { a.kind = static_cast<design::FabricKind>(i); });
  value(net, "--oversubscription", "X", "Ports down for one up, of a leaf [1]",
        [&a](const std::string& s) { a.oversubscription = checked(parse_quantity("--oversubscription", s, 1, 16)); });
  value(net, "--rate", "GB/S", "Of a port, bytes one way: 25 is HDR, 50 NDR [50]",
        [&a](const std::string& s) { a.gb_s = checked(parse_quantity("--rate", s, 0.1, 1000)); });
  chosen(net, design_fabric_);

  auto* predict = command(app_, "predict", "Predict what a network gives, and how long collectives take", kDesign);
  auto* sub = command(*predict, "fabric", "What each card gets when all send at once, through a network as it is routed", nullptr,
                      "  muster predict fabric --net fabric.net --routes opensm-lfts.dump");
  PredictFabricOptions& p = predict_fabric_;
  words(sub, "--net", "FILE", "What ibnetdiscover prints", p.net, {WordKind::file, {}});
  sub->get_option("--net")->required();
  words(sub, "--routes", "FILE", "Forwarding tables: opensm-lfts.dump, or what dump_lfts.sh prints [equal-cost paths by a hash]",
        p.routes, {WordKind::file, {}});
  flag(sub, "--adaptive", p.adaptive, "Every flow uses all shortest ways alike");
  sub->get_option("--adaptive")->excludes(sub->get_option("--routes"));
  value(sub, "--every", "N", "Only every N-th shift [1]",
        [&p](const std::string& s) { p.every = static_cast<std::uint32_t>(checked(parse_count("--every", s, 1, 1'000'000))); });
  value(sub, "--pairs", "N", "Patterns of random pairs [100]",
        [&p](const std::string& s) { p.pairs = static_cast<std::uint32_t>(checked(parse_count("--pairs", s, 1, 100'000))); });
  value(sub, "--cut", "N", "Cut so many cables between switches first, by chance [0]",
        [&p](const std::string& s) { p.cut = static_cast<std::uint32_t>(checked(parse_count("--cut", s, 0, 1'000'000))); });
  value(sub, "--beside", "PCT", "Other jobs have so many of the cards, and send in random pairs all the time [0]",
        [&p](const std::string& s) { p.conditions.beside = checked(parse_quantity("--beside", s, 0, 99, "percent")) / 100; });
  flag(sub, "--paused", p.conditions.paused,
       "Full links pause those before them (PFC alone) instead of slowing the senders (DCQCN, credits by destination)");
  sub->get_option("--paused")->excludes(sub->get_option("--adaptive"));
  value(sub, "--seed", "N", "Of the hash, the pairs, the cables and the other jobs' cards [1]",
        [&p](const std::string& s) { p.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  add_format(sub, p.format, {Format::table, Format::csv});
  chosen(sub, predict_fabric_);
  add_predict_congestion(*predict);
  add_predict_collective(*predict);
}

void Parser::add_predict_congestion(CLI::App& predict) {
  auto* sub = command(predict, "congestion", "Many senders that meet at one Ethernet port: DCQCN against pauses alone", nullptr,
                      "  muster predict congestion --senders 16 --mb 16 --kmin 150 --kmax 450 --pmax 20\n"
                      "  muster predict congestion --senders 32 --tune");
  PredictCongestionOptions& o = predict_congestion_;
  predict::IncastAsk& a = o.ask;
  value(sub, "--senders", "N", "That start at once [8]",
        [&a](const std::string& s) { a.senders = static_cast<std::uint32_t>(checked(parse_count("--senders", s, 1, 4096))); });
  const auto number = [&](const char* flag, const char* unit, const char* about, double& to, double min, double max,
                          double times = 1) {
    value(sub, flag, unit, about,
          [flag, &to, min, max, times](const std::string& s) { to = checked(parse_quantity(flag, s, min, max)) * times; });
  };
  predict::Dcqcn& c = a.control;
  number("--mb", "MB", "That each sends [16]", a.mb, 0.001, 10'000);
  number("--rate", "GB/S", "Of a port, bytes one way: 50 is 400G [50]", a.line_gb_s, 0.1, 1000);
  number("--rtt", "US", "Until what a port marks is felt [8]", a.rtt_us, 1, 1000);
  number("--xoff", "KB", "Of a port's queue, from where it pauses senders (PFC) [2000]", a.xoff_kb, 1, 1e6);
  number("--kmin", "KB", "Of the queue, from where packets are marked [150]", c.kmin_kb, 1, 1e6);
  number("--kmax", "KB", "From where all of them are [450]", c.kmax_kb, 1, 1e6);
  number("--pmax", "PCT", "That are marked just below that [20]", c.pmax, 0.001, 100, 0.01);
  number("--timer", "US", "Between a sender's steps up [300]", c.rate_us, 1, 100'000);
  number("--ai", "MB/S", "Such a step, beyond the rate before [5]", c.ai_gb_s, 0.001, 100'000, 0.001);
  number("--hai", "MB/S", "When many of them went well [50]", c.hai_gb_s, 0.001, 100'000, 0.001);
  flag(sub, "--tune", o.tune, "And the settings near these with which the last is done soonest");
  value(sub, "--seed", "N", "Of which packets are marked [1]",
        [&a](const std::string& s) { a.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  add_format(sub, o.format, {Format::table, Format::csv});
  chosen(sub, o);
}

}  // namespace muster::cmd
