// The weekly report as one page that asks nothing of any network: no script, no picture, no font that is not in it. All text in
// it is untrusted and escaped.
#include <fmt/format.h>

#include <algorithm>

#include "report/drawings.h"
#include "report/page.h"
#include "report/sections_style.h"
#include "report/svg.h"
#include "report/units.h"
#include "report/weekly_parts.h"

namespace muster::report {
namespace {

constexpr std::size_t kCausesDrawn = 6;  // the others are drawn as one
constexpr double kShareTop = 24, kShareHeight = 90, kGap = 44, kLossHeight = 170, kAxis = 26;

std::string_view colour_of(Waste c) {
  switch (c) {
    case Waste::useful: return "useful";
    case Waste::unsettled: return "unsettled";
    case Waste::idle: return "idle";
    default: return "loss";
  }
}

std::string draw_classes(const Weekly& w, const Canvas& c) {
  const auto figure = [&](std::int64_t us) {
    const double share = w.all.installed_us > 0 ? 100 * static_cast<double>(us) / static_cast<double>(w.all.installed_us) : 0;
    return fmt::format("{} · {:.1f} %", render_gpu_hours(us), share);
  };
  std::vector<FallBar> bars = {{"installed", "all", w.all.installed_us, figure(w.all.installed_us)}};
  for (const Waste kind : kWasteDown) {
    const std::int64_t us = w.all.of(kind);
    bars.push_back({std::string(names(Waste{})[static_cast<std::size_t>(kind)]), colour_of(kind), us, figure(us)});
  }
  return draw_fall(bars, c, "From installed to useful GPU-hours, class by class");
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
  out += draw_marks(c, kShareTop, kShareHeight, 100) + draw_marks(c, under, kLossHeight, most);
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
          i < causes.size() ? page_text(causes[i]) : "all others", losses[k][i]);
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
    out += fmt::format("<span>{}{}</span>", swatch(fmt::format("c{}", i)), page_text(causes[i]));
  return out + fmt::format("<span>{}all others</span></div>\n", swatch(fmt::format("c{}", kCausesDrawn)));
}

void fact(std::string& out, std::string_view name, const std::string& value, const std::string& before) {
  out += page_fact(name, value, before.empty() ? "" : before + " before");
}

std::string draw_headline(const Weekly& w) {
  const std::vector<std::string> lines = headline_of(w);
  std::string out =
      fmt::format("<header id=\"headline\">{}<p class=\"note\">{}, {} GPUs, {} to {} UTC</p><h1>{}</h1>",
                  w.simulation.empty() ? "" : fmt::format("<p class=\"sim\">SIMULATED: {}</p>", page_text(w.simulation)),
                  page_text(w.cluster), render_count(static_cast<std::int64_t>(w.gpus)), render_utc(w.all.from).substr(0, 16),
                  render_utc(w.all.to).substr(0, 16), page_text(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) out += fmt::format("<p>{}</p>", page_prose(lines[i]));
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
    out += fmt::format("<li><b>{}</b> ({}): {} GPU-hours.<br>{}</li>", page_text(a.words), page_text(a.cause),
                       render_gpu_hours(w.all.of_cause(a.cause)), page_prose(a.what_to_do));
  }
  return out + (advice.empty() ? "" : "</ol>") + "</header>\n";
}

}  // namespace

std::string weekly_page(const Weekly& w) {
  std::string out = page_begin(fmt::format("{}: the week to {}", w.cluster, render_utc(w.all.to).substr(0, 10)), kSectionsStyle);
  out += draw_headline(w) + page_section(classes_section(w), draw_classes(w, kWide) + draw_classes(w, kNarrow));
  out += page_section(days_section(w), draw_days(w, kWide) + draw_days(w, kNarrow) + draw_legend(w));
  for (const Section& s : further_sections(w)) out += page_section(s);
  return out + page_definitions(definitions_of(w)) + page_end("muster report");
}

}  // namespace muster::report
