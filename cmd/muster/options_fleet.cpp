// muster fleet: what every node is, what it should be, and which difference makes it slow; muster bench fleet.
#include "options_parser.h"

namespace muster::cmd {
namespace {

using Formats = std::vector<Format>;
constexpr const char* kNodes = "Of ansible, cloud-init, goss, tfvars and redfish";

}  // namespace

void Parser::add_many(CLI::App* sub, const char* names, const char* type, const char* about, Words& target, Word word) {
  const std::string shown = names;
  value(
      sub, names, type, about, [&target, shown](const std::string& s) { target.push_back(checked(parse_words(shown, s, 4096))); },
      std::move(word))
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Parser::add_facts(CLI::App* sub, FactsChoice& facts, bool required) {
  auto* files = value(
      sub, "FACTS", "FACTS", "Files or folders that muster fleet inventory, ansible or nvidia-smi wrote; - is stdin",
      [&facts](const std::string& s) { facts.files.push_back(checked(parse_words("FACTS", s, 4096))); }, {WordKind::file, {}});
  files->expected(required ? 1 : 0, CLI::detail::expected_max_vector_size)->allow_extra_args();
  if (required) files->required();
  add_many(sub, "--set", "KEY=VALUE",
           "What no program on a node can read: slurm.slurmctld=25.05.2 of all, gpu[001-008]:bmc.version=25.06 of some, "
           "gpu001:mlx5_0:nic.ats=on of a part; several times",
           facts.set);
}

void Parser::add_fleet() {
  auto* fleet = command(app_, "fleet", "What every node is, what it should be, and which difference makes it slow", kRun,
                        "  muster fleet inventory --ssh 'gpu[001-064]' --out facts.jsonl\n"
                        "  muster fleet check facts.jsonl                versions that do not go together, settings that matter\n"
                        "  muster fleet drift facts.jsonl                who differs from its own kind\n"
                        "  muster fleet explain facts.jsonl --performance busbw.csv     which difference makes nodes slow");
  add_fleet_facts(*fleet);
  add_fleet_judged(*fleet);
  add_fleet_compared(*fleet);
  add_fleet_diff(*fleet);
  add_fleet_done(*fleet);
  add_fleet_upgrade(*fleet);
  add_fleet_emit(*fleet);
}

void Parser::add_fleet_facts(CLI::App& fleet) {
  FleetProbeOptions& p = fleet_.probe;
  auto* probe = command(fleet, "probe", "What this node is and runs, read in milliseconds; opens no GPU", nullptr,
                        "  muster fleet probe > facts.jsonl\n  muster fleet probe -o table\n  muster fleet probe --list");
  words(probe, "--node", "NAME", "What the node is called [the host's name]", p.node, {}, 253);
  words(probe, "--root", "FOLDER", "Read this instead of /: an image, a chroot", p.root, {WordKind::directory, {}});
  flag(probe, "--nvml", p.nvml, "Ask the GPUs' driver too (clocks, ECC, MIG, power limit); this opens the GPUs");
  words(probe, "--nvml-library", "FILE", "NVIDIA's management library [libnvidia-ml.so.1]", p.nvml_library, {WordKind::file, {}});
  add_many(probe, "--set", "KEY=VALUE", "What no program can read, by hand; several times", p.set);
  value(probe, "--cpu", "TIME", "CPU it may use; then it stops looking for NCCL and libcuda in the memory of jobs [4ms]",
        [&p](const std::string& s) { p.cpu_s = checked(parse_duration_s("--cpu", s, 60)); });
  flag(probe, "--list", p.list, "Only list what can be known, of what kind it is and how it is read");
  flag(probe, "--cost", p.cost, "Say on stderr what it took");
  const Words shown{"jsonl", "table", "json"};
  choice(probe, "-o,--output", "FORMAT", "jsonl, table, json [jsonl]", shown, [&p](std::size_t i) {
    constexpr std::array kFormats{Format::jsonl, Format::table, Format::json};
    p.format = kFormats[i];
  });
  sub_chosen(probe, p);

  FleetInventoryOptions& i = fleet_.inventory;
  auto* inventory =
      command(fleet, "inventory", "What the nodes of a fleet are and run: from files, agents, over ssh or by srun", nullptr,
              "  muster fleet inventory --ssh 'gpu[001-064]' --out facts.jsonl\n"
              "  muster fleet inventory --srun 'gpu[001-064]' --out facts.jsonl\n"
              "  muster fleet inventory --agents 'gpu[001-064]' --out facts.jsonl\n"
              "  muster fleet inventory facts/ ansible-facts/ -o csv\n"
              "  muster fleet inventory facts.jsonl --fingerprints\n"
              "  muster fleet inventory facts.jsonl --against image.jsonl   would a reboot change anything?");
  add_facts(inventory, i.facts, false);
  words(inventory, "--agents", "WHERE",
        "Ask the agents that run there: \"gpu[001-064]\" (port 9400), gpu001:9500, https://gpu001:9443, or @FILE (lines of "
        "these, or Prometheus' file_sd)",
        i.agents, {}, 100'000);
  words(inventory, "--ssh", "NODES", "Run the probe there by ssh: \"gpu[001-064]\"", i.ssh, {}, 100'000);
  words(inventory, "--srun", "NODES", "Run the probe there by srun", i.srun, {}, 100'000);
  words(inventory, "--program", "PATH", "Muster on those nodes [this program is sent along]", i.program, {WordKind::file, {}});
  words(inventory, "--ssh-options", "WORDS", "Handed to ssh as they are", i.ssh_options);
  value(inventory, "--at-once", "N", "Nodes that are asked at one time [32]",
        [&i](const std::string& s) { i.at_once = static_cast<std::uint32_t>(checked(parse_count("--at-once", s, 1, 1024))); });
  value(inventory, "--deadline", "TIME", "After which a node is given up on [30s]",
        [&i](const std::string& s) { i.deadline_s = checked(parse_duration_s("--deadline", s, 3600)); });
  words(inventory, "--out", "FILE", "Write all facts to this file", i.out, {WordKind::file, {}});
  flag(inventory, "--fingerprints", i.fingerprints,
       "By layer: which nodes are alike in firmware, kernel, driver, user space, tuning");
  words(inventory, "--against", "FILE",
        "Facts of what the next boot would bring (muster fleet probe --root IMAGE): who would change", i.against,
        {WordKind::file, {}});
  add_format(inventory, i.format, Formats{Format::table, Format::wide, Format::json, Format::jsonl, Format::csv});
  sub_chosen(inventory, i);
}

void Parser::add_fleet_rules(CLI::App* sub, std::string& target) {
  words(sub, "--rules", "FILE", "A site's own rules, besides those that ship (docs/formats/fleet_rules.md)", target,
        {WordKind::file, {}});
}

void Parser::add_performance(CLI::App* sub, std::string& target, bool needed) {
  words(sub, "--performance", "FILE", "What nodes were measured at: CSV with node and one column a measure, more is better",
        target, {WordKind::file, {}});
  if (needed) sub->get_option("--performance")->required();
}

void Parser::add_declared(CLI::App* sub, std::string& target) {
  words(sub, "--declared", "FILE", "Values that hold (docs/formats/fleet_declared.md) [what most nodes of a kind have]", target,
        {WordKind::file, {}});
}

void Parser::add_fleet_judged(CLI::App& fleet) {
  FleetCheckOptions& c = fleet_.check;
  auto* check = command(fleet, "check", "Versions that do not go together, and settings that matter. Exit 6: findings", nullptr,
                        "  muster fleet check facts.jsonl\n  muster fleet check facts.jsonl --least info --unknown\n"
                        "  muster fleet check facts.jsonl --only C024 -o json");
  add_facts(check, c.facts, true);
  add_fleet_rules(check, c.rules);
  add_many(check, "--only", "ID", "Only this rule, whatever its severity (--least does not count); several times", c.only);
  const Words least{"error", "warn", "info"};
  choice(check, "--least", "SEVERITY", "error, warn or info [warn]", least, [&c, least](std::size_t i) { c.least = least[i]; });
  words(check, "--today", "DAY",
        "The day that ends of life are held against, such as 2026-11-19 [the newest facts' day, today at most]", c.today, {}, 10);
  add_performance(check, c.performance, false);
  words(check, "--jobs", "FILE", "Node lists that one job spans, a line each, for rules about jobs [all nodes of a kind]", c.jobs,
        {WordKind::file, {}});
  flag(check, "--unknown", c.unknown, "List too what could not be judged, and which facts are missing for it");
  add_format(check, c.format, Formats{Format::table, Format::json, Format::jsonl, Format::csv});
  sub_chosen(check, c);

  FleetRulesOptions& r = fleet_.rules;
  auto* list =
      command(fleet, "rules", "The rules: what each says, asks and comes from", nullptr,
              "  muster fleet rules\n  muster fleet rules C027\n  muster fleet rules --import releases.json > nvidia.csv");
  words(list, "ID", "ID", "Only this one [all]", r.id, {}, 100);
  add_fleet_rules(list, r.rules);
  words(list, "--import", "FILE", "Print rules made of NVIDIA's releases.json, for --rules", r.import, {WordKind::file, {}});
  add_format(list, r.format, Formats{Format::table, Format::wide, Format::json, Format::csv});
  sub_chosen(list, r);
}

void Parser::add_fleet_compared(CLI::App& fleet) {
  FleetDriftOptions& d = fleet_.drift;
  auto* drift =
      command(fleet, "drift", "Who differs from its own kind, without anything declared. Exit 6: somebody does", nullptr,
              "  muster fleet drift facts.jsonl\n  muster fleet drift facts.jsonl --declared golden.yaml -o csv");
  add_facts(drift, d.facts, true);
  add_declared(drift, d.declared);
  value(drift, "--share", "X", "Of a kind that must agree before its value is taken for the right one [0.8]",
        [&d](const std::string& s) { d.share = checked(parse_quantity("--share", s, 0.5, 1)); });
  add_many(drift, "--node", "NODES", "Only these, such as gpu[001-008]; several times", d.nodes);
  flag(drift, "--all", d.all, "Also what changes by itself: link speeds now, states of ports");
  add_format(drift, d.format, Formats{Format::table, Format::json, Format::jsonl, Format::csv});
  sub_chosen(drift, d);

  FleetExplainOptions& e = fleet_.explain;
  auto* explain = command(fleet, "explain", "Which setting or version explains the slow nodes, and when none does", nullptr,
                          "  muster fleet explain facts.jsonl --performance busbw.csv\n"
                          "  muster fleet explain facts.jsonl --performance busbw.csv --alpha 0.05 -o json");
  add_facts(explain, e.facts, true);
  add_performance(explain, e.performance, true);
  value(explain, "--permutations", "N", "Shuffles that a difference is held against [1000]", [&e](const std::string& s) {
    e.permutations = static_cast<std::uint32_t>(checked(parse_count("--permutations", s, 100, 1'000'000)));
  });
  value(explain, "--alpha", "X", "Chance of blaming anything where nothing is to blame [0.01]",
        [&e](const std::string& s) { e.alpha = checked(parse_quantity("--alpha", s, 0.0001, 0.5)); });
  value(explain, "--least-effect", "PERCENT", "Smaller ones are not told [0.3]",
        [&e](const std::string& s) { e.least_effect_pct = checked(parse_quantity("--least-effect", s, 0, 100)); });
  value(explain, "--seed", "N", "Of the shuffles [1]",
        [&e](const std::string& s) { e.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  add_format(explain, e.format, Formats{Format::table, Format::json});
  sub_chosen(explain, e);
}

void Parser::add_fleet_diff(CLI::App& fleet) {
  FleetDiffOptions& n = fleet_.diff;
  auto* diff = command(fleet, "diff", "What differs between two nodes, or between two runs of a job", nullptr,
                       "  muster fleet diff gpu001 gpu017 facts.jsonl\n  muster fleet diff job 4711 4802 --journal week.db");
  words(diff, "A", "NODE", "A node of the facts", n.a, {}, 253);
  words(diff, "B", "NODE", "Another", n.b, {}, 253);
  add_facts(diff, n.facts, false);
  flag(diff, "--all", n.all, "Also what is the same");
  add_format(diff, n.format, Formats{Format::table, Format::json});
  diff->callback([this, diff] {
    if (!diff->get_subcommands().empty()) return;
    if (fleet_.diff.b.empty() || fleet_.diff.facts.files.empty())
      throw BadValue{{Code::bad_input, "diff needs two nodes and the facts", "muster fleet diff gpu001 gpu017 facts.jsonl"}};
    command_ = FleetCommand(fleet_.diff);
  });
  FleetDiffOptions& j = fleet_.diff_jobs;
  j.what = FleetDiffOptions::What::jobs;
  auto* jobs = command(*diff, "job", "What changed between two runs: image, driver, CUDA, NCCL, settings", nullptr,
                       "  muster fleet diff job 4711 4802\n  muster fleet diff job 4711 4802 --journal week.db -o json");
  words(jobs, "A", "JOB", "A job, running or ended; 4711.2 is its second attempt", j.a, {WordKind::job, {}}, 100);
  words(jobs, "B", "JOB", "Another, or another attempt", j.b, {WordKind::job, {}}, 100);
  for (const char* x : {"A", "B"}) jobs->get_option(x)->required();
  words(jobs, "--journal", "FILE", "A recorded history [the running Muster is asked]", j.journal, {WordKind::file, {}});
  flag(jobs, "--all", j.all, "Also what is the same");
  add_connection(jobs, j.connection);
  add_format(jobs, j.format, Formats{Format::table, Format::json});
  sub_chosen(jobs, j);
}

void Parser::add_fleet_done(CLI::App& fleet) {
  FleetProvisionOptions& p = fleet_.provision;
  auto* provision = command(fleet, "provision", "Files from which nodes are installed, and whether a new node may join", nullptr,
                            "  muster fleet provision --cluster mine.yaml --out install/\n"
                            "  muster fleet provision join gpu065 facts.jsonl --acceptance gpu065.accept.jsonl");
  add_cluster(provision, p.cluster);
  words(provision, "--out", "FOLDER", "Where the files are written", p.out, {WordKind::directory, {}});
  words(provision, "--declared", "FILE", "Values that hold (docs/formats/fleet_declared.md)", p.declared, {WordKind::file, {}});
  add_many(provision, "--ssh-key", "FILE", "Public keys of OpenSSH that may log in to the nodes; several times", p.ssh_keys,
           {WordKind::file, {}});
  provision->callback([this, provision] {
    if (!provision->get_subcommands().empty()) return;
    if (fleet_.provision.cluster.empty() || fleet_.provision.out.empty())
      throw BadValue{
          {Code::bad_input, "provision needs --cluster and --out", "muster fleet provision --cluster mine.yaml --out install/"}};
    command_ = FleetCommand(fleet_.provision);
  });
  FleetProvisionOptions& q = fleet_.join;
  q.what = FleetProvisionOptions::What::join;
  auto* join = command(*provision, "join", "Is a new node fit to join: facts, rules and acceptance. Exit 6: it is not", nullptr,
                       "  muster fleet provision join gpu065 facts.jsonl --acceptance gpu065.accept.jsonl");
  words(join, "NODE", "NODE", "The new node, among the facts", q.node, {}, 253);
  join->get_option("NODE")->required();
  add_facts(join, q.facts, true);
  words(join, "--declared", "FILE", "Values that hold [what most nodes of its kind have]", q.declared, {WordKind::file, {}});
  words(join, "--acceptance", "FILE", "A recording of muster accept on it; without one it may not join", q.acceptance,
        {WordKind::file, {}});
  words(join, "--today", "DAY", "Judge ages by the end of this day, such as 2026-11-19, instead of by now", q.today, {}, 10);
  add_format(join, q.format, Formats{Format::table, Format::json});
  sub_chosen(join, q);
  add_provision_check(*provision);
}

void Parser::add_provision_check(CLI::App& provision) {
  FleetProvisionOptions& c = fleet_.provision_check;
  c.what = FleetProvisionOptions::What::check;
  auto* check = command(provision, "check", "What of a user-data cloud-init would pass over or refuse. Exit 6: there is some",
                        nullptr, "  muster fleet provision check user-data.yaml");
  value(check, "FILE", "FILE", "User-data of cloud-init, or of Ubuntu's installer; - is stdin; several",
        [&c](const std::string& s) { c.user_data.push_back(checked(parse_words("FILE", s, 4096))); }, {WordKind::file, {}})
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  sub_chosen(check, c);
}

void Parser::add_fleet_upgrade(CLI::App& fleet) {
  FleetUpgradeOptions& u = fleet_.upgrade;
  auto* upgrade = command(fleet, "upgrade", "Plan a rolling upgrade by the rules: what goes first, who is tried first", nullptr,
                          "  muster fleet upgrade facts.jsonl --cluster mine.yaml --to driver=580.159.04\n"
                          "  muster fleet upgrade facts.jsonl --cluster mine.yaml --to driver=580.159.04 --start --yes");
  add_facts(upgrade, u.facts, true);
  add_cluster(upgrade, u.cluster)->required();
  add_many(upgrade, "--to", "WHAT=VERSION", "Wanted: driver, firmware, nic, kernel, nccl, slurm, os ...; several times", u.to);
  upgrade->get_option("--to")->required();
  value(upgrade, "--nodes", "LIST", "Only these: \"node[001-064]\" [all]",
        [&u](const std::string& s) { u.nodes = checked(parse_words("--nodes", s, 100'000)); });
  add_fleet_rules(upgrade, u.rules);
  words(upgrade, "--jobs", "FILE", "Jobs of now: what squeue --json prints, or node lists, a job a line [the running Muster]",
        u.jobs, {WordKind::file, {}});
  words(upgrade, "--today", "DAY", "Judge ages by the end of this day, such as 2026-11-19, instead of by now", u.today, {}, 10);
  flag(upgrade, "--allow-downgrade", u.allow_downgrade, "Also to a version older than what nodes have");
  add_upgrade_spec(upgrade, u.spec);
  words(upgrade, "--out", "FILE", "Write the plan to this file, as JSON", u.out, {WordKind::file, {}});
  flag(upgrade, "--start", u.start, "Hand it to the running Muster, which carries it out");
  flag(upgrade, "-y,--yes", u.yes, "With --start: do it; without this, only show what would happen");
  add_reason(upgrade, u.reason);
  add_connection(upgrade, u.connection);
  add_format(upgrade, u.format, Formats{Format::table, Format::json});
  sub_chosen(upgrade, u);
}

void Parser::add_fleet_emit(CLI::App& fleet) {
  auto* emit =
      command(fleet, "emit", "Files for the programs around a cluster, or that bring nodes to what they should be", nullptr,
              "  muster fleet emit prometheus -o /etc/prometheus/muster_rules.yml\n"
              "  muster fleet emit dcgm-counters > counters.csv     for dcgm-exporter -f counters.csv\n"
              "  muster fleet emit slurm --cluster mine.yaml --hardware \"$(ssh n001 slurmd -C)\" -o slurm/\n"
              "  muster fleet emit ansible facts.jsonl -o site/     only what differs, by wave");
  FleetEmitOptions& o = fleet_.emit;
  choice(emit, "FILE", "FILE",
         "prometheus (alert and recording rules), grafana (dashboard), dcgm-counters, slurm (its files for a cluster); of facts: "
         "ansible, cloud-init, goss, tfvars, redfish",
         as_words(names(EmittedFile{})), [&o](std::size_t i) { o.what = static_cast<EmittedFile>(i); })
      ->required();
  words(emit, "-o,--output", "FILE",
        "Write to this file instead of stdout; of slurm, ansible, cloud-init and goss, into this folder", o.out,
        {WordKind::file, {}});
  add_facts(emit, o.facts, false);
  emit->get_option("--set")->group(kNodes);
  words(emit, "--declared", "FILE", "Values that hold (docs/formats/fleet_declared.md) [what most nodes of a kind have]",
        o.declared, {WordKind::file, {}});
  emit->get_option("--declared")->group(kNodes);
  add_cluster(emit, o.cluster)->group("Of slurm, which needs it, and of facts");
  const auto path = [&](const char* name, const char* about, std::string& target) {
    value(emit, name, "PATH", about, [&target, name](const std::string& s) {
      target = checked(parse_plain_path(name, s));
    })->group(kSlurm);
  };
  value(emit, "--partition", "NAME", "The partition of all nodes, placed by Muster [batch]", [&o](const std::string& s) {
    o.partition = checked(parse_plain_name("--partition", s));
  })->group(kSlurm);
  words(emit, "--hardware", "WORDS",
        "Cores and memory of each node, as `slurmd -C` prints them on one; without it they are left out", o.hardware);
  emit->get_option("--hardware")->group(kSlurm);
  path("--folder", "Where slurm.conf lies and these files will [/etc/slurm]", o.folder);
  path("--heartbeat", "Muster's heartbeat, as in its Slurm file [/run/muster/heartbeat]", o.heartbeat);
  sub_chosen(emit, o);
}

void Parser::add_bench_fleet(CLI::App& bench) {
  BenchFleetOptions& o = fleet_.bench;
  auto* sub = command(
      bench, "fleet", "Drift, causes and rules on simulated fleets with planted differences. Exit 6: a bound is not kept",
      nullptr, "  muster bench fleet\n  muster bench fleet --what speed\n  muster bench fleet --what innocent --innocent 1000");
  const Words whats{"all", "cause", "innocent", "racks", "drift", "clean", "speed"};
  choice(sub, "--what", "WHAT",
         "cause, innocent (no cause), racks (slow ones, no cause), drift, clean (no drift), speed or all [all]", whats,
         [&o, whats](std::size_t i) { o.what = whats[i]; });
  value(sub, "--fleets", "N", "With a cause, of the kind that is promised, and a third of each other [300]",
        [&o](const std::string& s) { o.fleets = static_cast<std::uint32_t>(checked(parse_count("--fleets", s, 1, 100'000))); });
  value(sub, "--innocent", "N", "Without a cause [1000]", [&o](const std::string& s) {
    o.innocent = static_cast<std::uint32_t>(checked(parse_count("--innocent", s, 1, 1'000'000)));
  });
  value(sub, "--seed", "N", "The same seed gives the same fleets [1]",
        [&o](const std::string& s) { o.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
  add_format(sub, o.format, Formats{Format::table, Format::json});
  sub_chosen(sub, o);
}

}  // namespace muster::cmd
