// Commands that predict collectives.
#include "ingest/hardware_file.h"
#include "options_parser.h"

namespace muster::cmd {
namespace {

template <class E>
Words words_of() {
  Words out;
  for (const auto name : names(E{})) out.emplace_back(name);
  return out;
}

}  // namespace

void Parser::add_predict_collective(CLI::App& predict) {
  auto* sub = command(predict, "collective", "How long an all-reduce, all-to-all, ... takes, by size", nullptr,
                      "  muster predict collective --gpu h100 --gpus 4096 --bytes 1GiB --fabric fat_tree\n"
                      "  muster predict collective --op all_to_all --gpu gb200 --gpus 144\n"
                      "  muster predict collective --batch measured.csv -o csv > predicted.csv");
  PredictCollectiveOptions& o = predict_collective_;
  const Words ops = words_of<Collective>();
  choice(sub, "--op", "OP", join(ops, ", ") + " [all_reduce]", ops, [&o](std::size_t i) { o.op = static_cast<Collective>(i); });
  value(sub, "--bytes", "SIZE", "Of the whole buffer, as nccl-tests counts [1 KiB to 16 GiB]",
        [&o](const std::string& s) { o.bytes = checked(parse_bytes("--bytes", s)); });
  Words gpus;
  for (const GpuModel& g : gpu_models()) gpus.push_back(g.name);
  words(sub, "--gpu", "NAME", "A GPU of data/hardware/gpus.csv: " + join(gpus, ", "), o.gpu, {WordKind::choice, gpus});
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t min, std::uint64_t max) {
    value(sub, flag, "N", about, [flag, &to, min, max](const std::string& s) {
      to = static_cast<std::uint32_t>(checked(parse_count(flag, s, min, max)));
    });
  };
  count("--gpus", "GPUs that take part", o.gpus, 2, 1'048'576);
  count("--together", "Of these, in one NVLink domain [as many as its links join]", o.together, 1, 1024);
  value(sub, "--nic", "GB/S", "A GPU's share of the network cards, bytes one way [what is usual beside it]",
        [&o](const std::string& s) { o.nic_gb_s = checked(parse_quantity("--nic", s, 0.1, 1000)); });
  const Words networks = {"infiniband", "roce", "efa", "tcpx"};
  choice(sub, "--network", "KIND", join(networks, ", ") + " [infiniband]", networks,
         [&o, networks](std::size_t i) { o.network = networks[i]; });
  const Words kinds = words_of<design::FabricKind>();
  choice(sub, "--fabric", "KIND", "Through switches: " + join(kinds, ", ") + " [every card gets its rate]", kinds,
         [&o](std::size_t i) { o.fabric = static_cast<design::FabricKind>(i); });
  count("--radix", "Ports of a switch [64]", o.ask.radix, 4, 254);
  count("--levels", "Levels of switches, 2 or 3 [as few as reach]", o.ask.levels, 2, 3);
  value(sub, "--oversubscription", "X", "Ports down for one up, of a leaf [1]",
        [&o](const std::string& s) { o.ask.oversubscription = checked(parse_quantity("--oversubscription", s, 1, 16)); });
  flag(sub, "--hashed", o.hashed, "Every flow takes one way, by a hash: the mean of eight draws [all shortest ways alike]");
  flag(sub, "--sharp", o.in_network, "Switches add up (CollNet)");
  flag(sub, "--all", o.all, "Every algorithm, not only the fastest");
  for (const char* name : {"--radix", "--levels", "--oversubscription", "--hashed"}) {
    sub->get_option(name)->needs(sub->get_option("--fabric"));
  }
  words(sub, "--batch", "FILE", "Instead: a table of measured collectives (docs/formats/collectives.md)", o.batch,
        {WordKind::file, {}});
  sub->get_option("--batch")->excludes(sub->get_option("--gpu"));
  add_format(sub, o.format, {Format::table, Format::csv});
  chosen(sub, o);
}

void Parser::add_calibrate_collectives(CLI::App& calibrate) {
  auto* sub = command(calibrate, "collectives", "From tables of measured collectives; prints data/calibration/collective*.csv",
                      nullptr, "  muster calibrate collectives --data measured/ > collectives.csv");
  words(sub, "--data", "DIR", "A folder with tables of collectives", calibrate_collectives_.data, {WordKind::directory, {}});
  sub->get_option("--data")->required();
  const Words parts = words_of<CollectivePart>();
  choice(sub, "--part", "PART", join(parts, ", ") + " [times]", parts,
         [this](std::size_t i) { calibrate_collectives_.part = static_cast<CollectivePart>(i); });
  chosen(sub, calibrate_collectives_);
}

void Parser::add_bench_collectives(CLI::App& bench) {
  auto* sub = command(bench, "collectives", "How far predicted collectives are off where they were not fitted", nullptr,
                      "  muster bench collectives --data measured/\n"
                      "  muster bench collectives --data measured/ --hold table");
  words(sub, "--data", "DIR", "A folder with tables of collectives", bench_collectives_.data, {WordKind::directory, {}});
  sub->get_option("--data")->required();
  choice(sub, "--hold", "WHAT", "Kept back: a row of three by a hash, every third size of a table, or each table in turn [hash]",
         words_of<CollectiveHold>(), [this](std::size_t i) { bench_collectives_.hold = static_cast<CollectiveHold>(i); });
  add_format(sub, bench_collectives_.format, {Format::table, Format::csv});
  chosen(sub, bench_collectives_);
}

}  // namespace muster::cmd
