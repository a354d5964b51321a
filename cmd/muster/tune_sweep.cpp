// muster tune sweep: launches what measures, one way after another, as far as the time goes. Every launch is in the log before
// the next begins, so that a sweep that is cut off goes on where it stood.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_sweep.h"
#include "ingest/nccl_tests.h"
#include "ingest/nccl_words.h"
#include "model/fields.h"
#include "report/tune.h"
#include "report/units.h"
#include "say.h"
#include "tune_launch.h"

namespace muster::cmd {
namespace {

using design::SweepStage;
using design::SweepStep;

constexpr std::size_t kSaidMax = 160;
constexpr std::string_view kCommandWord = "# command:";
const std::vector<std::string> kOurs = {"NCCL_ALGO",          "NCCL_PROTO",    "NCCL_MIN_NCHANNELS",
                                        "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_TUNER_PLUGIN"};

// As NCCL_ALGO spells them.
std::string_view algorithm_word(NcclAlgorithm a) {
  constexpr std::array<std::string_view, 7> kWords = {"Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
  return kWords[static_cast<std::size_t>(a)];
}

Launch launch_of(const TuneSweepOptions& o, const NcclWay& way) {
  Launch out;
  out.words = o.command;
  out.limit_s = o.launch_s;
  if (!way.own) {
    out.set = {{"NCCL_ALGO", std::string(algorithm_word(way.algorithm))}, {"NCCL_PROTO", std::string(name_of(way.protocol))}};
    if (way.channels != 0) {
      out.set.emplace_back("NCCL_MIN_NCHANNELS", std::to_string(way.channels));
      out.set.emplace_back("NCCL_MAX_NCHANNELS", std::to_string(way.channels));
    }
  }
  if (way.buffer_bytes != 0) out.set.emplace_back("NCCL_BUFFSIZE", std::to_string(way.buffer_bytes));
  for (const std::string& name : kOurs) {
    const bool set = std::any_of(out.set.begin(), out.set.end(), [&](const auto& s) { return s.first == name; });
    if (!set) out.unset.push_back(name);
  }
  return out;
}

// Open MPI hands on only what it is told to; other launchers hand on all. It is told by its environment, beside what that says
// already; but with -x among its words it refuses such a list, and takes another -x.
void hand_on(Launch& l) {
  constexpr const char* kList = "OMPI_MCA_mca_base_env_list";
  if (l.set.empty()) return;
  const auto launcher = std::find_if(l.words.begin(), l.words.end(), [](const std::string& word) {
    const std::string name = word.substr(word.find_last_of('/') + 1);
    return name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun";
  });
  // A name follows it; nccl-tests has an -x too, which takes a number.
  const auto told = std::adjacent_find(launcher, l.words.end(), [](const std::string& word, const std::string& next) {
    return word == "-x" && !next.empty() && next.find_first_of("0123456789-") != 0;
  });
  if (told != l.words.end()) {
    std::vector<std::string> more;
    for (const auto& [name, value] : l.set) more.insert(more.end(), {"-x", name});
    l.words.insert(told, more.begin(), more.end());
    return;
  }
  const char* before = std::getenv(kList);
  std::string list = before == nullptr ? "" : before;
  for (const auto& [name, value] : l.set) list += fmt::format("{}{}={}", list.empty() ? "" : ";", name, value);
  l.set.emplace_back(kList, list);
}

// The last words it said, which most often say why it ended.
std::string last_line(std::string_view text) {
  while (!text.empty()) {
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    const std::size_t from = text.rfind('\n');
    const std::string_view line = trim(text.substr(from == std::string_view::npos ? 0 : from + 1));
    if (!line.empty() && !line.starts_with('#')) return printable(line.substr(0, kSaidMax));
    text = text.substr(0, from == std::string_view::npos ? 0 : from);
  }
  return "it said nothing";
}

SweepRun result_of(const TuneSweepOptions& o, const SweepStep& step, const Launched& l) {
  SweepRun out;
  out.key.op = o.ask.op;
  out.way = step.way;
  out.run = step.run;
  out.seconds = l.seconds;
  if (l.timed_out) {
    out.failure = fmt::format("ended after {:.0f} s", o.launch_s);
    return out;
  }
  if (l.exit != 0) {
    out.failure = fmt::format("exit code {}: {}", l.exit, last_line(l.output));
    return out;
  }
  const auto tests = parse_nccl_tests(l.output, "what it printed");
  if (!tests) {
    out.failure = tests.error().what;
    return out;
  }
  for (const NcclTestRow& row : tests->runs.front().rows) {
    for (const auto* half : {&row.out, &row.in}) {
      if (*half && (*half)->wrong.value_or(0) > 0) out.failure = fmt::format("wrong values at {} bytes", row.bytes);
    }
  }
  if (!out.failure.empty()) return out;
  TuneInput in = tune_input(*tests, parse_nccl_log(l.output, ""), o.hint);
  if (in.runs.empty()) {
    out.failure = in.notes.empty() ? "no time is in what it printed" : in.notes.front();
    return out;
  }
  out.key = in.runs.front().key;
  for (const SweepRun& r : in.runs) out.times.insert(out.times.end(), r.times.begin(), r.times.end());
  return out;
}

Result<void> append(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << text;
  file.close();
  if (file) return {};
  return tl::unexpected(file_error("write", path, errno));
}

struct SweepLog {
  std::vector<SweepRun> runs;
  std::string command;  // the line that says which it is of; empty: the log was written before there was one

  // Of what could be measured; none: nothing was yet.
  const TuneKey* shape() const {
    for (const SweepRun& r : runs) {
      if (r.failure.empty()) return &r.key;
    }
    return nullptr;
  }
};

// A log that holds no launch yet, if only its head, is begun anew.
Result<SweepLog> log_so_far(const TuneSweepOptions& o) {
  const std::string command = report::sweep_command_line(o.command);
  std::string text;
  if (std::filesystem::exists(o.log)) {
    auto read = read_file(o.log);
    if (!read) return tl::unexpected(read.error());
    text = std::move(*read);
  }
  const std::size_t head = text.starts_with(kCommandWord) ? std::min(text.find('\n'), text.size() - 1) + 1 : 0;
  if (!std::filesystem::exists(o.log) || text.substr(head) == report::sweep_header()) {
    if (auto ok = write_file(o.log, command + report::sweep_header()); !ok) return tl::unexpected(ok.error());
    return SweepLog{{}, std::string(trim(command))};
  }
  auto in = parse_sweep(text, o.log);
  if (!in) return tl::unexpected(in.error());
  return SweepLog{std::move(in->runs), sweep_command(text)};
}

// Launches of one thing must not count for another, nor a log that is done answer for what was not launched.
Result<void> is_of(const SweepLog& log, const TuneSweepOptions& o) {
  const std::string command(trim(report::sweep_command_line(o.command)));
  const TuneKey* shape = log.shape();
  if (o.hint.op && shape != nullptr && shape->op != *o.hint.op)
    return fail(Code::conflict, fmt::format("{} is of {}, and this is {}", o.log, name_of(shape->op), name_of(*o.hint.op)),
                "--log OTHER: one log for each collective");
  if (!log.command.empty() && log.command != command)
    return fail(Code::conflict, fmt::format("{} is of another command: {}", o.log, trim(log.command.substr(kCommandWord.size()))),
                fmt::format("--log OTHER for this one; where both measure the same, delete the line '# command' from {}", o.log));
  if (log.command.empty()) say(fmt::format("{} does not say which command it is of: taken to be of this one", o.log));
  return {};
}

// Which operation the command measures, by the name of its program.
std::optional<Collective> op_of(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const std::string name = word.substr(word.find_last_of('/') + 1);
    if (name.ends_with("_perf")) return collective_of(name);
  }
  return {};
}

// What NCCL says of its own choices goes into a file of its own: times beside so much printing would not be fair.
Result<bool> look(const TuneSweepOptions& o) {
  const std::string path = o.log + ".nccl";
  say(fmt::format("looking at NCCL's own choices ({})", path));
  Launch l = launch_of(o, {});
  l.set = {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING"}};
  l.unset.emplace_back("NCCL_DEBUG_FILE");
  hand_on(l);
  const auto done = launch(l);
  if (!done) return tl::unexpected(done.error());
  if (done->interrupted) return false;
  std::string kept;
  for (const std::string_view line : split(done->output, '\n')) {
    if (line.find("CCL INFO ") != std::string_view::npos) kept += std::string(line) + '\n';
  }
  if (kept.empty()) {
    say("NCCL said nothing of its choices: regret is told without what they were");
    return true;
  }
  const auto ok = write_file(path, kept);
  if (!ok) return tl::unexpected(ok.error());
  return true;
}

void say_step(const SweepStep& s, const TuneSweepOptions& o, double spent_s) {
  say(fmt::format("{}: {}, launch {} ({} in play; {} of {})", name_of(s.stage), report::way_words(s.way), s.run + 1, s.in_play,
                  report::render_span(from_seconds(spent_s)), report::render_span(from_seconds(o.ask.budget_s))));
}

Error other_shape(const std::string& log, const TuneKey& was, const TuneKey& is) {
  return {Code::conflict, fmt::format("{} is of {}, and this is {}", log, report::key_words(was), report::key_words(is)),
          "--log OTHER: one log for each shape"};
}

}  // namespace

int run_tune_sweep(const TuneSweepOptions& options) {
  TuneSweepOptions o = options;
  // Slow rows alone do not tell which operation they are of.
  if (!o.hint.op) o.hint.op = op_of(o.command);
  o.ask.op = o.hint.op.value_or(Collective::all_reduce);
  if (!nccl_chooses(o.ask.op))
    return say_error({Code::bad_input, fmt::format("NCCL has one way to do {}: there is nothing to choose", name_of(o.ask.op)),
                      "all_reduce_perf, all_gather_perf, reduce_scatter_perf, broadcast_perf or reduce_perf"});
  auto log = log_so_far(o);
  if (!log) return say_error(log.error());
  if (const auto ok = is_of(*log, o); !ok) return say_error(ok.error());
  std::vector<SweepRun>& runs = log->runs;
  if (const TuneKey* was = log->shape(); was != nullptr) o.ask.op = was->op;
  double spent = 0;
  for (const SweepRun& r : runs) spent += r.seconds;
  if (!runs.empty()) say(fmt::format("{} holds {} launches: going on", o.log, runs.size()));
  if (runs.empty() && o.look) {
    const auto went = look(o);
    if (!went) return say_error(went.error());
    if (!*went) return 130;
  }
  for (;;) {
    const SweepStep step = design::next_step(o.ask, runs);
    if (step.stage == SweepStage::done || step.stage == SweepStage::no_time) {
      if (log->shape() == nullptr)
        return say_error({Code::unreachable,
                          fmt::format("nothing could be measured: {}", runs.empty() ? "" : runs.back().failure),
                          fmt::format("run {} by hand; then delete {} and start again", o.command.front(), o.log)});
      say(fmt::format("{} after {} launches; next: muster tune {}", step.stage == SweepStage::done ? "done" : "the time is over",
                      runs.size(), o.log));
      return 0;
    }
    say_step(step, o, spent);
    Launch l = launch_of(o, step.way);
    hand_on(l);
    const auto done = launch(l);
    if (!done) return say_error(done.error());
    if (done->interrupted) {
      say(fmt::format("interrupted: {} holds what was measured, and the same command goes on", o.log));
      return 130;
    }
    SweepRun run = result_of(o, step, *done);
    if (const TuneKey* was = log->shape(); was != nullptr) {
      if (run.failure.empty() && *was != run.key) return say_error(other_shape(o.log, *was, run.key));
      run.key = *was;
    }
    if (!run.failure.empty()) say(fmt::format("  failed: {}", run.failure));
    const std::string about = log->command.empty() ? report::sweep_command_line(o.command) : "";
    if (const auto ok = append(o.log, about + report::sweep_rows(run)); !ok) return say_error(ok.error());
    if (!about.empty()) log->command = trim(about);
    spent += run.seconds;
    runs.push_back(std::move(run));
  }
}

}  // namespace muster::cmd
