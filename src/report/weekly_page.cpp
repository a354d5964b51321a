// The weekly report as one page that asks nothing of any network: no script, no picture, no font that is not in it. All text in
// it is untrusted and escaped.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/code_spans.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/units.h"
#include "report/weekly_parts.h"
#include "report/weekly_style.h"

namespace muster::report {
namespace {

constexpr std::size_t kCellBytes = 600;  // of any one text
constexpr std::size_t kCausesDrawn = 6;  // the others are drawn as one
constexpr double kRow = 30, kBar = 18;
constexpr double kShareTop = 24, kShareHeight = 90, kGap = 44, kLossHeight = 170, kAxis = 26;

// Every drawing is made twice: what is drawn for a wide screen cannot be read on a telephone.
struct Canvas {
  double width;
  double fall_left, fall_right, days_left;  // beside the bars, for their names and figures
  std::size_t labels;                       // below the days: more would touch
  std::string_view suffix, kind;            // of its id, and of its class
};
constexpr Canvas kWide = {960, 120, 130, 120, 12, "", "wide"};
constexpr Canvas kNarrow = {380, 92, 112, 56, 3, "_narrow", "narrow"};

std::string text(std::string_view s) { return brief(s, kCellBytes); }

// Our own words, in which backticks mark commands.
std::string prose(std::string_view s) {
  std::string out;
  for (const CodeSpan& span : code_spans(s)) out += span.code ? "<code>" + text(span.text) + "</code>" : text(span.text);
  return out;
}

void draw_table(std::string& out, const WeeklySection& s) {
  if (s.table.rows.empty()) {
    out += fmt::format("<p>{}</p>", prose(s.nothing));
  } else {
    out +=
        fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>", text(s.title));
    for (const Column& c : s.table.columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", c.right ? " class=\"n\"" : "", text(lower(c.name)));
    out += "</tr></thead><tbody>\n";
    for (const auto& row : s.table.rows) {
      out += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i)
        out += fmt::format("<td{}>{}</td>", s.table.columns[i].right ? " class=\"n\"" : "", text(row[i].text));
      out += "</tr>\n";
    }
    out += "</tbody></table></div>";
  }
  for (const std::string& n : s.notes) out += fmt::format("<p class=\"note\">{}</p>", prose(n));
}

std::string section_of(const WeeklySection& s, const std::string& drawing = {}) {
  std::string out = fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}", s.id, text(s.title), drawing);
  draw_table(out, s);
  return out + "</section>\n";
}

std::string_view colour_of(Waste c) {
  switch (c) {
    case Waste::useful: return "useful";
    case Waste::unsettled: return "unsettled";
    case Waste::idle: return "idle";
    default: return "loss";
  }
}

// Every class takes its part of what the ones above it have left.
std::string draw_fall(const Weekly& w, const Canvas& c) {
  if (w.all.installed_us <= 0) return {};
  const double left_px = c.fall_left, right_px = c.width - c.fall_right;
  const double scale = (right_px - left_px) / static_cast<double>(w.all.installed_us);
  const double height = kRow * static_cast<double>(kWasteDown.size() + 1) + 6;
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"fall{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"From installed to "
      "useful GPU-hours, class by class\">\n",
      c.kind, c.suffix, c.width, height);
  double y = 4;
  const auto bar = [&](std::string_view name, std::string_view colour, std::int64_t from_us, std::int64_t amount_us) {
    const std::int64_t low = std::clamp<std::int64_t>(std::min(from_us, from_us + amount_us), 0, w.all.installed_us);
    const std::int64_t high = std::clamp<std::int64_t>(std::max(from_us, from_us + amount_us), 0, w.all.installed_us);
    const double share = 100 * static_cast<double>(amount_us) / static_cast<double>(w.all.installed_us);
    out += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text><rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" "
        "width=\"{:.2f}\" height=\"{:.0f}\"><title>{}: {} GPU-hours, {:.2f} %</title></rect>"
        "<text class=\"dim\" x=\"{:.0f}\" y=\"{:.0f}\">{} · {:.1f} %</text>\n",
        left_px - 10, y + 14, name, colour, left_px + scale * static_cast<double>(low), y,
        std::max(1.0, scale * static_cast<double>(high - low)), kBar, name, render_gpu_hours(amount_us), share,
        right_px + 10, y + 14, render_gpu_hours(amount_us), share);
    y += kRow;
  };
  bar("installed", "all", 0, w.all.installed_us);
  std::int64_t left = w.all.installed_us;
  for (const Waste kind : kWasteDown) {
    left -= w.all.of(kind);
    bar(names(Waste{})[static_cast<std::size_t>(kind)], colour_of(kind), left, w.all.of(kind));
  }
  return out + "</svg>\n";
}

// The causes that are drawn one by one; the others are one more.
std::vector<std::string> causes_drawn(const Weekly& w) {
  std::vector<std::string> out;
  for (const CauseShare& c : w.all.causes) {
    if (out.size() < kCausesDrawn && c.name != "idle" && c.gpu_us > 0) out.push_back(c.name);
  }
  return out;
}

// What a piece lost, in percent of what was installed, by cause and then all others.
std::vector<double> losses_of(const Piece& p, const std::vector<std::string>& causes) {
  std::vector<double> out(causes.size() + 1, 0.0);
  if (p.installed_us <= 0) return out;
  const double percent = 100 / static_cast<double>(p.installed_us);
  std::int64_t rest = p.lost_us();
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const std::int64_t mine = p.of_cause(causes[i]);
    out[i] = percent * static_cast<double>(mine);
    rest -= mine;
  }
  out.back() = std::max(0.0, percent * static_cast<double>(rest));
  return out;
}

void draw_marks(std::string& out, const Canvas& c, double top, double height, double most) {
  for (int i = 0; i <= 2; ++i) {
    const double y = top + height - height * i / 2;
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{0:.0f} {1:.1f}H{2:.0f}\"/><text class=\"dim\" x=\"{3:.0f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.3g} %</text>\n",
        c.days_left, y, c.width - 10, c.days_left - 10, y + 4, most * i / 2);
  }
}

// Above, the useful share; below, what was lost, by cause.
std::string draw_days(const Weekly& w, const Canvas& c) {
  const std::vector<std::string> causes = causes_drawn(w);
  std::vector<std::vector<double>> losses;
  double most = 0;
  for (const Piece& p : w.pieces) {
    losses.push_back(losses_of(p, causes));
    double sum = 0;
    for (const double v : losses.back()) sum += v;
    most = std::max(most, sum);
  }
  most = most > 0 ? rounded_up(most) : 1;
  const double under = kShareTop + kShareHeight + kGap, floor = under + kLossHeight;
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"trend{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Useful share, and what "
      "was lost to which cause, {}\">\n<text x=\"{:.0f}\" y=\"14\">useful share of what is installed</text>"
      "<text x=\"{:.0f}\" y=\"{:.0f}\">lost, in percent of what is installed</text>\n",
      c.kind, c.suffix, c.width, floor + kAxis, of_days(w) ? "day by day" : "hour by hour", c.days_left, c.days_left, under - 10);
  draw_marks(out, c, kShareTop, kShareHeight, 100);
  draw_marks(out, c, under, kLossHeight, most);
  const double step = (c.width - c.days_left - 10) / static_cast<double>(w.pieces.size()), wide = std::min(72.0, 0.7 * step);
  const std::size_t every = (w.pieces.size() + c.labels - 1) / c.labels;
  std::string line;
  for (std::size_t k = 0; k < w.pieces.size(); ++k) {
    const Piece& p = w.pieces[k];
    const double mid = c.days_left + step * (static_cast<double>(k) + 0.5);
    const std::string label = piece_label(w, p);
    const double share = within(p.useful_share().value_or(0), 1);
    const double at = kShareTop + kShareHeight * (1 - share);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", mid, at);
    out +=
        fmt::format("<circle class=\"useful\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}: {:.1f} % useful</title></circle>\n",
                    mid, at, label, 100 * share);
    double y = floor;
    for (std::size_t i = 0; i < losses[k].size(); ++i) {
      const double high = kLossHeight * losses[k][i] / most;
      if (high <= 0) continue;
      y -= high;
      out += fmt::format(
          "<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\"><title>{}, {}: {:.2f} "
          "%</title></rect>\n",
          i < causes.size() ? i : kCausesDrawn, mid - wide / 2, y, wide, high, label,
          i < causes.size() ? text(causes[i]) : "all others", losses[k][i]);
    }
    if (k % every == 0)
      out +=
          fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", mid, floor + 18, label);
  }
  return out + fmt::format("<path class=\"trend\" d=\"{}\"/></svg>\n", line);
}

std::string draw_legend(const Weekly& w) {
  const std::vector<std::string> causes = causes_drawn(w);
  std::string out = "<div class=\"legend\">";
  for (std::size_t i = 0; i < causes.size(); ++i)
    out += fmt::format("<span>{}{}</span>", swatch(fmt::format("c{}", i)), text(causes[i]));
  return out + fmt::format("<span>{}all others</span></div>\n", swatch(fmt::format("c{}", kCausesDrawn)));
}

void fact(std::string& out, std::string_view name, const std::string& value, const std::string& before) {
  out += fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>", name, value,
                     before.empty() ? "" : fmt::format("<small>{} before</small>", before));
}

std::string draw_headline(const Weekly& w) {
  const std::vector<std::string> lines = headline_of(w);
  std::string out = fmt::format("<header id=\"headline\">{}<p class=\"note\">{}, {} GPUs, {} to {} UTC</p><h1>{}</h1>",
                                w.simulation.empty() ? "" : fmt::format("<p class=\"sim\">SIMULATED: {}</p>", text(w.simulation)),
                                text(w.cluster), render_count(static_cast<std::int64_t>(w.gpus)),
                                render_utc(w.all.from).substr(0, 16), render_utc(w.all.to).substr(0, 16), text(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) out += fmt::format("<p>{}</p>", prose(lines[i]));
  if (!w.chain.ok) out += "<p class=\"alarm\">The record is not whole: see the end of this page.</p>";
  const auto money = [&](const Piece& p) { return money_of(w, static_cast<double>(p.lost_us()) / 3.6e9); };
  out += "<dl class=\"facts\">";
  fact(out, "useful", render_percent(w.all.useful_share()), w.before ? render_percent(w.before->useful_share()) : "");
  fact(out, "goodput", render_percent(w.all.goodput()), w.before ? render_percent(w.before->goodput()) : "");
  fact(out, "GPU-hours lost", render_gpu_hours(w.all.lost_us()), w.before ? render_gpu_hours(w.before->lost_us()) : "");
  if (w.price > 0) fact(out, "money lost", money(w.all), w.before ? money(*w.before) : "");
  fact(out, "failures", render_count(static_cast<std::int64_t>(w.reliability.incidents)),
       w.reliability_before ? render_count(static_cast<std::int64_t>(w.reliability_before->incidents)) : "");
  out += "</dl>";
  const std::vector<Advice> advice = advice_of(w);
  if (!advice.empty()) out += "<h2>What cost most, and what to do about it</h2><ol class=\"advice\">";
  for (const Advice& a : advice) {
    out += fmt::format("<li><b>{}</b> ({}): {} GPU-hours.<br>{}</li>", text(a.words), text(a.cause),
                       render_gpu_hours(w.all.of_cause(a.cause)), prose(a.what_to_do));
  }
  return out + (advice.empty() ? "" : "</ol>") + "</header>\n";
}

std::string draw_definitions(const Weekly& w) {
  std::string out = "<section id=\"definitions\"><h2>How each figure is defined</h2><dl class=\"defined\">";
  for (const auto& [name, words] : definitions_of(w)) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", text(name), prose(words));
  return out + "</dl></section>\n";
}

}  // namespace

std::string weekly_page(const Weekly& w) {
  std::string out = page_begin(fmt::format("{}: the week to {}", w.cluster, render_utc(w.all.to).substr(0, 10)), kWeeklyStyle);
  out += draw_headline(w) + section_of(classes_section(w), draw_fall(w, kWide) + draw_fall(w, kNarrow));
  out += section_of(days_section(w), draw_days(w, kWide) + draw_days(w, kNarrow) + draw_legend(w));
  for (const WeeklySection& s : further_sections(w)) out += section_of(s);
  return out + draw_definitions(w) + page_end("muster report");
}

}  // namespace muster::report
