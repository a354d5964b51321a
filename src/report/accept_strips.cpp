#include "report/accept_strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/page.h"
#include "report/svg.h"

namespace muster::report {
namespace {

using accepting::Reading;

constexpr double kPanel = 84, kGap = 30, kTop = 40, kAxis = 24;
constexpr double kLeast = 1e-3;          // of an axis: nothing that is read is smaller
constexpr double kPerColumn = 2;         // pixels that one drawn value takes
constexpr std::size_t kBandsMost = 120;  // of one GPU: more cannot be told apart
constexpr std::size_t kNameBytes = 80;

struct Canvas {
  double width, left, right;
  std::size_t marks;  // of the time axis
  std::string_view suffix, kind;
};
constexpr Canvas kAlone = {1120, 46, 12, 10, "", "wide"};  // the only GPU of its node
constexpr Canvas kWide = {560, 46, 12, 5, "", "wide"};
constexpr Canvas kNarrow = {380, 42, 10, 4, "_narrow", "narrow"};

struct Curve {
  std::string_view name, style;
  double Reading::*value;
};
struct Pane {
  std::string_view title;
  std::vector<Curve> curves;
  bool between = false;  // what lies between the least and the most of a column is drawn too
};

// What the readings of one column say; nothing where it has none.
struct Column {
  double sum = 0, least = 0, most = 0;
  std::size_t count = 0;

  void take(double v) {
    least = count == 0 ? v : std::min(least, v);
    most = count == 0 ? v : std::max(most, v);
    sum += v;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
};

struct Strip {
  const Acceptance& recording;
  std::int32_t gpu;
  const std::vector<const Reading*>& readings;  // of the GPU
  double length_s;
  const Canvas& canvas;

  double plot() const { return canvas.width - canvas.left - canvas.right; }
  double x(double at_s) const { return canvas.left + plot() * std::clamp(at_s / length_s, 0.0, 1.0); }
};

std::vector<Pane> panes() {
  return {{"power, W", {{"", "power", &Reading::power_w}}, true},
          {"SM clock, MHz", {{"", "clock", &Reading::mhz}}, true},
          {"temperature, °C", {{"GPU", "heat", &Reading::gpu_c}, {"memory", "heat2", &Reading::memory_c}}}};
}

std::vector<Column> columns_of(const Strip& s, double Reading::*value) {
  const auto n = static_cast<std::size_t>(s.plot() / kPerColumn);
  std::vector<Column> out(n);
  for (const Reading* r : s.readings) {
    const double v = r->*value;
    if (!(v >= 0) || !std::isfinite(v) || !(r->at_s >= 0) || r->at_s > s.length_s) continue;
    out[std::min(n - 1, static_cast<std::size_t>(r->at_s / s.length_s * static_cast<double>(n)))].take(v);
  }
  return out;
}

// A stretch without any reading is left open: so many empty columns one after the other.
std::size_t longest_gap(const std::vector<Column>& columns) {
  const auto told =
      static_cast<std::size_t>(std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.count > 0; }));
  return told == 0 ? columns.size() : 4 * (columns.size() / told) + 2;
}

void draw_curve(std::string& out, const Strip& s, const std::vector<Column>& columns, const Curve& curve, bool between, double y0,
                double top) {
  const auto y = [&](double v) { return y0 + kPanel * (1 - std::clamp(v / top, 0.0, 1.0)); };
  const std::size_t gap = longest_gap(columns);
  std::string line, over, under;
  std::size_t last = columns.size();
  const auto close = [&] {
    if (!over.empty()) out += fmt::format("<path class=\"{} span\" d=\"{}{}Z\"/>\n", curve.style, over, under);
    over.clear();
    under.clear();
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& c = columns[i];
    if (c.count == 0) continue;
    const double at = s.canvas.left + kPerColumn * (static_cast<double>(i) + 0.5);
    const bool begins = last == columns.size() || i - last > gap;
    if (begins) close();
    line += fmt::format("{}{:.0f} {:.1f}", begins ? "M" : "L", at, y(c.mean()));
    if (between) {
      over += fmt::format("{}{:.0f} {:.1f}", over.empty() ? "M" : "L", at, y(c.most));
      under.insert(0, fmt::format("L{:.0f} {:.1f}", at, y(c.least)));
    }
    last = i;
  }
  close();
  if (!line.empty()) out += fmt::format("<path class=\"{} line\" d=\"{}\"/>\n", curve.style, line);
}

void draw_pane(std::string& out, const Strip& s, const Pane& pane, double y0) {
  std::vector<std::vector<Column>> all;
  double most = 0;
  for (const Curve& c : pane.curves) {
    all.push_back(columns_of(s, c.value));
    for (const Column& k : all.back()) most = std::max(most, k.most);
  }
  const accepting::Gpu* g = gpu_of(s.recording, s.gpu);
  const double limit = pane.curves[0].value == &Reading::power_w && g != nullptr ? g->power_limit_w : -1;
  const double top = most > kLeast ? rounded_up(std::max(most, limit)) : 1;
  std::string names;
  for (const Curve& c : pane.curves)
    names +=
        c.name.empty() ? "" : fmt::format("{}{}{}", names.empty() ? ": " : ", ", c.name, c.style == "heat2" ? " dashed" : "");
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}{}</text>\n", s.canvas.left, y0 - 6, pane.title, names);
  if (most <= kLeast) {
    out += fmt::format("<text class=\"dim\" x=\"{:.0f}\" y=\"{:.0f}\">not told</text>\n", s.canvas.left + 8, y0 + kPanel / 2);
    return;
  }
  for (int i = 0; i <= 2; ++i) {
    const double y = y0 + kPanel * (1 - i / 2.0);
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text class=\"dim\" x=\"{:.0f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        s.canvas.left, y, s.canvas.width - s.canvas.right, s.canvas.left - 6, y + 4, figure_text(top * i / 2));
  }
  if (limit > 0) {
    const double y = y0 + kPanel * (1 - limit / top);
    out += fmt::format(
        "<path class=\"limit\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text class=\"dim\" x=\"{:.0f}\" y=\"{:.0f}\" "
        "text-anchor=\"end\">limit {} W · highest {} W</text>\n",
        s.canvas.left, y, s.canvas.width - s.canvas.right, s.canvas.width - s.canvas.right, y0 - 6, figure_text(limit),
        figure_text(most));
  }
  for (std::size_t i = 0; i < all.size(); ++i) draw_curve(out, s, all[i], pane.curves[i], pane.between, y0, top);
}

std::size_t number_of(const AcceptRows& rows, AcceptTest t) {
  for (std::size_t i = 0; i < rows.tests.size(); ++i) {
    if (rows.tests[i].test == t) return i + 1;
  }
  return 0;
}

// Each test's time as a band, with its number on top, and its name where there is room.
void draw_bands(std::string& out, const Strip& s, const AcceptRows& rows, double floor) {
  std::vector<const accepting::Ran*> ran;
  for (const auto& r : s.recording.ran) {
    if (r.gpu == s.gpu && r.took_s > 0) ran.push_back(&r);
  }
  if (ran.size() > kBandsMost) {
    out += fmt::format("<text class=\"mark\" x=\"{:.0f}\" y=\"{:.0f}\">{} rounds of tests, too many to draw</text>\n",
                       s.canvas.left, kTop - 26, ran.size());
    return;
  }
  double free_from = 0;  // where the last label ended
  for (std::size_t i = 0; i < ran.size(); ++i) {
    const accepting::Ran& r = *ran[i];
    const double from = s.x(r.begun_s), to = s.x(r.begun_s + r.took_s);
    out += fmt::format(
        "<rect class=\"band{}{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"><title>{}: {:.1f} s to {:.1f} s, "
        "{}</title></rect>\n",
        i % 2, r.state == TestState::done ? "" : " bad", from, kTop - 22, std::max(0.5, to - from), floor - kTop + 22,
        name_of(r.test), r.begun_s, r.begun_s + r.took_s, name_of(r.state));
    std::string_view name = name_of(r.test);
    if (name.starts_with("gemm_")) name.remove_prefix(5);
    const std::string number = std::to_string(number_of(rows, r.test));
    const std::string full = fmt::format("{} {}", number, name);
    const double wide = 6.1 * static_cast<double>(full.size()) + 4;
    const bool named = to - from >= wide;
    const double need = named ? wide : 7.2 * static_cast<double>(number.size()) + 2;
    if (to - from < need || from + 1 < free_from) continue;
    out += fmt::format("<text class=\"mark\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", from + 2, kTop - 26, named ? full : number);
    free_from = from + need;
  }
}

void draw_time(std::string& out, const Strip& s, double floor) {
  const double unit = s.length_s > 7200 ? 3600 : s.length_s > 600 ? 60 : 1;
  const std::string_view word = unit == 3600 ? "h" : unit == 60 ? "min" : "s";
  const double step = rounded_up(s.length_s / unit / static_cast<double>(s.canvas.marks));
  for (double v = 0; v <= s.length_s / unit + 1e-9; v += step) {
    const double at = s.x(v * unit);
    out += fmt::format(
        "<path class=\"tick\" d=\"M{0:.1f} {1:.0f}v5\"/><text class=\"dim\" x=\"{0:.1f}\" y=\"{2:.0f}\" "
        "text-anchor=\"{3}\">{4}</text>\n",
        at, floor, floor + 18,
        v == 0                     ? "start"
        : s.canvas.width - at < 30 ? "end"
                                   : "middle",
        v == 0 ? fmt::format("0 {}", word) : figure_text(v));
  }
}

std::string draw_strip(const Strip& s, const AcceptRows& rows) {
  const std::vector<Pane> all = panes();
  const double floor = kTop + static_cast<double>(all.size()) * kPanel + static_cast<double>(all.size() - 1) * kGap;
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"strip{}{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"GPU {}: power, SM "
      "clock "
      "and temperatures over {}\">\n",
      s.canvas.kind, s.gpu, s.canvas.suffix, s.canvas.width, floor + kAxis, s.gpu, length_text(s.length_s));
  draw_bands(out, s, rows, floor);
  double y0 = kTop;
  for (const Pane& p : all) {
    draw_pane(out, s, p, y0);
    y0 += kPanel + kGap;
  }
  draw_time(out, s, floor);
  return out + "</svg>\n";
}

}  // namespace

std::string draw_strips(const AcceptedNode& node, const AcceptRows& rows) {
  std::map<std::int32_t, std::vector<const Reading*>> by_gpu;
  for (const Reading& r : node.recording.readings) by_gpu[r.gpu].push_back(&r);
  const double length = length_s(node.recording);
  std::string out;
  std::size_t drawn = 0;
  const bool alone = by_gpu.size() == 1;
  for (const std::int32_t gpu : rows.gpus) {
    const auto it = by_gpu.find(gpu);
    if (it == by_gpu.end() || !(length > kLeast) || !std::isfinite(length)) continue;
    const accept::GpuVerdict* v = verdict_of(node.judgement, gpu);
    out +=
        fmt::format("<figure class=\"strip\"><figcaption>{}{}</figcaption>\n", brief(gpu_title(node.recording, gpu), kNameBytes),
                    v == nullptr ? "" : fmt::format(": {} {}", mark_of(worst_of(*v)), name_of(worst_of(*v))));
    out += draw_strip({node.recording, gpu, it->second, length, alone ? kAlone : kWide}, rows);
    out += draw_strip({node.recording, gpu, it->second, length, kNarrow}, rows) + "</figure>\n";
    ++drawn;
  }
  return drawn == 0 ? "" : fmt::format("<div class=\"strips{}\">\n{}</div>\n", alone ? " one" : "", out);
}

}  // namespace muster::report
