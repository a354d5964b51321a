#include "report/accept_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accept/metrics.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/accept_draw.h"
#include "report/accept_parts.h"
#include "report/accept_style.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Compared;
using accept::Comparison;

constexpr std::size_t kWidth = 120, kNameBytes = 80;
constexpr double kTop = 34;

// Text of a side's name, as it is: untrusted.
std::string side(const std::string& name, std::string_view otherwise) {
  return name.empty() ? std::string(otherwise) : std::string(clipped(name, kNameBytes));
}

enum class Outcome { better, worse, even, plain };
// To draw more power is neither better nor worse: what it buys is asked per watt.
bool is_plain(const Compared& c) {
  const accept::Metric* m = accept::find_metric(c.metric);
  return m != nullptr && m->unit == "W";
}
Outcome outcome(const Compared& c) {
  if (is_plain(c)) return Outcome::plain;
  return !c.known ? Outcome::even : c.ratio > 1 ? Outcome::better : Outcome::worse;
}
std::string_view words(Outcome o) {
  return o == Outcome::better ? "better" : o == Outcome::worse ? "worse" : o == Outcome::even ? "not told apart" : "a fact";
}
std::string_view mark(Outcome o) {
  return o == Outcome::better ? "▲" : o == Outcome::worse ? "▼" : o == Outcome::even ? "≈" : "·";
}

std::string title_of(const Compared& c) {
  const accept::Metric* m = accept::find_metric(c.metric);
  return m == nullptr ? c.metric : std::string(m->title);
}
std::string_view unit_of(const Compared& c) {
  const accept::Metric* m = accept::find_metric(c.metric);
  return m == nullptr ? std::string_view() : m->unit;
}
bool less_is_better(const Compared& c) {
  const accept::Metric* m = accept::find_metric(c.metric);
  return m != nullptr && m->better == accept::Better::lower;
}

std::string ratio_text(double r) { return std::isfinite(r) ? fmt::format("{:.3f}", r) : "-"; }
std::string ratio_text(const std::optional<double>& r) { return r ? ratio_text(*r) : "-"; }
std::string interval_text(const Compared& c) { return fmt::format("{} to {}", ratio_text(c.low), ratio_text(c.high)); }
std::string peak_text(const std::optional<double>& share) { return share ? share_text(*share) : "-"; }
std::string step_text(double s) {
  return !(s > 0) ? "does not fit" : s < 1 ? fmt::format("{:.4g} ms", 1e3 * s) : fmt::format("{:.4g} s", s);
}
std::optional<double> speedup(const accept::StepCompared& s) {
  return s.a_s > 0 && s.b_s > 0 ? std::optional(s.a_s / s.b_s) : std::nullopt;
}

bool any(const Comparison& c, std::optional<double> Compared::*field) {
  return std::any_of(c.rows.begin(), c.rows.end(), [field](const Compared& r) { return (r.*field).has_value(); });
}

// The scale of the drawing is that of logarithms: half as fast lies as far from 1 as twice as fast.
double log_of(double r) { return std::log(std::clamp(r, 1e-3, 1e3)); }

struct Canvas {
  double width, left, right, row;
  bool above;  // names stand above their lines: there is no room beside them
  std::string_view suffix, kind;
};
constexpr Canvas kWide = {960, 220, 130, 26, false, "", "wide"};
constexpr Canvas kNarrow = {380, 14, 66, 40, true, "_narrow", "narrow"};

double reach_of(const Comparison& c) {
  double reach = std::log(1.05);
  for (const Compared& r : c.rows) {
    if (is_plain(r)) continue;
    for (const double v : {r.low, r.high, r.ratio}) {
      if (std::isfinite(v) && v > 0) reach = std::max(reach, std::abs(log_of(v)));
    }
  }
  return 1.05 * reach;
}

// Marks that are easy to read, as far as the drawing reaches; few enough not to touch.
std::vector<double> marks_of(double reach, bool narrow) {
  static const std::vector<std::vector<double>> kSets = {
      {0.98, 1, 1.02},           {0.95, 1, 1.05},        {0.9, 1, 1.1},        {0.8, 0.9, 1, 1.1, 1.25},
      {0.67, 0.8, 1, 1.25, 1.5}, {0.5, 0.75, 1, 1.5, 2}, {0.33, 0.5, 1, 2, 3}, {0.1, 0.2, 0.5, 1, 2, 5, 10},
      {0.01, 0.1, 1, 10, 100}};
  std::vector<double> best = kSets.front();
  for (const auto& set : kSets) {
    if (std::log(set.back()) <= reach) best = set;
  }
  if (narrow && best.size() > 3) best = {best.front(), 1, best.back()};
  return best;
}

void draw_row(std::string& out, const Compared& r, const Canvas& c, double reach, double y) {
  const auto x = [&](double v) {
    return c.left + (c.width - c.left - c.right) * (0.5 + 0.5 * std::clamp(log_of(v) / reach, -1.0, 1.0));
  };
  const Outcome o = outcome(r);
  const std::string_view open = o == Outcome::even ? " open" : "";
  const std::string name = brief(title_of(r), c.above ? 48 : 34);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", c.above ? 4 : c.left - 12,
                     c.above ? y - 13 : y + 4, c.above ? "start" : "end", name);
  if (!(r.ratio > 0) || !std::isfinite(r.ratio)) {
    out += fmt::format("<text class=\"dim\" x=\"{:.0f}\" y=\"{:.1f}\">not known</text>\n", c.left, y + 4);
    return;
  }
  out += fmt::format(
      "<g><title>{}: {} ({}), {}</title><path class=\"whisker{}\" d=\"M{:.1f} {:.1f}H{:.1f}M{:.1f} {:.1f}v8M{:.1f} "
      "{:.1f}v8\"/><circle "
      "class=\"point{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/></g>",
      name, ratio_text(r.ratio), interval_text(r), words(o), open, x(r.low), y, x(r.high), x(r.low), y - 4, x(r.high), y - 4,
      open, x(r.ratio), y);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}{} {}</text>\n", c.width - 8, y + 4,
                     c.above || o == Outcome::even ? "" : fmt::format("{} ", words(o)), ratio_text(r.ratio), mark(o));
}

std::string draw_whiskers(const Comparison& c, const Canvas& canvas) {
  const double reach = reach_of(c),
               floor = kTop + canvas.row * static_cast<double>(std::count_if(c.rows.begin(), c.rows.end(),
                                                                             [](const auto&r) { return !is_plain(r); }));
  const double plot = canvas.width - canvas.left - canvas.right;
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"ratios{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Ratios with their "
      "intervals\">\n",
      canvas.kind, canvas.suffix, canvas.width, floor + 30);
  for (const double v : marks_of(reach, canvas.above)) {
    const double at = canvas.left + plot * (0.5 + 0.5 * log_of(v) / reach);
    out += fmt::format(
        "<path class=\"{0}\" d=\"M{1:.1f} {2:.0f}V{3:.0f}\"/><text class=\"dim\" x=\"{1:.1f}\" y=\"{4:.0f}\" "
        "text-anchor=\"middle\">{5}</text>\n",
        v == 1 ? "one_line" : "gridline", at, kTop - 8, floor, floor + 18, v == 1 ? "1.0" : fmt::format("{:.4g}", v));
  }
  const std::string worse = canvas.above ? "worse" : brief(side(c.name_a, "A"), 34) + " is better";
  const std::string better = canvas.above ? "better" : brief(side(c.name_b, "B"), 34) + " is better";
  out += fmt::format(
      "<text class=\"dim\" x=\"{:.0f}\" y=\"14\">◂ {}</text><text class=\"dim\" x=\"{:.0f}\" y=\"14\" "
      "text-anchor=\"end\">{} ▸</text>\n",
      canvas.left, worse, canvas.left + plot, better);
  double y = kTop + (canvas.above ? canvas.row - 10 : canvas.row / 2);
  for (const Compared& r : c.rows) {
    if (is_plain(r)) continue;
    draw_row(out, r, canvas, reach, y);
    y += canvas.row;
  }
  return out + "</svg>\n";
}

// A column whose heading holds a name of somebody's.
Column named(std::string name) {
  Column c{std::move(name), true};
  c.as_is = true;
  return c;
}

Table rows_table(const Comparison& c) {
  Table t;
  const std::string a = side(c.name_a, "A"), b = side(c.name_b, "B");
  Column gpus = named("GPUs");
  gpus.wide = true;  // in a terminal they would take the room of the others
  t.columns = {{"FIGURE"}, {"UNIT"}, {"BETTER"}, named(a), gpus, named(b), gpus, {"RATIO", true}, {"95 % INTERVAL", true},
               {"OUTCOME"}};
  const bool watt = any(c, &Compared::per_watt), dollar = any(c, &Compared::per_dollar);
  const bool peak = any(c, &Compared::peak_a) || any(c, &Compared::peak_b);
  if (watt) t.columns.push_back({"PER WATT", true});
  if (dollar) t.columns.push_back({"PER $-HOUR", true});
  if (peak) {
    t.columns.push_back(named("sheet, " + a));
    t.columns.push_back(named("sheet, " + b));
  }
  for (const Compared& r : c.rows) {
    const Outcome o = outcome(r);
    std::vector<Cell> row = {Cell(title_of(r)),
                             Cell(std::string(unit_of(r))),
                             Cell(is_plain(r)         ? "-"
                                  : less_is_better(r) ? "less"
                                                      : "more"),
                             Cell(figure_text(r.a)),
                             Cell(std::to_string(r.count_a)),
                             Cell(figure_text(r.b)),
                             Cell(std::to_string(r.count_b)),
                             Cell(ratio_text(r.ratio)),
                             Cell(interval_text(r)),
                             Cell(fmt::format("{} {}", mark(o), words(o)), o == Outcome::better  ? Tone::good
                                                                           : o == Outcome::worse ? Tone::warn
                                                                                                 : Tone::dim)};
    if (watt) row.push_back(Cell(ratio_text(r.per_watt)));
    if (dollar) row.push_back(Cell(ratio_text(r.per_dollar)));
    if (peak) {
      row.push_back(Cell(peak_text(r.peak_a)));
      row.push_back(Cell(peak_text(r.peak_b)));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table steps_table(const Comparison& c) {
  Table t;
  t.columns = {{"MODEL"}, {"PLAN"}, named(side(c.name_a, "A")), named(side(c.name_b, "B")), {"TIMES AS FAST", true}};
  for (const accept::StepCompared& s : c.steps)
    t.rows.push_back({Cell(s.model), Cell(s.plan), Cell(step_text(s.a_s)), Cell(step_text(s.b_s)), Cell(ratio_text(speedup(s)))});
  return t;
}

std::string html_table(const Table& t, std::string_view label) {
  std::string out = scroll_begin(label, "wide") + "<thead><tr>";
  for (std::size_t i = 0; i < t.columns.size(); ++i)
    out += fmt::format("<th class=\"{}{}\" scope=\"col\">{}</th>", i == 0 ? "lead" : "", t.columns[i].right ? " n" : "",
                       accept_text(t.columns[i].as_is ? t.columns[i].name : lower(t.columns[i].name)));
  out += "</tr></thead><tbody>\n";
  for (const auto& row : t.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td class=\"{}{}\">{}</td>",
                         i == 0                           ? "lead"
                         : t.columns[i].name == "OUTCOME" ? "id"
                                                          : "",
                         t.columns[i].right ? " n" : "", accept_text(row[i].text));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string draw_head(const Comparison& c) {
  std::string out =
      fmt::format("<header id=\"compared\" style=\"--verdict:var(--mid)\"><p class=\"note\">hardware side by side</p><h1>{}</h1>",
                  accept_text(accept_compare_sentence(c)));
  if (c.rows.empty()) return out + "<p>There is no figure that both sides have: nothing can be compared.</p></header>\n";
  out += "<dl class=\"facts\">";
  std::size_t most_a = 0, most_b = 0;
  for (const Compared& r : c.rows) {
    most_a = std::max(most_a, r.count_a);
    most_b = std::max(most_b, r.count_b);
  }
  for (const auto& [name, n] : {std::pair(side(c.name_a, "A"), most_a), std::pair(side(c.name_b, "B"), most_b)})
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", accept_text(name), counted(static_cast<std::int64_t>(n), "GPU"));
  return out + "</dl></header>\n";
}

void optional_json(JsonWriter& w, std::string_view key, const std::optional<double>& v) {
  v ? w.field(key, *v) : w.key(key).null();
}

}  // namespace

std::string accept_compare_sentence(const Comparison& c) {
  std::size_t better = 0, worse = 0, all = 0;
  for (const Compared& r : c.rows) {
    all += outcome(r) != Outcome::plain;
    better += outcome(r) == Outcome::better;
    worse += outcome(r) == Outcome::worse;
  }
  const std::string names = printable(fmt::format("{} against {}", side(c.name_b, "B"), side(c.name_a, "A")));
  if (c.rows.empty()) return names + ": no figure to compare";
  return fmt::format("{}: better in {} of {}, worse in {}, not told apart in {}", names, better,
                     counted(static_cast<std::int64_t>(all), "figure"), worse, all - better - worse);
}

std::string render_accept_compare(const Comparison& c, bool colour) {
  std::string out = accept_compare_sentence(c) + "\n";
  if (!c.rows.empty()) {
    out += "\n" + render_table(rows_table(c), {true, false, colour});
    out += "a ratio above 1 is better, whichever way the figure is counted; the interval holds it with 95 %\n";
  }
  if (!c.steps.empty()) out += "\ntraining steps, predicted\n" + render_table(steps_table(c), {true, false, colour});
  for (const std::string& n : c.notes) out += "note: " + wrap(printable(n), kWidth, 6) + "\n";
  return out;
}

std::string accept_compare_json(const Comparison& c) {
  JsonWriter w;
  w.object().field("a", c.name_a).field("b", c.name_b).field("sentence", accept_compare_sentence(c)).key("figures").array();
  for (const Compared& r : c.rows) {
    w.object().field("metric", r.metric).field("title", title_of(r)).field("unit", unit_of(r));
    w.field("better", less_is_better(r) ? "lower" : "higher").field("a", r.a).field("b", r.b);
    w.field("gpus_a", static_cast<std::uint64_t>(r.count_a)).field("gpus_b", static_cast<std::uint64_t>(r.count_b));
    w.field("ratio", r.ratio)
        .field("low", r.low)
        .field("high", r.high)
        .field("told_apart", r.known)
        .field("outcome", words(outcome(r)));
    optional_json(w, "per_watt", r.per_watt);
    optional_json(w, "per_dollar_hour", r.per_dollar);
    optional_json(w, "share_of_data_sheet_a", r.peak_a);
    optional_json(w, "share_of_data_sheet_b", r.peak_b);
    w.end_object();
  }
  w.end_array().key("steps").array();
  for (const accept::StepCompared& s : c.steps) {
    w.object().field("model", s.model).field("plan", s.plan);
    optional_json(w, "a_s", s.a_s > 0 ? std::optional(s.a_s) : std::nullopt);
    optional_json(w, "b_s", s.b_s > 0 ? std::optional(s.b_s) : std::nullopt);
    optional_json(w, "times_as_fast", speedup(s));
    w.end_object();
  }
  w.end_array().key("notes").array();
  for (const std::string& n : c.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string accept_compare_page(const Comparison& c) {
  std::string out = page_begin(accept_compare_sentence(c), kAcceptStyle) + draw_head(c);
  if (!c.rows.empty()) {
    out += fmt::format(
        "<section id=\"ratios_of\"><h2>{} over {}</h2><p class=\"note\">The dot is the ratio of the medians, the line its 95 % "
        "interval. Right of 1.0 is better, whichever way a figure is counted; a hollow dot is not told apart from 1.</p>\n",
        accept_text(side(c.name_b, "B")), accept_text(side(c.name_a, "A")));
    out += draw_whiskers(c, kWide) + draw_whiskers(c, kNarrow) + "</section>\n";
    out += "<section id=\"figures\"><h2>Figures side by side</h2>\n" + html_table(rows_table(c), "Figures") +
           "<p class=\"note\">Medians of the GPUs of each side. Per watt and per dollar-hour are ratios too: what one of each "
           "buys. What is drawn in watts is a fact, neither better nor worse.</p></section>\n";
  }
  if (!c.steps.empty())
    out += "<section id=\"steps\"><h2>Training steps, predicted from what was measured</h2>\n" +
           html_table(steps_table(c), "Training steps") + "</section>\n";
  if (!c.notes.empty()) {
    out += "<section id=\"notes\"><h2>Notes</h2><ul class=\"plain\">";
    for (const std::string& n : c.notes) out += fmt::format("<li>{}</li>", accept_text(n));
    out += "</ul></section>\n";
  }
  return out + page_end("muster accept compare");
}

}  // namespace muster::report
