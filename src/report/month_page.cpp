// The report of a month as one page that asks nothing of any network: no script, no picture, no font that is not in it. All text
// in it is untrusted and escaped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/drawings.h"
#include "report/month.h"
#include "report/page.h"
#include "report/sections_style.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kTop = 24, kTrendHeight = 110, kGap = 44, kStackHeight = 150, kAxis = 26;
constexpr double kQuotaRow = 30, kQuotaBar = 14;

constexpr std::string_view kMonthStyle = R"css(
.out { fill: var(--c3); background: var(--c3); }
svg.drawing .target { stroke: var(--text); stroke-dasharray: 5 4; fill: none; }
svg.drawing .met { fill: var(--useful); } svg.drawing .missed { fill: var(--loss); }
svg.drawing .track { fill: var(--panel-2); stroke: var(--line); }
svg.drawing .time { stroke: var(--text); stroke-width: 2; }
#unseen td { white-space: normal; max-width: none; }
#commands td:last-child { white-space: pre; max-width: none; font: 13px/1.5 ui-monospace, "SF Mono", Menlo, monospace; }
@media print { #commands td:last-child { white-space: pre-wrap; } }
)css";

// Classes are told apart in five groups: more colours cannot be.
enum class Group : std::uint8_t { useful, wasted, unknown, idle, out };
struct GroupWords {
  std::string_view colour, words;
};
constexpr std::array<GroupWords, 5> kGroups = {GroupWords{"useful", "useful"},
                                               {"loss", "wasted while allocated"},
                                               {"unsettled", "not known"},
                                               {"idle", "idle"},
                                               {"out", "out of service"}};
Group group_of(SiteClass c) {
  switch (c) {
    case SiteClass::useful: return Group::useful;
    case SiteClass::unseen:
    case SiteClass::unsettled: return Group::unknown;
    case SiteClass::idle_no_demand:
    case SiteClass::idle_fragmented: return Group::idle;
    case SiteClass::down:
    case SiteClass::drained: return Group::out;
    default: return Group::wasted;
  }
}
std::string_view colour_of(SiteClass c) { return kGroups[static_cast<std::size_t>(group_of(c))].colour; }

std::string draw_classes(const Month& m, Canvas c) {
  const bool narrow = c.kind == "narrow";
  c.fall_right = narrow ? 76 : m.cost ? 250 : 140;
  c.fall_left = narrow ? 116 : 130;
  const std::int64_t installed = m.all.sum.installed();
  const auto figure = [&](std::int64_t us) {
    const double share = installed > 0 ? 100 * static_cast<double>(us) / static_cast<double>(installed) : 0;
    if (narrow) return fmt::format("{:.1f} %", share);  // the table below has the hours
    std::string out = fmt::format("{} · {:.1f} %", render_gpu_hours(us), share);
    if (m.cost) out += " · " + render_money(money_of(m, us).value_or(0), m.cost->currency);
    return out;
  };
  std::vector<FallBar> bars = {{"owned", "all", installed, figure(installed)}};
  for (std::size_t i = 0; i < account::kSiteClasses; ++i) {
    const auto k = static_cast<SiteClass>(i);
    bars.push_back(
        {std::string(names(SiteClass{})[i]), colour_of(k), m.all.sum[k], m.sees(k) ? figure(m.all.sum[k]) : "not seen"});
  }
  return draw_fall(bars, c, "From GPU-hours owned to useful ones, class by class, with what they cost");
}

// The axis of efficiency begins where something can be seen: at a whole ten below the lowest.
double floor_of(const Month& m) {
  double low = m.target;
  for (const MonthPiece& d : m.days) low = std::min(low, d.efficiency().value_or(1));
  return std::max(0.0, std::floor(low * 10 - 0.5) / 10);
}

struct Days {
  const Month& m;
  const Canvas& c;
  double step() const { return (c.width - c.days_left - 10) / static_cast<double>(std::max<std::size_t>(1, m.days.size())); }
  double mid(std::size_t k) const { return c.days_left + step() * (static_cast<double>(k) + 0.5); }
};

std::string draw_trend(const Days& d, double low) {
  const Month& m = d.m;
  const auto at = [&](double share) { return kTop + kTrendHeight * (1 - (share - low) / (1 - low)); };
  std::string out;
  for (const double mark : {low, (low + 1) / 2, 1.0})
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{0:.0f} {1:.1f}H{2:.0f}\"/><text class=\"dim\" x=\"{3:.0f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.3g} %</text>\n",
        d.c.days_left, at(mark), d.c.width - 10, d.c.days_left - 10, at(mark) + 4, 100 * mark);
  out += fmt::format("<path class=\"target\" d=\"M{:.0f} {:.1f}H{:.0f}\"><title>target: {}</title></path>\n", d.c.days_left,
                     at(m.target), d.c.width - 10, render_percent(m.target));
  for (std::size_t k = 0; k < m.days.size(); ++k) {
    const auto e = m.days[k].efficiency();
    if (!e) continue;
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}: {}</title></circle>\n",
                       *e >= m.target ? "met" : "missed", d.mid(k), at(within(*e, 1)), day_label(m.wall(m.days[k].from)),
                       render_percent(e));
  }
  return out;
}

std::string draw_stack(const Days& d, double floor) {
  std::string out;
  const double wide = std::min(40.0, 0.7 * d.step());
  const std::size_t every = (d.m.days.size() + d.c.labels - 1) / d.c.labels;
  for (std::size_t k = 0; k < d.m.days.size(); ++k) {
    const MonthPiece& piece = d.m.days[k];
    const std::string label = day_label(d.m.wall(piece.from));
    std::array<std::int64_t, kGroups.size()> sums{};
    for (std::size_t i = 0; i < account::kSiteClasses; ++i)
      sums[static_cast<std::size_t>(group_of(static_cast<SiteClass>(i)))] += piece.sum.milli_ms[i];
    // What was settled later than it came makes a class of a day negative: it is drawn as none of it.
    std::int64_t drawn = 0;
    for (const std::int64_t us : sums) drawn += std::max<std::int64_t>(0, us);
    double y = floor;
    for (std::size_t g = 0; g < sums.size() && drawn > 0; ++g) {
      if (sums[g] <= 0) continue;
      const double high = kStackHeight * static_cast<double>(sums[g]) / static_cast<double>(drawn);
      y -= high;
      out += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\"><title>{}, {}: {} "
          "GPU-hours</title></rect>\n",
          kGroups[g].colour, d.mid(k) - wide / 2, y, wide, high, label, kGroups[g].words, render_gpu_hours(sums[g]));
    }
    if (k % every == 0)
      out += fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", d.mid(k), floor + 18,
                         label);
  }
  return out;
}

// Above, the efficiency of each day against the target; below, where its hours went.
std::string draw_days(const Month& m, const Canvas& c) {
  if (m.days.empty()) return {};
  const double under = kTop + kTrendHeight + kGap, floor = under + kStackHeight;
  const Days d{m, c};
  return fmt::format(
             "<svg class=\"drawing {}\" id=\"trend{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Efficiency day by "
             "day "
             "against its target, and where the GPU-hours of each day went\">\n<text x=\"{:.0f}\" y=\"14\">{}</text>"
             "<text x=\"{:.0f}\" y=\"{:.0f}\">of all owned, in percent</text>\n",
             c.kind, c.suffix, c.width, floor + kAxis, c.days_left,
             c.kind == "narrow" ? fmt::format("efficiency; dashed: the target")
                                : fmt::format("efficiency; dashed: the target of {}", render_percent(m.target)),
             c.days_left, under - 10) +
         draw_trend(d, floor_of(m)) + draw_marks(c, under, kStackHeight, 100) + draw_stack(d, floor) + "</svg>\n";
}

std::string draw_legend() {
  std::string out = "<div class=\"legend\">";
  for (const GroupWords& g : kGroups) out += fmt::format("<span>{}{}</span>", swatch(g.colour), g.words);
  return out + "</div>\n";
}

// What of each grant is used, and, as an upright line, how much of its time is over.
std::string draw_quotas(const Month& m, const Canvas& c) {
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"burn{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"What of each grant is "
      "used, "
      "and how much of its time is over\">\n",
      c.kind, c.suffix, c.width, kQuotaRow * static_cast<double>(m.quotas.size()) + 6);
  const double left = c.fall_left, wide = c.width - c.fall_left - c.fall_right;
  double y = 4;
  for (const account::Burn& q : m.quotas) {
    const double used = q.grant > 0 ? static_cast<double>(q.used) / static_cast<double>(q.grant) : 0;
    out += fmt::format(
        "<text x=\"{0:.0f}\" y=\"{1:.0f}\" text-anchor=\"end\">{2}</text><rect class=\"track\" x=\"{3:.0f}\" y=\"{4:.0f}\" "
        "width=\"{5:.1f}\" height=\"{6:.0f}\"/><rect class=\"{7}\" x=\"{3:.0f}\" y=\"{4:.0f}\" width=\"{8:.1f}\" "
        "height=\"{6:.0f}\"><title>{2}: {9}</title></rect><path class=\"time\" d=\"M{10:.1f} {11:.0f}V{12:.0f}\"/>"
        "<text class=\"dim\" x=\"{13:.0f}\" y=\"{1:.0f}\">{9}</text>\n",
        left - 10, y + 13, brief(q.granted.account, 24), left, y + 2, wide, kQuotaBar, used > q.period_gone ? "missed" : "met",
        wide * within(used, 1), render_percent(used), left + wide * within(q.period_gone, 1), y - 1, y + kQuotaBar + 5,
        left + wide + 10);
    y += kQuotaRow;
  }
  return out + "</svg>\n";
}

std::string both(const Month& m, std::string (*draw)(const Month&, const Canvas&)) { return draw(m, kWide) + draw(m, kNarrow); }

std::string drawing_of(const Month& m, const std::string& id) {
  if (id == "classes") return draw_classes(m, kWide) + draw_classes(m, kNarrow);
  if (id == "days") return both(m, draw_days) + draw_legend();
  if (id == "quotas") return both(m, draw_quotas);
  return {};
}

std::string draw_rates(const Month& m) {
  const SiteSum& x = m.all.sum;
  const MonthRates now = m.cost ? rates_of(m.all, m.cost->total) : MonthRates{};
  const MonthRates then = m.cost && m.before ? rates_of(*m.before, cost_before(m)) : MonthRates{};
  std::string out = "<dl class=\"facts\">";
  const auto add = [&](const char* name, auto level, std::optional<double> rate, std::optional<double> before) {
    const auto share = [&](const SiteSum& s) {
      return render_percent(s.installed() > 0 ? std::optional(static_cast<double>(level(s)) / static_cast<double>(s.installed()))
                                              : std::nullopt);
    };
    const std::string of = render_gpu_hours(level(x)) + " GPU-hours";
    if (!m.cost) {
      const std::string then_share = m.before ? fmt::format("<br>{} the month before", share(m.before->sum)) : "";
      out += page_fact(name, of, fmt::format("{} of owned{}", share(x), then_share));
      return;
    }
    const std::string value = rate ? fmt::format("{} {}", render_decimal(*rate, 2), page_text(m.cost->currency)) : "-";
    const std::string was = before ? fmt::format("<br>{} the month before", render_decimal(*before, 2)) : "";
    out += page_fact(fmt::format("an hour {}", name), value, of + was);
  };
  add(
      "owned", [](const SiteSum& s) { return s.installed(); }, now.owned, then.owned);
  add(
      "delivered", [](const SiteSum& s) { return s.delivered(); }, now.delivered, then.delivered);
  add(
      "allocated", [](const SiteSum& s) { return s.allocated(); }, now.allocated, then.allocated);
  add(
      "useful", [](const SiteSum& s) { return s[SiteClass::useful]; }, now.useful, then.useful);
  const account::Streak k = streak_of(m);
  std::string against = fmt::format("target {}", render_percent(m.target));
  if (m.all.efficiency()) against += fmt::format("; streak {}", counted(k.days, "day"));
  if (m.before && m.before->efficiency())
    against += fmt::format("<br>{} the month before", render_percent(m.before->efficiency()));
  const auto e = m.all.efficiency();
  return out + page_fact("efficiency", e ? render_percent(e) : "not known", against) + "</dl>";
}

// "2026-10-01", "2026-10-15 06:30".
std::string moment_text(Time t) {
  const std::string utc = render_utc(t);
  return utc.substr(11, 5) == "00:00" ? utc.substr(0, 10) : utc.substr(0, 10) + " " + utc.substr(11, 5);
}

std::string draw_headline(const Month& m) {
  const std::vector<std::string> lines = headline_of(m);
  std::string about = m.cluster.empty() ? "the cluster" : page_text(m.cluster);
  if (m.gpus > 0) about += fmt::format(", {} GPUs", render_count(static_cast<std::int64_t>(m.gpus)));
  about += fmt::format(", {} to {} {}, from {}", moment_text(m.wall(m.all.from)), moment_text(m.wall(m.all.to)),
                       page_text(m.zone), page_text(m.source));
  std::string out =
      fmt::format("<header id=\"headline\">{}<p class=\"note\">{}</p><h1>{}</h1>",
                  m.simulation.empty() ? "" : fmt::format("<p class=\"sim\">SIMULATED: {}</p>", page_text(m.simulation)), about,
                  page_text(lines.front()));
  for (std::size_t i = 1; i < lines.size(); ++i) out += fmt::format("<p>{}</p>", page_prose(lines[i]));
  if (!m.is_whole())
    out += fmt::format("<p class=\"alarm\">Not the whole of {}: it is known from {} to {}.</p>", month_name(m.wall(m.begin)),
                       moment_text(m.wall(m.all.from)), moment_text(m.wall(m.all.to)));
  return out + draw_rates(m) + "</header>\n";
}

}  // namespace

std::string month_page(const Month& m) {
  std::string out = page_begin(fmt::format("{}: {}", m.cluster.empty() ? "the cluster" : m.cluster, month_name(m.wall(m.begin))),
                               std::string(kSectionsStyle) + std::string(kMonthStyle));
  out += draw_headline(m);
  for (const Section& s : month_sections(m)) out += page_section(s, drawing_of(m, s.id));
  return out + page_definitions(definitions_of(m)) + page_end("muster report month");
}

}  // namespace muster::report
