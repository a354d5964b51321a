// Commands on simulated clusters: the twin, replays of traces, benchmarks.
#include "options_parser.h"
#include "twin/fault.h"

namespace muster::cmd {
namespace {

Words split_list(const char* flag, const std::string& text) {
  Words out;
  for (const std::string_view part : split(text, ',')) out.emplace_back(part);
  const auto empty = [](const std::string& s) { return s.empty(); };
  if (std::any_of(out.begin(), out.end(), empty))
    throw BadValue{{Code::bad_input, std::string(flag) + " must be a list such as a,b, is \"" + text + "\"", ""}};
  return out;
}

}  // namespace

void Parser::add_twin() {
  auto* twin = command(app_, "twin", "Try a policy, a workload or a fault on a simulated cluster", kTry);
  auto* run = command(*twin, "run", "Run the loop on a simulated cluster and print what came of it", nullptr,
                      "  muster twin run --gpus 1024 --days 7 --seed 1 -o json\n"
                      "  muster twin run --cluster h100-16384 --jobs mix:llm --policy mine.yaml --journal week.db");
  add_twin_choice(run, twin_run_.twin);
  add_days(run, twin_run_.days, "Simulated days [1]", false);
  words(run, "--journal", "FILE", "Keep the events in this file, to replay or export", twin_run_.journal, {WordKind::file, {}});
  add_format(run, twin_run_.format, {Format::table, Format::json});
  add_progress(run, twin_run_.progress);
  chosen(run, twin_run_);

  auto* replay = command(*twin, "replay", "Run a journal again: with the same policy, or with another", nullptr,
                         "  muster twin replay week.db --check\n"
                         "  muster twin replay week.db --policy bold.yaml --days 2");
  words(replay, "JOURNAL", "JOURNAL", "Journal file", twin_replay_.journal, {WordKind::file, {}});
  replay->get_option("JOURNAL")->required();
  flag(replay, "--check", twin_replay_.check, "The same policy must give the same actions, bit for bit");
  add_policy(replay, twin_replay_.policy, "Another policy: shows the first differing action, then goes on in a copy");
  replay->get_option("--check")->excludes(replay->get_option("--policy"));
  add_days(replay, twin_replay_.days, "How far to go on after the first difference [1]", false);
  add_format(replay, twin_replay_.format, {Format::table, Format::json});
  add_progress(replay, twin_replay_.progress);
  chosen(replay, twin_replay_);

  auto* soak = command(*twin, "soak", "Run many seeds and check what must always hold", nullptr,
                       "  muster twin soak --seeds 200 --first-seed 1 --gpus 512 --days 2\n"
                       "  muster twin soak --faults 1000000 --weather x200 --log seeds.jsonl   then 200,000 node-days at x1\n"
                       "  muster twin soak --weather x1 --days 14 --seeds 112   only how often sound nodes are drained");
  add_twin_choice(soak, twin_soak_.twin, false);
  value(soak, "--seeds", "N", "How many seeds [20]", [this](const std::string& s) {
    twin_soak_.seeds = static_cast<std::uint32_t>(checked(parse_count("--seeds", s, 1, 1'000'000)));
  });
  value(soak, "--faults", "N", "Go on with more seeds until so many faults have struck; needs weather",
        [this](const std::string& s) { twin_soak_.faults = checked(parse_count("--faults", s, 1, 1'000'000'000)); });
  value(soak, "--first-seed", "K", "The first of them [1]", [this](const std::string& s) {
    twin_soak_.first_seed = checked(parse_count("--first-seed", s, 0, UINT64_MAX - 1'000'000));
  });
  add_days(soak, twin_soak_.days, "Simulated days of each [2]", false);
  value(soak, "--load", "X",
        "Work offered over what the cluster can do; above 1 the queue grows all the time [0.85, or the file's]",
        [this](const std::string& s) { twin_soak_.load = checked(parse_quantity("--load", s, 0.01, 5, "")); });
  value(soak, "--x1-node-days", "N",
        "Then so many node-days at weather x1, for the rate at which sound nodes are drained; 0: none [a fifth of --faults]",
        [this](const std::string& s) { twin_soak_.x1_node_days = checked(parse_quantity("--x1-node-days", s, 0, 1e8, "")); });
  words(soak, "--log", "FILE", "Append a line of JSON for each seed as it ends", twin_soak_.log, {WordKind::file, {}});
  add_format(soak, twin_soak_.format, {Format::table, Format::json});
  add_progress(soak, twin_soak_.progress);
  chosen(soak, twin_soak_);
  add_twin_compare(*twin);
  add_twin_serve(*twin);
  add_twin_inject(*twin);
}

void Parser::add_twin_compare(CLI::App& twin) {
  auto* sub = command(twin, "compare", "Judge policies: the same seeds under each, and which differences are not chance", nullptr,
                      "  muster twin compare --policy default --policy mine.yaml --gpus 1024 --days 7 --seeds 20\n"
                      "  muster twin compare --policy default --policy a.yaml --policy b.yaml --cluster mine.yaml --weather x10\n"
                      "  muster twin compare --policy default --policy bold.yaml --journal week.db --days 2\n"
                      "  muster twin compare --policy default --policy default --seeds 3   finds no difference at all");
  auto& o = twin_compare_;
  value(sub, "--policy", "NAME|FILE",
        "A policy, " + join(preset_policy_names(), ", ") + " or a file; twice or more, the others are held against the first",
        [&o](const std::string& s) { o.policies.push_back(checked(parse_words("--policy", s, 4096))); },
        {WordKind::file, preset_policy_names()})
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_twin_choice(sub, o.twin, false, false);
  value(sub, "--seeds", "N", "How many seeds, each under every policy; 6 are the fewest that can show anything [20]",
        [&o](const std::string& s) { o.seeds = static_cast<std::uint32_t>(checked(parse_count("--seeds", s, 1, 100'000))); });
  value(sub, "--first-seed", "K", "The first of them [1]",
        [&o](const std::string& s) { o.first_seed = checked(parse_count("--first-seed", s, 0, UINT64_MAX - 1'000'000)); });
  add_days(sub, o.days, "Simulated days of each run [7]", false);
  value(sub, "--price", "X", "What a lost GPU-hour costs, for all policies [their gpu_hour_price]",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1e6, "")); });
  words(sub, "--journal", "FILE", "Begin every run where this recorded history ends, on its cluster", o.journal,
        {WordKind::file, {}});
  sub->get_option("--journal")->excludes(sub->get_option("--gpus"))->excludes(sub->get_option("--cluster"));
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  sub->callback([this] {
    if (twin_compare_.policies.size() < 2) {
      throw BadValue{{Code::bad_input, "compare needs two policies or more",
                      "--policy default --policy " + (twin_compare_.policies.empty() ? "FILE" : twin_compare_.policies[0])}};
    }
    command_ = twin_compare_;
  });
}

void Parser::add_twin_serve(CLI::App& twin) {
  auto* sub = command(twin, "serve", "Run a simulated cluster as a process of its own, for `muster up --twin`", nullptr,
                      "  muster twin serve --gpus 512 --listen unix:/tmp/twin.sock --orders-log orders.jsonl\n"
                      "  muster up --twin unix:/tmp/twin.sock");
  add_twin_choice(sub, twin_serve_.twin);
  add_speed(sub, twin_serve_.speed);
  value(sub, "--listen", "ADDRESS", "unix:PATH or 127.0.0.1:PORT [127.0.0.1:7071]",
        [this](const std::string& s) { twin_serve_.listen = checked(parse_listen(s)); });
  words(sub, "--orders-log", "FILE", "Append each received order to this file", twin_serve_.orders_log, {WordKind::file, {}});
  chosen(sub, twin_serve_);
}

void Parser::add_twin_inject(CLI::App& twin) {
  auto* sub = command(twin, "inject", "Break something in a running demo, and see what happens", nullptr,
                      "  muster twin inject gpu_off_bus node0017 --slot 3\n"
                      "  muster twin inject node_hang node0042\n"
                      "  muster twin inject pdu_loss node0017 --lasts 30m    # its rack; also switch_failure (its leaf)\n"
                      "  muster twin inject cooling_fault node0017           # its row: needs a cluster file with racks_per_row\n"
                      "  muster twin inject bad_push --share 0.2 --lasts 2h  # strikes the site: no node; also engine_away ...");
  const auto faults = as_words(twin::names(twin::FaultKind{}));
  choice(sub, "FAULT", "FAULT", "What goes wrong: " + join(faults, ", "), faults, [this, faults](std::size_t i) {
    twin_inject_.fault = faults[i];
  })->required();
  words(sub, "NODE", "NODE", "Where; not needed for what strikes the whole site", twin_inject_.node, {WordKind::node, {}}, 255);
  value(sub, "--slot", "N", "Which GPU of the node, from 0 [chosen by the twin]",
        [this](const std::string& s) { twin_inject_.slot = static_cast<int>(checked(parse_count("--slot", s, 0, 15))); });
  value(sub, "--lasts", "TIME", "Until somebody mends it, of disasters and stalls [as usual for the kind]",
        [this](const std::string& s) { twin_inject_.lasts_s = checked(parse_duration_s("--lasts", s, 30 * 86'400)); });
  value(sub, "--share", "PART", "Part of the nodes that a bad_push reaches, above 0 and up to 1 [0.3]",
        [this](const std::string& s) {
          twin_inject_.share = checked(parse_quantity("--share", s, 0, 1));
          if (twin_inject_.share > 0) return;
          throw BadValue{{Code::bad_input, "--share 0: a push that reaches no node breaks nothing", "give more than 0, up to 1"}};
        });
  add_connection(sub, twin_inject_.connection);
  sub->callback([this] {
    twin::FaultKind kind{};
    (void)parse_name(twin_inject_.fault, kind);
    if (twin_inject_.node.empty() && twin::needs_node(kind)) {
      throw BadValue{
          {Code::bad_input, "NODE is required: " + twin_inject_.fault + " strikes one, or the part it belongs to", ""}};
    }
    if (!twin_inject_.node.empty() && !twin::needs_node(kind)) {
      throw BadValue{{Code::bad_input, twin_inject_.fault + " strikes the whole site, not a node",
                      "muster twin inject " + twin_inject_.fault}};
    }
    command_ = twin_inject_;
  });
}

void Parser::add_replay() {
  auto* replay = command(app_, "replay", "Run recorded work through the scheduler", kTry);
  auto* sub = command(*replay, "jobs", "A job trace under a scheduling policy: waits, utilisation, who waited how long", nullptr,
                      "  muster replay jobs --trace philly.csv.gz --gpus 800 --policy easy\n"
                      "  muster replay jobs --trace philly.csv.gz --gpus 800 --compare --svg queue.svg\n"
                      "  muster replay jobs --trace philly.csv.gz --cluster mine.yaml --failures --slow-far");
  auto& o = replay_jobs_;
  words(sub, "--trace", "FILE", "CSV, plain or .gz: timestamp, duration (s), num_gpus; gpu_model if known; or as sacct -P prints",
        o.trace, {WordKind::file, {}});
  sub->get_option("--trace")->required();
  auto* gpus = value(sub, "--gpus", "N", "GPUs of the cluster, 8 in a node, 32 nodes on a leaf [800]",
                     [&o](const std::string& s) { o.gpus = checked(parse_gpus(s)); });
  add_cluster(sub, o.cluster)->excludes(gpus);
  const Words policies{"fifo", "easy", "sjf", "las", "muster"};
  auto* policy = choice(sub, "--policy", "NAME", join(policies, ", ") + " [muster]", policies,
                        [&o, policies](std::size_t i) { o.policy = policies[i]; });
  value(sub, "--seed", "N", "Of the errors in the run-time estimates, and of failures [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  value(sub, "--sigma", "X", "Estimates are off by a log-normal factor of this spread; 0: exact [1]",
        [&o](const std::string& s) { o.sigma = checked(parse_quantity("--sigma", s, 0, 4, "")); });
  value(sub, "--speedup", "X", "Arrivals come this much faster than recorded [1]",
        [&o](const std::string& s) { o.speedup = checked(parse_quantity("--speedup", s, 0.01, 100, "")); });
  auto* yes = sub->add_flag_callback(
      "--topology", [&o] { o.topology = Switch::on; }, "Place on nodes and leaves, not counts");
  auto* no = sub->add_flag_callback(
      "--no-topology", [&o] { o.topology = Switch::off; }, "GPU counts only [all but muster]");
  yes->option_text(" ")->excludes(no->option_text(" "));
  flag(sub, "--failures", o.failures, "Nodes fail at the published rate; jobs restart from their last checkpoint");
  flag(sub, "--slow-far", o.slow_far, "A gang over more leaves than it needs runs slower");
  flag(sub, "--no-pauses", o.no_pauses, "muster: no long job steps aside at a checkpoint, as in the shipped policy");
  flag(sub, "--compare", o.compare, "Run easy and muster on the same estimates and show the ratios");
  sub->get_option("--compare")->excludes(policy);
  words(sub, "--svg", "FILE", "Draw queue and utilisation into this file", o.svg, {WordKind::file, {}});
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  chosen(sub, o);
}

void Parser::add_bench() {
  auto* bench =
      command(app_, "bench", "Measure the scheduler (speed, packing, energy, heat), recovery, the intake and predictions", kTry);
  add_bench_place(*bench);
  add_bench_openb(*bench);
  add_bench_account(*bench);
  add_bench_energy(*bench);
  add_bench_ingest(*bench);
  add_bench_detect(*bench);
  add_bench_llama3(*bench);
  add_bench_upgrade(*bench);
  add_bench_accuracy(*bench);
  add_bench_accept(*bench);
  add_bench_fleet(*bench);
  add_bench_capacity(*bench);
}

void Parser::add_bench_place(CLI::App& bench) {
  auto* sub = command(bench, "place", "Time of a gang decision, and how few leaf switches it uses", nullptr,
                      "  muster bench place --gpus 98304 --load 0.97 -o json\n"
                      "  muster bench place --scale --svg growth.svg");
  auto& o = bench_place_;
  auto* gpus = value(sub, "--gpus", "N", "GPUs, 8 in a node, 32 nodes on a leaf, 16 leaves in a pod [98304]",
                     [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false, 4'000'000)); });
  value(sub, "--load", "X", "Share of the GPUs kept busy; below 1, where nothing could be placed [0.97]",
        [&o](const std::string& s) { o.load = checked(parse_quantity("--load", s, 0.01, 0.999, "")); });
  value(sub, "--seed", "N", "The same seed gives the same stream of gangs [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  value(sub, "--decisions", "N", "How many gangs are placed [400000]",
        [&o](const std::string& s) { o.decisions = checked(parse_count("--decisions", s, 1000, 100'000'000)); });
  flag(sub, "--peer", o.peer, "First-fit beside it, on the same stream");
  flag(sub, "--scale", o.scale, "From 1,000 to 1,000,000 GPUs, and how the time grows");
  sub->get_option("--scale")->excludes(gpus)->excludes(sub->get_option("--peer"));
  words(sub, "--svg", "FILE", "With --scale: draw the growth into this file", o.svg, {WordKind::file, {}});
  add_format(sub, o.format, {Format::table, Format::json});
  chosen(sub, o);
}

void Parser::add_bench_openb(CLI::App& bench) {
  auto* sub = command(bench, "openb", "Packing of shared and whole GPUs, on the lists of the Alibaba 2023 trace", nullptr,
                      "  muster bench openb --nodes openb_node_list_gpu_node.csv.gz --pods openb_pod_list_default.csv.gz \\\n"
                      "      --policy fgd --seeds 1000-1009");
  auto& o = bench_openb_;
  words(sub, "--nodes", "FILE", "Node list, CSV or .gz", o.nodes, {WordKind::file, {}});
  sub->get_option("--nodes")->required();
  words(sub, "--pods", "FILE", "Pod list, CSV or .gz", o.pods, {WordKind::file, {}});
  sub->get_option("--pods")->required();
  const Words policies{"random", "bestfit", "fgd", "muster"};
  choice(sub, "--policy", "NAME", join(policies, ", ") + " [muster]", policies,
         [&o, policies](std::size_t i) { o.policy = policies[i]; });
  value(sub, "--seeds", "A-B", "Seeds of the arrival order [1000-1009]", [&o](const std::string& s) {
    const std::size_t dash = s.find('-');
    o.first_seed = checked(parse_count("--seeds", s.substr(0, dash), 0, UINT32_MAX));
    o.last_seed = dash == std::string::npos ? o.first_seed : checked(parse_count("--seeds", s.substr(dash + 1), 0, UINT32_MAX));
    if (o.last_seed < o.first_seed || o.last_seed - o.first_seed > 9999)
      throw BadValue{{Code::bad_input, "--seeds must be A-B with A <= B and at most 10000 of them, is \"" + s + "\"", ""}};
  });
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  chosen(sub, o);
}

void Parser::add_bench_energy(CLI::App& bench) {
  auto* price = command(bench, "price", "Energy bill of deferrable work, against the best that hindsight allows", nullptr,
                        "  muster bench price --prices dayahead_PJM_hourly.csv");
  words(price, "--prices", "FILE", "CSV, plain or .gz: timestamp, price_per_mwh, forecast_per_mwh", bench_price_.prices,
        {WordKind::file, {}});
  price->get_option("--prices")->required();
  add_format(price, bench_price_.format, {Format::table, Format::json});
  add_progress(price, bench_price_.progress);
  chosen(price, bench_price_);
  auto* heat = command(bench, "heat", "A cooling fault in one row, with and without looking at the heat", nullptr,
                       "  muster bench heat --gpus 1024 --seed 1");
  auto& o = bench_heat_;
  value(heat, "--gpus", "N", "GPUs, 8 in a node [1024]", [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false)); });
  value(heat, "--seed", "N", "The same seed gives the same history [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  add_format(heat, o.format, {Format::table, Format::json});
  add_progress(heat, o.progress);
  chosen(heat, o);
}

void Parser::add_bench_detect(CLI::App& bench) {
  auto* sub = command(bench, "detect", "Precision and recall of the detectors on a labelled corpus", nullptr,
                      "  muster bench detect --corpus tests/corpus -o json");
  words(sub, "--corpus", "DIR", "Folder of *.cases files [tests/corpus]", bench_detect_.corpus);
  add_format(sub, bench_detect_.format, {Format::table, Format::json});
  chosen(sub, bench_detect_);
}

void Parser::add_bench_llama3(CLI::App& bench) {
  auto* sub = command(bench, "llama3",
                      "The 54 days of Llama 3: 16,384 GPUs, one job, the 419 published interruptions, and how much of the time "
                      "trained. Exit 6 where a bound is not kept",
                      nullptr,
                      "  muster bench llama3                                   about a quarter of an hour of CPU\n"
                      "  muster bench llama3 --policy default --stall 1 --seeds 4 -o json\n"
                      "  muster bench llama3 --policy default --stall 1,3,10 --restart 240s --spares 4");
  auto& o = bench_llama3_;
  value(sub, "--policy", "LIST", "Policies, each a preset or a file; manual is run with a crew [default,manual]",
        [&o](const std::string& s) { o.policies = split_list("--policy", s); });
  value(sub, "--stall", "LIST", "Seconds that steps stop at each checkpoint; the crew has the last of them [1,3]",
        [&o](const std::string& s) {
          o.stalls_s.clear();
          for (const std::string& x : split_list("--stall", s))
            o.stalls_s.push_back(checked(parse_some_time("--stall", x, 3600)));
        });
  const auto time = [&](const char* name, const char* about, double& to, double most) {
    value(sub, name, "TIME", about, [name, &to, most](const std::string& s) { to = checked(parse_some_time(name, s, most)); });
  };
  const auto count = [&](const char* name, const char* about, std::uint64_t& to, std::uint64_t least, std::uint64_t most) {
    value(sub, name, "N", about,
          [name, &to, least, most](const std::string& s) { to = checked(parse_count(name, s, least, most)); });
  };
  count("--seeds", "Runs, each of another seed [30]", o.seeds, 1, 10'000);
  count("--seed", "The first of them [1]", o.first_seed, 0, UINT32_MAX);
  value(sub, "--days", "N", "Length of a run [54]", [&o](const std::string& s) { o.days = checked(parse_days(s, false)); });
  value(sub, "--gpus", "N", "GPUs of the job, 8 in a node; fewer fail less often [16384]",
        [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false, 131'072)); });
  time("--restart", "From a start of the job to its first step [120s]", o.restart_s, 86'400);
  time("--recover", "Fault to first new step that the optimum is stated for [180s]", o.recover_s, 86'400);
  time("--checkpoint-every", "Between checkpoints [the best for the stall and the failures]", o.checkpoint_every_s, 86'400);
  time("--step", "One training step [6s]", o.step_s, 3600);
  value(sub, "--checkpoint-gb", "N", "Size of a checkpoint [5670]",
        [&o](const std::string& s) { o.checkpoint_gb = checked(parse_quantity("--checkpoint-gb", s, 0, 1e6, "GB")); });
  value(sub, "--storage-gbs", "N", "What the shared store takes in a second [2000]",
        [&o](const std::string& s) { o.storage_gbs = checked(parse_quantity("--storage-gbs", s, 1, 1e6, "GB/s")); });
  count("--spares", "Nodes beside the job's [16]", o.spares, 0, 1024);
  time("--report-every", "How often each node is scraped [60s]", o.report_every_s, 600);
  time("--handling", "manual: the crew's look at each failure before the job is started again [380s]", o.handling_s, 86'400);
  count("--severe", "manual: failures in a run that need a person for longer [3]", o.severe, 0, 1000);
  value(sub, "--severe-hours", "N", "manual: how long each of those takes [4]",
        [&o](const std::string& s) { o.severe_h = checked(parse_quantity("--severe-hours", s, 0, 240, "h")); });
  time("--crew-checkpoint", "manual: between checkpoints [600s]", o.crew_checkpoint_s, 86'400);
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  chosen(sub, o);
}

void Parser::add_bench_ingest(CLI::App& bench) {
  auto* sub = command(bench, "ingest", "Samples read and judged in a CPU-second, beside Prometheus and VictoriaMetrics", nullptr,
                      "  muster bench ingest -o json\n"
                      "  muster bench ingest --gpus 100000 --peer-seconds 0");
  auto& o = bench_ingest_;
  value(sub, "--gpus", "N", "GPUs, 8 in a node, with 25 and with 125 series each [8000]",
        [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false)); });
  value(sub, "--rounds", "N", "Scrapes of each node that are measured [3]",
        [&o](const std::string& s) { o.rounds = checked(parse_count("--rounds", s, 1, 1000)); });
  value(sub, "--peer-seconds", "S", "How long each peer that is installed is measured; 0: no peers [20]",
        [&o](const std::string& s) { o.peer_seconds = checked(parse_quantity("--peer-seconds", s, 0, 3600, "s")); });
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  chosen(sub, o);
}

}  // namespace muster::cmd
