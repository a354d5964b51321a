// muster diagnose: what a job's files say of it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "commands.h"
#include "diagnose/exchanges.h"
#include "diagnose/hang.h"
#include "diagnose/memory.h"
#include "diagnose/nccl.h"
#include "diagnose/ranks.h"
#include "diagnose/run_check.h"
#include "diagnose/run_diff.h"
#include "diagnose/stragglers.h"
#include "diagnose_parts.h"
#include "diagnose_read.h"
#include "files.h"
#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "ingest/op_trace.h"
#include "ingest/timings_file.h"
#include "model/fields.h"
#include "model_choice.h"
#include "report/diagnosis.h"
#include "report/hang.h"
#include "report/memory.h"
#include "report/nccl.h"
#include "report/run_check.h"
#include "report/run_diff.h"
#include "report/stragglers.h"
#include "say.h"
#include "scene.h"

namespace muster::cmd {
namespace {

using report::Diagnosis;

// What the job ran on, as far as the files and the flags tell.
struct Ground {
  const GpuModel* gpu = nullptr;
  std::string from;
  predict::Network network;
  diagnose::NcclHint hint;
};

Result<Ground> ground_of(const DiagnoseOptions& o, const Material& m) {
  Ground g;
  if (!o.cluster.empty()) {
    const auto site = load_cluster(o.cluster);
    if (!site) return tl::unexpected(site.error());
    const auto gpu = chosen_gpu(site->gpu_model);
    if (!gpu) return tl::unexpected(gpu.error());
    g.gpu = *gpu;
    g.from = "the cluster";
    g.network = {static_cast<double>(site->gpus_per_node), site->link_gbps / 8};
    g.hint.gpus_per_node = site->gpus_per_node;
    g.hint.nic_gb_s = site->link_gbps / 8;
  }
  if (!o.gpu.empty()) {
    const auto gpu = chosen_gpu(o.gpu);
    if (!gpu) return tl::unexpected(gpu.error());
    g.gpu = *gpu;
    g.from = "--gpu";
  }
  for (const report::AccountedTrace& t : m.traces) {
    for (const std::string& name : t.trace.gpus) {
      if (g.gpu != nullptr) break;
      g.gpu = diagnose::gpu_model_of(name, gpu_models());
      if (g.gpu != nullptr) g.from = "the profile";
    }
  }
  // What a log of exchanges says of its GPU itself goes before what a profile beside it ran on.
  if (g.gpu != nullptr && (g.from != "the profile" || m.benches.empty())) g.hint.gpu = g.gpu->name;
  g.hint.network = diagnose::network_of(m.nccl);
  return g;
}

diagnose::Peaks peaks_of(const Ground& g) {
  if (g.gpu == nullptr) return {};
  const GpuModel* measured = diagnose::gpu_model_of(timings_origin(shipped_timings_file()).gpu, gpu_models());
  if (measured == g.gpu) return diagnose::peaks_of(*g.gpu, shipped_timings());
  return diagnose::peaks_of(*g.gpu, {});
}

void add(std::vector<diagnose::Finding>& to, std::vector<diagnose::Finding> from) {
  for (diagnose::Finding& f : from) to.push_back(std::move(f));
}

template <class Write>
std::string json_of(Write&& write) {
  JsonWriter w;
  write(w);
  return w.take();
}

// Verdicts of several kinds of files: what stops a job goes before what slows it.
class Assembly {
 public:
  Assembly(const DiagnoseOptions& o, const Material& m, const Ground& g) : o_(o), m_(m), g_(g) {}

  Result<void> all() {
    d_.price = o_.price;
    d_.gpus = o_.gpus;
    d_.cannot = m_.left_out;
    if (const auto ok = hang(); !ok) return ok;
    if (const auto ok = stragglers(); !ok) return ok;
    memory();
    if (const auto ok = profiles(); !ok) return ok;
    run();
    exchanges();
    kernels();
    if (o_.price > 0 && d_.gpus == 0) d_.cannot.emplace_back("no money is told: how many GPUs the job has is not known (--gpus)");
    return {};
  }
  Diagnosis& diagnosis() { return d_; }
  bool alarming() const { return alarming_; }
  const std::vector<Lead>& leads() const { return leads_; }

 private:
  void verdict(diagnose::Bound bound, std::string sentence, diagnose::Confidence confidence) {
    verdict({bound, std::move(sentence), confidence});
  }
  void verdict(diagnose::Verdict v) {
    if (d_.verdict.sentence.empty()) d_.verdict = std::move(v);
  }

  Result<void> hang() {
    if (m_.records.empty()) return {};
    std::vector<FlightRecord> records = m_.records;
    std::stable_sort(records.begin(), records.end(), [](const auto& x, const auto& y) { return x.rank < y.rank; });
    for (std::size_t i = 1; i < records.size(); ++i) {
      if (records[i].rank == records[i - 1].rank)
        return fail(Code::bad_input, fmt::format("two dumps are of rank {}", records[i].rank),
                    "one form of each, pickle or JSON, of one hang");
    }
    const auto hang = diagnose::find_hang(records);
    verdict(diagnose::Bound::communication, report::hang_sentence(hang, records.size()),
            hang && !hang->certain ? diagnose::Confidence::low : diagnose::Confidence::high);
    if (hang) d_.findings.push_back(report::hang_finding(*hang, records.size()));
    d_.parts.push_back({"hang", "", hang ? report::say_hang(*hang) : std::vector<std::string>(),
                        json_of([&](JsonWriter& w) { report::write_hang(w, hang); })});
    // Dumps of some ranks in which nothing waits say neither that it hangs nor that it does not.
    alarming_ = alarming_ || (hang && (!hang->unseen || !hang->waiting.empty()));
    return {};
  }

  Result<void> stragglers() {
    if (m_.operations.empty() && m_.descriptions.empty()) return {};
    if (m_.operations.size() != 1 || m_.descriptions.size() > 1)
      return fail(Code::bad_input,
                  m_.operations.empty() ? "a description alone says nothing" : "operations are told of one job at a time",
                  "one table, and its description if there is one");
    const auto trace = parse_op_trace(m_.operations.front().text, m_.operations.front().name);
    if (!trace) return tl::unexpected(trace.error());
    for (const NamedText& d : m_.descriptions) {
      if (auto ok = check_job_meta(d.text, d.name, *trace); !ok) return ok;
    }
    const auto found = diagnose::find_stragglers(*trace);
    if (!found) return tl::unexpected(found.error());
    const bool lost = found->cause != diagnose::StragglerCause::none;
    const diagnose::Finding f = report::straggler_finding(*found);
    verdict(found->cause == diagnose::StragglerCause::network ? diagnose::Bound::communication : diagnose::Bound::pipeline,
            report::stragglers_sentence(*found), f.confidence);
    if (lost) d_.findings.push_back(f);
    d_.parts.push_back(
        {"straggler", "", report::say_stragglers(*found), json_of([&](JsonWriter& w) { report::write_stragglers(w, *found); })});
    alarming_ = alarming_ || lost;
    return {};
  }

  void memory() {
    for (const auto& snapshot : m_.snapshots) {
      diagnose::MemoryQuestion ask;
      if (o_.batch > 0) ask.batch = o_.batch;
      ask.file = snapshot.name;
      const auto found = diagnose::diagnose_memory(snapshot.value, ask);
      verdict(diagnose::Bound::memory, report::memory_sentence(found),
              found.findings.empty() ? diagnose::Confidence::high : found.findings.front().confidence);
      // One object is what the document has for it; of several snapshots, each has its own section.
      const std::string key = m_.snapshots.size() == 1 ? "memory" : fmt::format("memory {}", snapshot.name);
      d_.parts.push_back({key, m_.snapshots.size() == 1 ? "" : snapshot.name, report::say_memory(found),
                          json_of([&](JsonWriter& w) { report::write_memory(w, found); })});
      for (const auto& device : found.devices) alarming_ = alarming_ || device.oom.has_value();
      add(d_.findings, found.findings);
    }
  }

  Result<void> profiles() {
    if (m_.traces.empty()) return {};
    d_.peaks = peaks_of(g_);
    std::vector<const Trace*> traces;
    for (const report::AccountedTrace& t : m_.traces) {
      traces.push_back(&t.trace);
      if (t.trace.ranks && o_.gpus == 0) d_.gpus = std::max(d_.gpus, *t.trace.ranks);
    }
    if (const auto twice = diagnose::rank_twice(traces))
      return fail(Code::bad_input, fmt::format("two profiles are of rank {}", *twice),
                  "one of each rank of one run; `muster diagnose --diff BEFORE AFTER` compares two runs");
    if (traces.size() > 1) d_.waits = diagnose::match_ranks(traces);
    for (std::size_t i = 0; i < traces.size(); ++i)
      d_.profiles.push_back(diagnose::take_apart(
          *traces[i], m_.traces[i].file, d_.peaks,
          d_.waits ? std::span<const std::int64_t>(d_.waits->by_event[i]) : std::span<const std::int64_t>()));
    std::size_t told = 0;  // the rank whose remedies are told: the one that all wait for, else the first with work
    while (told + 1 < d_.profiles.size() && d_.profiles[told].line.events.empty()) ++told;
    std::optional<diagnose::LateRank> late;
    if (d_.waits) late = diagnose::late_rank(d_.profiles, *d_.waits);
    if (late) told = late->trace;
    std::optional<diagnose::Replay> replay;  // of that rank
    for (std::size_t i = 0; i < d_.profiles.size(); ++i) {
      diagnose::Replay again = diagnose::play_again(d_.profiles[i]);
      if (i == told) replay.emplace(std::move(again));
    }
    diagnose::Verdict v = diagnose::verdict_of(d_.profiles);
    for (const std::string& s : diagnose::strangers(traces)) {
      d_.cannot.push_back(fmt::format("these profiles may not be of one job ({}): what is said of all of them is a mean", s));
      v.confidence = diagnose::Confidence::low;
    }
    // Of exchanges it matters most who is not here.
    if (v.bound == diagnose::Bound::communication && traces.size() < d_.gpus)
      v.confidence = std::min(v.confidence, diagnose::Confidence::medium);
    if (d_.waits) {
      if (late) {
        v.sentence += fmt::format("; all wait for {}", diagnose::late_words(*late, d_.profiles));
        d_.findings.push_back(diagnose::late_finding(*late, d_.profiles));
        alarming_ = true;
      } else if (auto spread = diagnose::spread_finding(d_.profiles, *d_.waits)) {
        d_.findings.push_back(std::move(*spread));
      }
    }
    verdict(v);
    d_.told = told;
    const bool one = d_.profiles.size() == 1;
    // Of the rank that the others wait for, its own bound matters: theirs is that they wait.
    const diagnose::Verdict its = one ? v : diagnose::verdict_of({&d_.profiles[told], 1});
    auto exchanges = diagnose::exchange_findings(d_.profiles[told], yardstick());
    // Links that are slow go before exchanges that could be hidden.
    const bool first = its.bound == diagnose::Bound::communication;
    if (first) add(d_.findings, std::move(exchanges));
    auto own = diagnose::profile_findings(d_.profiles[told], *replay, d_.peaks, its);
    if (!one) {  // shares above are means over ranks, these are of one
      for (diagnose::Finding& f : own)
        f.evidence.insert(f.evidence.begin(), diagnose::rank_words(d_.profiles[told], told) + "'s step");
    }
    add(d_.findings, std::move(own));
    if (!first) add(d_.findings, std::move(exchanges));
    for (std::string& s : diagnose::shortcomings(d_.profiles, d_.peaks)) d_.cannot.push_back(std::move(s));
    return {};
  }

  void run() {
    for (const auto& log : m_.logs) {
      RunConfig config = run_config_of(log.value);
      config = merged(m_.config, config);
      diagnose::RunMaterial given{.log = log.value,
                                  .settings = config.settings,
                                  .model = config.model,
                                  .plan = {},
                                  .no_plan = config.not_planned,
                                  .gpu = g_.gpu,
                                  .gpu_from = g_.from,
                                  .network = g_.network,
                                  .gpus = gpu_models(),
                                  .calibrations = shipped_calibrations(),
                                  .software = shipped_software(),
                                  .batch = batch_of(config, o_.gpus > 0 ? o_.gpus : log.value.gpus)};
      if (given.gpu == nullptr) {
        const diagnose::GpuGuess guess = diagnose::guess_gpu(log.value, gpu_models());
        given.gpu = guess.gpu;
        given.gpu_from = guess.words;
      }
      const double node = g_.network.node_gpus > 0 ? g_.network.node_gpus : 8;
      if (config.launch) {
        auto plan =
            plan_of(*config.launch, o_.gpus > 0 ? o_.gpus : log.value.gpus, log.value.seq, static_cast<std::uint32_t>(node));
        if (plan) {
          given.plan = std::move(*plan);
        } else {
          given.no_plan = plan.error().what;
        }
      }
      const diagnose::RunCheck check = diagnose::check_run(given);
      if (o_.gpus == 0) d_.gpus = std::max(d_.gpus, check.gpus);
      verdict(diagnose::run_bound(check), report::run_sentence(check), check.confidence);
      const std::string key = m_.logs.size() == 1 ? "run" : fmt::format("run {}", log.name);
      d_.parts.push_back({key, m_.logs.size() == 1 ? "" : log.name, report::say_run_check(check),
                          json_of([&](JsonWriter& w) { report::write_run(w, check); })});
      alarming_ = alarming_ || check.pace == diagnose::Pace::slower || check.times.shift || check.times.growth;
      add(d_.findings, check.findings);
      for (const std::string& s : check.cannot) d_.cannot.push_back(s);
    }
  }

  diagnose::NcclYardstick yardstick() { return {collectives_, gpu_models(), g_.hint, shipped_collectives()}; }

  void exchanges() {
    const diagnose::NcclYardstick y = yardstick();
    const auto first = [&](const std::vector<diagnose::Finding>& found, std::string otherwise) {
      verdict(diagnose::Bound::communication, found.empty() ? std::move(otherwise) : found.front().title,
              found.empty() ? diagnose::Confidence::medium : found.front().confidence);
    };
    std::vector<diagnose::JudgedRun> runs;
    for (const auto& bench : m_.benches) {
      for (diagnose::JudgedRun& r : diagnose::judge_runs(bench.value, y)) runs.push_back(std::move(r));
    }
    if (!runs.empty()) {
      auto found = diagnose::find_in_runs(runs);
      alarming_ = alarming_ || !found.empty();
      first(found, runs.size() == 1 ? fmt::format("{}: {}", runs.front().what, name_of(runs.front().verdict))
                                    : fmt::format("{} runs of nccl-tests, nothing wrong with them", runs.size()));
      add(d_.findings, std::move(found));
      d_.parts.push_back({"nccl_tests", "", report::say_nccl_runs(runs, false),
                          json_of([&](JsonWriter& w) { report::write_nccl_runs(w, runs); })});
    }
    if (m_.nccl.nccl_lines > 0 || !m_.nccl.troubles.empty()) {
      auto found = diagnose::find_in_nccl_log(m_.nccl, gpu_models(), g_.hint);
      alarming_ = alarming_ || !m_.nccl.troubles.empty();
      first(found, "NCCL's log tells of nothing wrong");
      add(d_.findings, std::move(found));
      d_.parts.push_back(
          {"nccl_log", "", report::say_nccl_log(m_.nccl), json_of([&](JsonWriter& w) { report::write_nccl_log(w, m_.nccl); })});
    }
    if (m_.inspector.records > 0) {
      const auto series = diagnose::judge_inspector(m_.inspector, y);
      auto found = diagnose::find_in_inspector(series);
      const bool several = std::any_of(series.begin(), series.end(), [](const auto& s) { return s.ranks_seen > 1; });
      first(found, several ? "no rank's exchanges fall out of line"
                           : "records of one rank alone: who waits for whom cannot be told from them");
      alarming_ = alarming_ || !found.empty();
      for (const diagnose::JudgedSeries& s : series) {
        for (const diagnose::OddRank& r : s.odd)
          leads_.push_back({r.host, fmt::format("rank {} is {} in {}", r.rank, r.late ? "last" : "slow", s.run.what)});
      }
      add(d_.findings, std::move(found));
      d_.parts.push_back({"nccl_inspector", "", report::say_nccl_inspector(m_.inspector, series, false),
                          json_of([&](JsonWriter& w) { report::write_nccl_inspector(w, series); })});
    }
  }

  void kernels() {
    const diagnose::Peaks peaks = peaks_of(g_);
    for (const auto& k : m_.kernels) add_kernels(k.value, k.name, m_.kernels.size() == 1, d_);
    for (const auto& e : m_.executions) add_execution(e.value, e.name, m_.executions.size() == 1, peaks, d_);
  }

  const DiagnoseOptions& o_;
  const Material& m_;
  const Ground& g_;
  predict::Collectives collectives_{shipped_collectives(), shipped_collective_classes(), gpu_models(),
                                    shipped_collective_spread()};
  Diagnosis d_;
  std::vector<Lead> leads_;
  bool alarming_ = false;
};

int tell_accounting(const DiagnoseOptions& o, const Material& m) {
  if (m.traces.empty())
    return say_error({Code::bad_input, "--accounting is of profiles", "what torch.profiler or Nsight Systems exported"});
  if (o.format == DiagnoseFormat::json) {
    put(report::accounting_json(m.traces));
    return finish_output();
  }
  const report::Table t = report::accounting_table(m.traces);
  put(o.format == DiagnoseFormat::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

// One side of --diff: a file, or a folder with those of several ranks.
Result<Material> side_of(const DiagnoseOptions& o, const std::string& path) {
  DiagnoseOptions one = o;
  const auto files = with_folders({path});
  if (!files) return tl::unexpected(files.error());
  one.files = *files;
  return read_material(one);
}

Result<diagnose::RunDiff> difference(const DiagnoseOptions& o, const Material& before, const Material& after) {
  const bool profiles = !before.traces.empty() && !after.traces.empty();
  const bool logs = before.logs.size() == 1 && after.logs.size() == 1;
  if (!profiles && !logs)
    return fail(Code::bad_input, "--diff compares profiles with profiles, or one log with one log",
                "muster diagnose --diff BEFORE AFTER: two files, or two folders with those of several ranks");
  if (!profiles) return diagnose::compare_logs(before.logs[0].value, after.logs[0].value);
  const auto ground = ground_of(o, before);
  if (!ground) return tl::unexpected(ground.error());
  const auto taken_apart = [peaks = peaks_of(*ground)](const Material& m) {
    std::vector<const Trace*> traces;
    for (const report::AccountedTrace& t : m.traces) traces.push_back(&t.trace);
    const diagnose::RankWaits waits = diagnose::match_ranks(traces);
    std::vector<diagnose::Profile> out;
    for (std::size_t i = 0; i < traces.size(); ++i)
      out.push_back(diagnose::take_apart(*traces[i], m.traces[i].file, peaks, waits.by_event[i]));
    return out;
  };
  auto diff = diagnose::compare_profiles(taken_apart(before), taken_apart(after));
  if (diff && logs) diagnose::add_logs(*diff, before.logs[0].value, after.logs[0].value);
  return diff;
}

int tell_difference(const DiagnoseOptions& o) {
  if (o.files.size() != 2)
    return say_error(
        {Code::bad_input, "--diff compares two runs", "muster diagnose --diff BEFORE AFTER: two files or two folders"});
  const auto before = side_of(o, o.files[0]);
  if (!before) return say_error(before.error());
  const auto after = side_of(o, o.files[1]);
  if (!after) return say_error(after.error());
  const auto diff = difference(o, *before, *after);
  if (!diff) return say_error(diff.error());
  if (o.format == DiagnoseFormat::json) {
    put(report::difference_json(*diff, o.files[0], o.files[1]));
  } else {
    for (const std::string& line : report::say_difference(*diff)) put(line + "\n");
  }
  return finish_output();
}

}  // namespace

int run_diagnose(const DiagnoseOptions& given) {
  DiagnoseOptions o = given;
  std::string job;
  if (o.files.size() >= 2 && o.files.front() == "job" && !std::filesystem::exists("job")) {
    job = o.files[1];
    o.files.erase(o.files.begin(), o.files.begin() + 2);
    if (o.format == DiagnoseFormat::html || o.format == DiagnoseFormat::csv)
      return say_error({Code::bad_input, "a job that runs is told in words or JSON", "-o text or -o json"});
    if (o.files.empty()) return diagnose_job(o, job, nullptr, {}, false);
  }
  if (o.format == DiagnoseFormat::html && (o.accounting || o.diff))
    return say_error({Code::bad_input, "a page is of a diagnosis, not of --accounting or --diff", "-o text or -o json"});
  if (o.accounting && o.diff) return say_error({Code::bad_input, "--accounting and --diff do not go together", "one of them"});
  if (o.diff) return tell_difference(o);
  auto files = with_folders(o.files);
  if (!files) return say_error(files.error());
  o.files = std::move(*files);
  auto read = read_material(o);
  if (!read) return say_error(read.error());
  Material& m = *read;
  std::stable_sort(m.traces.begin(), m.traces.end(), [](const auto& x, const auto& y) {
    return x.trace.rank.value_or(UINT32_MAX) < y.trace.rank.value_or(UINT32_MAX);
  });
  if (o.accounting) return tell_accounting(o, m);
  const auto ground = ground_of(o, m);
  if (!ground) return say_error(ground.error());
  Assembly assembly(o, m, *ground);
  if (const auto ok = assembly.all(); !ok) return say_error(ok.error());
  const Diagnosis& d = assembly.diagnosis();
  if (!job.empty()) return diagnose_job(o, job, &d, assembly.leads(), assembly.alarming());
  if (!o.perfetto.empty()) {
    if (d.profiles.empty())
      return say_error({Code::bad_input, "--perfetto is of profiles", "what torch.profiler or Nsight Systems exported"});
    for (const std::string& f : o.files) {
      std::error_code none;
      if (std::filesystem::equivalent(f, o.perfetto, none))
        return say_error({Code::bad_input, fmt::format("--perfetto would write over {}", printable(f)), "another file's name"});
    }
    if (const auto ok = write_file(o.perfetto, report::perfetto_overlay(d)); !ok) return say_error(ok.error());
  }
  if (o.format == DiagnoseFormat::json) {
    put(report::diagnosis_json(d));
  } else if (o.format == DiagnoseFormat::html) {
    put(report::diagnosis_page(d));
  } else if (o.format == DiagnoseFormat::csv) {
    return say_error({Code::bad_input, "only the accounting is a table", "--accounting -o csv, or -o json"});
  } else {
    for (const std::string& line : report::say_diagnosis(d)) put(line + "\n");
  }
  const int written = finish_output();
  return written != 0 ? written : assembly.alarming() ? kFindingsPresent : 0;
}

}  // namespace muster::cmd
