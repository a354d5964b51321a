#include "options.h"

#include <fmt/format.h>

#include "model/gpu_hours.h"
#include "model/job.h"
#include "options_parser.h"

namespace muster::cmd {

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

void Parser::add_up() {
  auto* sub = command(app_, "up", "Run the autopilot for a cluster", kRun,
                      "  muster up --twin unix:/tmp/twin.sock      a simulated cluster served by `muster twin serve`\n"
                      "  muster up --cluster mine.yaml             real nodes, watched through `muster agent`; no acting\n"
                      "  muster up --cluster mine.yaml --scrape targets.json --alertmanager http://am:9093\n"
                      "  muster up --cluster mine.yaml --prometheus http://head:9090");
  add_cluster(sub, up_.cluster);
  value(sub, "--twin", "URL", "A twin served by another process: http://127.0.0.1:PORT or unix:PATH",
        [this](const std::string& s) { up_.twin = checked(parse_server("--twin", s, true)); });
  words(sub, "--slurm", "FILE", "A cluster run by Slurm: how it is reached and what may be done; see docs/slurm", up_.slurm);
  flag(sub, "--kubernetes", up_.kubernetes, "A cluster run by Kubernetes (not there yet)");
  add_policy(sub, up_.policy, "Policy: " + join(preset_policy_names(), ", ") + " or a file [default; with --slurm: shadow]");
  add_port(sub, up_.port);
  add_state(sub, up_.state);
  add_live(sub);
  chosen(sub, up_);
}

void Parser::add_pause(bool pause) {
  auto* sub = command(app_, pause ? "pause" : "resume",
                      pause ? "Stop all actions at once; watching goes on" : "Let actions go on after a pause", kRun,
                      pause ? "  muster pause --reason \"maintenance on row 3\"" : "  muster resume");
  add_reason(sub, pause ? pause_.reason : resume_.reason);
  add_connection(sub, pause ? pause_.connection : resume_.connection);
  if (pause)
    chosen(sub, pause_);
  else
    chosen(sub, resume_);
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
      {"queues", "queue", "Queues: what each may have, has, borrows and waits for", "Queue names",
       "  muster get queues\n  muster get queues -o wide --sort-by -held"},
      {"findings", "finding", "What was found to be wrong, with the number of witnesses", "Finding numbers",
       "  muster get findings --open"},
      {"incidents", "incident", "Incidents: findings on one node, and what is done about them", "Incident numbers",
       "  muster get incidents --open\n  muster get incidents -o jsonl"},
      {"actions", "action", "Actions taken and refused, newest first", "Action keys", "  muster get actions --limit 20"},
      {"leaves", "leaf", "Leaf switches: the state of their links by rail, what jobs may send up", "Leaf names",
       "  muster get leaves --sort-by -down\n  muster get leaves --job 17 -o wide"},
      {"links", "link", "Network links that are bad; with --leaf or --job all of it, with both ends of each cable",
       "Link names, such as node0001:mlx5_3",
       "  muster get links\n  muster get links --leaf 3\n  muster get links --job 17 -o wide"},
  };
  auto* get = command(app_, "get", "List nodes, gpus, jobs, queues, findings, incidents, actions, leaves or links", kLook,
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
    if (o.kind == Kind::links)
      words(sub, "--leaf", "LEAF", "All links of this leaf, by its name, number or switch", o.leaf, {}, 255);
    if (o.kind == Kind::links || o.kind == Kind::leaves)
      words(sub, "--job", "JOB", "Only what this job uses", o.job, {WordKind::job, {}}, 64);
    if (o.kind == Kind::findings || o.kind == Kind::incidents) flag(sub, "--open", o.open, "Only those not over yet");
    value(
        sub, "--limit", "N", o.kind == Kind::nodes || o.kind == Kind::gpus ? "At most so many" : "Only the newest so many",
        [&o](const std::string& s) { o.limit = static_cast<std::uint32_t>(checked(parse_count("--limit", s, 1, 10'000'000))); });
    flag(sub, "-w,--watch", o.watch, "Again at each change, until interrupted");
    add_moment(sub, o.connection);
    sub->get_option("--at")->excludes(sub->get_option("--watch"));
    add_output(sub, o.output);
    add_connection(sub, o.connection);
    chosen(sub, o);
  }
}

void Parser::add_top() {
  auto* sub = command(app_, "top", "The cluster on a terminal screen: what is wrong, what runs, what waits", kLook,
                      "  muster top\n  muster top --list jobs --filter llama\n  muster top --once > screen.txt");
  flag(sub, "--once", top_.once, "One screen as plain text; so it is too where the output is no terminal");
  value(sub, "-n,--interval", "SECONDS", "Between two looks [1]",
        [this](const std::string& s) { top_.every_s = checked(parse_quantity("--interval", s, 0.1, 3600)); });
  const Words lists{"incidents", "jobs", "nodes", "findings", "queues", "approvals"};
  choice(sub, "--list", "LIST", "Which comes first: " + join(lists, ", ") + " [incidents, where there are any]", lists,
         [this, lists](std::size_t i) { top_.list = lists[i]; });
  words(sub, "--filter", "TEXT", "Only rows with this in them; the key / changes it", top_.filter, {}, 200);
  add_connection(sub, top_.connection);
  chosen(sub, top_);
}

void Parser::add_goodput() {
  auto* sub = command(app_, "goodput", "Where GPU-hours went, from installed to useful, by cause, account, queue or job", kLook,
                      "  muster goodput --since 7d\n  muster goodput --since 24h --by account\n"
                      "  muster goodput --from 2026-11-01 --to 2026-11-08 --by job --most lost_restart -o json\n"
                      "  muster goodput --job 42");
  value(sub, "--since", "TIME", "Back from the end, as 6h, 7d",
        [this](const std::string& s) { goodput_.since_s = checked(parse_some_time("--since", s, 3650.0 * 86400)); });
  value(sub, "--from", "UTC", "Begin, such as 2026-11-15T02:03:04Z [the first event]",
        [this](const std::string& s) { goodput_.from = checked(parse_moment("--from", s)); })
      ->excludes(sub->get_option("--since"));
  value(sub, "--to", "UTC", "End [now]", [this](const std::string& s) { goodput_.to = checked(parse_moment("--to", s)); });
  const Words ways{"cause", "account", "queue", "job"};
  choice(sub, "--by", "WAY", "Rows by " + join(ways, ", ") + " [cause]", ways,
         [this, ways](std::size_t i) { goodput_.by = ways[i]; });
  const auto classes = as_words(muster::names(Waste{}));
  choice(sub, "--most", "CLASS", "Those with the most of this first: " + join(classes, ", ") + " [all waste]", classes,
         [this, classes](std::size_t i) { goodput_.most = classes[i]; });
  words(sub, "--job", "ID", "Of one job alone: what was given to it, and what became of that", goodput_.job, {}, 40);
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", goodput_.journal,
        {WordKind::file, {}}, 4095);
  add_format(sub, goodput_.format, {Format::table, Format::json});
  add_connection(sub, goodput_.connection);
  chosen(sub, goodput_);
}

void Parser::add_describe() {
  auto* sub = command(app_, "describe", "Everything about one node, job, queue, incident, action or finding", kLook,
                      "  muster describe node node0017\n  muster describe job 42\n  muster describe incident 7 -o yaml");
  static const std::map<std::string, Kind> kinds = {{"node", Kind::nodes},     {"job", Kind::jobs},
                                                    {"queue", Kind::queues},   {"incident", Kind::incidents},
                                                    {"action", Kind::actions}, {"finding", Kind::findings}};
  Words allowed;
  for (const auto& [name, kind] : kinds) allowed.push_back(name);
  choice(sub, "KIND", "KIND", join(allowed, ", "), allowed, [this, allowed](std::size_t i) {
    describe_.kind = kinds.at(allowed[i]);
  })->required();
  words(sub, "NAME", "NAME", "Node or queue name, job, incident or finding number, or action key", describe_.name,
        {WordKind::node, {}}, 255);
  sub->get_option("NAME")->required();
  add_moment(sub, describe_.connection);
  add_format(sub, describe_.output.format, {Format::table, Format::json, Format::yaml});
  add_connection(sub, describe_.connection);
  chosen(sub, describe_);
}

// `muster explain start JOB`: where a job of Slurm spent the time until its first step.
void Parser::add_start_sources(CLI::App* sub) {
  words(sub, "--starts", "DIR", "With start JOB: folder where muster-hook.sh leaves the times of prologs", explain_.starts,
        {WordKind::directory, {}}, 4095);
  words(sub, "--slurmctld-log", "FILE", "With start JOB: slurmctld's log, for when the job got its nodes", explain_.slurmctld_log,
        {WordKind::file, {}}, 4095);
  words(sub, "--slurmd-log", "PATTERN", "With start JOB: slurmd's logs, %n for a node's name, for launch and first step",
        explain_.slurmd_log, {WordKind::file, {}}, 4095);
  words(sub, "--slurm-conf", "FILE", "With start JOB: the slurm.conf to use [Slurm's own choice]", explain_.slurm_conf,
        {WordKind::file, {}}, 4095);
}

void Parser::add_explain() {
  auto* sub = command(
      app_, "explain",
      "Why something is as it is: a node, job, the queue or one of them, an incident, action, finding, fault code or log line",
      kLook,
      "  muster explain node0017\n"
      "  muster explain job 42\n"
      "  muster why action 3f2a9c10-65\n"
      "  muster why --journal week.db incident 9\n"
      "  muster explain queue\n"
      "  muster explain queue research\n"
      "  muster explain start 42 --starts /shared/muster/starts\n"
      "  muster explain xid 79\n"
      "  muster explain \"NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\"\n"
      "  muster explain --file /var/log/kern.log -o jsonl\n"
      "  dmesg | muster explain --file -\n"
      "  nvidia-smi -q | muster explain --file -");
  sub->alias("why");
  value(sub, "WHAT", "WHAT", "What to explain, in one word or several; - reads one line from standard input",
        [this](const std::string& s) {
          explain_.what += (explain_.what.empty() ? "" : " ") + checked(parse_words("WHAT", s, 8192));
        },
        {WordKind::node, {}})
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  words(sub, "--file", "LOG",
        "List the events of a kernel log, or the problems in a report of nvidia-smi -q, amd-smi --json, ncclras or "
        "ibqueryerrors; plain or .gz; - is standard input",
        explain_.file, {WordKind::file, {}}, 4095);
  words(sub, "--journal", "FILE",
        "Read a journal file instead of asking a running Muster; refused, with the event's number, where its chain is broken",
        explain_.journal, {WordKind::file, {}}, 4095);
  add_start_sources(sub);
  add_policy(sub, explain_.policy, "Whose overrides of the fault catalogue count: a policy's name or file");
  sub->get_option("--file")->excludes(sub->get_option("WHAT"))->excludes(sub->get_option("--journal"));
  sub->get_option("--journal")->excludes(sub->get_option("--policy"));
  add_moment(sub, explain_.connection);
  sub->get_option("--at")->excludes(sub->get_option("--journal"))->excludes(sub->get_option("--file"));
  add_format(sub, explain_.output.format, {Format::table, Format::wide, Format::json, Format::jsonl, Format::yaml, Format::csv},
             "; wide, jsonl and csv with --file only");
  add_connection(sub, explain_.connection);
  sub->callback([this] {
    const bool file = !explain_.file.empty();
    const Format format = explain_.output.format;
    if (!file && explain_.what.empty()) throw BadValue{{Code::bad_input, "WHAT is required", "or --file LOG"}};
    if (!file && (format == Format::jsonl || format == Format::wide || format == Format::csv))
      throw BadValue{{Code::bad_input, "-o jsonl, wide and csv are for --file", "-o json, yaml or table"}};
    if (file && format == Format::yaml) throw BadValue{{Code::bad_input, "-o yaml is not for --file", "-o jsonl or json"}};
    command_ = explain_;
  });
}

void Parser::add_incident() {
  auto* sub = command(app_, "incident",
                      "The report of one incident, to send on: what happened, what it cost, what was done and why", kLook,
                      "  muster incident 9\n"
                      "  muster incident 9 -o markdown > ticket.md\n"
                      "  muster incident --journal week.db 9 -o json");
  value(sub, "ID", "ID", "Number of the incident, however old: `muster get incidents` lists the newest",
        [this](const std::string& s) { incident_.id = checked(parse_count("ID", s, 1, UINT64_MAX)); })
      ->required();
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", incident_.journal,
        {WordKind::file, {}}, 4095);
  const Words formats{"text", "markdown", "json"};
  choice(sub, "-o,--output", "FORMAT", join(formats, ", ") + " [text]", formats,
         [this](std::size_t i) { incident_.format = static_cast<PageFormat>(i); });
  add_connection(sub, incident_.connection);
  chosen(sub, incident_);
}

void Parser::add_drain(DrainOptions& o) {
  auto* sub = command(app_, o.undo ? "undrain" : "drain",
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
                      "  muster submit --name train-7b --nodes 16 --step 8s --steps 5000 --checkpoint-every 30m\n"
                      "  muster submit --name eval --gpus-per-node 2 --steps 200 --after 17\n"
                      "  muster submit --name sweep --gpu-milli 250 --array 40 --deadline 24h --deferrable");
  auto& o = submit_;
  words(sub, "--name", "TEXT", "Name of the job", o.name, {}, 200);
  sub->get_option("--name")->required();
  value(sub, "--nodes", "N", "Nodes it needs, or pieces of nodes with --gpus-per-node [1]",
        [&o](const std::string& s) { o.nodes = static_cast<std::uint32_t>(checked(parse_count("--nodes", s, 1, 131'072))); });
  value(sub, "--step", "TIME", "Length of one training step on healthy nodes [10s]", [&o](const std::string& s) {
    o.step_s = checked(parse_duration_s("--step", s, 86'400));
    if (o.step_s < 0.001) throw BadValue{{Code::bad_input, "--step must be at least 1ms, is \"" + s + "\"", ""}};
  });
  value(sub, "--steps", "N", "Steps in all [1000]",
        [&o](const std::string& s) { o.steps = checked(parse_count("--steps", s, 1, 1'000'000'000)); });
  value(sub, "--checkpoint-every", "TIME", "Time between checkpoints; 0 for none [30m]",
        [&o](const std::string& s) { o.checkpoint_every_s = checked(parse_duration_s("--checkpoint-every", s, 7 * 86'400)); });
  value(sub, "--checkpoint-gb", "N", "Size of one checkpoint [100]",
        [&o](const std::string& s) { o.checkpoint_gb = checked(parse_quantity("--checkpoint-gb", s, 0, 1e6, "GB")); });
  value(sub, "--nodes-min", "N",
        "It can go on with so few whole nodes, slower, where some fail and no spare is free [only with all]",
        [&o](const std::string& s) {
          o.nodes_min = static_cast<std::uint32_t>(checked(parse_count("--nodes-min", s, 1, 131'072)));
        });
  flag(sub, "--no-requeue", o.no_requeue, "It runs once: never stopped to run again, and not started again when a node fails");
  flag(sub, "--paced", o.paced, "It writes checkpoints when Muster says so: as often as is best, and not with others at once");
  add_placement(sub);
  add_order(sub);
  words(sub, "--user", "TEXT", "Whose it is [you]", o.user, {}, 200);
  words(sub, "--account", "TEXT", "Who pays", o.account, {}, 200);
  add_format(sub, o.format, {Format::table, Format::json, Format::name});
  add_connection(sub, o.connection);
  sub->callback([this] {
    check_wishes(submit_);
    command_ = submit_;
  });
}

// Wishes that contradict each other are refused here, by the names of their flags.
void Parser::check_wishes(const SubmitOptions& o) {
  const auto wrong = [](std::string what, std::string next) {
    throw BadValue{{Code::bad_input, std::move(what), std::move(next)}};
  };
  const auto level = [](const std::string& name) {
    Level l = Level::core;
    if (!name.empty()) parse_name(name, l);
    return l;
  };
  if (!o.prefer.empty() && level(o.prefer) == Level::core) wrong("--prefer core means nothing: that is anywhere", "leave it out");
  if (!o.prefer.empty() && !o.within.empty() && level(o.prefer) >= level(o.within)) {
    wrong(fmt::format("--prefer {} contradicts --within {}: all of it lies within one {} anyway", o.prefer, o.within, o.within),
          "prefer a level nearer than --within, or leave one of them out");
  }
  if (!o.prefer.empty() && o.prefer_wait_s == 0) wrong("--prefer needs --prefer-wait", "say how long it may wait, e.g. 15m");
  if (o.prefer.empty() && o.prefer_wait_s > 0) wrong("--prefer-wait needs --prefer", "say what it waits for, e.g. --prefer leaf");
  if (o.deferrable && o.deadline_in_s == 0) wrong("--deferrable needs --deadline", "without one it would wait for ever");
  if (o.gpu_milli > 0 && (o.nodes != 1 || o.gpus_per_node > 1 || o.segment > 0)) {
    wrong("--gpu-milli is a share of one GPU: it goes with neither --nodes, --gpus-per-node nor --segment", "");
  }
  if (o.segment > o.nodes || (o.segment > 0 && o.nodes % o.segment != 0)) {
    wrong(fmt::format("--segment {} does not divide --nodes {}", o.segment, o.nodes), "");
  }
}

void Parser::add_placement(CLI::App* sub) {
  auto& o = submit_;
  const auto count = [this, sub](const char* flag, const char* about, std::uint32_t& target, std::uint64_t most) {
    value(sub, flag, "N", about, [flag, &target, most](const std::string& s) {
      target = static_cast<std::uint32_t>(checked(parse_count(flag, s, 1, most)));
    })->group(kWhere);
  };
  count("--gpus-per-node", "GPUs of each node, instead of all", o.gpus_per_node, 16);
  count("--gpu-milli", "A share of one GPU, in thousandths", o.gpu_milli, 999);
  count("--segment", "Cut into segments of N nodes, each within one NVLink domain", o.segment, 131'072);
  const Words levels = as_words(muster::names(Level{}));
  choice(sub, "--within", "LEVEL", "All of it within one " + join(levels, ", ") + " [core: anywhere]", levels,
         [&o, levels](std::size_t i) { o.within = levels[i]; })
      ->group(kWhere);
  choice(sub, "--prefer", "LEVEL", "As --within, but only for as long as --prefer-wait; nearer than --within", levels,
         [&o, levels](std::size_t i) { o.prefer = levels[i]; })
      ->group(kWhere);
  value(sub, "--prefer-wait", "TIME", "How long it waits for what it prefers", [&o](const std::string& s) {
    o.prefer_wait_s = checked(parse_some_time("--prefer-wait", s, 1e8));
  })->group(kWhere);
  words(sub, "--gpu", "MODEL", "Only on GPUs of this model", o.gpu_model, {}, 200);
  sub->get_option("--gpu")->group(kWhere);
}

void Parser::add_order(CLI::App* sub) {
  auto& o = submit_;
  words(sub, "--queue", "NAME", "Queue it counts for [the account's]", o.queue, {}, 200);
  sub->get_option("--queue")->group(kWhen);
  value(sub, "--priority", "N", "Higher goes first, -1000000 to 1000000 [0]", [&o](const std::string& s) {
    o.priority = checked(parse_signed("--priority", s, -1'000'000, 1'000'000));
  })->group(kWhen);
  value(sub, "--time-limit", "TIME", "The longest one attempt may take; then it is ended and not tried again",
        [&o](const std::string& s) { o.time_limit_s = checked(parse_some_time("--time-limit", s, 1e8)); })
      ->group(kWhen);
  value(sub, "--deadline", "TIME", "It should have ended so long from now", [&o](const std::string& s) {
    o.deadline_in_s = checked(parse_some_time("--deadline", s, 1e8));
  })->group(kWhen);
  flag(sub, "--deferrable", o.deferrable, "It may wait for cheap power, as far as its deadline allows");
  sub->get_option("--deferrable")->group(kWhen);
  value(sub, "--value", "X", "What its result is worth per GPU-hour: dearer power is not spent on it",
        [&o](const std::string& s) { o.value_per_gpu_h = checked(parse_quantity("--value", s, 0, 1e9, "")); })
      ->group(kWhen);
  value(sub, "--after", "JOB", "Not before this job has completed; may be given several times",
        [&o](const std::string& s) { o.after.push_back(checked(parse_words("--after", s, 40))); }, {WordKind::job, {}})
      ->group(kWhen)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  value(sub, "--array", "N", "So many jobs of this kind", [&o](const std::string& s) {
    o.array = static_cast<std::uint32_t>(checked(parse_count("--array", s, 1, 10'000)));
  })->group(kWhen);
}

void Parser::add_cancel() {
  auto* sub =
      command(app_, "cancel", "End jobs for good; work since their last checkpoint is lost", kAct, "  muster cancel 42 --yes");
  value(sub, "JOB", "JOB", "Job numbers",
        [this](const std::string& s) { cancel_.jobs.push_back(checked(parse_words("JOB", s, 40))); }, {WordKind::job, {}})
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
  words(verify, "FILE", "FILE", "Journal file [the one in the state directory]", journal_verify_.file, {WordKind::file, {}});
  add_state(verify, journal_verify_.state);
  add_format(verify, journal_verify_.format, {Format::table, Format::json});
  add_progress(verify, journal_verify_.progress);
  chosen(verify, journal_verify_);
  auto* out = command(*journal, "export", "Print events as JSON lines", nullptr,
                      "  muster journal export week.db --type order_intended\n  muster journal export --from 1000 --to 2000");
  words(out, "FILE", "FILE", "Journal file [the one in the state directory]", journal_export_.file, {WordKind::file, {}});
  add_state(out, journal_export_.state);
  value(out, "--from", "SEQ", "First event [1]",
        [this](const std::string& s) { journal_export_.from = checked(parse_count("--from", s, 1, UINT64_MAX)); });
  value(out, "--to", "SEQ", "Last event [the newest]",
        [this](const std::string& s) { journal_export_.to = checked(parse_count("--to", s, 1, UINT64_MAX)); });
  words(out, "--type", "TYPE", "Only events of this type", journal_export_.type, {}, 100);
  chosen(out, journal_export_);
}

void Parser::add_self() {
  auto* login = command(app_, "login", "Print a fresh one-time link that lets your browser act", kSelf, "  muster login");
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
  for (const auto* sub : app->get_subcommands([](const CLI::App*) { return true; })) help.commands.push_back(tree_of(sub));
  return help;
}

namespace {

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

}  // namespace

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
  } catch (const CLI::RequiredError& e) {
    // A flag that is misspelt is the likelier mistake than one that was forgotten.
    const auto rest = app_.remaining(true);
    const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& w) { return w.size() > 1 && w[0] == '-'; });
    if (flag != rest.end()) return tl::unexpected(unknown_word(*deepest(&app_), *flag));
    return fail(Code::bad_input, plain_refusal(e.what()), help_hint());
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

Result<Command> parse_command_line(int argc, const char* const* argv) {
  Words args;
  for (int i = 1; i < argc; ++i) args.emplace_back(argv[i]);
  Parser parser;
  return parser.parse(std::move(args));
}

CommandHelp command_tree() { return Parser().tree(); }

}  // namespace muster::cmd
