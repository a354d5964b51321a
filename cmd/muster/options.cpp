#include "options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/text.h"
#include "flag_values.h"
#include "help_text.h"
#include "ingest/cluster_file.h"
#include "ingest/policy_file.h"
#include "model/job.h"
#include "twin/fault.h"

namespace muster::cmd {
namespace {

// A value that cannot be; thrown through CLI11 and caught in parse_command_line.
struct BadValue {
  Error error;
};

template <class T>
T checked(Result<T> r) {
  if (!r) throw BadValue{r.error()};
  return std::move(*r);
}

using Words = std::vector<std::string>;
using report::Format;

Words as_words(auto const& names) { return Words(names.begin(), names.end()); }

constexpr const char* kTry = "Try it on a simulated cluster";
constexpr const char* kRun = "Run a cluster";
constexpr const char* kLook = "See what is there, and why";
constexpr const char* kAct = "Act";
constexpr const char* kRecords = "Records";
constexpr const char* kSelf = "This program";
constexpr const char* kConnecting = "Connection";

// What may stand in an option's place, for completion.
struct Word {
  WordKind kind = WordKind::none;
  Words choices;
};

// Options that two or more commands share print the same words everywhere.
class Parser {
 public:
  Parser() : app_("The autopilot for GPU clusters.", "muster") {
    app_.get_formatter()->column_width(kHelpColumn);
    app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    app_.get_formatter()->label("Positionals", "Arguments");
    app_.set_help_flag("-h,--help", "Show this help");
    app_.require_subcommand(0, 1);
    app_.footer(
        "Examples:\n"
        "  muster demo                              a 1,024-GPU cluster that works, breaks and heals, in your browser\n"
        "  muster get nodes --only suspect          what is suspected right now\n"
        "  muster explain node0017                   why it is as it is, in plain words\n"
        "  muster twin run --gpus 1024 --days 7     a week of a simulated cluster, as numbers\n\n"
        "Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 not allowed, 5 unreachable,\n"
        "            6 findings present, 7 refused by a safety limit");
    add_demo();
    add_twin();
    add_up();
    add_pause(true);
    add_pause(false);
    add_get();
    add_describe();
    add_explain();
    add_drain(drain_);
    undrain_.undo = true;
    add_drain(undrain_);
    add_submit();
    add_cancel();
    add_journal();
    add_self();
  }

  Result<Command> parse(Words args);
  CommandHelp tree() const { return tree_of(&app_); }

 private:
  CLI::App* command(CLI::App& parent, const char* name, const char* about, const char* group,
                    const char* examples = nullptr) {
    auto* sub = parent.add_subcommand(name, about);
    if (group) sub->group(group);
    if (examples) sub->footer(std::string("Examples:\n") + examples);
    sub->require_subcommand(0, 1);
    return sub;
  }

  // A flag with a value; `set` gets the text and throws BadValue.
  CLI::Option* value(CLI::App* sub, const std::string& names, const char* type, std::string about,
                     std::function<void(const std::string&)> set, Word word = {}) {
    auto* option = sub->add_option(
        names,
        [set = std::move(set)](const CLI::results_t& r) {
          for (const auto& text : r) set(text);
          return true;
        },
        std::move(about));
    option->type_size(1)->option_text(option->get_positional() ? " " : type);
    words_[option] = std::move(word);
    return option;
  }

  CLI::Option* choice(CLI::App* sub, const std::string& names, std::string type, std::string about, Words allowed,
                      std::function<void(std::size_t)> set) {
    const std::string shown = names.substr(names.rfind(',') == std::string::npos ? 0 : names.rfind(',') + 1);
    auto take = [allowed, shown, set = std::move(set)](const std::string& text) {
      const auto at = std::find(allowed.begin(), allowed.end(), text);
      if (at != allowed.end()) return set(static_cast<std::size_t>(at - allowed.begin()));
      const auto meant = nearest(text, allowed);
      throw BadValue{{Code::bad_input, shown + " must be one of " + join(allowed, ", ") + ", is \"" + text + "\"",
                      meant ? "did you mean " + *meant + "?" : ""}};
    };
    return value(sub, names, type.c_str(), std::move(about), take, {WordKind::choice, allowed});
  }

  void flag(CLI::App* sub, const std::string& names, bool& target, const char* about) {
    sub->add_flag(names, target, about)->option_text(" ");
  }

  void words(CLI::App* sub, const std::string& names, const char* type, std::string about, std::string& target,
             Word word = {}, std::size_t max_bytes = 4096) {
    const std::string shown = names;
    value(
        sub, names, type, std::move(about),
        [&target, shown, max_bytes](const std::string& t) { target = checked(parse_words(shown, t, max_bytes)); },
        std::move(word));
  }

  void add_state(CLI::App* sub, std::string& state) {
    words(sub, "--state", "DIR", "State directory [$MUSTER_STATE, else ~/.local/state/muster]", state,
          {WordKind::directory, {}});
  }

  void add_connection(CLI::App* sub, Connection& c) {
    value(sub, "--server", "URL", "Server to ask, instead of the unix socket in the state directory [$MUSTER_SERVER]",
          [&c](const std::string& t) { c.server = checked(parse_server("--server", t, false)); })
        ->group(kConnecting);
    add_state(sub, c.state);
    sub->get_option("--state")->group(kConnecting);
    words(sub, "--token-file", "FILE", "File with the token to act with, for --server [$MUSTER_TOKEN]", c.token_file,
          {WordKind::file, {}});
    sub->get_option("--token-file")->group(kConnecting);
  }

  void add_format(CLI::App* sub, Format& format, std::vector<Format> allowed) {
    Words names;
    for (const auto f : allowed) names.emplace_back(report::kFormatNames[static_cast<std::size_t>(f)]);
    choice(sub, "-o,--output", "FORMAT", join(names, ", ") + " [table]", names,
           [&format, allowed](std::size_t i) { format = allowed[i]; });
  }

  void add_output(CLI::App* sub, Output& o) {
    add_format(sub, o.format,
               {Format::table, Format::wide, Format::json, Format::jsonl, Format::yaml, Format::csv, Format::name});
    sub->add_flag_callback(
        "--no-headers", [&o] { o.headers = false; }, "Leave out the line of column names");
    words(sub, "--sort-by", "COLUMN", "Order by this column; -COLUMN for largest first", o.sort_by);
  }

  void add_progress(CLI::App* sub, ProgressMode& mode) {
    choice(sub, "--progress", "WHEN", "auto, bar, lines or never [auto]", {"auto", "bar", "lines", "never"},
           [&mode](std::size_t i) { mode = static_cast<ProgressMode>(i); });
  }

  void add_twin_choice(CLI::App* sub, TwinChoice& t, bool with_seed = true) {
    auto* gpus = value(sub, "--gpus", "N", "A plain cluster of N GPUs, 8 in a node [1024]",
                       [&t](const std::string& s) { t.gpus = checked(parse_gpus(s)); });
    auto* cluster =
        value(sub, "--cluster", "NAME|FILE", "A preset (" + join(preset_cluster_names(), ", ") + ") or a cluster file",
              [&t](const std::string& s) { t.cluster = checked(parse_words("--cluster", s, 4096)); },
              {WordKind::file, preset_cluster_names()});
    gpus->excludes(cluster);
    value(sub, "--jobs", "mix:NAME|FILE", "Work: mix:llm, mix:research, mix:mixed or a workload file [mix:mixed]",
          [&t](const std::string& s) { t.jobs = checked(parse_jobs(s)); },
          {WordKind::file, {"mix:llm", "mix:research", "mix:mixed"}});
    add_policy(sub, t.policy, "Policy: " + join(preset_policy_names(), ", ") + " or a file [default]");
    auto* weather = value(sub, "--weather", "xN", "Multiply the published fault rates by N [x1]",
                          [&t](const std::string& s) { t.weather = checked(parse_weather(s)); });
    auto* none = sub->add_flag_callback(
        "--no-weather", [&t] { t.weather = 0; }, "No faults at all, unless injected");
    none->option_text(" ")->excludes(weather);
    if (with_seed) {
      value(sub, "--seed", "N", "The same seed gives the same history [1]",
            [&t](const std::string& s) { t.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
    }
  }

  void add_policy(CLI::App* sub, std::string& policy, std::string about) {
    words(sub, "--policy", "NAME|FILE", std::move(about), policy, {WordKind::file, preset_policy_names()});
  }
  void add_days(CLI::App* sub, double& days, const char* about, bool zero_allowed) {
    value(sub, "--days", "N", about,
          [&days, zero_allowed](const std::string& s) { days = checked(parse_days(s, zero_allowed)); });
  }
  void add_speed(CLI::App* sub, double& speed) {
    value(sub, "--speed", "N", "Simulated seconds per second [60]",
          [&speed](const std::string& s) { speed = checked(parse_speed(s)); });
  }
  void add_port(CLI::App* sub, std::uint16_t& port) {
    value(sub, "--port", "N", "HTTP port on 127.0.0.1; 0 for any free one [7070]",
          [&port](const std::string& s) { port = checked(parse_port(s)); });
  }
  void add_reason(CLI::App* sub, std::string& reason) {
    words(sub, "--reason", "TEXT", "Why, for the record", reason, {}, 500);
  }

  // The command is what its struct holds once all its flags are in.
  template <class T>
  void chosen(CLI::App* sub, T& options) {
    sub->callback([this, &options] { command_ = options; });
  }

  void add_demo();
  void add_twin();
  void add_twin_serve(CLI::App& twin);
  void add_twin_inject(CLI::App& twin);
  void add_up();
  void add_pause(bool pause);
  void add_get();
  void add_describe();
  void add_explain();
  void add_drain(DrainOptions& options);
  void add_submit();
  void add_cancel();
  void add_journal();
  void add_self();
  CommandHelp tree_of(const CLI::App* app) const;
  Error unknown_word(const CLI::App& at, const std::string& word) const;
  std::string help_hint() const;

  CLI::App app_;
  std::map<const CLI::Option*, Word> words_;
  std::optional<Command> command_;

  DemoOptions demo_;
  UpOptions up_;
  PauseOptions pause_;
  ResumeOptions resume_;
  std::array<GetOptions, 6> get_;
  DescribeOptions describe_;
  ExplainOptions explain_;
  DrainOptions drain_, undrain_;
  SubmitOptions submit_;
  CancelOptions cancel_;
  LoginOptions login_;
  TwinRunOptions twin_run_;
  TwinReplayOptions twin_replay_;
  TwinSoakOptions twin_soak_;
  TwinServeOptions twin_serve_;
  TwinInjectOptions twin_inject_;
  JournalVerifyOptions journal_verify_;
  JournalExportOptions journal_export_;
  VersionOptions version_;
  CompletionOptions completion_;
};

void Parser::add_demo() {
  auto* sub = command(app_, "demo", "Watch a simulated cluster in the browser", kTry,
                      "  muster demo\n"
                      "  muster demo --gpus 4096 --weather x20 --speed 300\n"
                      "  muster demo --cluster gb200-nvl72-1152 --jobs mix:llm --port 0");
  add_twin_choice(sub, demo_.twin);
  add_speed(sub, demo_.speed);
  add_port(sub, demo_.port);
  add_state(sub, demo_.state);
  add_days(sub, demo_.days, "Stop after so many simulated days; 0 for never [0]", true);
  chosen(sub, demo_);
}

void Parser::add_twin() {
  auto* twin = command(app_, "twin", "Try a policy, a workload or a fault on a simulated cluster", kTry);
  auto* run = command(*twin, "run", "Run the loop on a simulated cluster and print what came of it", nullptr,
                      "  muster twin run --gpus 1024 --days 7 --seed 1 -o json\n"
                      "  muster twin run --cluster h100-16384 --jobs mix:llm --policy mine.yaml --journal week.db");
  add_twin_choice(run, twin_run_.twin);
  add_days(run, twin_run_.days, "Simulated days [1]", false);
  words(run, "--journal", "FILE", "Keep the events in this file, to replay or export", twin_run_.journal,
        {WordKind::file, {}});
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
                       "  muster twin soak --seeds 200 --first-seed 1 --gpus 512 --days 2 --weather x200");
  add_twin_choice(soak, twin_soak_.twin, false);
  value(soak, "--seeds", "N", "How many seeds [20]", [this](const std::string& s) {
    twin_soak_.seeds = static_cast<std::uint32_t>(checked(parse_count("--seeds", s, 1, 1'000'000)));
  });
  value(soak, "--first-seed", "K", "The first of them [1]", [this](const std::string& s) {
    twin_soak_.first_seed = checked(parse_count("--first-seed", s, 0, UINT64_MAX - 1'000'000));
  });
  add_days(soak, twin_soak_.days, "Simulated days of each [1]", false);
  add_format(soak, twin_soak_.format, {Format::table, Format::json});
  add_progress(soak, twin_soak_.progress);
  chosen(soak, twin_soak_);
  add_twin_serve(*twin);
  add_twin_inject(*twin);
}

void Parser::add_twin_serve(CLI::App& twin) {
  auto* sub = command(twin, "serve", "Run a simulated cluster as a process of its own, for `muster up --twin`", nullptr,
                      "  muster twin serve --gpus 512 --listen unix:/tmp/twin.sock --orders-log orders.jsonl\n"
                      "  muster up --twin unix:/tmp/twin.sock");
  add_twin_choice(sub, twin_serve_.twin);
  add_speed(sub, twin_serve_.speed);
  value(sub, "--listen", "ADDRESS", "unix:PATH or 127.0.0.1:PORT [127.0.0.1:7071]",
        [this](const std::string& s) { twin_serve_.listen = checked(parse_listen(s)); });
  words(sub, "--orders-log", "FILE", "Append each received order to this file", twin_serve_.orders_log,
        {WordKind::file, {}});
  chosen(sub, twin_serve_);
}

void Parser::add_twin_inject(CLI::App& twin) {
  auto* sub = command(twin, "inject", "Break something in a running demo, and see what happens", nullptr,
                      "  muster twin inject gpu_off_bus node0017 --slot 3\n"
                      "  muster twin inject node_hang node0042");
  const auto faults = as_words(twin::names(twin::FaultKind{}));
  choice(sub, "FAULT", "FAULT", "What goes wrong: " + join(faults, ", "), faults, [this, faults](std::size_t i) {
    twin_inject_.fault = faults[i];
  })->required();
  words(sub, "NODE", "NODE", "Where", twin_inject_.node, {WordKind::node, {}}, 255);
  sub->get_option("NODE")->required();
  value(sub, "--slot", "N", "Which GPU of the node, from 0 [chosen by the twin]", [this](const std::string& s) {
    twin_inject_.slot = static_cast<int>(checked(parse_count("--slot", s, 0, 15)));
  });
  add_connection(sub, twin_inject_.connection);
  chosen(sub, twin_inject_);
}

void Parser::add_up() {
  auto* sub = command(app_, "up", "Run the autopilot for a cluster", kRun,
                      "  muster up --twin unix:/tmp/twin.sock      a simulated cluster served by `muster twin serve`");
  value(sub, "--twin", "URL", "A twin served by another process: http://127.0.0.1:PORT or unix:PATH",
        [this](const std::string& s) { up_.twin = checked(parse_server("--twin", s, true)); });
  flag(sub, "--slurm", up_.slurm, "A cluster run by Slurm (not there yet)");
  flag(sub, "--kubernetes", up_.kubernetes, "A cluster run by Kubernetes (not there yet)");
  add_policy(sub, up_.policy, "Policy: " + join(preset_policy_names(), ", ") + " or a file [default]");
  add_port(sub, up_.port);
  add_state(sub, up_.state);
  chosen(sub, up_);
}

void Parser::add_pause(bool pause) {
  auto* sub = command(app_, pause ? "pause" : "resume",
                      pause ? "Stop all actions at once; watching goes on" : "Let actions go on after a pause", kRun,
                      pause ? "  muster pause --reason \"maintenance on row 3\"" : "  muster resume");
  add_reason(sub, pause ? pause_.reason : resume_.reason);
  add_connection(sub, pause ? pause_.connection : resume_.connection);
  if (pause) chosen(sub, pause_);
  else chosen(sub, resume_);
}

void Parser::add_get() {
  struct Row {
    const char *name, *alias, *about, *names, *examples;
  };
  static constexpr Row rows[] = {
      {"nodes", "node", "Nodes and the state each is in", "Node names or lists, such as node[0001-0004]",
       "  muster get nodes\n  muster get nodes node[0001-0016,0032] -o wide\n  muster get nodes --only suspect -o name"},
      {"gpus", "gpu", "GPUs with their newest readings", "Node names or lists, such as node[0001-0004]",
       "  muster get gpus node0017\n  muster get gpus --sort-by -temp"},
      {"jobs", "job", "Jobs, running, queued and ended", "Job numbers",
       "  muster get jobs --phase running\n  muster get jobs --sort-by -gpus --watch"},
      {"findings", "finding", "What was found to be wrong, with the number of witnesses", "Finding numbers",
       "  muster get findings --open"},
      {"incidents", "incident", "Incidents: findings on one node, and what is done about them", "Incident numbers",
       "  muster get incidents --open\n  muster get incidents -o jsonl"},
      {"actions", "action", "Actions taken and refused, newest first", "Action keys",
       "  muster get actions --limit 20"},
  };
  auto* get =
      command(app_, "get", "List nodes, gpus, jobs, findings, incidents or actions", kLook,
              "  muster get nodes\n  muster get jobs --phase running -o wide\n  muster get incidents --open -o json");
  for (std::size_t i = 0; i < get_.size(); ++i) {
    auto& o = get_[i];
    const auto& row = rows[i];
    o.kind = static_cast<Kind>(i);
    auto* sub = command(*get, row.name, row.about, nullptr, row.examples);
    sub->alias(row.alias);
    const auto kind = i < 2 ? WordKind::node : o.kind == Kind::jobs ? WordKind::job : WordKind::none;
    value(sub, "NAME", "NAME", row.names,
          [&o](const std::string& s) { o.names.push_back(checked(parse_words("NAME", s, 4096))); }, {kind, {}})
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args();
    if (o.kind == Kind::nodes) {
      const Words states{"busy", "idle", "suspect", "repairing", "drained", "down", "booting"};
      choice(sub, "--only", "STATE", "Only those in this state: " + join(states, ", "), states,
             [&o, states](std::size_t k) { o.state = states[k]; });
      words(sub, "--rack", "RACK", "Only those in this rack", o.rack, {}, 255);
    }
    if (o.kind == Kind::jobs) {
      const auto phases = as_words(muster::names(JobPhase{}));
      choice(sub, "--phase", "PHASE", "Only those in this phase: " + join(phases, ", "), phases,
             [&o, phases](std::size_t k) { o.phase = phases[k]; });
    }
    if (o.kind == Kind::findings || o.kind == Kind::incidents) flag(sub, "--open", o.open, "Only those not over yet");
    value(sub, "--limit", "N",
          o.kind == Kind::nodes || o.kind == Kind::gpus ? "At most so many" : "Only the newest so many",
          [&o](const std::string& s) {
            o.limit = static_cast<std::uint32_t>(checked(parse_count("--limit", s, 1, 10'000'000)));
          });
    flag(sub, "-w,--watch", o.watch, "Again at each change, until interrupted");
    add_output(sub, o.output);
    add_connection(sub, o.connection);
    chosen(sub, o);
  }
}

void Parser::add_describe() {
  auto* sub = command(app_, "describe", "Everything about one node, job, incident, action or finding", kLook,
                      "  muster describe node node0017\n  muster describe job 42\n  muster describe incident 7 -o yaml");
  static const std::map<std::string, Kind> kinds = {{"node", Kind::nodes},
                                                    {"job", Kind::jobs},
                                                    {"incident", Kind::incidents},
                                                    {"action", Kind::actions},
                                                    {"finding", Kind::findings}};
  Words allowed;
  for (const auto& [name, kind] : kinds) allowed.push_back(name);
  choice(sub, "KIND", "KIND", join(allowed, ", "), allowed, [this, allowed](std::size_t i) {
    describe_.kind = kinds.at(allowed[i]);
  })->required();
  words(sub, "NAME", "NAME", "Node name, job, incident or finding number, or action key", describe_.name,
        {WordKind::node, {}}, 255);
  sub->get_option("NAME")->required();
  add_format(sub, describe_.output.format, {Format::table, Format::json, Format::yaml});
  add_connection(sub, describe_.connection);
  chosen(sub, describe_);
}

void Parser::add_explain() {
  auto* sub = command(app_, "explain",
                      "Why something is as it is: a node, job, incident, action, fault code or log line", kLook,
                      "  muster explain node0017\n"
                      "  muster explain job 42\n"
                      "  muster explain xid 79\n"
                      "  muster explain \"NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\"\n"
                      "  dmesg | grep Xid | tail -1 | muster explain -");
  sub->alias("why");
  value(sub, "WHAT", "WHAT", "What to explain, in one word or several; - reads one line from standard input",
        [this](const std::string& s) {
          explain_.what += (explain_.what.empty() ? "" : " ") + checked(parse_words("WHAT", s, 8192));
        },
        {WordKind::node, {}})
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  add_format(sub, explain_.output.format, {Format::table, Format::json, Format::yaml});
  add_connection(sub, explain_.connection);
  chosen(sub, explain_);
}

void Parser::add_drain(DrainOptions& o) {
  auto* sub =
      command(app_, o.undo ? "undrain" : "drain",
              o.undo ? "Let nodes take work again" : "Take nodes out of service: no new work, what runs goes on", kAct,
              o.undo ? "  muster undrain node0017"
                     : "  muster drain node0017 --reason \"new firmware\" --yes\n  muster drain node[0001-0004,0010]");
  value(sub, "NODE", "NODE", "Node names or lists, such as node[0001-0004]",
        [&o](const std::string& s) { o.nodes.push_back(checked(parse_words("NODE", s, 4096))); }, {WordKind::node, {}})
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  add_reason(sub, o.reason);
  if (!o.undo) flag(sub, "-y,--yes", o.yes, "Do it; without this, only show what would happen, and ask on a terminal");
  add_connection(sub, o.connection);
  chosen(sub, o);
}

void Parser::add_submit() {
  auto* sub = command(app_, "submit", "Queue a job on the simulated cluster", kAct,
                      "  muster submit --name train-7b --nodes 16 --step 8s --steps 5000 --checkpoint-every 30m");
  auto& o = submit_;
  words(sub, "--name", "TEXT", "Name of the job", o.name, {}, 200);
  sub->get_option("--name")->required();
  value(sub, "--nodes", "N", "Whole nodes it needs [1]", [&o](const std::string& s) {
    o.nodes = static_cast<std::uint32_t>(checked(parse_count("--nodes", s, 1, 131'072)));
  });
  value(sub, "--step", "TIME", "Length of one training step on healthy nodes [10s]", [&o](const std::string& s) {
    o.step_s = checked(parse_duration_s("--step", s, 86'400));
    if (o.step_s < 0.001) throw BadValue{{Code::bad_input, "--step must be at least 1ms, is \"" + s + "\"", ""}};
  });
  value(sub, "--steps", "N", "Steps in all [1000]",
        [&o](const std::string& s) { o.steps = checked(parse_count("--steps", s, 1, 1'000'000'000)); });
  value(sub, "--checkpoint-every", "TIME", "Time between checkpoints; 0 for none [30m]", [&o](const std::string& s) {
    o.checkpoint_every_s = checked(parse_duration_s("--checkpoint-every", s, 7 * 86'400));
  });
  value(sub, "--checkpoint-gb", "N", "Size of one checkpoint [100]",
        [&o](const std::string& s) { o.checkpoint_gb = checked(parse_quantity("--checkpoint-gb", s, 0, 1e6, "GB")); });
  words(sub, "--user", "TEXT", "Whose it is [you]", o.user, {}, 200);
  words(sub, "--account", "TEXT", "Who pays", o.account, {}, 200);
  add_connection(sub, o.connection);
  chosen(sub, o);
}

void Parser::add_cancel() {
  auto* sub = command(app_, "cancel", "End jobs for good; work since their last checkpoint is lost", kAct,
                      "  muster cancel 42 --yes");
  value(sub, "JOB", "JOB", "Job numbers",
        [this](const std::string& s) { cancel_.jobs.push_back(checked(parse_words("JOB", s, 40))); },
        {WordKind::job, {}})
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  add_reason(sub, cancel_.reason);
  flag(sub, "-y,--yes", cancel_.yes, "Do it; without this, only show what would happen, and ask on a terminal");
  add_connection(sub, cancel_.connection);
  chosen(sub, cancel_);
}

void Parser::add_journal() {
  auto* journal = command(app_, "journal", "Check or print the record of everything that happened", kRecords);
  auto* verify = command(*journal, "verify", "Check every event and the chain of hashes over them", nullptr,
                         "  muster journal verify\n  muster journal verify week.db -o json");
  words(verify, "FILE", "FILE", "Journal file [the one in the state directory]", journal_verify_.file,
        {WordKind::file, {}});
  add_state(verify, journal_verify_.state);
  add_format(verify, journal_verify_.format, {Format::table, Format::json});
  add_progress(verify, journal_verify_.progress);
  chosen(verify, journal_verify_);
  auto* out =
      command(*journal, "export", "Print events as JSON lines", nullptr,
              "  muster journal export week.db --type order_intended\n  muster journal export --from 1000 --to 2000");
  words(out, "FILE", "FILE", "Journal file [the one in the state directory]", journal_export_.file,
        {WordKind::file, {}});
  add_state(out, journal_export_.state);
  value(out, "--from", "SEQ", "First event [1]",
        [this](const std::string& s) { journal_export_.from = checked(parse_count("--from", s, 1, UINT64_MAX)); });
  value(out, "--to", "SEQ", "Last event [the newest]",
        [this](const std::string& s) { journal_export_.to = checked(parse_count("--to", s, 1, UINT64_MAX)); });
  words(out, "--type", "TYPE", "Only events of this type", journal_export_.type, {}, 100);
  chosen(out, journal_export_);
}

void Parser::add_self() {
  auto* login =
      command(app_, "login", "Print a fresh one-time link that lets your browser act", kSelf, "  muster login");
  add_connection(login, login_.connection);
  chosen(login, login_);
  auto* completion = command(app_, "completion", "Print a script that completes commands in your shell", kSelf,
                             "  source <(muster completion bash)\n"
                             "  muster completion zsh > \"${fpath[1]}/_muster\"\n"
                             "  muster completion fish > ~/.config/fish/completions/muster.fish");
  choice(completion, "SHELL", "SHELL", "bash, zsh or fish", {"bash", "zsh", "fish"}, [this](std::size_t i) {
    completion_.shell = static_cast<Shell>(i);
  })->required();
  chosen(completion, completion_);
  auto* version = command(app_, "version", "Print the version", kSelf);
  add_format(version, version_.format, {Format::table, Format::json});
  chosen(version, version_);
}

CommandHelp Parser::tree_of(const CLI::App* app) const {
  CommandHelp help{app->get_name(), app->get_aliases(), app->get_description(), {}, {}, {}};
  for (const auto* option : app->get_options()) {
    WordHelp word;
    for (const auto& l : option->get_lnames()) word.names.push_back("--" + l);
    for (const auto& s : option->get_snames()) word.names.push_back("-" + s);
    word.about = option->get_description();
    word.takes_value = option->get_type_size() > 0 && words_.contains(option);
    if (const auto it = words_.find(option); it != words_.end()) {
      word.kind = it->second.kind;
      word.choices = it->second.choices;
    }
    (option->get_positional() ? help.positionals : help.options).push_back(std::move(word));
  }
  for (const auto* sub : app->get_subcommands([](const CLI::App*) { return true; }))
    help.commands.push_back(tree_of(sub));
  return help;
}

// The deepest command that was recognised.
const CLI::App* deepest(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string path_of(const CLI::App* app) {
  std::string path = app->get_name();
  for (const auto* up = app->get_parent(); up; up = up->get_parent()) path = up->get_name() + " " + path;
  return path;
}

std::string Parser::help_hint() const { return "run `" + path_of(deepest(&app_)) + " --help`"; }

Error Parser::unknown_word(const CLI::App& at, const std::string& word) const {
  const auto here = tree_of(&at);
  Words candidates;
  const bool is_flag = word.size() > 1 && word[0] == '-';
  const std::string bare = word.substr(0, word.find('='));
  if (is_flag) {
    for (const auto& o : here.options) candidates.insert(candidates.end(), o.names.begin(), o.names.end());
  } else {
    for (const auto& c : here.commands) {
      candidates.push_back(c.name);
      candidates.insert(candidates.end(), c.aliases.begin(), c.aliases.end());
    }
  }
  const auto path = path_of(&at);
  Error error{Code::bad_input, "", ""};
  if (!is_flag && here.commands.empty()) {
    error.what = "`" + path + "` has no place for \"" + word + "\"";
  } else {
    error.what = "`" + path + "` has no " + (is_flag ? "flag" : "command") + " \"" + bare + "\"";
  }
  const auto meant = nearest(bare, candidates);
  error.next = (meant ? "did you mean " + *meant + "? or " : "") + help_hint();
  return error;
}

Result<Command> Parser::parse(Words args) {
  // `muster help get nodes` is `muster get nodes --help`.
  if (!args.empty() && args.front() == "help") {
    args.erase(args.begin());
    args.emplace_back("--help");
  }
  if (args.empty()) return ShowText{tidy_help(app_.help())};
  if (args.size() == 1 && args.front() == "--version") return version_;
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app_.parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    const auto* at = deepest(&app_);
    return ShowText{tidy_help(at->help(at->get_parent() ? path_of(at->get_parent()) : ""))};
  } catch (const CLI::ExtrasError&) {
    const auto* at = deepest(&app_);
    const auto rest = app_.remaining(true);
    return tl::unexpected(unknown_word(*at, rest.empty() ? std::string() : rest.front()));
  } catch (const CLI::ParseError& e) {
    return fail(Code::bad_input, plain_refusal(e.what()), help_hint());
  } catch (const BadValue& bad) {
    auto error = bad.error;
    if (error.next.empty()) error.next = help_hint();
    return tl::unexpected(std::move(error));
  }
  if (command_) return std::move(*command_);
  const auto* at = deepest(&app_);
  Words names;
  for (const auto& c : tree_of(at).commands) names.push_back(c.name);
  return fail(Code::bad_input, "`" + path_of(at) + "` needs one of: " + join(names, ", "), help_hint());
}

}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
  Words args;
  for (int i = 1; i < argc; ++i) args.emplace_back(argv[i]);
  Parser parser;
  return parser.parse(std::move(args));
}

CommandHelp command_tree() { return Parser().tree(); }

}  // namespace muster::cmd
