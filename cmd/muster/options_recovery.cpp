// Commands about recovery: runbooks, limits, approvals.
#include "options_parser.h"

namespace muster::cmd {

void Parser::add_runbook() {
  auto* runbook = command(app_, "runbook", "What is done about each kind of fault, and in what order", kLook,
                          "  muster runbook list\n  muster runbook show gpu_lost\n  muster runbook check ours.yaml\n"
                          "  muster runbook diff default ours.yaml");
  const auto add = [&](RunbookOptions& o, RunbookOptions::What what, const char* name, const char* about, const char* examples) {
    o.what = what;
    auto* sub = command(*runbook, name, about, nullptr, examples);
    add_format(sub, o.format, {Format::table, Format::json});
    return sub;
  };
  const auto several = [&](CLI::App* sub, RunbookOptions& o, const char* shown, const char* about, Word word) {
    value(
        sub, shown, shown, about, [&o, shown](const std::string& s) { o.names.push_back(checked(parse_words(shown, s, 4096))); },
        std::move(word))
        ->required()
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args();
  };
  const auto add_source = [&](CLI::App* sub, RunbookOptions& o) {
    add_policy(sub, o.policy, "Policy whose runbooks are shown, from its file [default]");
    flag(sub, "--running", o.running, "Ask the Muster that runs here instead; so do --state and --server");
    add_connection(sub, o.connection);
    for (const char* asks : {"--running", "--state", "--server"}) sub->get_option("--policy")->excludes(sub->get_option(asks));
  };
  auto* list = add(runbook_list_, RunbookOptions::What::list, "list",
                   "All runbooks of a policy, one a line; with --running those in force",
                   "  muster runbook list\n  muster runbook list --policy cautious -o json\n  muster runbook list --running");
  add_source(list, runbook_list_);
  chosen(list, runbook_list_);
  auto* show = add(runbook_show_, RunbookOptions::What::show, "show", "One in words: its steps, why, and who says so",
                   "  muster runbook show ecc_uncontained");
  several(show, runbook_show_, "NAME", "Runbooks", {});
  add_source(show, runbook_show_);
  chosen(show, runbook_show_);
  auto* check = add(runbook_check_, RunbookOptions::What::check, "check", "Whether files of runbooks or policies are sound",
                    "  muster runbook check ours.yaml");
  several(check, runbook_check_, "FILE", "Files", {WordKind::file, {}});
  chosen(check, runbook_check_);
  auto* diff = add(runbook_diff_, RunbookOptions::What::diff, "diff",
                   "In what the runbooks of two policies differ, groups of nodes included; exit code 6: they do",
                   "  muster runbook diff default ours.yaml\n  muster runbook diff last-week.yaml ours.yaml -o json");
  several(diff, runbook_diff_, "POLICY", "Two policies: names or files", {WordKind::file, preset_policy_names()});
  chosen(diff, runbook_diff_);
}

void Parser::add_guard() {
  auto* guard = command(app_, "guard", "The limits that hold every act back", kLook, "  muster guard status");
  auto* status = command(*guard, "status", "How much of each limit is used, what is frozen, what waits for approval", nullptr,
                         "  muster guard status\n  muster guard status -o json");
  add_format(status, guard_.format, {Format::table, Format::json});
  add_connection(status, guard_.connection);
  chosen(status, guard_);
}

void Parser::add_upgrade_spec(CLI::App* sub, UpgradeSpec& spec) {
  value(sub, "--canaries", "N", "Nodes that go first and are watched under load [one in a hundred, 3 at least]",
        [&spec](const std::string& s) {
          spec.canaries = static_cast<std::uint32_t>(checked(parse_count("--canaries", s, 1, 10'000)));
        });
  value(sub, "--watch", "TIME", "How long canaries work before the rest follows; every node is watched as long [1h]",
        [&spec](const std::string& s) { spec.watch = from_seconds(checked(parse_some_time("--watch", s, 7 * 86'400))); });
  value(sub, "--at-once", "PCT", "Nodes out of service for it at one time, in percent of all; one at least [5]",
        [&spec](const std::string& s) { spec.at_once_pct = checked(parse_quantity("--at-once", s, 0.1, 100, "%")); });
  value(
      sub, "--finish-in", "TIME", "Work that ends by itself before then is left alone; other work moves at a checkpoint [24h]",
      [&spec](const std::string& s) { spec.finish_in = from_seconds(checked(parse_some_time("--finish-in", s, 90 * 86'400))); });
}

void Parser::add_upgrade() {
  auto* upgrade = command(app_, "upgrade", "Bring a driver, firmware or system to every node while the cluster works", kAct,
                          "  muster upgrade start driver 580.159.04 --before 580.105.08\n  muster upgrade status\n"
                          "  muster upgrade stop\n  muster upgrade rollback --reason \"jobs are slower\"");
  using What = UpgradeOptions::What;
  auto* start =
      command(*upgrade, "start", "Begin: canaries first, then the rest a few at a time; what does harm is taken back", nullptr,
              "  muster upgrade start driver 580.159.04 --before 580.105.08\n"
              "  muster upgrade start firmware 28.43.2566 --before 28.42.1000 --nodes 'node[001-064]' --at-once 5");
  UpgradeOptions& o = upgrade_start_;
  o.what = What::start;
  const Words whats{"driver", "firmware", "os"};
  choice(start, "WHAT", "WHAT", "driver, firmware or os", whats, [&o, whats](std::size_t i) {
    o.spec.what = whats[i];
  })->required();
  value(start, "VERSION", "VERSION", "As the site's installer knows it", [&o](const std::string& s) {
    o.spec.version = checked(parse_words("VERSION", s, 100));
  })->required();
  value(start, "--before", "VERSION", "What it is taken back to [what most nodes have, by their agents' word]",
        [&o](const std::string& s) { o.spec.before = checked(parse_words("--before", s, 100)); });
  value(start, "--nodes", "LIST", "Only these: \"node[001-064]\" [all]",
        [&o](const std::string& s) { o.spec.nodes = checked(parse_words("--nodes", s, 10'000)); });
  add_upgrade_spec(start, o.spec);
  flag(start, "-y,--yes", o.yes, "Do it; without this, only show what would happen, and ask on a terminal");
  add_reason(start, o.reason);
  add_connection(start, o.connection);
  chosen(start, o);
  const auto plain = [&](UpgradeOptions& x, What what, const char* name, const char* about, const char* examples) {
    x.what = what;
    auto* sub = command(*upgrade, name, about, nullptr, examples);
    if (what == What::status) add_format(sub, x.format, {Format::table, Format::json});
    if (what != What::status) add_reason(sub, x.reason);
    add_connection(sub, x.connection);
    chosen(sub, x);
  };
  plain(upgrade_status_, What::status, "status", "How far it is, what went bad, and what it waits for",
        "  muster upgrade status -o json");
  plain(upgrade_stop_, What::stop, "stop", "Begin nothing more; what is done stays",
        "  muster upgrade stop --reason \"the demo is tomorrow\"");
  plain(upgrade_back_, What::back, "rollback", "Take it back from every node that has it, in the same careful way",
        "  muster upgrade rollback --reason \"jobs are slower\"");
}

void Parser::add_bench_upgrade(CLI::App& bench) {
  auto* sub = command(bench, "upgrade",
                      "A rolling driver upgrade of a busy cluster, beside the same hours without it. Exit 6: a bound is not kept",
                      nullptr,
                      "  muster bench upgrade                     2,048 GPUs, 20 seeds\n"
                      "  muster bench upgrade --bad               the version hangs GPUs: it must be stopped at the canaries\n"
                      "  muster bench upgrade --wait-for-jobs --gpus 16384 --seeds 1     no job is stopped: how long it takes");
  auto& o = bench_upgrade_;
  o.twin.gpus = 2048;
  add_twin_choice(sub, o.twin);
  value(sub, "--seeds", "N", "Histories, each of another seed [20]",
        [&o](const std::string& s) { o.seeds = checked(parse_count("--seeds", s, 1, 10'000)); });
  flag(sub, "--bad", o.bad,
       "The new version hangs GPUs some minutes after it was installed; with --wait-for-jobs: nodes do not come up with it");
  flag(sub, "--wait-for-jobs", o.spec.wait_for_jobs,
       "As planned by muster fleet upgrade: nodes wait for their jobs, each is measured before and after, no job spans both "
       "versions");
  add_upgrade_spec(sub, o.spec);
  add_format(sub, o.format, {Format::table, Format::json});
  add_progress(sub, o.progress);
  chosen(sub, o);
}

void Parser::add_shadow() {
  auto* shadow = command(app_, "shadow", "What would have been done where nothing is: policies with `shadow: true`", kLook,
                         "  muster shadow report\n  muster shadow report --journal week.db -o json");
  auto* sub =
      command(*shadow, "report", "What Muster would have done in shadow mode, what became of it, and what a person did as well",
              nullptr, "  muster shadow report\n  muster shadow report --journal week.db -o json");
  words(sub, "--journal", "FILE", "Read a journal file instead of asking a running Muster", shadow_.journal, {WordKind::file, {}},
        4095);
  add_format(sub, shadow_.format, {Format::table, Format::json});
  add_connection(sub, shadow_.connection);
  chosen(sub, shadow_);
}

void Parser::add_approve(ApproveOptions& o) {
  auto* sub = command(app_, o.reject ? "reject" : "approve",
                      o.reject ? "Say no to an act that waits for approval" : "Let an act happen that waits for approval", kAct,
                      o.reject ? "  muster reject 3 --reason \"the run ends tonight\"" : "  muster approve 3");
  value(sub, "ID", "ID", "Number of the approval: `muster guard status` lists them", [&o](const std::string& s) {
    o.id = checked(parse_count("ID", s, 1, UINT64_MAX));
  })->required();
  add_reason(sub, o.reason);
  add_connection(sub, o.connection);
  chosen(sub, o);
}

}  // namespace muster::cmd
