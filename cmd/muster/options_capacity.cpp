// muster capacity: forecasts, replays and purchases; and the benchmark of the first two.
#include <fmt/core.h>

#include "options_parser.h"

namespace muster::cmd {
namespace {

constexpr const char* kJobsHelp =
    "Jobs: CSV with timestamp, duration and num_gpus, or what `sacct -a -X -P` or `sacct --json` printed";

// "8:1h" or "8:1h:90"; "any" instead of the GPUs for the last class.
Result<TargetWish> parse_target(std::string_view text) {
  const auto parts = split(text, ':');
  const auto bad = [&](const std::string& why) {
    return fail(Code::bad_input, fmt::format("--target \"{}\": {}", printable(text), why),
                "GPUS:WAIT or GPUS:WAIT:PERCENT, such as 8:1h, 64:4h:90 or any:12h");
  };
  if (parts.size() < 2 || parts.size() > 3) return bad("it has two or three parts");
  TargetWish t;
  if (parts[0] == "any") {
    t.gpus_max = UINT32_MAX;
  } else {
    const auto n = parse_uint(parts[0]);
    if (!n || *n == 0 || *n > 1'000'000) return bad("GPUs are a number from 1, or any");
    t.gpus_max = static_cast<std::uint32_t>(*n);
  }
  const auto wait = parse_duration_ns(parts[1]);
  if (!wait || *wait <= 0 || *wait > days(365).ns) return bad("the wait is a time such as 30m, 4h or 2d");
  t.wait_s = Duration{*wait}.seconds();
  if (parts.size() == 3) {
    const auto pct = parse_double(parts[2]);
    if (!pct || !(*pct >= 1 && *pct <= 100)) return bad("the percentage is 1 to 100");
    t.pct = *pct;
  }
  return t;
}

}  // namespace

void Parser::add_capacity_limits(CLI::App* sub, CapacityLimits& l) {
  value(sub, "--gpus", "N", "GPUs that are there",
        [&l](const std::string& s) { l.gpus = checked(parse_count("--gpus", s, 1, 10'000'000)); });
  value(sub, "--gpus-per-node", "N", "[8]", [&l](const std::string& s) {
    l.gpus_per_node = static_cast<std::uint32_t>(checked(parse_count("--gpus-per-node", s, 1, 72)));
  });
  value(sub, "--full", "PCT", "The cluster is full where a week's mean demand reaches so much of it [90]",
        [&l](const std::string& s) { l.full_pct = checked(parse_quantity("--full", s, 1, 200, "%")); });
  value(sub, "--racks-free", "N", "Racks with room",
        [&l](const std::string& s) { l.racks_free = checked(parse_count("--racks-free", s, 0, 1'000'000)); });
  value(sub, "--nodes-per-rack", "N", "[4]", [&l](const std::string& s) {
    l.nodes_per_rack = static_cast<std::uint32_t>(checked(parse_count("--nodes-per-rack", s, 1, 100)));
  });
  value(sub, "--kw-free", "KW", "Power with room",
        [&l](const std::string& s) { l.kw_free = checked(parse_quantity("--kw-free", s, 0, 1e7, "kW")); });
  value(sub, "--kw-per-node", "KW", "[1.275 for each GPU, as eight H200]",
        [&l](const std::string& s) { l.kw_per_node = checked(parse_quantity("--kw-per-node", s, 0.1, 1000, "kW")); });
}

void Parser::add_capacity() {
  auto* capacity =
      command(app_, "capacity", "When the cluster is full, how many nodes keep waits short, and what to order when", kDesign,
              "  muster capacity forecast jobs.csv.gz --gpus 800 --racks-free 12\n"
              "  muster capacity replay jobs.csv.gz --gpus 800 --growth 1,1.2\n"
              "  muster capacity procure --nodes-add 16 --need-by 2027-06-01");
  add_capacity_forecast(*capacity);
  add_capacity_replay(*capacity);
  add_capacity_procure(*capacity);
}

void Parser::add_capacity_forecast(CLI::App& capacity) {
  auto& o = capacity_.forecast;
  auto* sub = command(capacity, "forecast",
                      "Demand of the days to come with tested bands, and when GPUs, racks, power or a quota end", nullptr,
                      "  muster capacity forecast jobs.csv.gz\n"
                      "  muster capacity forecast jobs.csv.gz --horizon 90 --gpus 800 --racks-free 12 --kw-free 250\n"
                      "  muster capacity forecast jobs.csv.gz --quota-gpu-hours 250000 --growth 40 -o json");
  words(sub, "FILE", "FILE", kJobsHelp, o.trace, {WordKind::file, {}}, 4095);
  sub->get_option("FILE")->required();
  value(sub, "--horizon", "DAYS", "How far [28]",
        [&o](const std::string& s) { o.horizon_days = checked(parse_count("--horizon", s, 1, 1095)); });
  add_capacity_limits(sub, o.limits);
  value(sub, "--quota-gpu-hours", "N", "GPU-hours that are left of a quota",
        [&o](const std::string& s) { o.limits.quota_gpu_hours = checked(parse_quantity("--quota-gpu-hours", s, 1, 1e12)); });
  value(sub, "--growth", "PCT", "Assume so much more a year, besides what the record says [0]",
        [&o](const std::string& s) { o.growth = checked(parse_quantity("--growth", s, -90, 1000, "%")) / 100; });
  words(sub, "--svg", "FILE", "Draw the bands into this file", o.svg, {WordKind::file, {}});
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  capacity_chosen(sub, o);
}

void Parser::add_capacity_replay(CLI::App& capacity) {
  auto& o = capacity_.replay;
  auto* sub = command(capacity, "replay",
                      "With what chance waits keep their targets, by nodes added: weeks of your jobs, rescheduled", nullptr,
                      "  muster capacity replay jobs.csv.gz --gpus 800\n"
                      "  muster capacity replay jobs.csv.gz --gpus 800 --growth 1,1.2,1.5 --target 8:1h --target any:12h:80\n"
                      "  muster capacity replay jobs.csv.gz --cluster ours.yaml --targets promised.yaml\n"
                      "  muster capacity replay jobs.csv.gz --gpus 800 --held-out     how far such a prediction was off");
  words(sub, "FILE", "FILE", kJobsHelp, o.trace, {WordKind::file, {}}, 4095);
  sub->get_option("FILE")->required();
  auto* gpus = value(sub, "--gpus", "N", "A plain cluster of N GPUs, 8 in a node",
                     [&o](const std::string& s) { o.gpus = checked(parse_gpus(s)); });
  add_cluster(sub, o.cluster)->excludes(gpus);
  value(sub, "--target", "GPUS:WAIT[:PCT]",
        "So many percent of the jobs of so many GPUs at most begin within this time; several [8:1h:90, 64:4h:90, any:12h:90]",
        [&o](const std::string& s) {
          const TargetWish t = checked(parse_target(s));
          if (!o.targets.empty() && o.targets.back().gpus_max >= t.gpus_max) {
            throw BadValue{{Code::bad_input, "--target: sizes must grow from one to the next", "write the smallest class first"}};
          }
          o.targets.push_back(t);
        })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  words(sub, "--targets", "FILE", "Instead: the targets of this file (docs/capacity.md)", o.targets_file, {WordKind::file, {}},
        4095);
  sub->get_option("--targets")->excludes(sub->get_option("--target"));
  value(sub, "--growth", "X,...", "Demand over that of the record, or drift: its level moves as it did before, either way [1]",
        [&o](const std::string& s) {
          o.growths.clear();
          for (const auto part : split(s, ',')) {
            o.growths.push_back(part == "drift" ? 0 : checked(parse_quantity("--growth", part, 0.05, 20)));
          }
        });
  value(sub, "--nodes-add", "N,...", "Show these sizes too [those that the search tries]", [&o](const std::string& s) {
    o.nodes_add.clear();
    for (const auto part : split(s, ',')) {
      o.nodes_add.push_back(static_cast<std::uint32_t>(checked(parse_count("--nodes-add", part, 0, 100'000))));
    }
  });
  value(sub, "--nodes-max", "N", "Nodes the search adds at most [as many as there are]", [&o](const std::string& s) {
    o.nodes_max = static_cast<std::uint32_t>(checked(parse_count("--nodes-max", s, 1, 100'000)));
  });
  value(sub, "--chance", "PCT", "How often a week is to meet every target [90]",
        [&o](const std::string& s) { o.wanted_pct = checked(parse_quantity("--chance", s, 1, 100, "%")); });
  value(sub, "--draws", "N", "Histories drawn for each size [40]",
        [&o](const std::string& s) { o.draws = static_cast<std::uint32_t>(checked(parse_count("--draws", s, 2, 10'000))); });
  value(sub, "--weeks", "N", "Weeks measured in each [4]",
        [&o](const std::string& s) { o.weeks = static_cast<std::uint32_t>(checked(parse_count("--weeks", s, 1, 52))); });
  value(sub, "--seed", "N", "The same seed draws the same histories [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, 1'000'000'000)); });
  value(sub, "--sigma", "X", "Spread of the errors in run-time estimates, log-normal [1]",
        [&o](const std::string& s) { o.sigma = checked(parse_quantity("--sigma", s, 0, 10)); });
  flag(sub, "--counts", o.counts, "Count GPUs only: no nodes and leaves");
  flag(sub, "--pauses", o.pauses, "Long jobs step aside at checkpoints, as with `scheduling: pause: true` of a policy");
  flag(sub, "--held-out", o.held_out, "Hold the last weeks out instead, and show what was predicted of them and what came");
  for (const char* of_sizes : {"--growth", "--nodes-add", "--nodes-max", "--chance"})
    sub->get_option("--held-out")->excludes(sub->get_option(of_sizes));
  value(sub, "--node-usd-year", "USD", "A node's cost a year [from the prices that ship]",
        [&o](const std::string& s) { o.node_usd_year = checked(parse_quantity("--node-usd-year", s, 0, 1e9)); });
  words(sub, "--gpu", "NAME", "GPU whose price is taken [the cluster's, else h200]", o.gpu, {WordKind::choice, gpu_names()}, 100);
  words(sub, "--svg", "FILE", "Draw the chances into this file", o.svg, {WordKind::file, {}});
  for (const char* of_sizes : {"--node-usd-year", "--gpu", "--svg"})
    sub->get_option("--held-out")->excludes(sub->get_option(of_sizes));
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  add_progress(sub, o.progress);
  capacity_chosen(sub, o);
}

void Parser::add_capacity_procure(CLI::App& capacity) {
  auto& o = capacity_.procure;
  auto* sub = command(capacity, "procure",
                      "A purchase as a sheet: items, spares, prices with their range, and the last days to order", nullptr,
                      "  muster capacity procure --nodes-add 16 --need-by 2027-06-01 --today 2026-11-19\n"
                      "  muster capacity procure --nodes-add 16 --trace jobs.csv.gz --gpus 800 --growth 40 -o csv");
  value(sub, "--nodes-add", "N", "Nodes to buy", [&o](const std::string& s) {
    o.nodes_add = static_cast<std::uint32_t>(checked(parse_count("--nodes-add", s, 1, 100'000)));
  })->required();
  words(sub, "--gpu", "NAME", "Of this GPU [h200]", o.gpu, {WordKind::choice, gpu_names()}, 100);
  words(sub, "--trace", "FILE", "Jobs, as muster capacity forecast reads them: for the day the cluster is full", o.trace,
        {WordKind::file, {}}, 4095);
  value(sub, "--need-by", "DAY", "When it has to work, such as 2027-06-01", [&o](const std::string& s) {
    o.need_by = checked(parse_day("--need-by", s));
  })->excludes(sub->get_option("--trace"));
  value(sub, "--today", "DAY", "From which day on it is looked [the end of --trace]",
        [&o](const std::string& s) { o.today = checked(parse_day("--today", s)); });
  add_capacity_limits(sub, o.limits);
  value(sub, "--quota-gpu-hours", "N", "GPU-hours that are left of a quota: when it ends, with --trace",
        [&o](const std::string& s) { o.limits.quota_gpu_hours = checked(parse_quantity("--quota-gpu-hours", s, 1, 1e12)); })
      ->needs(sub->get_option("--trace"));
  value(sub, "--horizon", "DAYS", "How far the forecast looks [365]",
        [&o](const std::string& s) { o.horizon_days = checked(parse_count("--horizon", s, 1, 1095)); });
  value(sub, "--growth", "PCT", "Assume so much more demand a year [0]",
        [&o](const std::string& s) { o.growth = checked(parse_quantity("--growth", s, -90, 1000, "%")) / 100; });
  value(sub, "--install", "WEEKS", "From delivery to work [4]",
        [&o](const std::string& s) { o.install_weeks = checked(parse_quantity("--install", s, 0, 104)); });
  words(sub, "--prices", "FILE", "Your prices, as data/hardware/prices.csv", o.prices, {WordKind::file, {}});
  words(sub, "--terms", "FILE", "Your lead times and spreads, as data/hardware/procurement.csv", o.terms, {WordKind::file, {}});
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  capacity_chosen(sub, o);
}

void Parser::add_bench_capacity(CLI::App& bench) {
  auto& o = capacity_.bench;
  auto* sub =
      command(bench, "capacity", "Forecasts and replays of capacity against what came in a trace. Exit 1: a bound is not kept",
              nullptr, "  muster bench capacity --trace philly.csv.gz --gpus 800");
  words(sub, "--trace", "FILE", "A job trace of nine weeks or more", o.trace, {WordKind::file, {}}, 4095);
  sub->get_option("--trace")->required();
  value(sub, "--gpus", "N", "Of the cluster it is replayed on, and on seven and six eighths of it [800]",
        [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false)); });
  value(sub, "--draws", "N", "Histories [24]",
        [&o](const std::string& s) { o.draws = static_cast<std::uint32_t>(checked(parse_count("--draws", s, 2, 1000))); });
  value(sub, "--seed", "N", "The same seed draws the same histories [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, 1'000'000'000)); });
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  capacity_chosen(sub, o);
}

}  // namespace muster::cmd
