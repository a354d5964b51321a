// muster design cluster.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_design_cluster(CLI::App& design) {
  auto* sub = command(design, "cluster", "What to buy for a need: designs compared by what they cost, draw and do", nullptr,
                      "  muster design cluster --model llama3-405b --tokens 15T --days 60 --batch 2048\n"
                      "  muster design cluster --gpus 1024 --grow-to 4096 --gpu h200\n"
                      "  muster design cluster --gpus 1024 --gpu h200 --show 1 --emit cluster > cluster.yaml");
  DesignClusterOptions& o = design_cluster_;
  design::ClusterAsk& a = o.ask;
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t max) {
    value(sub, flag, "N", about,
          [flag, &to, max](const std::string& s) { to = static_cast<std::uint32_t>(checked(parse_count(flag, s, 1, max))); });
  };
  words(sub, "--model", "NAME|FILE", "The model to train, as muster plan takes it", o.model, {WordKind::file, {}});
  value(sub, "--tokens", "N", "Tokens to train on, as 15T",
        [&a](const std::string& s) { a.tokens = checked(parse_tokens("--tokens", s)); });
  value(sub, "--days", "N", "Days in which that must be done, interruptions included",
        [&a](const std::string& s) { a.days = checked(parse_quantity("--days", s, 0.01, 3650)); });
  count("--gpus", "Instead of days: so many GPUs", a.gpus, 131'072);
  count("--grow-to", "GPUs later on, for which the network must have room", a.grow_to, 131'072);
  count("--batch", "Sequences a step [1024]", a.batch, 10'000'000);
  count("--seq", "Tokens a sequence [8192]", a.seq, 10'000'000);
  Words dtypes, coolings, files;
  for (const auto name : names(Dtype{})) dtypes.emplace_back(name);
  choice(sub, "--dtype", "FORMAT", join(dtypes, ", ") + " [bf16]", dtypes,
         [&a](std::size_t i) { a.dtype = static_cast<Dtype>(i); });
  value(sub, "--gpu", "NAME,...", "GPUs to choose from [all that have a price]", [&o](const std::string& s) {
    for (const auto name : split(s, ',')) {
      if (std::find(o.gpus.begin(), o.gpus.end(), trim(name)) == o.gpus.end()) o.gpus.emplace_back(trim(name));
    }
  });
  words(sub, "--prices", "FILE", "Prices of one's own, as data/hardware/prices.csv", o.prices, {WordKind::file, {}});
  count("--radix", "Ports of a switch [64]", a.radix, 254);
  for (const auto name : names(design::Cooling{})) coolings.emplace_back(name);
  choice(sub, "--cooling", "BY", join(coolings, ", ") + " [air]", coolings,
         [&a](std::size_t i) { a.cooling = static_cast<design::Cooling>(i); });
  words(sub, "--store", "KIND", "What checkpoints are written to: lustre, gpfs, weka [the cheapest that does]", a.store);
  value(sub, "--feed", "GB/S", "What each GPU reads of data; text needs next to nothing, images 1 to 4 [0.05]",
        [&a](const std::string& s) { a.feed_gb_s = checked(parse_quantity("--feed", s, 0, 100)); });
  value(sub, "--checkpoint", "SECONDS", "Until a checkpoint must be durable [60]",
        [&a](const std::string& s) { a.checkpoint_s = checked(parse_quantity("--checkpoint", s, 1, 86'400)); });
  value(sub, "--years", "N", "That it is kept [4]",
        [&a](const std::string& s) { a.years = checked(parse_quantity("--years", s, 0.5, 20)); });
  count("--show", "One of them, line by line", o.show, 1000);
  for (const auto name : names(ClusterFile{})) files.emplace_back(name);
  choice(sub, "--emit", "FILE",
         "Of that one or the first: the cluster file that the twin runs, or the fabric as ibnetdiscover prints it", files,
         [&o](std::size_t i) { o.emit = static_cast<ClusterFile>(i); });
  add_format(sub, o.format, {Format::table, Format::wide, Format::json, Format::csv});
  chosen(sub, o);
}

}  // namespace muster::cmd
