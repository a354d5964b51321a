// muster twin compare: several policies on the same seeds, and which differences between them are not chance.
#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "adapters/memory/journal.h"
#include "adapters/sqlite/journal.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "commands.h"
#include "control/restore.h"
#include "ingest/json.h"
#include "progress.h"
#include "report/table.h"
#include "run_report.h"
#include "say.h"
#include "scene.h"
#include "trial/compare.h"

namespace muster::cmd {
namespace {

constexpr std::string_view kMethod =
    "paired by seed; 95 % intervals by Student's t; p by flipping the signs of the pairs, all metrics together (Westfall and "
    "Young's "
    "step-down maxT), times the number of policies held against the first";

// "mine" of "policies/mine.yaml"; a name that comes again gets a number.
std::vector<std::string> labels(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& file : given) {
    std::string name = file.substr(file.rfind('/') + 1);
    for (const std::string_view end : {".yaml", ".yml"}) {
      if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
    }
    std::string label = name;
    for (int k = 2; std::find(out.begin(), out.end(), label) != out.end(); ++k) label = fmt::format("{} #{}", name, k);
    out.push_back(std::move(label));
  }
  return out;
}

// One price for all: else a policy would be better by saying that GPU-hours are cheap.
Result<double> one_price(const TwinCompareOptions& o, const std::vector<trial::Contender>& contenders) {
  double price = o.price;
  for (const trial::Contender& c : contenders) {
    const double said = o.price > 0 ? 0 : c.policy.gpu_hour_price;
    if (said > 0 && price > 0 && said != price) {
      return fail(Code::bad_input, fmt::format("the policies name different prices of a GPU-hour: {:g} and {:g}", price, said),
                  "give the one to compare by: --price X");
    }
    if (said > 0) price = said;
  }
  return price;
}

Result<control::Books> end_of(const std::string& file) {
  auto journal = sqlite::open({.path = file, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  auto books = control::restore(**journal, [](std::string_view text) { return parse_json(text); });
  if (books && books->state.site.nodes.empty()) {
    return fail(Code::bad_input, file + " holds no history: nothing to go on from",
                "give the journal of a run, a demo or a cluster");
  }
  return books;
}

Result<trial::CompareOptions> prepare(const TwinCompareOptions& o) {
  trial::CompareOptions out;
  if (!o.journal.empty()) {
    auto books = end_of(o.journal);
    if (!books) return tl::unexpected(books.error());
    out.from = std::move(*books);
  }
  TwinChoice choice = o.twin;
  choice.policy = o.policies[0];
  auto scene = build_scene(choice, out.from ? &out.from->state.site : nullptr);
  if (!scene) return tl::unexpected(scene.error());
  out.run.twin = std::move(scene->twin);
  if (out.from) {
    out.run.twin.start_utc = out.from->state.now.utc;
    begin_prices(out.run.twin);
  }
  const std::vector<std::string> names = labels(o.policies);
  for (std::size_t i = 0; i < o.policies.size(); ++i) {
    auto policy = i == 0 ? Result<Policy>(scene->policy) : load_policy(o.policies[i]);
    if (!policy) return tl::unexpected(policy.error());
    if (i > 0) {  // the first was fitted with the scene
      if (auto ok = fit_policy(*policy, out.run.twin.site, o.policies[i]); !ok) return tl::unexpected(ok.error());
    }
    if (policy->shadow)
      return fail(Code::bad_input,
                  fmt::format("{} is in shadow mode: it does nothing, and on the twin nothing would run", o.policies[i]),
                  "compare it without `shadow: true`");
    out.contenders.push_back({names[i], std::move(*policy)});
  }
  const auto price = one_price(o, out.contenders);
  if (!price) return tl::unexpected(price.error());
  out.price = *price;
  out.run.length = from_seconds(o.days * 86400);
  out.first_seed = o.first_seed;
  out.seeds = o.seeds;
  out.threads = std::max(1U, std::thread::hardware_concurrency());
  out.make_journal = [] { return std::make_unique<MemoryJournal>(); };
  return out;
}

void write_estimate(JsonWriter& w, const trial::Estimate& e) {
  w.field("n", static_cast<std::uint64_t>(e.n));
  const auto number = [&](std::string_view key, bool known, double v) {
    w.key(key);
    known ? w.value(v) : w.null();
  };
  number("mean", e.n > 0, e.mean);
  number("sd", e.n > 1, e.sd);
  number("low", e.n > 1, e.low);
  number("high", e.n > 1, e.high);
}

void write_row(JsonWriter& w, const trial::CompareReport& r, const trial::Row& row) {
  w.object().field("name", row.metric.name).field("unit", row.metric.unit).field("better", name_of(row.metric.wish));
  w.field("worth", row.metric.worth).key("values").array();
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    w.object().field("policy", r.names[i]);
    write_estimate(w, row.values[i]);
    w.end_object();
  }
  w.end_array().key("differences").array();
  for (std::size_t i = 0; i < row.contrasts.size(); ++i) {
    const trial::Contrast& c = row.contrasts[i];
    w.object().field("policy", r.names[i + 1]).field("against", r.names[0]);
    write_estimate(w, c.difference);
    w.field("p", c.p).field("p_alone", c.flip_p).field("p_student", c.student_p).field("outcome", name_of(c.outcome));
    w.field("seeds_needed", c.seeds_needed).field("verdict", c.verdict).end_object();
  }
  w.end_array().end_object();
}

std::string render_json(const trial::CompareReport& r, const TwinCompareOptions& o, double price) {
  const Usage u = usage();
  const trial::RunReport& first = r.runs[0][0];
  JsonWriter w;
  w.object().key("policies").array();
  for (std::size_t i = 0; i < r.names.size(); ++i)
    w.object().field("name", r.names[i]).field("given", o.policies[i]).end_object();
  w.end_array().field("seeds", o.seeds).field("first_seed", o.first_seed).field("gpus", first.gpus).field("days", first.days);
  w.field("weather", fmt::format("x{:g}", first.weather)).field("from", o.journal).key("price");
  price > 0 ? w.value(price) : w.null();
  w.field("method", kMethod).field("tests", static_cast<std::uint64_t>(r.tests)).field("exact", r.exact);
  w.field("cpu_s", u.cpu_s).field("rss_mb", u.rss_mb).key("metrics").array();
  for (const trial::Row& row : r.rows) write_row(w, r, row);
  w.end_array().key("runs").array();
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    for (const trial::RunReport& run : r.runs[i])
      w.object().field("policy", r.names[i]).key("report").raw(render_run_json(run, std::nullopt)).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

report::Table values_table(const trial::CompareReport& r) {
  report::Table t;
  t.columns.push_back({"METRIC", false, false});
  for (const std::string& name : r.names) t.columns.push_back({name, true, false});
  for (const trial::Row& row : r.rows) {
    const trial::Metric& m = row.metric;
    std::vector<report::Cell> cells{report::Cell(m.unit.empty() ? m.title : m.title + ", " + m.unit)};
    for (const trial::Estimate& e : row.values) {
      std::string text = e.n == 0 ? "-" : fmt::format("{:.{}f}", e.mean, m.decimals);
      if (e.n > 1) text += fmt::format(" ± {:.{}f}", e.high - e.mean, m.decimals);
      if (e.n > 0 && e.n < r.runs[0].size()) text += fmt::format(" ({} seeds)", e.n);
      cells.emplace_back(std::move(text));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

std::string render_text(const trial::CompareReport& r, const TwinCompareOptions& o, double price) {
  const trial::RunReport& first = r.runs[0][0];
  const Usage u = usage();
  std::string s =
      fmt::format("{} policies, {} seed{} from {}: {} GPUs, {:g} days each, weather x{:g} (simulated)\n", r.names.size(), o.seeds,
                  o.seeds == 1 ? "" : "s", o.first_seed, first.gpus, first.days, first.weather);
  if (!o.journal.empty()) s += fmt::format("each from the end of {}\n", printable(o.journal));
  const report::TableStyle style;
  s += "\nmean of a run, ± half of its 95 % interval\n" + report::render_table(values_table(r), style);
  if (price > 0) s += fmt::format("(money: {:g} for a GPU-hour)\n", price);
  for (std::size_t i = 1; i < r.names.size(); ++i) {
    report::Table t;
    t.columns = {{"METRIC", false, false}, {"VERDICT", false, false}};
    std::vector<std::string> same;
    for (const trial::Row& row : r.rows) {
      const trial::Contrast& c = row.contrasts[i - 1];
      if (c.outcome == trial::Outcome::same)
        same.push_back(row.metric.title.substr(row.metric.title.find_first_not_of(' ')));
      else
        t.rows.push_back({report::Cell(row.metric.title), report::Cell(c.verdict)});
    }
    s += fmt::format("\n{} against {}, seed by seed\n", printable(r.names[i]), printable(r.names[0]));
    if (!t.rows.empty()) s += report::render_table(t, style);
    if (t.rows.empty()) s += "no difference at all: every metric is the same in every seed\n";
    if (!t.rows.empty() && !same.empty()) s += "the same in every seed: " + join(same, ", ") + "\n";
  }
  const std::string method = fmt::format("{}; {} of signs", kMethod, r.exact ? "all patterns" : "a sample of the patterns");
  s += "\nmethod     " + report::wrap(method, 110, 11) + "\n";
  const double seed_days = static_cast<double>(o.seeds) * static_cast<double>(r.names.size()) * first.days;
  s += fmt::format("work       {:.1f} CPU-s, {:.0f} MB; {:.3f} CPU-s for a simulated day\n", u.cpu_s, u.rss_mb,
                   u.cpu_s / seed_days);
  return s;
}

}  // namespace

int run_twin_compare(const TwinCompareOptions& o) {
  auto options = prepare(o);
  if (!options) return say_error(options.error());
  if (o.seeds < 6) say(fmt::format("note: {} seeds cannot tell a difference from chance; 6 can, 20 do better", o.seeds));
  Result<trial::CompareReport> report = fail(Code::internal, "");
  {
    Progress progress("comparing", o.progress);
    options->progress = [&](double done) { progress.update(done); };
    report = trial::compare(*options);
  }
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? render_json(*report, o, options->price) : render_text(*report, o, options->price));
  int code = 0;
  for (std::size_t i = 0; i < report->runs.size(); ++i) {
    for (const trial::RunReport& run : report->runs[i]) {
      if (run.violations.empty()) continue;
      code = 6;
      say(fmt::format("VIOLATION  {}, seed {}: {}", printable(report->names[i]), run.seed, run.violations.front()));
    }
  }
  return code;
}

}  // namespace muster::cmd
