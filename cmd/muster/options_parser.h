// The parser of the command line: one class, whose functions stand in options.cpp (running a cluster, looking, acting) and
// options_tools.cpp (the simulated cluster, replays and benchmarks), options_node.cpp (what runs on a node), options_recovery.cpp
// (runbooks, limits, approvals). Only these files see CLI11.
#pragma once
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>

#include "base/text.h"
#include "flag_values.h"
#include "help_text.h"
#include "ingest/cluster_file.h"
#include "ingest/policy_file.h"
#include "options.h"

namespace muster::cmd {

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

Words gpu_names();  // of data/hardware/gpus.csv

inline Words as_words(auto const& names) { return Words(names.begin(), names.end()); }

constexpr const char* kTry = "Try it on a simulated cluster";
constexpr const char* kDesign = "Plan and design";
constexpr const char* kRun = "Run a cluster";
constexpr const char* kLook = "See what is there, and why";
constexpr const char* kAct = "Act";
constexpr const char* kRecords = "Records";
constexpr const char* kSelf = "This program";
constexpr const char* kConnecting = "Connection";
constexpr const char* kWhere = "Where it runs";
constexpr const char* kLive = "Live intake and alerts (with --cluster)";
constexpr const char* kWhen = "When it runs";
constexpr const char* kSlurm = "Of slurm";

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
    add_replay();
    add_bench();
    add_plan();
    add_fabric();
    add_fabric_group();
    add_cost();
    add_up();
    add_agent();
    add_check();
    add_doctor();
    add_accept();
    add_fleet();
    add_pause(true);
    add_pause(false);
    add_get();
    add_describe();
    add_top();
    add_goodput();
    add_account();
    add_energy();
    add_capacity();
    add_timeline();
    add_audit();
    add_report();
    add_whatif();
    add_explain();
    add_incident();
    add_drain(drain_);
    undrain_.undo = true;
    add_drain(undrain_);
    add_submit();
    add_cancel();
    add_runbook();
    add_guard();
    add_upgrade();
    add_shadow();
    add_approve(approve_);
    reject_.reject = true;
    add_approve(reject_);
    add_diagnose();
    add_tune();
    add_journal();
    add_self();
  }

  Result<Command> parse(Words args);
  CommandHelp tree() const { return tree_of(&app_); }

 private:
  CLI::App* command(CLI::App& parent, const char* name, const char* about, const char* group, const char* examples = nullptr) {
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

  void words(CLI::App* sub, const std::string& names, const char* type, std::string about, std::string& target, Word word = {},
             std::size_t max_bytes = 4096) {
    const std::string shown = names;
    value(
        sub, names, type, std::move(about),
        [&target, shown, max_bytes](const std::string& t) { target = checked(parse_words(shown, t, max_bytes)); },
        std::move(word));
  }

  void add_state(CLI::App* sub, std::string& state) {
    words(sub, "--state", "DIR", "State directory [$MUSTER_STATE, else ~/.local/state/muster]", state, {WordKind::directory, {}});
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

  void add_moment(CLI::App* sub, Connection& c) {
    value(sub, "--at", "UTC", "As it was then, such as 2026-11-15T02:03:04Z; readings of GPUs are not remembered",
          [&c](const std::string& t) { c.at = checked(parse_moment("--at", t)); });
  }

  void add_format(CLI::App* sub, Format& format, std::vector<Format> allowed, const std::string& more = "") {
    Words names;
    for (const auto f : allowed) names.emplace_back(report::kFormatNames[static_cast<std::size_t>(f)]);
    choice(sub, "-o,--output", "FORMAT", join(names, ", ") + " [table]" + more, names,
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

  void add_twin_choice(CLI::App* sub, TwinChoice& t, bool with_seed = true, bool with_policy = true) {
    auto* gpus = value(sub, "--gpus", "N", "A plain cluster of N GPUs, 8 in a node [" + std::to_string(t.gpus) + "]",
                       [&t](const std::string& s) { t.gpus = checked(parse_gpus(s)); });
    add_cluster(sub, t.cluster)->excludes(gpus);
    value(sub, "--jobs", "mix:NAME|FILE", "Work: mix:llm, mix:research, mix:mixed, mix:shared or a workload file [mix:mixed]",
          [&t](const std::string& s) { t.jobs = checked(parse_jobs(s)); },
          {WordKind::file, {"mix:llm", "mix:research", "mix:mixed", "mix:shared"}});
    if (with_policy) add_policy(sub, t.policy, "Policy: " + join(preset_policy_names(), ", ") + " or a file [default]");
    words(sub, "--prices", "FILE",
          "Hourly prices, carbon or both, told a day ahead: CSV or .gz, the first day is that of the start", t.prices,
          {WordKind::file, {}});
    auto* weather = value(sub, "--weather", "xN",
                          "Multiply the published fault rates by N [x" + std::to_string(static_cast<int>(t.weather)) + "]",
                          [&t](const std::string& s) { t.weather = checked(parse_weather(s)); });
    auto* none = sub->add_flag_callback(
        "--no-weather", [&t] { t.weather = 0; }, "No faults at all, unless injected");
    none->option_text(" ")->excludes(weather);
    if (with_seed) {
      value(sub, "--seed", "N", "The same seed gives the same history [1]",
            [&t](const std::string& s) { t.seed = checked(parse_count("--seed", s, 0, UINT64_MAX)); });
    }
  }

  CLI::Option* add_cluster(CLI::App* sub, std::string& cluster) {
    return value(sub, "--cluster", "NAME|FILE", "A preset (" + join(preset_cluster_names(), ", ") + ") or a cluster file",
                 [&cluster](const std::string& s) { cluster = checked(parse_words("--cluster", s, 4096)); },
                 {WordKind::file, preset_cluster_names()});
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
  void add_reason(CLI::App* sub, std::string& reason) { words(sub, "--reason", "TEXT", "Why, for the record", reason, {}, 500); }

  // The command is what its struct holds once all its flags are in.
  template <class T>
  void chosen(CLI::App* sub, T& options) {
    sub->callback([this, &options] { command_ = options; });
  }
  // The same of one that stands within a group of commands.
  template <class T>
  void sub_chosen(CLI::App* sub, T& options) {
    sub->callback([this, &options] { command_ = FleetCommand(options); });
  }

  template <class T>
  void capacity_chosen(CLI::App* sub, T& options) {
    sub->callback([this, &options] { command_ = CapacityCommand(options); });
  }

  void add_demo();
  void add_twin();
  void add_twin_compare(CLI::App& twin);
  void add_twin_serve(CLI::App& twin);
  void add_twin_inject(CLI::App& twin);
  void add_replay();
  void add_bench();
  void add_bench_place(CLI::App& bench);
  void add_bench_openb(CLI::App& bench);
  void add_bench_account(CLI::App& bench);
  void add_bench_energy(CLI::App& bench);
  void add_bench_ingest(CLI::App& bench);
  void add_bench_detect(CLI::App& bench);
  void add_bench_llama3(CLI::App& bench);
  void add_bench_upgrade(CLI::App& bench);
  void add_bench_accuracy(CLI::App& bench);
  void add_plan();
  void add_plan_flags(CLI::App* sub, PlanOptions& options);
  void add_fabric();
  void add_fabric_group();
  void add_fabric_design(CLI::App& fabric);
  void add_fabric_topology(CLI::App& fabric);
  void add_fabric_validate(CLI::App& fabric);
  void add_fabric_watch(CLI::App& fabric);
  void add_live_fabric(CLI::App* sub, LiveFabric& live, const Words& instead_of);
  void add_design_cluster(CLI::App& design);
  void add_cost();
  void add_cost_site(CLI::App* sub, SiteChoice& site);
  void add_cost_draws(CLI::App* sub, std::uint64_t& seed, std::uint32_t& draws);
  void add_cost_list(CLI::App* sub, CatalogueAsk& ask);
  void add_cost_import(CLI::App& cost);
  void add_cost_compare(CLI::App& cost);
  void add_cost_burst(CLI::App& cost);
  void add_diagnose();
  void add_tune();
  void add_accept();
  void add_bench_accept(CLI::App& bench);
  void add_accept_recorded(CLI::App& accept);
  void add_known(CLI::App* sub, KnownGpus& known);
  void add_no_shipped(CLI::App* sub, bool& shipped);
  void add_tune_sweep(CLI::App& tune);
  void add_tune_shape(CLI::App* sub, TuneHint& hint);
  void add_tune_doctor(CLI::App& tune);
  void add_predict_congestion(CLI::App& predict);
  void add_predict_collective(CLI::App& predict);
  void add_calibrate_collectives(CLI::App& calibrate);
  void add_bench_collectives(CLI::App& bench);
  void add_calibrate_gpu(CLI::App& calibrate);
  void add_training_data(CLI::App* sub, std::string& data);
  void add_upgrade();
  void add_upgrade_spec(CLI::App* sub, UpgradeSpec& spec);
  void add_up();
  void add_live(CLI::App* sub);
  void add_doctor();
  void add_fleet();
  void add_fleet_facts(CLI::App& fleet);
  void add_fleet_judged(CLI::App& fleet);
  void add_fleet_compared(CLI::App& fleet);
  void add_fleet_diff(CLI::App& fleet);
  void add_performance(CLI::App* sub, std::string& target, bool needed);
  void add_declared(CLI::App* sub, std::string& target);
  void add_fleet_done(CLI::App& fleet);
  void add_provision_check(CLI::App& provision);
  void add_fleet_upgrade(CLI::App& fleet);
  void add_fleet_emit(CLI::App& fleet);
  void add_fleet_rules(CLI::App* sub, std::string& target);
  void add_bench_fleet(CLI::App& bench);
  void add_facts(CLI::App* sub, FactsChoice& facts, bool required);
  void add_many(CLI::App* sub, const char* names, const char* type, const char* about, Words& target, Word word = {});
  void add_agent();
  void add_check();
  void add_pause(bool pause);
  void add_get();
  void add_describe();
  void add_top();
  void add_goodput();
  void add_account();
  void add_account_files(CLI::App* sub, AccountFiles& files);
  void add_account_charge(CLI::App& account);
  void add_account_quota(CLI::App& account);
  void add_energy();
  void add_energy_sources(CLI::App* sub, EnergyOptions& options);
  void add_energy_rates(CLI::App* sub, EnergyOptions& options);
  void add_energy_assumed(CLI::App* sub, EnergyOptions& options);
  void add_energy_cap(CLI::App& energy);
  void add_energy_hours(CLI::App& energy);
  void add_energy_record(CLI::App& energy);
  void add_capacity();
  void add_capacity_limits(CLI::App* sub, CapacityLimits& limits);
  void add_capacity_forecast(CLI::App& capacity);
  void add_capacity_replay(CLI::App& capacity);
  void add_capacity_procure(CLI::App& capacity);
  void add_bench_capacity(CLI::App& bench);
  void add_timeline();
  void add_audit();
  void add_report();
  void add_report_month(CLI::App& report);
  void add_month_money(CLI::App* sub, MonthOptions& options);
  void add_whatif();
  void add_explain();
  void add_start_sources(CLI::App* sub);
  void add_incident();
  void add_drain(DrainOptions& options);
  void add_submit();
  static void check_wishes(const SubmitOptions& options);
  void add_placement(CLI::App* sub);
  void add_order(CLI::App* sub);
  void add_cancel();
  void add_runbook();
  void add_guard();
  void add_shadow();
  void add_approve(ApproveOptions& o);
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
  AgentOptions agent_;
  CheckOptions check_;
  DoctorOptions doctor_;
  struct {
    FleetProbeOptions probe;
    FleetInventoryOptions inventory;
    FleetCheckOptions check;
    FleetRulesOptions rules;
    FleetDriftOptions drift;
    FleetExplainOptions explain;
    FleetDiffOptions diff, diff_jobs;
    FleetProvisionOptions provision, join, provision_check;
    FleetUpgradeOptions upgrade;
    FleetEmitOptions emit;
    BenchFleetOptions bench;
  } fleet_;
  PauseOptions pause_;
  ResumeOptions resume_;
  std::array<GetOptions, 9> get_;
  DescribeOptions describe_;
  TopOptions top_;
  GoodputOptions goodput_;
  AccountOptions account_;
  AccountChargeOptions account_charge_;
  AccountQuotaOptions account_quota_;
  struct {
    EnergyOptions report;
    EnergyCapOptions cap;
    EnergyHoursOptions hours;
    EnergyRecordOptions record;
  } energy_;
  struct {
    CapacityForecastOptions forecast;
    CapacityReplayOptions replay;
    CapacityProcureOptions procure;
    BenchCapacityOptions bench;
  } capacity_;
  TimelineOptions timeline_;
  AuditOptions audit_;
  ReportOptions report_;
  MonthOptions report_month_;
  WhatIfOptions whatif_;
  ExplainOptions explain_;
  IncidentOptions incident_;
  DrainOptions drain_, undrain_;
  SubmitOptions submit_;
  CancelOptions cancel_;
  LoginOptions login_;
  TwinRunOptions twin_run_;
  TwinReplayOptions twin_replay_;
  TwinCompareOptions twin_compare_;
  TwinSoakOptions twin_soak_;
  TwinServeOptions twin_serve_;
  TwinInjectOptions twin_inject_;
  ReplayJobsOptions replay_jobs_;
  BenchPlaceOptions bench_place_;
  BenchOpenbOptions bench_openb_;
  BenchAccountOptions bench_account_;
  BenchPriceOptions bench_price_;
  BenchHeatOptions bench_heat_;
  BenchIngestOptions bench_ingest_;
  BenchDetectOptions bench_detect_;
  BenchLlama3Options bench_llama3_;
  BenchUpgradeOptions bench_upgrade_;
  BenchAccuracyOptions bench_accuracy_;
  BenchKernelsOptions bench_kernels_;
  CalibrateGpuOptions calibrate_gpu_;
  BenchClaimsOptions bench_claims_;
  PlanOptions plan_, plan_explain_;
  PlanPredictOptions plan_predict_;
  CalibrateRunsOptions calibrate_runs_;
  DiagnoseOptions diagnose_;
  struct {
    CostOptions table;
    CostImportOptions import;
    CostCompareOptions compare;
    CostBurstOptions burst;
  } cost_;
  DesignFabricOptions design_fabric_;
  FabricDesignOptions fabric_design_;
  FabricTopologyOptions fabric_topology_;
  FabricValidateOptions fabric_validate_;
  FabricWatchOptions fabric_watch_;
  TuneDoctorOptions tune_doctor_;
  AcceptOptions accept_;
  AcceptJudgeOptions accept_judge_;
  AcceptReportOptions accept_report_;
  AcceptCompareOptions accept_compare_;
  BenchAcceptOptions bench_accept_;
  DesignClusterOptions design_cluster_;
  PredictFabricOptions predict_fabric_;
  PredictCongestionOptions predict_congestion_;
  PredictCollectiveOptions predict_collective_;
  CalibrateCollectivesOptions calibrate_collectives_;
  BenchCollectivesOptions bench_collectives_;
  TuneOptions tune_;
  TuneSweepOptions tune_sweep_;
  TuneShowOptions tune_show_;
  UpgradeOptions upgrade_start_, upgrade_status_, upgrade_stop_, upgrade_back_;
  GuardOptions guard_;
  ShadowOptions shadow_;
  ApproveOptions approve_, reject_;
  RunbookOptions runbook_list_, runbook_show_, runbook_check_, runbook_diff_;
  JournalVerifyOptions journal_verify_;
  JournalExportOptions journal_export_;
  VersionOptions version_;
  CompletionOptions completion_;
};

}  // namespace muster::cmd
