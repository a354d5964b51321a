// The kernels that take most, against what the GPU can do, and how long each rank waited for its peers in each step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/math.h"
#include "model/fields.h"
#include "report/diagnosis_draw.h"
#include "report/svg.h"

namespace muster::report {
namespace {

using diagnose::KernelClass;
using diagnose::Peaks;
using diagnose::Profile;

constexpr double kWidth = 720, kHeight = 380, kLeft = 56, kRight = 108, kTop = 14, kBottom = 46;
constexpr double kLn10 = 2.302585092994046;
constexpr double kSmallest = 7, kLargest = 15;  // radius of a class, by its share of the kernels' time

// One axis of the roofline, from a power of ten to another.
struct LogAxis {
  int from = 0, to = 1;
  double begin = 0, end = 1;  // on the drawing

  double at(double v) const {
    const double share = (det_log(v) / kLn10 - from) / (to - from);
    return begin + (end - begin) * std::clamp(share, 0.0, 1.0);
  }
};

int decade(double v) { return static_cast<int>(std::floor(det_log(v) / kLn10)); }

struct Point {
  std::size_t row;
  const KernelClass* k;
  double intensity, tflops;
};

std::vector<Point> points_of(const Profile& p) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < std::min(kKernelsDrawn, p.kernels.classes.size()); ++i) {
    const KernelClass& k = p.kernels.classes[i];
    if (!(k.flops > 0) || !(k.bytes > 0) || k.own_ns <= 0) continue;
    const Point x{i + 1, &k, k.flops / k.bytes, k.flops / static_cast<double>(k.own_ns) / 1e3};
    if (std::isfinite(x.intensity) && std::isfinite(x.tflops) && x.intensity > 0 && x.tflops > 0) out.push_back(x);
  }
  return out;
}

struct Roof {
  std::string_view name;
  double flops_per_s;
};
std::vector<Roof> roofs_of(const Peaks& p) {
  std::vector<Roof> out;
  for (const Roof& r : {Roof{"FP8", p.fp8}, Roof{"BF16", p.bf16}, Roof{"TF32", p.tf32}, Roof{"FP32", p.fp32}}) {
    if (r.flops_per_s > 0) out.push_back(r);
  }
  return out;
}

void draw_axes(const LogAxis& x, const LogAxis& y, std::string& out) {
  for (int e = x.from; e <= x.to; ++e) {
    const double at = x.at(det_exp(e * kLn10));
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">{4:g}</text>",
        at, y.begin, y.end, y.begin + 17, std::round(det_exp(e * kLn10) * 1e9) / 1e9);
  }
  for (int e = y.from; e <= y.to; ++e) {
    const double at = y.at(det_exp(e * kLn10));
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:g}</text>",
        x.begin, at, x.end, x.begin - 8, at + 4, std::round(det_exp(e * kLn10) * 1e9) / 1e9);
  }
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">operations a byte</text>", (x.begin + x.end) / 2,
                     y.begin + 38);
  out += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.1f} {1:.1f})\">TFLOP/s</text>", 13.0,
      (y.begin + y.end) / 2);
}

// From the memory's slope to the right edge; labels that would lie on each other are moved apart.
void draw_roofs(const Peaks& peaks, const LogAxis& x, const LogAxis& y, std::string& out) {
  const double slope = peaks.bytes_per_s / 1e12;  // TFLOP/s at one operation a byte
  double top = 0, label_at = -100;
  const double least = det_exp(x.from * kLn10);
  for (const Roof& r : roofs_of(peaks)) {
    const double tflops = r.flops_per_s / 1e12, ridge = std::max(least, tflops / slope);
    if (tflops <= det_exp(y.from * kLn10)) continue;
    top = std::max(top, tflops);
    label_at = std::max(y.at(tflops) + 4, label_at + 13);
    out +=
        fmt::format("<path class=\"roof\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\">{5} {6:.4g}</text>",
                    x.at(ridge), y.at(tflops), x.end, x.end + 6, label_at, r.name, tflops);
  }
  if (top <= 0) return;
  // Where the slope meets the lower edge or the left one, and the highest roof.
  const double begin = std::max(least, det_exp(y.from * kLn10) / slope);
  const double end = std::max(begin, top / slope);
  const double x1 = x.at(begin), y1 = y.at(begin * slope), x2 = x.at(end), y2 = y.at(end * slope);
  out += fmt::format("<path class=\"roof\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", x1, y1, x2, y2);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g} TB/s</text>", x1 + 0.45 * (x2 - x1) - 8,
                     y1 + 0.45 * (y2 - y1) - 4, slope);
}

// A number is left out where that of a class that takes more time stands already.
void draw_points(const std::vector<Point>& points, const LogAxis& x, const LogAxis& y, std::string& out) {
  std::int64_t most = 1;
  for (const Point& q : points) most = std::max(most, q.k->own_ns);
  std::string labels;
  std::vector<std::pair<double, double>> taken;
  for (const Point& q : points) {
    const double cx = x.at(q.intensity), cy = y.at(q.tflops);
    const double share = static_cast<double>(q.k->own_ns) / static_cast<double>(most);
    out += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{}. {}\n{:.4g} operations a byte, {:.4g} "
        "TFLOP/s</title></circle>",
        name_of(q.k->kind), cx, cy, std::max(kSmallest, kLargest * det_sqrt(share)), q.row, brief(q.k->name, 120), q.intensity,
        q.tflops);
    const auto near = [&](const auto& at) { return std::abs(at.first - cx) < 12 && std::abs(at.second - cy) < 11; };
    if (std::any_of(taken.begin(), taken.end(), near)) continue;
    taken.emplace_back(cx, cy);
    labels += fmt::format("<text class=\"row\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", cx, cy + 4, q.row);
  }
  out += labels;
}

std::string draw_roofline(const Diagnosis& d, const Profile& p) {
  const std::vector<Point> points = points_of(p);
  if (!d.peaks.known() || points.empty()) return {};
  const double slope = d.peaks.bytes_per_s / 1e12;
  double left = points[0].intensity, right = left, low = points[0].tflops, high = low;
  for (const Point& q : points) {
    left = std::min(left, q.intensity);
    right = std::max(right, q.intensity);
    low = std::min(low, q.tflops);
    high = std::max(high, q.tflops);
  }
  for (const Roof& r : roofs_of(d.peaks)) {
    const double tflops = r.flops_per_s / 1e12, ridge = tflops / slope;
    high = std::max(high, tflops);
    right = std::max(right, ridge);
    left = std::min(left, ridge / 10);  // some of the slope is always there
  }
  low = std::min(low, left * slope);
  const auto bounded = [](int e) { return std::clamp(e, -9, 15); };
  const LogAxis x{bounded(decade(left)), std::max(bounded(decade(left)) + 1, bounded(decade(right) + 1)), kLeft, kWidth - kRight};
  const LogAxis y{bounded(decade(low)), std::max(bounded(decade(low)) + 1, bounded(decade(high) + 1)), kHeight - kBottom, kTop};
  std::string out = fmt::format(
      "<svg class=\"roofline\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\" aria-label=\"roofline\">",
      kWidth, kHeight);
  draw_axes(x, y, out);
  draw_roofs(d.peaks, x, y, out);
  draw_points(points, x, y, out);
  return fmt::format(
      "<figure>{}</svg><figcaption>The lines are what {} gives at best ({}); the circles are the classes of the table, by their "
      "number, where shapes tell what they compute and move. Areas are their time.</figcaption></figure>\n",
      out, escape(d.peaks.gpu), d.peaks.measured ? "measured" : "by its data sheet");
}

void draw_row(const Profile& p, std::size_t i, double steps, double step_ns, std::string& out) {
  const KernelClass& k = p.kernels.classes[i];
  const double a_step = static_cast<double>(k.own_ns) / steps, share = step_ns > 0 ? 100 * a_step / step_ns : 0;
  const std::string kernel = k.kernel < p.trace->names.size() ? brief(p.trace->names[k.kernel], 300) : std::string();
  const double of_peak = 100 * k.share_of_peak();
  out += fmt::format("<tr><td class=\"n\">{}</td><td class=\"name\" title=\"{}\">{}</td><td>{}{}</td><td>{}</td>", i + 1, kernel,
                     brief(k.name, 160), swatch(name_of(k.kind)), name_of(k.kind), name_of(k.limit));
  out += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{:.3f}</td><td class=\"n\">{:.1f}</td>",
                     render_thousands(static_cast<double>(k.count) / steps), a_step / 1e6, share);
  out += of_peak > 0
             ? fmt::format("<td class=\"n meter\"><span><i class=\"{}\" style=\"width:{:.1f}%\"></i></span>{:.0f}</td></tr>\n",
                           name_of(k.kind), within(of_peak, 100), of_peak)
             : std::string("<td class=\"n\">–</td></tr>\n");
}

// Ranks to draw: all, or those that wait least (the others wait for them) and most.
std::vector<std::size_t> rows_of(const diagnose::RankWaits& waits, std::size_t ranks, std::size_t most) {
  std::vector<std::size_t> rows(ranks);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (ranks <= most) return rows;
  std::vector<double> waited(ranks);
  for (const auto& s : waits.steps) {
    for (std::size_t r = 0; r < std::min(ranks, s.ns.size()); ++r) waited[r] += static_cast<double>(s.ns[r]);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t x, std::size_t y) { return waited[x] < waited[y]; });
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(most / 2), rows.end() - static_cast<std::ptrdiff_t>(most - most / 2));
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string step_label(std::string_view name) {
  const auto at = name.rfind('#');
  return brief(at == name.npos ? name : name.substr(at + 1), 12);
}

constexpr std::size_t kRowsMost = 32, kColumnsMost = 64, kNumbersMost = 14;

void draw_wait_row(const Diagnosis& d, std::size_t r, std::size_t columns, std::int64_t most, std::string& out) {
  const diagnose::RankWaits& waits = *d.waits;
  const std::string who = rank_title(d.profiles[r]);
  out += "<tr><th>" + who + "</th>";
  double sum = 0, blamed = 0, blamed_all = 0;
  const int digits = most >= 100'000'000 ? 0 : most >= 10'000'000 ? 1 : most >= 1'000'000 ? 2 : 3;
  for (std::size_t s = 0; s < waits.steps.size(); ++s) {
    const auto& step = waits.steps[s];
    const auto mine = static_cast<double>(step.blamed_ns[r]);
    const double all = std::accumulate(step.blamed_ns.begin(), step.blamed_ns.end(), 0.0);
    sum += static_cast<double>(step.ns[r]);
    blamed += mine;
    blamed_all += all;
    if (s >= columns) continue;
    const double ms = static_cast<double>(step.ns[r]) / 1e6;
    out += fmt::format(
        "<td class=\"heat{}\" style=\"--w:{:.2f}\" title=\"{}, {}: waited {:.4g} ms, came last to {} exchanges; the others "
        "waited "
        "{:.4g} ms for it\">{}</td>",
        2 * mine > all ? " last" : "", within(static_cast<double>(step.ns[r]) / static_cast<double>(most), 1), who,
        brief(step.name, 40), ms, step.last[r], mine / 1e6, columns <= kNumbersMost ? fmt::format("{:.{}f}", ms, digits) : "");
  }
  out += fmt::format("<td class=\"n\">{:.3f}</td><td class=\"n\">{:.1f}</td></tr>\n",
                     sum / 1e6 / static_cast<double>(std::max<std::size_t>(1, waits.steps.size())),
                     blamed_all > 0 ? 100 * blamed / blamed_all : 0);
}

}  // namespace

std::string draw_kernels(const Diagnosis& d) {
  const bool named = d.told < d.profiles.size() && !d.profiles[d.told].line.events.empty();
  const Profile* p = named ? &d.profiles[d.told] : first_drawn(d);
  if (p == nullptr || p->kernels.classes.empty()) return {};
  const auto steps = static_cast<double>(std::max<std::size_t>(1, p->line.steps.size()));
  const auto step_ns = static_cast<double>(p->line.step_ns());
  std::string out = fmt::format(
      "<section id=\"kernels\"><h2>Kernels that take most{}</h2><div class=\"scroll\"><table><thead><tr>"
      "<th class=\"n\"></th><th>operator or kernel</th><th>kind</th><th>limited by</th>"
      "<th class=\"n\">times a step</th><th class=\"n\">ms a step</th><th class=\"n\">% of step</th>"
      "<th class=\"n\">% of peak</th></tr></thead><tbody>\n",
      d.profiles.size() > 1 ? " <small>" + rank_title(*p) + "</small>" : "");
  for (std::size_t i = 0; i < std::min(kKernelsDrawn, p->kernels.classes.size()); ++i) draw_row(*p, i, steps, step_ns, out);
  out += "</tbody></table></div>\n";
  double rest = 0;
  for (std::size_t i = kKernelsDrawn; i < p->kernels.classes.size(); ++i)
    rest += static_cast<double>(p->kernels.classes[i].own_ns);
  if (p->kernels.classes.size() > kKernelsDrawn)
    out += fmt::format("<p class=\"note\">{} more take {:.3f} ms a step together.</p>\n",
                       p->kernels.classes.size() - kKernelsDrawn, rest / steps / 1e6);
  const auto end = p->kernels.classes.begin() + static_cast<std::ptrdiff_t>(std::min(kKernelsDrawn, p->kernels.classes.size()));
  if (std::any_of(p->kernels.classes.begin(), end, [](const KernelClass& k) { return k.limit == diagnose::Limit::size; }))
    out += "<p class=\"note\">Limited by their size: too small to fill the GPU.</p>\n";
  return out + draw_roofline(d, *p) + "</section>\n";
}

std::string draw_waits(const Diagnosis& d) {
  if (!d.waits || d.waits->steps.empty() || d.profiles.size() < 2) return {};
  const diagnose::RankWaits& waits = *d.waits;
  const std::size_t columns = std::min(kColumnsMost, waits.steps.size());
  const std::vector<std::size_t> rows = rows_of(waits, d.profiles.size(), kRowsMost);
  std::int64_t most = 1;
  for (const auto& s : waits.steps) {
    if (std::min({s.ns.size(), s.last.size(), s.blamed_ns.size()}) < d.profiles.size()) return {};
    for (const std::int64_t ns : s.ns) most = std::max(most, ns);
  }
  std::string out = fmt::format(
      "<section id=\"waits\"><h2>Which rank waits for its peers, in each step</h2><p class=\"note\">{} exchanges matched on {} "
      "ranks. Darker: waits longer{}. Ringed: more than half of the waiting in that step was for this rank.",
      render_thousands(static_cast<double>(waits.matched)), d.profiles.size(),
      columns <= kNumbersMost ? " (ms)" : fmt::format(", up to {}", render_length(most)));
  if (rows.size() < d.profiles.size())
    out += fmt::format(" Those that wait least and most are drawn, {} are not.", d.profiles.size() - rows.size());
  if (columns < waits.steps.size()) out += fmt::format(" {} later steps are not drawn.", waits.steps.size() - columns);
  out += "</p><div class=\"scroll\"><table class=\"waits\"><thead><tr><th>step</th>";
  for (std::size_t s = 0; s < columns; ++s)
    out += fmt::format("<th title=\"{}\">{}</th>", brief(waits.steps[s].name, 40), step_label(waits.steps[s].name));
  out += "<th class=\"n\">waits, ms a step</th><th class=\"n\">waited for, %</th></tr></thead><tbody>\n";
  for (const std::size_t r : rows) draw_wait_row(d, r, columns, most, out);
  return out + "</tbody></table></div></section>\n";
}

}  // namespace muster::report
