// The entrance: argv becomes a command, the command becomes an exit code.
#include <csignal>

#include "base/log.h"
#include "commands.h"
#include "say.h"

namespace muster::cmd {
namespace {

struct Dispatch {
  int operator()(const ShowText& o) const {
    put(o.text);
    return 0;
  }
  int operator()(const DemoOptions& o) const { return run_demo(o); }
  int operator()(const UpOptions& o) const { return run_up(o); }
  int operator()(const AgentOptions& o) const { return run_agent(o); }
  int operator()(const CheckOptions& o) const { return run_check(o); }
  int operator()(const DoctorOptions& o) const { return run_doctor(o); }
  int operator()(const FleetCommand& o) const { return run_fleet(o); }
  int operator()(const PauseOptions& o) const { return run_pause(o); }
  int operator()(const ResumeOptions& o) const { return run_resume(o); }
  int operator()(const TopOptions& o) const { return run_top(o); }
  int operator()(const GoodputOptions& o) const { return run_goodput(o); }
  int operator()(const AccountOptions& o) const { return run_account(o); }
  int operator()(const AccountChargeOptions& o) const { return run_account_charge(o); }
  int operator()(const AccountQuotaOptions& o) const { return run_account_quota(o); }
  int operator()(const EnergyCommand& o) const { return run_energy(o); }
  int operator()(const CapacityCommand& o) const { return run_capacity(o); }
  int operator()(const TimelineOptions& o) const { return run_timeline(o); }
  int operator()(const AuditOptions& o) const { return run_audit(o); }
  int operator()(const ReportOptions& o) const { return run_report(o); }
  int operator()(const MonthOptions& o) const { return run_report_month(o); }
  int operator()(const WhatIfOptions& o) const { return run_whatif(o); }
  int operator()(const GetOptions& o) const { return run_get(o); }
  int operator()(const DescribeOptions& o) const { return run_describe(o); }
  int operator()(const ExplainOptions& o) const { return run_explain(o); }
  int operator()(const IncidentOptions& o) const { return run_incident(o); }
  int operator()(const DrainOptions& o) const { return run_drain(o); }
  int operator()(const SubmitOptions& o) const { return run_submit(o); }
  int operator()(const CancelOptions& o) const { return run_cancel(o); }
  int operator()(const LoginOptions& o) const { return run_login(o); }
  int operator()(const TwinRunOptions& o) const { return run_twin_run(o); }
  int operator()(const TwinReplayOptions& o) const { return run_twin_replay(o); }
  int operator()(const TwinCompareOptions& o) const { return run_twin_compare(o); }
  int operator()(const TwinSoakOptions& o) const { return run_twin_soak(o); }
  int operator()(const TwinServeOptions& o) const { return run_twin_serve(o); }
  int operator()(const TwinInjectOptions& o) const { return run_twin_inject(o); }
  int operator()(const ReplayJobsOptions& o) const { return run_replay_jobs(o); }
  int operator()(const BenchPlaceOptions& o) const { return run_bench_place(o); }
  int operator()(const BenchOpenbOptions& o) const { return run_bench_openb(o); }
  int operator()(const BenchAccountOptions& o) const { return run_bench_account(o); }
  int operator()(const CalibrateGpuOptions& o) const { return run_calibrate_gpu(o); }
  int operator()(const BenchKernelsOptions& o) const { return run_bench_kernels(o); }
  int operator()(const BenchClaimsOptions& o) const { return run_bench_claims(o); }
  int operator()(const BenchAccuracyOptions& o) const { return run_bench_accuracy(o); }
  int operator()(const PlanOptions& o) const { return run_plan(o); }
  int operator()(const PlanPredictOptions& o) const { return run_plan_predict(o); }
  int operator()(const CalibrateRunsOptions& o) const { return run_calibrate_runs(o); }
  int operator()(const DiagnoseOptions& o) const { return run_diagnose(o); }
  int operator()(const FabricDesignOptions& o) const { return run_fabric_design(o); }
  int operator()(const FabricTopologyOptions& o) const { return run_fabric_topology(o); }
  int operator()(const FabricValidateOptions& o) const { return run_fabric_validate(o); }
  int operator()(const FabricWatchOptions& o) const { return run_fabric_watch(o); }
  int operator()(const TuneDoctorOptions& o) const { return run_tune_doctor(o); }
  int operator()(const AcceptOptions& o) const { return run_accept(o); }
  int operator()(const AcceptJudgeOptions& o) const { return run_accept_judge(o); }
  int operator()(const AcceptReportOptions& o) const { return run_accept_report(o); }
  int operator()(const AcceptCompareOptions& o) const { return run_accept_compare(o); }
  int operator()(const BenchAcceptOptions& o) const { return run_bench_accept(o); }
  int operator()(const DesignFabricOptions& o) const { return run_design_fabric(o); }
  int operator()(const CostCommand& o) const { return run_cost(o); }
  int operator()(const DesignClusterOptions& o) const { return run_design_cluster(o); }
  int operator()(const PredictFabricOptions& o) const { return run_predict_fabric(o); }
  int operator()(const PredictCongestionOptions& o) const { return run_predict_congestion(o); }
  int operator()(const PredictCollectiveOptions& o) const { return run_predict_collective(o); }
  int operator()(const CalibrateCollectivesOptions& o) const { return run_calibrate_collectives(o); }
  int operator()(const BenchCollectivesOptions& o) const { return run_bench_collectives(o); }
  int operator()(const TuneOptions& o) const { return run_tune(o); }
  int operator()(const TuneSweepOptions& o) const { return run_tune_sweep(o); }
  int operator()(const TuneShowOptions& o) const { return run_tune_show(o); }
  int operator()(const BenchPriceOptions& o) const { return run_bench_price(o); }
  int operator()(const BenchLlama3Options& o) const { return run_bench_llama3(o); }
  int operator()(const UpgradeOptions& o) const { return run_upgrade(o); }
  int operator()(const BenchUpgradeOptions& o) const { return run_bench_upgrade(o); }
  int operator()(const BenchHeatOptions& o) const { return run_bench_heat(o); }
  int operator()(const BenchDetectOptions& o) const { return run_bench_detect(o); }
  int operator()(const BenchIngestOptions& o) const { return run_bench_ingest(o); }
  int operator()(const GuardOptions& o) const { return run_guard_status(o); }
  int operator()(const ShadowOptions& o) const { return run_shadow_report(o); }
  int operator()(const ApproveOptions& o) const { return run_approve(o); }
  int operator()(const RunbookOptions& o) const { return run_runbook(o); }
  int operator()(const JournalVerifyOptions& o) const { return run_journal_verify(o); }
  int operator()(const JournalExportOptions& o) const { return run_journal_export(o); }
  int operator()(const VersionOptions& o) const { return run_version(o); }
  int operator()(const CompletionOptions& o) const { return run_completion(o); }
};

int run(int argc, const char* const* argv) {
  // A reader that goes away shows up as EPIPE where we write, and ends the program quietly there.
  std::signal(SIGPIPE, SIG_IGN);
  set_log_sink([](LogLevel level, std::string_view text) {
    if (level != LogLevel::info) say((level == LogLevel::error ? "error: " : "warning: ") + std::string(text));
  });
  const auto command = parse_command_line(argc, argv);
  if (!command) return say_error(command.error());
  const int code = std::visit(Dispatch{}, *command);
  const int output = finish_output();
  return code != 0 ? code : output;
}

}  // namespace
}  // namespace muster::cmd

int main(int argc, char** argv) { return muster::cmd::run(argc, argv); }
