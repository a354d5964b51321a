// A page that asks nothing of any network: no script, no picture, no font that is not in it. All text in it is untrusted and
// escaped. Raw samples of thousands of GPUs would be too much to open: figures are here, samples in the recordings.
#include "report/accept_fleet_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text.h"
#include "report/accept_draw.h"
#include "report/accept_parts.h"
#include "report/accept_spread.h"
#include "report/accept_style.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::FleetGpu;
using accept::FleetKind;
using accept::Verdict;

constexpr std::size_t kTroublesShown = 1000;  // rows of the table of what is wrong
constexpr std::size_t kOfNode = 6;            // of one node
constexpr std::size_t kReasonsShown = 40;
constexpr std::size_t kKindsDrawn = 12;    // others are only named
constexpr std::size_t kOutliersNamed = 6;  // of a figure
constexpr std::size_t kChunk = 512;        // GPUs that open as one: a browser lays out only what is open
constexpr std::size_t kNameBytes = 80, kWordsBytes = 300;
constexpr std::array<Verdict, 4> kWorstFirst = {Verdict::fail, Verdict::could_not_run, Verdict::degraded, Verdict::pass};

std::size_t count_of(const accept::Fleet& f, Verdict v) {
  switch (v) {
    case Verdict::pass: return f.pass;
    case Verdict::degraded: return f.degraded;
    case Verdict::could_not_run: return f.could_not_run;
    case Verdict::fail: break;
  }
  return f.fail;
}

std::string count(std::size_t n) { return render_count(static_cast<std::int64_t>(n)); }

std::string draw_head(const AcceptedFleet& f) {
  Verdict worst = Verdict::pass;
  for (const Verdict v : kWorstFirst) {
    if (count_of(f.fleet, v) > 0) worst = std::max(worst, v);
  }
  std::string out = fmt::format("<header id=\"verdicts\" style=\"--verdict:var(--{})\"><p class=\"note\">{}</p><h1>{}</h1>",
                                verdict_class(worst), f.name.empty() ? "acceptance of a fleet" : accept_text(f.name),
                                escape(accept_fleet_sentence(f)));
  if (f.recordings.empty()) return out + "<p>Nothing was measured: there is no recording to report on.</p></header>\n";
  out += "<p class=\"counts\">";
  for (const Verdict v : kWorstFirst) out += fmt::format("<span><b>{}</b>{}</span>", count(count_of(f.fleet, v)), verdict_tag(v));
  out += "</p><div class=\"share\">";
  for (const Verdict v : kWorstFirst) {
    if (const std::size_t n = count_of(f.fleet, v); n > 0)
      out += fmt::format("<i class=\"{}\" style=\"flex:{}\" title=\"{}: {}\"></i>", verdict_class(v), n, name_of(v), n);
  }
  out += "</div><dl class=\"facts\">";
  Time first = kNever, last{0};
  for (const Acceptance& a : f.recordings) {
    if (a.host.begun.ns == 0) continue;
    first = std::min(first, a.host.begun);
    last = std::max(last, a.host.begun);
  }
  if (last.ns > 0) fact(out, "recorded", minute_of(first) + (first == last ? "" : " to " + minute_of(last)));
  fact(out, "kinds of GPU", count(f.fleet.kinds.size()));
  std::map<std::string, std::size_t> suites;
  for (const Acceptance& a : f.recordings)
    ++suites[fmt::format("{}, {}, hash {}", a.suite.version, name_of(a.suite.profile), a.suite.hash)];
  if (!suites.empty())
    fact(out, "suite", suites.begin()->first + (suites.size() > 1 ? fmt::format(", and {} others", suites.size() - 1) : ""));
  const auto provisional =
      std::count_if(f.fleet.judgements.begin(), f.fleet.judgements.end(), [](const auto& j) { return j.provisional; });
  if (provisional > 0) fact(out, "limits of speed", fmt::format("provisional for {}", counted(provisional, "node")));
  if (f.older > 0) fact(out, "older recordings", fmt::format("{}, for limits only", count(f.older)));
  return out + "</dl></header>\n";
}

// The same trouble of many nodes is one reason: figures in the words differ, part and test do not.
std::string draw_reasons(const AcceptedFleet& f, const std::vector<std::size_t>& bad) {
  struct Reason {
    Verdict verdict;
    accept::Part part;
    AcceptTest test;
    auto operator<=>(const Reason&) const = default;
  };
  std::map<Reason, std::pair<std::size_t, std::size_t>> all;  // troubles, and nodes with one
  for (const std::size_t i : bad) {
    std::vector<Reason> mine;
    for (const accept::Trouble* t : f.fleet.judgements[i].troubles()) mine.push_back({t->verdict, t->part, t->test});
    std::sort(mine.begin(), mine.end());
    for (std::size_t k = 0; k < mine.size(); ++k) {
      auto& [troubles, nodes] = all[mine[k]];
      ++troubles;
      nodes += k == 0 || mine[k] != mine[k - 1];
    }
  }
  std::vector<std::pair<Reason, std::pair<std::size_t, std::size_t>>> rows(all.begin(), all.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first.verdict != b.first.verdict ? a.first.verdict > b.first.verdict : a.second.second > b.second.second;
  });
  std::string out =
      scroll_begin("Reasons", "fits") +
      "<thead><tr><th scope=\"col\">verdict</th><th scope=\"col\">part</th><th scope=\"col\">test</th><th scope=\"col\" "
      "class=\"n\">nodes</th><th scope=\"col\" class=\"n\">troubles</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(kReasonsShown, rows.size()); ++i)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                       verdict_tag(rows[i].first.verdict), name_of(rows[i].first.part), name_of(rows[i].first.test),
                       count(rows[i].second.second), count(rows[i].second.first));
  return out + "</tbody></table></div>\n";
}

void trouble_row(std::string& out, const Acceptance& a, const accept::Judgement& j, const TroubleGroup* g, std::size_t more) {
  out += fmt::format("<tr><td>{}</td><td class=\"id\"><b>{}</b></td>", verdict_tag(g == nullptr ? j.verdict : g->trouble.verdict),
                     brief(node_name(a), kNameBytes));
  if (g == nullptr) {
    out += "<td class=\"words\" colspan=\"5\">no reason was recorded</td></tr>\n";
    return;
  }
  const accept::Trouble& t = g->trouble;
  out += fmt::format("<td class=\"who\">{}</td><td class=\"id\">{}</td><td class=\"words\">{}{}</td>",
                     brief(group_title(a, *g), kNameBytes), name_of(t.part), brief(t.what, kWordsBytes),
                     more > 0 ? fmt::format("<small>{} more of this node</small>", more) : "");
  for (const auto& [label, text] : {std::pair("evidence", &t.evidence), std::pair("next step", &t.next)})
    out += fmt::format("<td class=\"words\" data-l=\"{}: \">{}</td>", label, brief(*text, kWordsBytes));
  out += "</tr>\n";
}

std::string draw_left_out(const AcceptedFleet& f) {
  std::string out = "<section id=\"unread\"><h2>Recordings that could not be read</h2><ul class=\"plain\">";
  for (std::size_t i = 0; i < std::min(kReasonsShown, f.left_out.size()); ++i)
    out += fmt::format("<li>{}</li>", accept_text(f.left_out[i]));
  out += "</ul>";
  if (f.left_out.size() > kReasonsShown) out += fmt::format("<p>{} in all.</p>", count(f.left_out.size()));
  return out + "<p class=\"note\">A node that went down as it was tested may be among them.</p></section>\n";
}

std::string draw_judged(const AcceptedFleet& f, const std::vector<std::size_t>& bad) {
  if (f.recordings.empty()) return {};
  if (bad.empty()) return "<section id=\"bad\"><h2>Nodes that are not PASS</h2><p>None.</p></section>\n";
  std::string out =
      "<section id=\"bad\"><h2>Nodes that are not PASS</h2>\n" + (bad.size() > 3 ? draw_reasons(f, bad) + "<br>" : "") +
      scroll_begin("Nodes that are not PASS", "wide cards") +
      "<thead><tr><th scope=\"col\">verdict</th><th scope=\"col\">node</th><th scope=\"col\">GPU</th><th "
      "scope=\"col\">part</th><th scope=\"col\">what</th><th scope=\"col\">evidence</th><th scope=\"col\">next step</th>"
      "</tr></thead><tbody>\n";
  std::size_t rows = 0, nodes = 0;
  for (const std::size_t i : bad) {
    if (rows >= kTroublesShown) break;
    ++nodes;
    const std::vector<TroubleGroup> all = grouped(f.fleet.judgements[i]);
    const std::size_t shown = std::min(kOfNode, all.size());
    if (all.empty()) trouble_row(out, f.recordings[i], f.fleet.judgements[i], nullptr, 0);
    for (std::size_t k = 0; k < shown; ++k)
      trouble_row(out, f.recordings[i], f.fleet.judgements[i], &all[k], k + 1 == shown ? all.size() - shown : 0);
    rows += std::max<std::size_t>(1, shown);
  }
  out += "</tbody></table></div>";
  if (nodes < bad.size()) out += fmt::format("<p class=\"note\">{} more nodes are in the JSON.</p>", count(bad.size() - nodes));
  return out + "</section>\n";
}

std::string draw_bad(const AcceptedFleet& f) {
  const std::string unread = f.left_out.empty() ? "" : draw_left_out(f);
  return unread + draw_judged(f, nodes_not_pass(f.fleet));
}

// Figures of a kind, in columns: a GPU's standings are found by a metric's place in the kind.
struct Grid {
  std::vector<const accept::Metric*> metrics;
  std::vector<const accept::FleetMetric*> spreads;
  std::vector<std::optional<accept::Limit>> limits;
  std::vector<std::vector<const accept::Standing*>> rows;  // one a GPU of the kind

  bool constant(std::size_t column) const { return spreads[column]->least == spreads[column]->most; }
  bool beyond(std::size_t column, double v) const {
    return limits[column] &&
           (metrics[column]->better == accept::Better::higher ? v < limits[column]->value : v > limits[column]->value);
  }
};

Grid grid_of(const AcceptedFleet& f, const FleetKind& kind) {
  Grid g;
  std::map<std::string_view, std::size_t> column;
  for (const accept::FleetMetric& m : kind.metrics) {
    const accept::Metric* known = accept::find_metric(m.metric);
    if (known == nullptr) continue;
    column[m.metric] = g.metrics.size();
    g.metrics.push_back(known);
    g.spreads.push_back(&m);
    g.limits.push_back(fleet_limit(f, kind.cohort, *known));
  }
  g.rows.reserve(kind.gpus.size());
  for (const FleetGpu& gpu : kind.gpus) {
    auto& row = g.rows.emplace_back(g.metrics.size(), nullptr);
    std::size_t next = 0;  // standings have the order of the metrics: most are found without a search
    for (const accept::Standing& s : gpu.standings) {
      if (next >= g.metrics.size() || g.metrics[next]->name != s.metric) {
        const auto it = column.find(s.metric);
        if (it == column.end()) continue;
        next = it->second;
      }
      row[next++] = &s;
    }
  }
  return g;
}

std::string gpu_name(const AcceptedFleet& f, const FleetGpu& g) {
  return fmt::format("{} GPU {}", brief(node_name(f.recordings[g.node]), kNameBytes), g.gpu);
}

std::string outliers(const AcceptedFleet& f, const FleetKind& kind, const SpreadDrawing& d) {
  const std::size_t n = d.beyond_count();
  if (!d.limit) return {};
  if (n == 0) return "<small>none beyond it</small>";
  std::string out = fmt::format("<b class=\"short\">{} beyond it:</b> ", count(n));
  for (std::size_t i = 0; i < std::min(n, kOutliersNamed); ++i) {
    const SpreadPoint& p = d.points[i];
    out += fmt::format("{}{} ({}, {})", i > 0 ? "; " : "", gpu_name(f, kind.gpus[p.who]), figure_text(p.value),
                       d.median != 0 ? share_text(p.value / d.median) : "-");
  }
  return out + (n > kOutliersNamed ? fmt::format("; and {} more", count(n - kOutliersNamed)) : "");
}

void draw_metric(std::string& out, const AcceptedFleet& f, const FleetKind& kind, const Grid& grid, std::size_t column,
                 const std::string& id) {
  const accept::Metric& m = *grid.metrics[column];
  const accept::FleetMetric& s = *grid.spreads[column];
  std::vector<SpreadPoint> points;
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    if (grid.rows[i][column] != nullptr) points.push_back({grid.rows[i][column]->value, i});
  }
  const auto& limit = grid.limits[column];
  const SpreadDrawing d =
      spread_drawing(m, s.of.median, s.of.sigma, limit ? std::optional(limit->value) : std::nullopt, std::move(points));
  const GpuModel* sheet = f.sheet ? f.sheet(kind.cohort.model) : nullptr;
  const double peak = sheet_figure(sheet, m.peak);
  out += fmt::format("<div class=\"spread\"><p>{}<small>median {} {}{}</small></p><div>{}</div><p class=\"names\">", m.title,
                     figure_text(s.of.median), m.unit,
                     peak > 0 ? fmt::format(", {} of the data sheet", share_text(s.of.median / peak)) : "", draw_spread(d, id));
  if (limit)
    out += fmt::format("{} {} is the limit{}<br>", m.better == accept::Better::higher ? "at least" : "at most",
                       figure_text(limit->value), limit->provisional ? " (provisional)" : "");
  else
    out += fmt::format("<small>not judged{}; from {} to {}</small>", m.better == accept::Better::lower ? ", less is better" : "",
                       figure_text(s.least), figure_text(s.most));
  out += outliers(f, kind, d) + "</p></div>\n";
}

std::string draw_kind(const AcceptedFleet& f, const FleetKind& kind, const Grid& grid, std::size_t number) {
  std::string out = fmt::format(
      "<section id=\"kind{}\"><h2>{}: {}</h2>\n<p class=\"note\">Suite {}. The median is in the middle of each "
      "drawing, the limit is the dashed line{}; a triangle at an edge counts what lies further out.</p>\n",
      number, accept_text(accept::render(kind.cohort)), counted(std::ssize(kind.gpus), "GPU"), accept_text(kind.cohort.suite),
      f.limits == nullptr ? " (no limits were given)" : "");
  std::string same;
  for (std::size_t c = 0; c < grid.metrics.size(); ++c) {
    if (!grid.constant(c))
      draw_metric(out, f, kind, grid, c, fmt::format("kind{}_{}", number, grid.metrics[c]->name));
    else
      same += fmt::format("{}{} {}{}{}", same.empty() ? "" : "; ", grid.metrics[c]->title, figure_text(grid.spreads[c]->least),
                          grid.metrics[c]->unit.empty() ? "" : " ", grid.metrics[c]->unit);
  }
  if (grid.metrics.empty()) out += "<p>No figure of these GPUs is known.</p>";
  if (!same.empty()) out += fmt::format("<p class=\"note\">The same on all that told it: {}.</p>", same);
  return out + "</section>\n";
}

std::string column_heads(const Grid& grid) {
  std::string out =
      "<thead><tr><th class=\"lead\" scope=\"col\">node</th><th scope=\"col\">GPU</th><th scope=\"col\">serial</th><th "
      "scope=\"col\">verdict</th>";
  for (std::size_t c = 0; c < grid.metrics.size(); ++c) {
    if (!grid.constant(c)) out += fmt::format("<th class=\"tall\" scope=\"col\">{}</th>", grid.metrics[c]->title);
  }
  return out + "</tr></thead><tbody>\n";
}

void percentile_row(std::string& out, const AcceptedFleet& f, const FleetGpu& g, const Grid& grid, std::size_t row) {
  const accepting::Gpu* known = gpu_of(f.recordings[g.node], g.gpu);
  fmt::format_to(std::back_inserter(out), "<tr><td class=\"lead\">{}<td>{}<td>{}<td class=\"v {}\">{} {}",
                 brief(node_name(f.recordings[g.node]), kNameBytes), g.gpu,
                 known == nullptr || known->serial.empty() ? "-" : brief(known->serial, kNameBytes), verdict_class(g.verdict),
                 mark_of(g.verdict), name_of(g.verdict));
  for (std::size_t c = 0; c < grid.metrics.size(); ++c) {
    if (grid.constant(c)) continue;
    const accept::Standing* s = grid.rows[row][c];
    if (s == nullptr)
      out += "<td>-";
    else if (grid.beyond(c, s->value))
      fmt::format_to(std::back_inserter(out), "<td><u>▾{:.0f}</u>", s->percentile);
    else
      fmt::format_to(std::back_inserter(out), "<td>{}", std::lround(s->percentile));
  }
  out += "\n";
}

// GPUs in chunks that open one by one: thousands of rows that are closed cost a browser nothing.
std::string draw_percentiles(const AcceptedFleet& f, const FleetKind& kind, const Grid& grid) {
  std::string out;
  out.reserve(kind.gpus.size() * (120 + 8 * grid.metrics.size()));
  for (std::size_t from = 0; from < kind.gpus.size(); from += kChunk) {
    const std::size_t to = std::min(kind.gpus.size(), from + kChunk);
    const auto bad =
        std::count_if(kind.gpus.begin() + static_cast<std::ptrdiff_t>(from), kind.gpus.begin() + static_cast<std::ptrdiff_t>(to),
                      [](const FleetGpu& g) { return g.verdict != Verdict::pass; });
    out += fmt::format("<details{}><summary>{} to {}: {}, {}</summary>\n", kind.gpus.size() <= kChunk ? " open" : "",
                       gpu_name(f, kind.gpus[from]), gpu_name(f, kind.gpus[to - 1]),
                       counted(static_cast<std::int64_t>(to - from), "GPU"),
                       bad == 0 ? "all PASS" : fmt::format("{} not PASS", bad));
    out += scroll_begin("Percentiles", "all") + column_heads(grid);
    for (std::size_t i = from; i < to; ++i) percentile_row(out, f, kind.gpus[i], grid, i);
    out += "</tbody></table></div></details>\n";
  }
  return out;
}

// Text that a spreadsheet would run or split is kept from it.
std::string csv_name(const std::string& s) {
  Table t;
  t.columns = {{""}};
  t.rows.push_back({Cell(std::string(clipped(s, kNameBytes)))});
  std::string line = render_csv(t, false);
  line.pop_back();
  return escape(line);
}

void add_figure(std::string& csv, double v) {
  if (v == std::floor(v) && std::abs(v) < 1e6)
    fmt::format_to(std::back_inserter(csv), "{}", static_cast<std::int64_t>(v));
  else
    fmt::format_to(std::back_inserter(csv), "{:.5g}", v);
}

std::string draw_raw(const AcceptedFleet& f, const FleetKind& kind, const Grid& grid) {
  std::string csv = "node,gpu,uuid,verdict";
  csv.reserve(kind.gpus.size() * (100 + 7 * grid.metrics.size()));
  for (std::size_t c = 0; c < grid.metrics.size(); ++c) csv += grid.constant(c) ? "" : fmt::format(",{}", grid.metrics[c]->name);
  csv += "\n";
  for (std::size_t i = 0; i < kind.gpus.size(); ++i) {
    const FleetGpu& g = kind.gpus[i];
    fmt::format_to(std::back_inserter(csv), "{},{},{},{}", csv_name(node_name(f.recordings[g.node])), g.gpu, csv_name(g.uuid),
                   name_of(g.verdict));
    for (std::size_t c = 0; c < grid.metrics.size(); ++c) {
      if (grid.constant(c)) continue;
      csv += ',';
      if (grid.rows[i][c] != nullptr) add_figure(csv, grid.rows[i][c]->value);
    }
    csv += "\n";
  }
  return "<details><summary>Figures (CSV)</summary><pre class=\"raw\">" + csv + "</pre></details>\n";
}

std::string draw_recordings(const AcceptedFleet& f) {
  std::string list;
  for (std::size_t i = 0; i < f.recordings.size(); ++i) {
    const Acceptance& a = f.recordings[i];
    list += fmt::format("{} {} {}\n", name_of(f.fleet.judgements[i].verdict), node_name(a), a.file.empty() ? "-" : a.file);
  }
  return folded(fmt::format("Recordings ({})", count(f.recordings.size())), list);
}

}  // namespace

std::string accept_fleet_page(const AcceptedFleet& f) {
  std::string out = page_begin(fmt::format("{}{}{}", accept_fleet_sentence(f), f.name.empty() ? "" : ": ", f.name), kAcceptStyle);
  out += draw_head(f) + draw_bad(f);
  std::string all, raw;
  for (std::size_t k = 0; k < std::min(kKindsDrawn, f.fleet.kinds.size()); ++k) {
    const FleetKind& kind = f.fleet.kinds[k];
    const Grid grid = grid_of(f, kind);
    out += draw_kind(f, kind, grid, k + 1);
    const std::string heading =
        f.fleet.kinds.size() > 1 ? fmt::format("<h3>{}</h3>\n", accept_text(accept::render(kind.cohort))) : "";
    all += heading + draw_percentiles(f, kind, grid);
    raw += heading + draw_raw(f, kind, grid);
  }
  if (!all.empty())
    out += fmt::format(
        "<section id=\"all\"><h2>Where every GPU stands</h2><p class=\"note\">Percentiles: the share of its kind, in percent, "
        "that is not better; 50 is the middle. ▾ is beyond the limit.</p>\n{}</section>\n",
        all);
  if (f.fleet.kinds.size() > kKindsDrawn) {
    out += "<section id=\"others\"><h2>Further kinds</h2><ul class=\"plain\">";
    for (std::size_t k = kKindsDrawn; k < std::min(10 * kKindsDrawn, f.fleet.kinds.size()); ++k)
      out += fmt::format("<li>{}: {}</li>", accept_text(accept::render(f.fleet.kinds[k].cohort)),
                         counted(std::ssize(f.fleet.kinds[k].gpus), "GPU"));
    out += fmt::format("</ul><p class=\"note\">{} kinds in all; the JSON has them.</p></section>\n", count(f.fleet.kinds.size()));
  }
  if (!f.recordings.empty())
    out += fmt::format(
        "<section id=\"raw\"><h2>Raw figures</h2><p class=\"note\">Samples of power, clock and heat are in the recordings, and "
        "on the page of each node.</p>\n{}{}</section>\n",
        raw, draw_recordings(f));
  return out + page_end("muster accept");
}

}  // namespace muster::report
