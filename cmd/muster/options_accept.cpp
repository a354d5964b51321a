// muster accept: the tests themselves, and what is made of their recordings.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_known(CLI::App* sub, KnownGpus& known) {
  value(sub, "--fleet", "FOLDER",
        "Recordings that limits come from: of the same kind of GPU, and the GPUs' own past; may be given several times",
        [&known](const std::string& s) { known.folders.push_back(checked(parse_words("--fleet", s, 4096))); },
        {WordKind::directory, {}});
  add_no_shipped(sub, known.shipped);
}

void Parser::add_no_shipped(CLI::App* sub, bool& shipped) {
  sub->add_flag_callback(
         "--no-shipped", [&shipped] { shipped = false; },
         "Without the references that ship, for GPUs of which too few are recorded")
      ->option_text(" ");
}

void Parser::add_accept() {
  auto* accept = command(app_, "accept", "Prove that GPUs are as they should be: results, memory, links, speed, heat", kRun,
                         "  muster accept                            quick: 30 s, before a node takes work again\n"
                         "  muster accept --profile accept --fleet recordings --out recordings\n"
                         "  muster accept judge gpu0001.20261118T120000Z.accept.jsonl\n"
                         "  muster accept report recordings --html fleet.html\n"
                         "  muster accept compare recordings/h100 recordings/h200 --html poc.html");
  AcceptOptions& o = accept_;
  choice(accept, "--profile", "NAME", "quick (30 s), accept (7 min) or burn (accept again and again) [quick]",
         as_words(names(AcceptProfile{})), [&o](std::size_t i) { o.profile = static_cast<AcceptProfile>(i); });
  value(accept, "--gpus", "LIST", "Numbers, UUIDs or PCI addresses, apart by commas [all]", [&o](const std::string& s) {
    const std::string list = checked(parse_words("--gpus", s, 4096));
    for (const std::string_view w : split(list, ',')) o.gpus.emplace_back(trim(w));
  });
  value(
      accept, "--expect-gpus", "N", "GPUs the node must have: with fewer there is no pass [as many as its last recording]",
      [&o](const std::string& s) { o.expected = static_cast<std::uint32_t>(checked(parse_count("--expect-gpus", s, 1, 1024))); });
  value(accept, "--hours", "N", "Of burn [24]",
        [&o](const std::string& s) { o.hours = checked(parse_quantity("--hours", s, 0.001, 24.0 * 365)); });
  words(accept, "--out", "FOLDER", "Where the recording is written; none: nowhere [.]", o.out, {WordKind::directory, {}});
  add_known(accept, o.known);
  words(accept, "--cooling", "WORD",
        "Air, liquid, or what tells apart nodes that are cooled otherwise: they have limits of their own", o.cooling,
        {WordKind::choice, {"air", "liquid"}}, 40);
  words(accept, "--node", "NAME", "What the recording calls the node [the host's name]", o.node, {}, 200);
  words(accept, "--html", "FILE", "Write the report of this node", o.html, {WordKind::file, {}});
  words(accept, "--rma", "FOLDER", "Write what a vendor asks for with a return", o.rma, {WordKind::directory, {}});
  words(accept, "--spool", "DIR", "Folder of this node's agent, which tells the controller the verdict", o.spool,
        {WordKind::directory, {}});
  words(accept, "--library", "FILE", "libmuster-accept-cuda.so [beside muster, then where libraries are]", o.library,
        {WordKind::file, {}});
  words(accept, "--nvml", "FILE", "libnvidia-ml.so.1 of the driver", o.nvml, {WordKind::file, {}});
  words(accept, "--kernel-log", "FILE", "Where the kernel's records are read [/dev/kmsg]", o.kernel_log, {WordKind::file, {}});
  words(accept, "--plant", "KIND:COUNT",
        "Plant faults, to try the tests themselves: bit, bits, nan, repeat, row, address, sm, slow_sm, clock", o.plant, {}, 100);
  value(accept, "--seed", "N", "Of all test data [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  flag(accept, "--list", o.list, "Say which tests would run, for how long, and run none");
  choice(accept, "-o,--output", "FORMAT", "text or json [text]", as_words(names(AcceptFormat{})),
         [&o](std::size_t i) { o.format = static_cast<AcceptFormat>(i); });
  choice(accept, "--progress", "WHEN", "auto, bar, lines or never [auto]", {"auto", "bar", "lines", "never"},
         [&o](std::size_t i) { o.progress = static_cast<int>(i); });
  accept->callback([this, accept] {
    if (accept->get_subcommands().empty()) command_ = accept_;
  });
  add_accept_recorded(*accept);
}

void Parser::add_accept_recorded(CLI::App& accept) {
  const auto files = [this](CLI::App* sub, std::vector<std::string>& into, const char* about) {
    value(sub, "FILE", "FILE", about, [&into](const std::string& s) { into.push_back(checked(parse_words("FILE", s, 4096))); },
          {WordKind::file, {}})
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args()
        ->required();
  };
  const auto format = [this](CLI::App* sub, AcceptFormat& f) {
    choice(sub, "-o,--output", "FORMAT", "text or json [text]", as_words(names(AcceptFormat{})),
           [&f](std::size_t i) { f = static_cast<AcceptFormat>(i); });
  };
  auto* judge = command(accept, "judge", "The verdict on recordings, without any GPU", nullptr,
                        "  muster accept judge gpu0001.accept.jsonl --fleet recordings --html gpu0001.html");
  files(judge, accept_judge_.files, "Recordings of muster accept");
  add_known(judge, accept_judge_.known);
  words(judge, "--html", "FILE", "Write the report of one node", accept_judge_.html, {WordKind::file, {}});
  words(judge, "--rma", "FOLDER", "Write what a vendor asks for with a return", accept_judge_.rma, {WordKind::directory, {}});
  format(judge, accept_judge_.format);
  chosen(judge, accept_judge_);

  auto* report = command(accept, "report", "A fleet: every verdict, where each GPU stands, what is far from its kind", nullptr,
                         "  muster accept report recordings --html fleet.html");
  files(report, accept_report_.files, "Recordings, or folders of them");
  add_no_shipped(report, accept_report_.shipped);
  words(report, "--html", "FILE", "Write it as one page", accept_report_.html, {WordKind::file, {}});
  format(report, accept_report_.format);
  chosen(report, accept_report_);

  AcceptCompareOptions& c = accept_compare_;
  auto* compare =
      command(accept, "compare", "Two kinds of hardware side by side: rates, per watt, per dollar, training steps", nullptr,
              "  muster accept compare h100/ h200/ --price-a 2.0 --price-b 3.1 --model llama3-8b --html poc.html");
  files(compare, c.sides, "Two recordings, or folders of them");
  for (const int i : {0, 1}) {
    const std::string side = i == 0 ? "a" : "b";
    words(compare, "--name-" + side, "NAME", "What it is called [the GPU's name]", c.names[static_cast<std::size_t>(i)], {}, 100);
    words(compare, "--gpu-" + side, "NAME", "Its data sheet: a GPU of data/hardware/gpus.csv [by its name]",
          c.gpus[static_cast<std::size_t>(i)], {WordKind::choice, gpu_names()});
    value(compare, "--price-" + side, "PRICE", "Of an hour of one GPU", [&c, i, side](const std::string& s) {
      c.prices[static_cast<std::size_t>(i)] = checked(parse_quantity("--price-" + side, s, 0.0001, 1e6));
    });
  }
  value(compare, "--model", "NAME", "Whose training step is predicted; may be given several times [llama3-8b, llama3-70b]",
        [&c](const std::string& s) { c.models.push_back(checked(parse_words("--model", s, 4096))); });
  words(compare, "--html", "FILE", "Write it as one page", c.html, {WordKind::file, {}});
  format(compare, c.format);
  chosen(compare, c);
}

void Parser::add_bench_accept(CLI::App& bench) {
  BenchAcceptOptions& o = bench_accept_;
  auto* sub =
      command(bench, "accept", "Acceptance on simulated GPUs: false failures, slow and lying ones found, what testing pays",
              nullptr, "  muster bench accept --gpus 1024 --seed 1");
  value(sub, "--gpus", "N", "Of the fleet that limits come from, 8 in a node [1024]",
        [&o](const std::string& s) { o.gpus = checked(parse_gpus(s, false)); });
  value(sub, "--runs", "N", "So many times as many healthy GPUs are tested [50]",
        [&o](const std::string& s) { o.runs = static_cast<std::uint32_t>(checked(parse_count("--runs", s, 1, 10'000))); });
  value(sub, "--planted", "N", "GPUs with each fault [512]",
        [&o](const std::string& s) { o.planted = static_cast<std::uint32_t>(checked(parse_count("--planted", s, 1, 100'000))); });
  value(sub, "--seed", "N", "The same seed gives the same fleets [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  choice(sub, "-o,--output", "FORMAT", "text or json [text]", as_words(names(AcceptFormat{})),
         [&o](std::size_t i) { o.format = static_cast<AcceptFormat>(i); });
  choice(sub, "--progress", "WHEN", "auto, bar, lines or never [auto]", {"auto", "bar", "lines", "never"},
         [&o](std::size_t i) { o.progress = static_cast<int>(i); });
  chosen(sub, o);
}

}  // namespace muster::cmd
