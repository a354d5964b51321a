// muster twin replay: a journal's decisions taken again, with the same policy or another.
#include <fmt/core.h>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/journal.h"
#include "base/json_writer.h"
#include "commands.h"
#include "control/replay.h"
#include "ingest/embedded.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/run.h"

namespace muster::cmd {
namespace {

std::string render_json(const control::ReplayResult& r, const trial::RunReport* fork) {
  JsonWriter w;
  w.object()
      .field("events", r.events)
      .field("turns", r.turns)
      .field("decisions", r.decisions)
      .field("same", !r.difference.has_value());
  if (r.difference) {
    w.key("first_difference").object().field("turn", r.difference->turn).field("at_utc", render_utc(r.difference->utc));
    for (const auto& [k, v] : {std::pair("recorded", &r.difference->recorded), std::pair("decided", &r.difference->decided)}) {
      w.key(k);
      v->empty() ? w.null() : w.raw(*v);
    }
    w.end_object();
  }
  if (fork != nullptr) w.key("fork").raw(render_run_json(*fork, usage()));
  w.end_object();
  return w.take() + "\n";
}

std::string render_text(const control::ReplayResult& r, bool other) {
  std::string s = fmt::format("{} events, {} turns, {} decisions taken again\n", r.events, r.turns, r.decisions);
  if (!r.difference) return s + "same: every decision came out as recorded, bit for bit\n";
  s += fmt::format("{} decision in turn {} at {}\n", other ? "first differing" : "DIFFERENT", r.difference->turn,
                   render_utc(r.difference->utc));
  s += fmt::format("  recorded: {}\n  now:      {}\n", r.difference->recorded.empty() ? "nothing" : r.difference->recorded,
                   r.difference->decided.empty() ? "nothing" : r.difference->decided);
  return s;
}

Result<trial::RunReport> go_on(const TwinReplayOptions& o, const Policy& policy, control::Books books) {
  TwinChoice choice;
  choice.gpus = 8;  // only for the weather: the site comes from the journal
  auto scene = build_scene(choice);
  if (!scene) return tl::unexpected(scene.error());
  trial::RunOptions run;
  run.twin = std::move(scene->twin);
  run.twin.site = books.state.site;
  run.policy = run.must_hold = policy;
  run.length = from_seconds(o.days * 86400);
  MemoryJournal journal;
  Progress progress("simulating the fork", o.progress);
  run.progress = [&](double done) { progress.update(done); };
  return trial::run_fork(run, journal, std::move(books));
}

// The cluster as the journal first has it; without nodes where it has none.
Result<Site> site_of(Journal& journal) {
  Site site;
  const auto read = journal.read(1, [&](const Event& e) {
    const auto* declared = std::get_if<SiteDeclared>(&e.body);
    if (declared != nullptr) site = declared->site;
    return declared == nullptr;
  });
  if (!read) return tl::unexpected(read.error());
  return site;
}

}  // namespace

int run_twin_replay(const TwinReplayOptions& o) {
  auto journal = sqlite::open({.path = o.journal, .read_only = true});
  if (!journal) return say_error(journal.error());
  std::optional<Policy> other;
  if (!o.policy.empty()) {
    auto p = load_policy(o.policy);
    if (!p) return say_error(p.error());
    const auto site = site_of(**journal);
    if (!site) return say_error(site.error());
    if (auto ok = fit_policy(*p, *site, o.policy); !ok) return say_error(ok.error());
    other = std::move(*p);
  }
  auto result = control::replay(**journal, other);
  if (!result) return say_error(result.error());
  const bool json = o.format == report::Format::json;
  if (!other || !result->difference) {
    put(json ? render_json(*result, nullptr) : render_text(*result, other.has_value()));
    return result->difference ? 6 : 0;
  }
  if (!json) put(render_text(*result, true) +
                 fmt::format("\nfrom there on, {:g} day{} in a fork of the twin:\n", o.days, o.days == 1 ? "" : "s"));
  auto fork = go_on(o, *other, std::move(result->books));
  if (!fork) return say_error(fork.error());
  put(json ? render_json(*result, &*fork) : render_run_text(*fork, usage()));
  return 0;
}

}  // namespace muster::cmd
