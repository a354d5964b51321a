// What a user may ask of the program, as plain values. options.cpp turns argv into one of these; nothing else sees CLI11.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "accept_options.h"
#include "account_options.h"
#include "base/result.h"
#include "charge_options.h"
#include "capacity_options.h"
#include "collective_options.h"
#include "cost_options.h"
#include "design/cluster.h"
#include "energy_options.h"
#include "connection.h"
#include "fabric_options.h"
#include "fleet_options.h"
#include "model/collective.h"
#include "model/upgrade.h"
#include "month_options.h"
#include "options_tune_doctor.h"
#include "report/format.h"
#include "report/plan_report.h"
#include "tune_options.h"

namespace muster::cmd {

// Which simulated cluster, with what work, weather and policy.
struct TwinChoice {
  std::uint32_t gpus = 1024;       // a plain cluster of this size, unless `cluster` says otherwise
  std::string cluster;             // preset name or file; empty: plain
  std::string jobs = "mix:mixed";  // "mix:NAME" or a file
  std::string policy;              // preset name or file; empty: the shipped policy
  std::string prices;              // file with hourly prices of power; empty: none are announced
  double weather = 1;              // multiplies the published fault rates; 0: no faults at all
  std::uint64_t seed = 1;
};

struct DemoOptions {
  TwinChoice twin;
  double speed = 60;          // simulated seconds per second
  std::uint16_t port = 7070;  // 0: any free one
  std::string state;          // state directory; empty: the default
  double days = 0;            // simulated days after which to stop; 0: never
};

struct UpOptions {
  std::string state;
  std::uint16_t port = 7070;
  std::string twin;     // "http://127.0.0.1:PORT" or "unix:PATH": a twin served by another process; empty: none
  std::string cluster;  // preset or file: real nodes, watched; empty: none
  std::string policy;
  // What a watched cluster is connected to besides its agents; empty: not.
  std::string scrape;  // file_sd file of exporters
  std::string prometheus, prometheus_token_file;
  std::vector<std::string> alertmanagers;
  std::string remote_write;
  std::string page_url;     // where people reach the page, for links; empty: 127.0.0.1
  double every_s = 15;      // how often exporters or Prometheus are asked, and series pushed
  std::string slurm;        // file that says how a Slurm cluster is reached; empty: none
  bool kubernetes = false;  // not there yet; run_up says so
};

struct AgentOptions {
  std::string kernel_log = "/dev/kmsg";
  bool trust_kernel_log = false;          // a file that only the kernel writes
  std::string controller;                 // URL or "unix:PATH"; empty: nothing is sent
  std::string token_file;                 // empty: $MUSTER_TOKEN
  std::string listen = "127.0.0.1:9400";  // or "none"
  std::string spool = "/var/lib/muster-agent";
  std::uint64_t spool_mb = 16;
  std::string node;       // empty: the host's name
  std::string nvml;       // library; empty: the driver's
  double deadline_s = 5;  // of a probe
  std::vector<std::string> mounts;
  std::vector<std::string> probes;    // "NAME=COMMAND"
  std::vector<std::string> job_logs;  // patterns of paths
  std::string job_socket;             // empty: none
  std::string nccl_ras;               // HOST:PORT; empty: not asked
  bool no_job_environments = false;   // what jobs run in is not looked at
  bool once = false;
  report::Format format = report::Format::table;  // table or json, with `once`
};

struct CheckOptions {
  std::string spool = "/var/lib/muster-agent";
  bool prolog = false;                            // answer for a job that is about to start here
  bool epilog = false;                            // ... or has ended
  report::Format format = report::Format::table;  // table or json
};

struct DoctorOptions {
  std::string slurm;                              // file that says how a Slurm cluster is reached
  report::Format format = report::Format::table;  // table or json
};

// automatic: a bar on a terminal, lines elsewhere.
enum class ProgressMode { automatic, bar, lines, never };

struct TwinRunOptions {
  TwinChoice twin;
  double days = 1;
  std::string journal;                            // file to write the events to; empty: kept in memory only
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct TwinSoakOptions {
  TwinChoice twin{.weather = 200};  // storms: quiet weather proves nothing. Its seed is not used
  std::uint32_t seeds = 20;
  std::uint64_t faults = 0;  // more seeds until so many faults have struck
  std::uint64_t first_seed = 1;
  double days = 2;
  std::optional<double> load;          // offered work over capacity; nothing: kSoakLoad for a mix, a file's own otherwise
  std::optional<double> x1_node_days;  // for the rate of false drains; nothing: a fifth of `faults`
  std::string log;                     // file that gets a line for each seed as it ends; empty: none
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};
// What a cluster in a storm of x200 can carry, nearly full: above it the queue of a long soak grows without end, as at no site.
constexpr double kSoakLoad = 0.85;

struct TwinCompareOptions {
  TwinChoice twin;                    // its policy and seed are not used
  std::vector<std::string> policies;  // preset names or files; the first is what the others are held against
  std::uint32_t seeds = 20;
  std::uint64_t first_seed = 1;
  double days = 7;
  double price = 0;                               // of a lost GPU-hour; 0: what the policies say
  std::string journal;                            // every run goes on from its end; empty: new clusters
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct TwinReplayOptions {
  std::string journal;
  bool check = false;                             // same policy: must give the same actions, bit for bit
  std::string policy;                             // another policy: the first differing action, then a fork into the twin
  double days = 1;                                // how far the fork runs
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct TwinServeOptions {
  TwinChoice twin;
  double speed = 60;
  std::string listen = "127.0.0.1:7071";  // "unix:PATH" or "127.0.0.1:PORT"
  std::string orders_log;                 // file that each received order is appended to; empty: none
};

enum class Switch { automatic, on, off };

struct ReplayJobsOptions {
  std::string trace;
  std::uint32_t gpus = 800;  // a plain cluster of this size, unless `cluster` says otherwise
  std::string cluster;       // preset name or file; empty: plain
  std::string policy = "muster";
  std::uint64_t seed = 1;
  double sigma = 1;                     // spread of the errors in run-time estimates
  double speedup = 1;                   // arrivals come so much faster
  Switch topology = Switch::automatic;  // automatic: on for muster
  bool no_pauses = false;               // muster lets no long job step aside
  bool failures = false;
  bool slow_far = false;                          // gangs over more leaves than needed run slower
  bool compare = false;                           // easy and muster side by side
  std::string svg;                                // empty: no picture
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct BenchPlaceOptions {
  std::uint32_t gpus = 98304;
  double load = 0.97;
  std::uint64_t seed = 1;
  std::uint64_t decisions = 400'000;
  bool peer = false;   // first-fit on the same stream
  bool scale = false;  // many sizes, and the growth
  std::string svg;
  report::Format format = report::Format::table;  // table or json
};

struct BenchOpenbOptions {
  std::string nodes;
  std::string pods;
  std::string policy = "muster";
  std::uint64_t first_seed = 1000;
  std::uint64_t last_seed = 1009;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

// How a client command finds the server.
struct PlanOptions {
  std::string model;
  std::string cluster;    // or gpu and gpus
  bool here = false;      // or the cluster of the Muster that runs
  Connection connection;  // to that
  std::string gpu;
  std::uint32_t gpus = 0;
  std::string config;       // of DeepSpeed, Accelerate or Megatron-LM; flags win over it
  std::uint32_t batch = 0;  // 0: by the configuration, else 1024
  std::uint32_t seq = 0;    // 0: by the configuration, else 8192
  std::optional<Dtype> dtype;
  predict::Optimizer optimizer = predict::Optimizer::adam;
  std::string software;     // empty: the best known
  std::string calibration;  // a file of `muster calibrate`; empty: what ships
  std::uint32_t keep = 5;
  report::RunWish wish;
  std::string svg;  // a file for the chart; empty: none
  std::optional<report::Launcher> launch;
  design::Settled settled;
  bool explain = false;                           // the best one, down to its operators
  report::Format format = report::Format::table;  // table, wide or csv
};

struct PlanPredictOptions {
  std::string batch;
  report::Format format = report::Format::table;  // table or csv
};

enum class ClusterFile : std::uint8_t { cluster, fabric };
constexpr std::array<std::string_view, 2> names(ClusterFile) { return {"cluster", "fabric"}; }
struct DesignClusterOptions {
  design::ClusterAsk ask;
  std::string model;
  std::vector<std::string> gpus;  // empty: all that have a price
  std::string prices;
  std::uint32_t show = 0;  // number of a design; 0: all as a table
  std::optional<ClusterFile> emit;
  report::Format format = report::Format::table;  // table, wide, json or csv
};

struct CalibrateRunsOptions {
  std::string data;
};

struct CalibrateGpuOptions {
  std::string python = "python3";
  std::string shapes;   // a timings file; empty: the one that ships
  std::string timings;  // where what was measured is kept; empty: nowhere
  std::string from;     // what was measured before, instead of measuring
  std::string gpu;      // empty: by its own name
};

struct BenchClaimsOptions {
  report::Format format = report::Format::table;  // table, wide or csv
};

struct BenchKernelsOptions {
  std::string timings;  // a file of `muster calibrate gpu`; empty: the one that ships
  std::string gpu = "h200";
  bool rows = false;                              // each shape, instead of a line for each kind
  report::Format format = report::Format::table;  // table or csv
};

struct BenchAccuracyOptions {
  std::string data;
  bool choices = false;                           // what it costs to go by them
  bool rows = false;                              // each run
  report::Format format = report::Format::table;  // table or csv
};

struct BenchPriceOptions {
  std::string prices;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct BenchHeatOptions {
  std::uint32_t gpus = 1024;
  std::uint64_t seed = 1;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct BenchDetectOptions {
  std::string corpus = "tests/corpus";
  report::Format format = report::Format::table;  // table or json
};

struct BenchLlama3Options {
  std::vector<std::string> policies = {"default", "manual"};
  std::vector<double> stalls_s = {1, 3};
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 30;
  double days = 54;
  double restart_s = 120;
  double recover_s = 180;  // stated: the optimum that is promised is for this
  double step_s = 6;
  double checkpoint_gb = 5670;
  double storage_gbs = 2000;
  double checkpoint_every_s = 0;  // 0: Young/Daly
  std::uint64_t spares = 16;
  double report_every_s = 60;
  double handling_s = 380;  // of the crew, with the policy manual
  std::uint64_t severe = 3;
  double severe_h = 4;
  double crew_checkpoint_s = 600;
  std::uint32_t gpus = 16'384;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct BenchUpgradeOptions {
  TwinChoice twin;
  std::uint64_t seeds = 20;
  UpgradeSpec spec;
  bool bad = false;                               // the version hangs GPUs
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct BenchIngestOptions {
  std::uint32_t gpus = 8000;
  std::uint64_t rounds = 3;                       // scrapes of each node, after one that is not measured
  double peer_seconds = 20;                       // each peer is measured for so long, at each number of series; 0: no peers
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct Output {
  report::Format format = report::Format::table;
  bool headers = true;
  std::string sort_by;  // a column's name; "-name" for the other way round
};

enum class DiagnoseFormat : std::uint8_t { text, json, html, csv };
constexpr std::array<std::string_view, 4> names(DiagnoseFormat) { return {"text", "json", "html", "csv"}; }
struct DiagnoseOptions {
  std::vector<std::string> files;  // or "job" and its id
  std::vector<std::string> configs;
  std::string cluster;   // preset or file; empty: not told
  std::string gpu;       // GpuModel::name; empty: as the files say
  std::string perfetto;  // file to write; empty: none
  bool accounting = false;
  bool diff = false;
  double price = 0;                           // of a GPU-hour; 0: not told
  std::uint32_t gpus = 0;                     // of the job; 0: as the files say
  std::uint32_t batch = 0;                    // of a memory snapshot's step; 0: not told
  std::vector<std::string> exchange_kernels;  // further names
  DiagnoseFormat format = DiagnoseFormat::text;
  Connection connection;
};

struct TwinInjectOptions {
  Connection connection;
  std::string fault;
  std::string node;
  int slot = -1;       // -1: the twin chooses
  double lasts_s = 0;  // 0: as it is by itself
  double share = -1;   // bad_push: of the nodes; below 0: as usual
};

struct PauseOptions {
  Connection connection;
  std::string reason;
};
struct ResumeOptions {
  Connection connection;
  std::string reason;
};

using Kind = report::Noun;

struct GetOptions {
  Connection connection;
  Output output;
  Kind kind = Kind::nodes;
  std::vector<std::string> names;  // node lists for nodes and gpus, ids otherwise; empty: all
  std::string state;               // nodes: only those in this state
  std::string rack;                // nodes: only those in this rack
  std::string phase;               // jobs: only those in this phase
  std::string leaf;                // links: all of this leaf
  std::string job;                 // links, leaves: what this job uses
  bool open = false;               // findings, incidents: only open ones
  std::uint32_t limit = 0;         // newest so many; 0: all
  bool watch = false;              // again whenever it changes, until interrupted
};

struct DescribeOptions {
  Connection connection;
  Output output;
  Kind kind = Kind::nodes;
  std::string name;
};

// The cluster as a terminal screen.
struct TopOptions {
  Connection connection;
  bool once = false;    // one screen as plain text
  double every_s = 1;   // between two looks
  std::string list;     // which list comes first; empty: incidents where there are any
  std::string filter;
};

struct GoodputOptions {
  Connection connection;
  std::string journal;   // a file to read instead of asking
  double since_s = 0;    // back from the end; 0: from `from`
  std::string from, to;  // utc; empty: the first event, the last
  std::string by = "cause";
  std::string most;  // a class; empty: all waste
  std::string job;   // of this one alone; empty: of all
  report::Format format = report::Format::table;
};

// What a change would do, asked of a running Muster.
struct WhatIfOptions {
  Connection connection;
  std::string policy;  // preset or file instead of the one in force; empty: that one
  std::vector<std::pair<std::string, std::string>> set;  // settings of it
  std::uint32_t add_nodes = 0, remove_nodes = 0;
  std::vector<std::string> remove;  // names and lists of nodes
  std::optional<std::uint32_t> spares;
  double days = 7;
  std::uint32_t seeds = 8;
  std::optional<double> weather, load;
  std::string mix;
  bool list = false;    // instead: the last ones
  bool cancel = false;  // instead: stops one
  std::string id;       // of an earlier one: its answer, or the one to stop; empty: the one that runs
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

enum class ReportFormat : std::uint8_t { html, md, json };
constexpr std::array<std::string_view, 3> names(ReportFormat) { return {"html", "md", "json"}; }
// One file for a weekly meeting.
// Nodes by time.
struct TimelineOptions {
  Connection connection;
  std::string journal;   // a file to read instead of asking
  std::string from, to;  // utc; empty: the last six hours
  report::Format format = report::Format::table;
};
// Who did what.
struct AuditOptions {
  Connection connection;  // its `at`: as it was known then
  std::string journal;    // likewise
  std::string filter;     // words that each must have in it
  report::Format format = report::Format::table;
};
struct ReportOptions {
  Connection connection;
  std::string journal;         // a file to read instead of asking
  double since_s = 7 * 86400;  // back from the end
  std::string since_utc;       // instead of that; empty: none
  std::string until;           // utc; empty: the end of the record
  double price = 0;            // of a GPU-hour; 0: the policy's
  ReportFormat format = ReportFormat::html;
  std::string file;  // "-": standard output; empty: the usual name
};

struct ExplainOptions {
  Connection connection;
  Output output;
  std::string what;     // the words given, joined by blanks
  std::string file;     // a kernel log whose events are listed instead; "-": standard input
  std::string policy;   // whose overrides of the fault catalogue count; empty: none
  std::string journal;  // a journal file to read instead of asking a server
  // For "start JOB":
  std::string starts;         // folder of the hooks' times
  std::string slurmctld_log;  // empty: not read
  std::string slurmd_log;     // with %n for the node's name; empty: not read
  std::string slurm_conf;     // empty: the tools find their own
};

enum class PageFormat { text, markdown, json };
struct IncidentOptions {
  Connection connection;
  std::uint64_t id = 0;
  std::string journal;  // a journal file to read instead of asking a server
  PageFormat format = PageFormat::text;
};

struct DrainOptions {  // and undrain
  Connection connection;
  bool undo = false;
  std::vector<std::string> nodes;  // names and lists, not expanded
  std::string reason;
  bool yes = false;
};

struct SubmitOptions {
  Connection connection;
  report::Format format = report::Format::table;  // table, json or name
  std::string name;
  std::string user;
  std::string account;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 0;  // 0: whole nodes
  std::uint32_t gpu_milli = 0;      // share of one GPU; 0: whole GPUs
  std::uint32_t segment = 0;
  std::string within;  // level; empty: anywhere
  std::string prefer;
  double prefer_wait_s = 0;
  std::string gpu_model;
  std::string queue;
  std::int32_t priority = 0;
  double time_limit_s = 0;
  double deadline_in_s = 0;
  bool deferrable = false;
  bool no_requeue = false;
  bool paced = false;
  std::uint32_t nodes_min = 0;  // it can go on with so few; 0: only with all
  double value_per_gpu_h = 0;
  std::vector<std::string> after;  // job ids
  std::uint32_t array = 0;
  double step_s = 10;
  std::uint64_t steps = 1000;
  double checkpoint_every_s = 1800;
  double checkpoint_gb = 100;
};

struct CancelOptions {
  Connection connection;
  std::vector<std::string> jobs;
  std::string reason;
  bool yes = false;
};

struct LoginOptions {
  Connection connection;
};

struct GuardOptions {
  Connection connection;
  report::Format format = report::Format::table;
};
struct ShadowOptions {
  Connection connection;
  std::string journal;  // a file to read instead of asking
  report::Format format = report::Format::table;
};
struct ApproveOptions {  // and reject
  Connection connection;
  std::uint64_t id = 0;
  bool reject = false;
  std::string reason;
};

struct UpgradeOptions {
  enum class What { start, status, stop, back } what = What::status;
  Connection connection;
  UpgradeSpec spec;
  std::string reason;
  bool yes = false;
  report::Format format = report::Format::table;
};

struct RunbookOptions {
  enum class What { list, show, check, diff } what = What::list;
  std::vector<std::string> names;  // show: runbooks; check: files; diff: two policies
  std::string policy;              // whose runbooks; empty: those that ship
  bool running = false;            // those in force where a Muster runs; so too where `connection` says where that is
  Connection connection;
  report::Format format = report::Format::table;
};

struct JournalVerifyOptions {
  std::string file;  // journal file; empty: the one in `state`
  std::string state;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress = ProgressMode::automatic;
};

struct JournalExportOptions {
  std::string file;
  std::string state;
  std::uint64_t from = 1;  // first seq
  std::uint64_t to = 0;    // last seq; 0: to the end
  std::string type;        // only events of this type
};

struct VersionOptions {
  report::Format format = report::Format::table;  // table or json
};

enum class Shell { bash, zsh, fish };
struct CompletionOptions {
  Shell shell = Shell::bash;
};

// --help was asked for: this is the answer.
struct ShowText {
  std::string text;
};

using Command =
    std::variant<ShowText, CapacityCommand, WhatIfOptions, DiagnoseOptions, DemoOptions, UpOptions, AgentOptions, CheckOptions,
                 DoctorOptions,
                 FleetCommand, PauseOptions, ResumeOptions, TopOptions, GoodputOptions, EnergyCommand, TimelineOptions,
                 AuditOptions, AccountOptions, AccountChargeOptions, AccountQuotaOptions, CostCommand, ReportOptions,
                 MonthOptions, GetOptions,
                 DescribeOptions, ExplainOptions, IncidentOptions, DrainOptions, SubmitOptions, CancelOptions, LoginOptions,
                 TwinRunOptions, TwinCompareOptions, TwinReplayOptions, TwinSoakOptions, TwinServeOptions, TwinInjectOptions,
                 ReplayJobsOptions, BenchPlaceOptions, BenchOpenbOptions, BenchAccountOptions, BenchPriceOptions,
                 BenchHeatOptions,
                 BenchIngestOptions,
                 BenchDetectOptions, BenchLlama3Options, BenchUpgradeOptions, BenchKernelsOptions, CalibrateGpuOptions,
                 BenchAccuracyOptions, BenchClaimsOptions, PlanOptions, PlanPredictOptions, CalibrateRunsOptions,
                 FabricDesignOptions, FabricTopologyOptions, FabricValidateOptions, FabricWatchOptions, TuneDoctorOptions,
                 AcceptOptions, AcceptJudgeOptions, AcceptReportOptions, AcceptCompareOptions, BenchAcceptOptions,
                 DesignFabricOptions,
                 DesignClusterOptions, PredictFabricOptions, PredictCongestionOptions,
                 PredictCollectiveOptions, CalibrateCollectivesOptions, BenchCollectivesOptions, TuneOptions,
                 TuneSweepOptions, TuneShowOptions, UpgradeOptions, RunbookOptions,
                 GuardOptions, ShadowOptions, ApproveOptions, JournalVerifyOptions, JournalExportOptions, VersionOptions,
                 CompletionOptions>;

// Errors are of code bad_input (exit 2) and name the flag.
Result<Command> parse_command_line(int argc, const char* const* argv);

// What a word on the command line may be, for shell completion.
enum class WordKind { none, choice, file, directory, node, job };

struct WordHelp {
  std::vector<std::string> names;  // "--output", "-o"; empty for a positional
  std::string about;
  bool takes_value = false;
  WordKind kind = WordKind::none;
  std::vector<std::string> choices;
};

struct CommandHelp {
  std::string name;
  std::vector<std::string> aliases;
  std::string about;
  std::vector<WordHelp> options;
  std::vector<WordHelp> positionals;
  std::vector<CommandHelp> commands;
};

// The whole tree of commands, read off the parser itself.
CommandHelp command_tree();

}  // namespace muster::cmd
