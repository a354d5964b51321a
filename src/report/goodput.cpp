#include "report/goodput.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::Cause;
using account::Classes;
using account::Why;

double gpu_h(std::int64_t thousandths_of_ms) { return static_cast<double>(thousandths_of_ms) / 3.6e9; }
std::int64_t of(const Classes& c, Waste w) { return c[static_cast<std::size_t>(w)]; }

struct Row {
  std::string name;
  Classes amount{};
  std::optional<std::uint64_t> jobs;    // that had a part in it, where that is known
  std::optional<std::uint64_t> losses;  // attempts that lost steps, of a cause
};

std::uint64_t jobs_with(const account::Stretch& s, Why why) {
  const auto has = [&](const account::JobSum& j) {
    switch (why) {
      case Why::starting: return of(j.amount, Waste::starting) != 0;
      case Why::checkpoint: return of(j.amount, Waste::checkpoint) != 0;
      case Why::slow: return of(j.amount, Waste::slow) != 0;
      default: return of(j.amount, Waste::useful) != 0 || of(j.amount, Waste::unsettled) != 0;
    }
  };
  return static_cast<std::uint64_t>(std::count_if(s.jobs.begin(), s.jobs.end(), has));
}

std::vector<Row> by_cause(const account::Stretch& s) {
  std::vector<Row> rows;
  for (const auto& [cause, x] : s.causes) {
    Row r{std::string(account::name_of(cause)), x.amount, {}, x.losses};
    if (cause.why <= Why::slow) r.jobs = jobs_with(s, cause.why);
    rows.push_back(std::move(r));
  }
  return rows;
}

std::vector<Row> by_owner(const account::Stretch& s, std::string account::Owner::*part) {
  std::map<std::string, Row> rows;
  for (const auto& [owner, x] : s.owners) {
    Row& r = rows[owner.*part];
    r.name = owner.*part;
    r.jobs = r.jobs.value_or(0) + x.jobs;
    for (std::size_t i = 0; i < x.amount.size(); ++i) r.amount[i] += x.amount[i];
  }
  std::vector<Row> out;
  for (auto& [name, r] : rows) out.push_back(std::move(r));
  return out;
}

std::vector<Row> rows_of(const account::Stretch& s, GoodputBy by) {
  switch (by) {
    case GoodputBy::cause: return by_cause(s);
    case GoodputBy::account: return by_owner(s, &account::Owner::account);
    case GoodputBy::queue: return by_owner(s, &account::Owner::queue);
    case GoodputBy::job: break;
  }
  std::vector<Row> rows;
  for (const account::JobSum& j : s.jobs) rows.push_back({render(j.id), j.amount, 1, {}});
  return rows;
}

// The first `max`, those with the most of what is asked for; how many were left out.
template <class T>
std::size_t keep_most(std::vector<T>& things, std::optional<Waste> most, std::size_t max) {
  const auto weight = [&](const T& x) { return most ? of(x.amount, *most) : account::wasted(x.amount); };
  std::stable_sort(things.begin(), things.end(), [&](const T& a, const T& b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return account::sum(a.amount) > account::sum(b.amount);
  });
  const std::size_t left_out = things.size() > max ? things.size() - max : 0;
  things.resize(things.size() - left_out);
  return left_out;
}

void write_classes(JsonWriter& w, const Classes& c, bool all) {
  w.key("classes").object();
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (all || c[i] != 0) w.field(names(Waste{})[i], gpu_h(c[i]));
  }
  w.end_object();
}

void write_rows(JsonWriter& w, const Goodput& g, GoodputBy by, std::optional<Waste> most) {
  std::vector<Row> rows = rows_of(g.stretch, by);
  const std::size_t left_out = keep_most(rows, most, by == GoodputBy::job ? kGoodputJobs : kGoodputRows);
  w.key("rows").array();
  for (const Row& r : rows) {
    w.object().field("name", r.name).field("gpu_h", gpu_h(account::sum(r.amount)));
    if (r.jobs) w.field("jobs", *r.jobs);
    if (r.losses) w.field("losses", *r.losses);
    write_classes(w, r.amount, false);
    w.end_object();
  }
  w.end_array().field("rows_left_out", left_out);
}

void write_jobs(JsonWriter& w, const Goodput& g, std::optional<Waste> most) {
  std::vector<account::JobSum> jobs = g.stretch.jobs;
  if (most) std::erase_if(jobs, [&](const auto& j) { return of(j.amount, *most) == 0; });
  const std::size_t left_out = keep_most(jobs, most, kGoodputJobs);
  w.key("jobs").array();
  for (const account::JobSum& j : jobs) {
    w.object().field("id", render(j.id)).field("name", j.who->name).field("user", j.who->user);
    w.field("account", j.who->account).field("queue", j.who->queue).field("gpu_h", gpu_h(account::sum(j.amount)));
    w.field("useful_gpu_h", gpu_h(of(j.amount, Waste::useful))).field("waste_gpu_h", gpu_h(account::wasted(j.amount)));
    write_classes(w, j.amount, false);
    w.end_object();
  }
  w.end_array().field("jobs_left_out", left_out).field("jobs_forgotten", g.stretch.jobs_forgotten);
}

}  // namespace

std::string goodput_json(const Goodput& g, GoodputBy by, std::optional<Waste> most) {
  const account::Stretch& s = g.stretch;
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Goodput").field("cluster", g.cluster);
  if (!g.job.empty()) w.field("job", g.job);
  w.field("from_utc", render_utc(g.from)).field("to_utc", render_utc(g.to)).field("events", g.events);
  w.field("installed_gpu_h", gpu_h(s.installed)).field("unsettled_before_gpu_h", gpu_h(s.unsettled_before));
  write_classes(w, s.classes, true);
  const std::int64_t settled = s.installed - of(s.classes, Waste::idle) - of(s.classes, Waste::unsettled);
  w.key("goodput");  // as the summary has it: the useful part of what was neither idle nor unsettled
  if (settled > 0) {
    w.value(static_cast<double>(of(s.classes, Waste::useful)) / static_cast<double>(settled));
  } else {
    w.null();
  }
  w.field("price", g.gpu_hour_price).field("currency", g.currency).field("price_assumed", g.price_assumed);
  w.field("by", names(by)[static_cast<std::size_t>(by)]);
  w.field("most", most ? names(Waste{})[static_cast<std::size_t>(*most)] : std::string_view("waste"));
  write_rows(w, g, by, most);
  w.key("nobody").object().field("gpu_h", gpu_h(account::sum(s.nobody)));
  write_classes(w, s.nobody, false);
  w.end_object();
  write_jobs(w, g, most);
  w.end_object();
  return w.take();
}

namespace {

constexpr std::size_t kRowsShown = 20;
// From all that is installed down to what is useful.
constexpr std::array kDown = {Waste::down, Waste::drained,      Waste::idle,      Waste::starting, Waste::checkpoint,
                              Waste::slow, Waste::lost_restart, Waste::unsettled, Waste::useful};

double class_h(const Value& object, Waste w) {
  const Value* classes = object.find("classes");
  return classes == nullptr ? 0 : number_of(*classes, names(Waste{})[static_cast<std::size_t>(w)]).value_or(0);
}

Cell hours_cell(double h) {
  Cell c(render_decimal(h, 1));
  c.key = h;
  return c;
}

Table class_table(const Value& report) {
  const double installed = number_of(report, "installed_gpu_h").value_or(0);
  const double price = number_of(report, "price").value_or(0);
  Table t;
  t.columns = {{"CLASS"}, {"GPU-HOURS", true}, {"SHARE", true}};
  if (price > 0) t.columns.push_back({"COST " + text_of(report, "currency"), true});
  const auto add = [&](std::string name, double h) {
    std::vector<Cell> row = {Cell(std::move(name)), hours_cell(h),
                             Cell(render_percent(installed > 0 ? std::optional(h / installed) : std::nullopt))};
    if (price > 0) row.push_back(hours_cell(h * price));
    t.rows.push_back(std::move(row));
  };
  const bool of_job = !text_of(report, "job").empty();
  add(of_job ? "given to it" : "installed", installed);
  for (const Waste w : kDown) {
    if (of_job && (w == Waste::down || w == Waste::drained || w == Waste::idle)) continue;  // GPUs without a job
    add(std::string(names(Waste{})[static_cast<std::size_t>(w)]), class_h(report, w));
  }
  return t;
}

Table row_table(const Value& report) {
  Table t;
  t.columns = {{upper(text_of(report, "by"))}, {"JOBS", true}, {"GPU-HOURS", true}};
  for (const Waste w : kDown) t.columns.push_back({upper(names(Waste{})[static_cast<std::size_t>(w)]), true});
  const auto add = [&](std::string name, const Value& x) {
    std::vector<Cell> row = {Cell(std::move(name)), Cell(text_of(x, "jobs")), hours_cell(number_of(x, "gpu_h").value_or(0))};
    for (const Waste w : kDown) row.push_back(class_h(x, w) == 0 ? Cell("-") : hours_cell(class_h(x, w)));
    t.rows.push_back(std::move(row));
  };
  for (const Value& x : list_of(report, "rows")) {
    if (t.rows.size() == kRowsShown) break;
    add(text_of(x, "name").empty() ? "(none)" : text_of(x, "name"), x);
  }
  const Value* nobody = report.find("nobody");
  if (nobody != nullptr && text_of(report, "by") != "cause" && text_of(report, "job").empty()) add("(no job)", *nobody);
  return t;
}

}  // namespace

std::string render_goodput_text(const Value& report, const Page& page) {
  const TableStyle style{true, false, page.colour};
  const std::string job = printable(text_of(report, "job"));
  std::string out = fmt::format("{} {} to {}: {} GPU-hours {}, goodput {}.\n\n",
                                job.empty() ? std::string("From") : fmt::format("Job {}, from", job), text_of(report, "from_utc"),
                                text_of(report, "to_utc"), render_decimal(number_of(report, "installed_gpu_h").value_or(0), 1),
                                job.empty() ? "installed" : "given to it", render_percent(number_of(report, "goodput")));
  out += render_table(class_table(report), style) + "\n" + render_table(row_table(report), style);
  const std::size_t rows = list_of(report, "rows").size();
  if (rows > kRowsShown) out += fmt::format("The first {} of {}; `-o json` has more.\n", kRowsShown, rows);
  const double before = number_of(report, "unsettled_before_gpu_h").value_or(0);
  out +=
      "\nUseful are steps whose result a checkpoint holds, or that ended with their job. Unsettled is what came since the last\n"
      "checkpoint of jobs that run: useful or lost, not yet known.\n";
  if (const std::string assumed = printable(text_of(report, "price_assumed")); !assumed.empty())
    out += fmt::format("The price of a GPU-hour is assumed: {}.\n", assumed);
  if (before > 0)
    out += fmt::format("{} GPU-hours were unsettled when this stretch began; what became of them is counted in it.\n",
                       render_decimal(before, 1));
  return out;
}

}  // namespace muster::report
