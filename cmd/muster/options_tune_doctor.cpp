// muster tune doctor.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_tune_doctor(CLI::App& tune) {
  auto* sub =
      command(tune, "doctor", "What is wrong with NCCL or the fabric below it, each cause with evidence, fix and proof", nullptr,
              "  muster tune doctor job.log\n"
              "  muster tune doctor job.log all_reduce.txt lspci.txt topo.xml env.txt\n"
              "  muster tune doctor mlnx_qos.txt config_db.json before.txt after.txt --between 10\n");
  TuneDoctorOptions& o = tune_doctor_;
  value(sub, "FILE", "FILE",
        "Any of these or folders of them, told by their content, plain or in gzip: logs of NCCL, RCCL or a job, tables of "
        "nccl-tests, NCCL's topology and graph files, lspci -vvv, nvidia-smi topo -m, ibqueryerrors, env, ethtool -S or rdma "
        "statistic (twice for rates), mlnx_qos, SONiC's configuration, show roce, nv show qos roce",
        [&o](const std::string& s) { o.files.push_back(checked(parse_words("FILE", s, 4096))); }, {WordKind::file, {}})
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->required();
  words(sub, "--gpu", "NAME", "What it ran on, where the files do not tell: a GPU of data/hardware/gpus.csv", o.gpu,
        {WordKind::choice, gpu_names()});
  value(sub, "--between", "SECONDS", "Between two readings of the same counters",
        [&o](const std::string& s) { o.between_s = checked(parse_quantity("--between", s, 0.001, 1e7)); });
  choice(sub, "-o,--output", "FORMAT", "text or json [text]", as_words(names(DoctorFormat{})),
         [&o](std::size_t i) { o.format = static_cast<DoctorFormat>(i); });
  chosen(sub, o);
}

}  // namespace muster::cmd
