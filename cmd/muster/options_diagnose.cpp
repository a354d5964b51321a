// muster diagnose.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_diagnose() {
  auto* sub = command(app_, "diagnose", "What bounds a job, from its profiles, logs and dumps, and what to change", kLook,
                      "  muster diagnose rank*.pt.trace.json.gz\n"
                      "  muster diagnose -o html trace.json.gz > page.html\n"
                      "  muster diagnose train.log --config ds_config.json --cluster h100-16384\n"
                      "  muster diagnose /tmp/nccl_trace_rank_*            a job that hangs\n"
                      "  muster diagnose snapshot.pickle                   a job that runs out of memory\n"
                      "  muster diagnose --diff before.json.gz after.json.gz\n"
                      "  muster diagnose --diff run1/ run2/                a profile of each rank, or a log, in each folder\n"
                      "  muster diagnose job 4711 [FILE...]                one that runs: which ranks to take a profile of");
  DiagnoseOptions& o = diagnose_;
  value(sub, "FILE", "FILE",
        "Any of these or folders of them, told by their content, plain or in gzip: profiles of torch.profiler or Nsight Systems "
        "(sqlite), flight recorder dumps, memory snapshots, execution traces, logs of NCCL or a training framework, nccl-tests, "
        "NCCL Inspector, Nsight Compute's CSV, tables of operations; or `job`, its id, and files of it",
        [&o](const std::string& s) { o.files.push_back(checked(parse_words("FILE", s, 4096))); }, {WordKind::file, {}})
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->required();
  value(sub, "--config", "FILE",
        "How the job was started: DeepSpeed's JSON, Accelerate's YAML, torchtitan's TOML, a script or log of Megatron; more than "
        "once",
        [&o](const std::string& s) { o.configs.push_back(checked(parse_words("--config", s, 4096))); }, {WordKind::file, {}});
  add_cluster(sub, o.cluster);
  words(sub, "--gpu", "NAME", "What it ran on, where the files do not tell: a GPU of data/hardware/gpus.csv", o.gpu,
        {WordKind::choice, gpu_names()});
  value(sub, "--gpus", "N", "GPUs of the job, where the files do not tell",
        [&o](const std::string& s) { o.gpus = static_cast<std::uint32_t>(checked(parse_count("--gpus", s, 1, 10'000'000))); });
  value(sub, "--price", "DOLLARS", "Of a GPU-hour: what each remedy saves a day",
        [&o](const std::string& s) { o.price = checked(parse_quantity("--price", s, 0, 1e6)); });
  value(sub, "--batch", "N", "Of the step of a memory snapshot: which would fit", [&o](const std::string& s) {
    o.batch = static_cast<std::uint32_t>(checked(parse_count("--batch", s, 1, 1'000'000'000)));
  });
  value(sub, "--exchange-kernels", "PART",
        "Kernels with this in their name move data between GPUs, beside those that are known to; more than once",
        [&o](const std::string& s) { o.exchange_kernels.push_back(checked(parse_words("--exchange-kernels", s, 200))); });
  flag(sub, "--accounting", o.accounting, "Of profiles: computing, exchanging, copying and nothing, in whole nanoseconds");
  flag(sub, "--diff", o.diff, "Two runs, before and after a change, each a file or a folder of its ranks: what became of it");
  words(sub, "--perfetto", "FILE", "Write there why the GPU was idle, as a trace to open beside the profile (ui.perfetto.dev)",
        o.perfetto, {WordKind::file, {}});
  choice(sub, "-o,--output", "FORMAT", "text, json, html (one page with all of it), or csv with --accounting [text]",
         as_words(names(DiagnoseFormat{})), [&o](std::size_t i) { o.format = static_cast<DiagnoseFormat>(i); });
  add_moment(sub, o.connection);
  add_connection(sub, o.connection);
  chosen(sub, o);
}

}  // namespace muster::cmd
