// muster tune and what is below it; its doctor has a file of its own.
#include "ingest/nccl_tuning.h"
#include "ingest/nccl_words.h"
#include "options_parser.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kListMax = 16;

// "ring,tree": each by `read`, which throws.
template <class T, class Read>
std::vector<T> list_of(const char* flag, const std::string& text, Read read) {
  std::vector<T> out;
  for (const std::string_view word : split(text, ',')) {
    const T one = read(std::string(trim(word)));
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  }
  if (out.size() > kListMax)
    throw BadValue{
        {Code::bad_input, std::string(flag) + " names more than " + std::to_string(kListMax), "fewer, apart by commas"}};
  return out;
}

template <class E>
E named(const char* flag, const std::string& word, const std::optional<E>& found) {
  if (found) return *found;
  const Words all = as_words(names(E{}));
  const auto meant = nearest(lower(word), all);
  throw BadValue{{Code::bad_input, std::string(flag) + " must name " + join(all, ", ") + ", is \"" + printable(word) + "\"",
                  meant ? "did you mean " + *meant + "?" : ""}};
}

}  // namespace

void Parser::add_tune_shape(CLI::App* sub, TuneHint& hint) {
  const auto count = [&](const char* flag, const char* about, std::uint32_t& to, std::uint64_t max) {
    value(sub, flag, "N", about,
          [flag, &to, max](const std::string& s) { to = static_cast<std::uint32_t>(checked(parse_count(flag, s, 1, max))); });
  };
  choice(sub, "--collective", "OP", "Of files that do not tell: " + join(as_words(names(Collective{})), ", "),
         as_words(names(Collective{})), [&hint](std::size_t i) { hint.op = static_cast<Collective>(i); });
  count("--nodes", "Nodes, where the files do not tell or several ranks of a host are to count as nodes", hint.nodes, 1'000'000);
  count("--ranks-per-node", "Ranks of a node, where the files do not tell", hint.ranks_per_node, 4096);
  count("--nvlink-domain", "Ranks that NVLink joins [those of a node]", hint.nvlink_domain, 1'000'000);
  sub->add_flag_callback(
         "--registered", [&hint] { hint.registered = true; }, "Buffers were registered, where the files do not tell")
      ->option_text(" ");
}

void Parser::add_tune() {
  auto* tune = command(app_, "tune", "Make NCCL choose well: what its own choices cost, and the table that mends them", kDesign,
                       "  muster tune sweep --budget 10m -- mpirun -np 16 all_reduce_perf -b 1K -e 1G -f 2 -n 20\n"
                       "  muster tune sweep.csv --table tuner.table --env nccl.env\n"
                       "  muster tune default*.txt ring_ll*.json nccl.log    what nccl-tests printed, launch by launch\n"
                       "  muster tune show tuner.table");
  TuneOptions& o = tune_;
  value(
      tune, "FILE", "FILE",
      "Any of these, told by their content, plain or in gzip: tables of muster tune sweep, what nccl-tests printed (text or its "
      "-J), NCCL's log with NCCL_DEBUG_SUBSYS of INIT,ENV,TUNING",
      [&o](const std::string& s) { o.files.push_back(checked(parse_words("FILE", s, 4096))); }, {WordKind::file, {}})
      ->expected(0, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  words(tune, "--table", "FILE", "Write the table for libnccl-tuner-muster.so there", o.table, {WordKind::file, {}});
  words(tune, "--meet", "DIR", "A folder that all nodes share, where ranks compare their tables, for --env", o.meet);
  words(tune, "--place", "PATH", "Where that will lie on the nodes, for --env [where it is written]", o.place);
  words(tune, "--env", "FILE", "Write NCCL's settings there, with the reason for each", o.env, {WordKind::file, {}});
  words(tune, "--csv", "FILE", "Write the table as the example plugins of NCCL and RCCL read it there", o.csv,
        {WordKind::file, {}});
  value(tune, "--margin", "PCT", "A gain that counts, and what no size may lose beyond noise [3]",
        [&o](const std::string& s) { o.rules.margin = checked(parse_quantity("--margin", s, 0, 50, "percent")) / 100; });
  value(tune, "--launches", "N", "Of NCCL's own choice and of another way, before it is overridden [4]",
        [&o](const std::string& s) {
          o.rules.repeats = static_cast<std::uint32_t>(checked(parse_count("--launches", s, 2, 1000)));
        });
  flag(tune, "--model", o.model,
       "The curve through each way's times instead, and how far it is off at sizes it was not fitted on");
  add_tune_shape(tune, o.hint);
  add_format(tune, o.format, {Format::table, Format::csv, Format::json});
  for (const char* name : {"--place", "--meet"}) tune->get_option(name)->needs(tune->get_option("--table"));
  tune->callback([this, tune] {
    if (!tune->get_subcommands().empty()) return;
    if (tune_.files.empty())
      throw BadValue{{Code::bad_input, "muster tune needs a file of measured times",
                      "muster tune sweep -- COMMAND measures them; muster tune --help"}};
    command_ = tune_;
  });
  add_tune_sweep(*tune);
  auto* show =
      command(*tune, "show", "What a table for libnccl-tuner-muster.so holds", nullptr, "  muster tune show tuner.table");
  words(show, "TABLE", "TABLE", "As muster tune --table wrote it", tune_show_.table, {WordKind::file, {}});
  show->get_option("TABLE")->required();
  add_format(show, tune_show_.format, {Format::table, Format::csv, Format::json});
  chosen(show, tune_show_);
  add_tune_doctor(*tune);
}

void Parser::add_tune_sweep(CLI::App& tune) {
  auto* sub = command(tune, "sweep", "Measure a collective in many ways within a time, the promising ones more often", nullptr,
                      "  muster tune sweep --budget 10m -- mpirun -np 16 all_reduce_perf -b 1K -e 1G -f 2 -n 20\n"
                      "  muster tune sweep --budget 20m --log sweep.csv -- ...     goes on where the log stands");
  TuneSweepOptions& o = tune_sweep_;
  value(
      sub, "COMMAND", "COMMAND",
      "What measures once, behind --: nccl-tests, or what prints as it does. NCCL_ALGO, NCCL_PROTO and their like are set for it",
      [&o](const std::string& s) { o.command.push_back(s); })
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->required();
  value(sub, "--budget", "TIME", "For all launches, those in the log included [10m]",
        [&o](const std::string& s) { o.ask.budget_s = checked(parse_some_time("--budget", s, 30 * 86400.0)); });
  value(sub, "--timeout", "TIME", "After which one launch is ended and counts as failed [5m]",
        [&o](const std::string& s) { o.launch_s = checked(parse_some_time("--timeout", s, 86400)); });
  words(sub, "--log", "FILE", "Where times are kept, launch by launch; what it holds is not measured again [sweep.csv]", o.log,
        {WordKind::file, {}});
  value(sub, "--algorithms", "LIST", "Apart by commas: " + join(as_words(names(NcclAlgorithm{})), ", ") + " [ring,tree]",
        [&o](const std::string& s) {
          o.ask.algorithms = list_of<NcclAlgorithm>(
              "--algorithms", s, [](const std::string& w) { return named("--algorithms", w, nccl_algorithm(w)); });
        });
  value(sub, "--protocols", "LIST", "Apart by commas: ll, ll128, simple [all]", [&o](const std::string& s) {
    o.ask.protocols =
        list_of<NcclProtocol>("--protocols", s, [](const std::string& w) { return named("--protocols", w, nccl_protocol(w)); });
  });
  value(sub, "--channels", "LIST", "Numbers of channels to try with the better half [NCCL's own only]",
        [&o](const std::string& s) {
          o.ask.channels = list_of<std::uint32_t>("--channels", s, [](const std::string& w) {
            return static_cast<std::uint32_t>(checked(parse_count("--channels", w, 1, 64)));
          });
        });
  value(sub, "--buffers", "LIST", "Sizes of NCCL's buffers to try, which chunks are parts of, as 1MiB,8MiB [NCCL's own only]",
        [&o](const std::string& s) {
          o.ask.buffers = list_of<std::uint64_t>("--buffers", s, [](const std::string& w) {
            return static_cast<std::uint64_t>(checked(parse_bytes("--buffers", w)));
          });
        });
  value(sub, "--launches", "N", "Of NCCL's own choice and of the best [8]", [&o](const std::string& s) {
    o.ask.repeats = static_cast<std::uint32_t>(checked(parse_count("--launches", s, 1, 1000)));
  });
  sub->add_flag_callback(
         "--no-look", [&o] { o.look = false; }, "Do not ask NCCL for its choices in a launch before the first")
      ->option_text(" ");
  add_tune_shape(sub, o.hint);
  chosen(sub, o);
}

}  // namespace muster::cmd
