// One function per command, each in the file named after it. All return the process's exit code.
#pragma once
#include "model/policy.h"
#include "options.h"

namespace muster::cmd {

int run_demo(const DemoOptions& options);
int run_up(const UpOptions& options);
int run_up_slurm(const UpOptions& options);
int run_agent(const AgentOptions& options);
int run_check(const CheckOptions& options);
int run_doctor(const DoctorOptions& options);
int run_twin_run(const TwinRunOptions& options);
int run_twin_replay(const TwinReplayOptions& options);
int run_twin_compare(const TwinCompareOptions& options);
int run_twin_soak(const TwinSoakOptions& options);
int run_twin_serve(const TwinServeOptions& options);

int run_replay_jobs(const ReplayJobsOptions& options);
int run_bench_place(const BenchPlaceOptions& options);
int run_bench_account(const BenchAccountOptions& options);
int run_bench_openb(const BenchOpenbOptions& options);
int run_bench_llama3(const BenchLlama3Options& options);
int run_upgrade(const UpgradeOptions& options);
int run_bench_upgrade(const BenchUpgradeOptions& options);
int run_calibrate_gpu(const CalibrateGpuOptions& options);
int run_bench_kernels(const BenchKernelsOptions& options);
int run_bench_claims(const BenchClaimsOptions& options);
int run_bench_accuracy(const BenchAccuracyOptions& options);
int run_plan(const PlanOptions& options);
int run_plan_predict(const PlanPredictOptions& options);
int run_calibrate_runs(const CalibrateRunsOptions& options);
int run_diagnose(const DiagnoseOptions& options);
int run_fabric_design(const FabricDesignOptions& options);
int run_fabric_topology(const FabricTopologyOptions& options);
int run_fabric_validate(const FabricValidateOptions& options);
int run_fabric_watch(const FabricWatchOptions& options);
int run_tune_doctor(const TuneDoctorOptions& options);
int run_accept(const AcceptOptions& options);
int run_accept_judge(const AcceptJudgeOptions& options);
int run_accept_report(const AcceptReportOptions& options);
int run_accept_compare(const AcceptCompareOptions& options);
int run_bench_accept(const BenchAcceptOptions& options);
int run_design_fabric(const DesignFabricOptions& options);
int run_cost(const CostCommand& options);
int run_design_cluster(const DesignClusterOptions& options);
int run_predict_fabric(const PredictFabricOptions& options);
int run_predict_congestion(const PredictCongestionOptions& options);
int run_predict_collective(const PredictCollectiveOptions& options);
int run_calibrate_collectives(const CalibrateCollectivesOptions& options);
int run_bench_collectives(const BenchCollectivesOptions& options);
int run_tune(const TuneOptions& options);
int run_tune_sweep(const TuneSweepOptions& options);
int run_tune_show(const TuneShowOptions& options);
int run_bench_price(const BenchPriceOptions& options);
int run_bench_heat(const BenchHeatOptions& options);
int run_bench_detect(const BenchDetectOptions& options);
int run_bench_ingest(const BenchIngestOptions& options);

int run_twin_inject(const TwinInjectOptions& options);
int run_pause(const PauseOptions& options);
int run_top(const TopOptions& options);
int run_goodput(const GoodputOptions& options);
int run_account(const AccountOptions& options);          // of files; without any, the next one
int run_account_charge(const AccountChargeOptions& options);
int run_account_quota(const AccountQuotaOptions& options);
int run_account_journal(const AccountOptions& options);  // of a journal, or of a running Muster
int run_timeline(const TimelineOptions& options);
int run_audit(const AuditOptions& options);
int run_report(const ReportOptions& options);
int run_report_month(const MonthOptions& options);
int run_whatif(const WhatIfOptions& options);
int run_resume(const ResumeOptions& options);
int run_get(const GetOptions& options);
int run_describe(const DescribeOptions& options);
int run_explain(const ExplainOptions& options);
int explain_file(const ExplainOptions& options, const Policy* policy);  // explain --file
int explain_start(const ExplainOptions& options);                       // explain start JOB
int run_incident(const IncidentOptions& options);
int run_drain(const DrainOptions& options);
int run_submit(const SubmitOptions& options);
int run_cancel(const CancelOptions& options);
int run_login(const LoginOptions& options);
int run_guard_status(const GuardOptions& options);
int run_shadow_report(const ShadowOptions& options);
int run_approve(const ApproveOptions& options);
int run_runbook(const RunbookOptions& options);
int run_journal_verify(const JournalVerifyOptions& options);
int run_journal_export(const JournalExportOptions& options);
int run_version(const VersionOptions& options);
int run_completion(const CompletionOptions& options);

}  // namespace muster::cmd
