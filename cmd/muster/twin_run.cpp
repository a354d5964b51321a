// muster twin run: one simulated history, and what came of it.
#include <fstream>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/journal.h"
#include "commands.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/run.h"

namespace muster::cmd {

int run_twin_run(const TwinRunOptions& o) {
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  std::unique_ptr<Journal> journal;
  if (o.journal.empty()) {
    journal = std::make_unique<MemoryJournal>();
  } else {
    if (std::ifstream(o.journal).good()) {
      return say_error({Code::conflict, o.journal + " exists already", "give a new name: a journal is never overwritten"});
    }
    auto stored = sqlite::open({.path = o.journal, .create = true, .journal_id = std::string(kTwinJournalId),
                                // A simulated history can be made again: it need not survive a power cut.
                                .weaken = "PRAGMA synchronous=OFF"});
    if (!stored) return say_error(stored.error());
    journal = std::move(*stored);
  }
  trial::RunOptions run;
  run.twin = std::move(scene->twin);
  run.twin.job_environments = true;
  run.policy = run.must_hold = scene->policy;
  run.length = from_seconds(o.days * 86400);
  run.snapshots = !o.journal.empty();
  Result<trial::RunReport> report = fail(Code::internal, "");
  {
    Progress progress("simulating", o.progress);
    run.progress = [&](double done) { progress.update(done); };
    report = trial::run(run, *journal);
  }
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? render_run_json(*report, usage()) : render_run_text(*report, usage()));
  return report->violations.empty() ? 0 : 6;
}

}  // namespace muster::cmd
