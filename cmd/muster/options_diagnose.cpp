// muster diagnose.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_diagnose() {
  auto* sub =
      command(app_, "diagnose", "What a job's profiles and dumps say: where its time went, or which rank it waits for", kLook,
              "  muster diagnose --accounting rank0.pt.trace.json.gz rank1.pt.trace.json.gz\n"
              "  muster diagnose --accounting -o json trace.json.gz\n"
              "  muster diagnose /tmp/nccl_trace_rank_*");
  DiagnoseOptions& o = diagnose_;
  value(sub, "FILE", "FILE",
        "One a rank: what torch.profiler exported (JSON, or that in gzip), or what PyTorch's flight recorder dumped (pickle or "
        "JSON)",
        [&o](const std::string& s) { o.files.push_back(checked(parse_words("FILE", s, 4096))); }, {WordKind::file, {}})
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->required();
  flag(sub, "--accounting", o.accounting, "In whole nanoseconds: computing, exchanging, copying, and nothing");
  add_format(sub, o.format, {Format::table, Format::json, Format::csv});
  chosen(sub, o);
}

}  // namespace muster::cmd
