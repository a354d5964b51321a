// The time line of one step, a lane for each stream and one for why the GPU was idle. No time is dropped: what is too short to be
// drawn alone is drawn together, as high as it is busy, and says how much of what it stands for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "model/fields.h"
#include "report/diagnosis_draw.h"
#include "report/svg.h"

namespace muster::report {
namespace {

using diagnose::Bound;
using diagnose::Gap;
using diagnose::KernelKind;
using diagnose::Profile;

constexpr std::size_t kRanksMost = 8;
constexpr std::size_t kStreamsMost = 6;    // lanes of a rank; other streams share one more
constexpr std::size_t kRectsMost = 1500;   // of a rank,
constexpr std::size_t kRectsInAll = 6000;  // and of all of them
constexpr std::size_t kNameBytes = 60;     // of a kernel in a hover title
constexpr double kUnits = 1500, kThinnest = 0.4;
constexpr std::array<double, 9> kCells = {1500, 1000, 700, 480, 320, 200, 120, 60, 20};  // tried in turn, until few enough

constexpr std::size_t kKinds = names(KernelKind{}).size();
constexpr std::size_t kPaints = kKinds + diagnose::kBounds;  // kinds of kernels, then bounds
std::string_view paint_name(std::size_t p) { return p < kKinds ? names(KernelKind{})[p] : names(Bound{})[p - kKinds]; }
std::size_t paint_of(Bound b) { return kKinds + static_cast<std::size_t>(b); }
std::size_t paint_of(KernelKind k) { return static_cast<std::size_t>(k); }

std::size_t paint_of(diagnose::Part part) {
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
    if (names(Bound{})[b] == colour_of(part)) return kKinds + b;
  }
  return paint_of(Bound::other);
}

std::size_t paint_of(const Profile& p, std::size_t event) {
  const GpuEvent& e = *p.line.events[event];
  const std::string_view name = p.trace->names[e.name];
  switch (e.work) {
    case GpuWork::communication: return paint_of(Bound::communication);
    case GpuWork::copy:
      // Within the device it moves bytes as a kernel would.
      return name.find("HtoD") != name.npos || name.find("DtoH") != name.npos ? paint_of(Bound::copy)
                                                                              : paint_of(KernelKind::stream);
    case GpuWork::fill: return paint_of(KernelKind::stream);
    case GpuWork::compute: break;
  }
  const std::uint32_t c = event < p.kernels.of_event.size() ? p.kernels.of_event[event] : kNone;
  return paint_of(c < p.kernels.classes.size() ? p.kernels.classes[c].kind : diagnose::kernel_kind(name));
}

struct Item {
  Span span;
  std::size_t paint = 0;
  std::size_t at = 0;  // Timeline::events or Timeline::gaps
};
struct Lane {
  std::string label;
  bool gaps = false;
  std::vector<Item> items;  // by their start
  std::int64_t busy_ns = 0;
};
// Items drawn as one.
struct Run {
  Span span;
  std::array<std::int64_t, kPaints> ns{};
  std::size_t count = 0;
  std::size_t first = 0;  // Lane::items
};

// Those that are at least `cell_ns` long each alone, the others together as far as one cell reaches.
std::vector<Run> runs_of(const Lane& lane, std::int64_t cell_ns) {
  std::vector<Run> out;
  bool open = false;
  std::int64_t covered = INT64_MIN;
  for (std::size_t i = 0; i < lane.items.size(); ++i) {
    const Item& item = lane.items[i];
    const Span s{std::max(item.span.start_ns, covered), item.span.end_ns};
    if (s.length() <= 0) {  // all of it beside another one of this lane
      if (!out.empty()) ++out.back().count;
      continue;
    }
    covered = s.end_ns;
    const bool wide = s.length() >= cell_ns;
    if (wide || !open || s.end_ns - out.back().span.start_ns > cell_ns) out.push_back({s, {}, 0, i});
    Run& run = out.back();
    run.span.end_ns = s.end_ns;
    run.ns[item.paint] += s.length();
    ++run.count;
    open = !wide;
  }
  return out;
}

std::size_t rects_of(const std::vector<Run>& runs) {
  std::size_t n = 0;
  for (const Run& r : runs)
    n += static_cast<std::size_t>(std::count_if(r.ns.begin(), r.ns.end(), [](auto ns) { return ns > 0; }));
  return n;
}

class RankDrawing {
 public:
  RankDrawing(const Profile& p, std::size_t step, std::int64_t width_ns, std::size_t rects_max)
      : p_(p), step_(p.line.steps[step]), width_ns_(std::max<std::int64_t>(1, width_ns)), rects_max_(rects_max) {
    find_lanes();
  }

  std::string draw(std::string_view grid) {
    std::vector<std::vector<Run>> runs;
    for (const double cells : kCells) {
      runs.clear();
      std::size_t rects = 0;
      for (const Lane& lane : lanes_) {
        runs.push_back(runs_of(lane, static_cast<std::int64_t>(static_cast<double>(width_ns_) / cells)));
        rects += rects_of(runs.back());
      }
      if (rects <= rects_max_) break;
    }
    const std::string name = step_.name < p_.trace->names.size() ? brief(p_.trace->names[step_.name], 40) : "all of it";
    std::string out = fmt::format("<div class=\"rank\"><h3>{} <small>{}, {}</small></h3><div class=\"lanes\">{}", rank_title(p_),
                                  name, render_length(step_.span.length()), grid);
    for (std::size_t i = 0; i < lanes_.size(); ++i) draw_lane(lanes_[i], runs[i], out);
    return out + "</div></div>\n";
  }

  const std::array<bool, kPaints>& seen() const { return seen_; }

 private:
  Span clip(const Span& s) const { return {std::max(s.start_ns, step_.span.start_ns), std::min(s.end_ns, step_.span.end_ns)}; }

  void put(Lane& lane, const Span& whole, std::size_t paint, std::size_t at) {
    const Span s = clip(whole);
    if (s.length() <= 0) return;
    lane.items.push_back({s, paint, at});
    lane.busy_ns += s.length();
    seen_[paint] = true;
  }

  void find_lanes() {
    std::map<std::uint32_t, std::int64_t> busy;
    for (const GpuEvent* e : p_.line.events) {
      if (const Span s = clip(e->span); s.length() > 0) busy[e->stream] += s.length();
    }
    std::vector<std::pair<std::uint32_t, std::int64_t>> streams(busy.begin(), busy.end());
    std::stable_sort(streams.begin(), streams.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
    const std::size_t own = streams.size() > kStreamsMost + 1 ? kStreamsMost : streams.size();
    std::sort(streams.begin(), streams.begin() + static_cast<std::ptrdiff_t>(own));  // in the same order on each rank
    std::map<std::uint32_t, std::size_t> lane_of;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      lane_of[streams[i].first] = std::min(i, own);
      if (i < own) lanes_.push_back({fmt::format("stream {}", streams[i].first), false, {}, 0});
    }
    if (streams.size() > own) lanes_.push_back({fmt::format("{} other streams", streams.size() - own), false, {}, 0});
    for (std::size_t i = 0; i < p_.line.events.size(); ++i) {
      const GpuEvent& e = *p_.line.events[i];
      if (clip(e.span).length() > 0) put(lanes_[lane_of[e.stream]], e.span, paint_of(p_, i), i);
    }
    Lane idle{"idle: why", true, {}, 0};
    for (std::size_t i = 0; i < p_.line.gaps.size(); ++i) put(idle, p_.line.gaps[i].span, paint_of(p_.line.gaps[i].part), i);
    lanes_.push_back(std::move(idle));
  }

  std::string text(std::uint32_t name) const {
    return name < p_.trace->names.size() ? brief(p_.trace->names[name], kNameBytes) : std::string();
  }

  std::string name_of_item(const Lane& lane, const Item& item) const {
    if (!lane.gaps) {
      const std::uint32_t c = item.at < p_.kernels.of_event.size() ? p_.kernels.of_event[item.at] : kNone;
      const std::string kernel = text(p_.line.events[item.at]->name);
      return c < p_.kernels.classes.size() && p_.kernels.classes[c].op != kNone
                 ? brief(p_.kernels.classes[c].name, kNameBytes) + "\n" + kernel
                 : kernel;
    }
    const Gap& g = p_.line.gaps[item.at];
    std::string out = "idle: " + std::string(paint_name(item.paint));
    if (g.during != kNone) out += "\nthe host: " + text(g.during);
    if (g.next < p_.line.events.size()) out += "\nuntil " + text(p_.line.events[g.next]->name);
    return out;
  }

  std::string title_of(const Lane& lane, const Run& run) const {
    const Item& first = lane.items[run.first];
    if (run.count == 1) {
      const std::int64_t all = lane.gaps ? p_.line.gaps[first.at].span.length() : p_.line.events[first.at]->span.length();
      return fmt::format("{}\n{}", name_of_item(lane, first), render_length(all));
    }
    std::string out = fmt::format("{} {} in {}:", run.count, lane.gaps ? "gaps" : "events", render_length(run.span.length()));
    for (std::size_t p = 0; p < kPaints; ++p) {
      if (run.ns[p] > 0) out += fmt::format(" {} {},", paint_name(p), render_length(run.ns[p]));
    }
    out.back() = '\n';
    return out + "first: " + name_of_item(lane, first);
  }

  void draw_lane(const Lane& lane, const std::vector<Run>& runs, std::string& out) const {
    const double scale = kUnits / static_cast<double>(width_ns_);
    const double share =
        100 * static_cast<double>(lane.busy_ns) / static_cast<double>(std::max<std::int64_t>(1, step_.span.length()));
    out += fmt::format(
        "<span class=\"lane\">{0}</span><svg class=\"{2}\" viewBox=\"0 0 {1:.0f} 100\" preserveAspectRatio=\"none\" "
        "role=\"img\" aria-label=\"{0}\">",
        lane.label, kUnits, lane.gaps ? "idle" : "busy");
    for (const Run& run : runs) {
      const double x = scale * static_cast<double>(run.span.start_ns - step_.span.start_ns);
      const double w = std::max(kThinnest, scale * static_cast<double>(run.span.length()));
      out += "<g><title>" + title_of(lane, run) + "</title>";
      double below = 0;  // percent of the lane's height
      for (std::size_t p = 0; p < kPaints; ++p) {
        if (run.ns[p] <= 0) continue;
        const double high = 100 * static_cast<double>(run.ns[p]) / static_cast<double>(run.span.length());
        below += high;
        out += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.3g}\" width=\"{:.2f}\" height=\"{:.3g}\"/>", paint_name(p), x,
                           std::max(0.0, 100 - below), w, high);
      }
      out += "</g>";
    }
    out += fmt::format("</svg><span class=\"n\">{:.1f} %</span>\n", share);
  }

  const Profile& p_;
  const diagnose::StepParts& step_;
  std::int64_t width_ns_;
  std::size_t rects_max_;
  std::vector<Lane> lanes_;
  std::array<bool, kPaints> seen_{};
};

// The step of that name, or else one that is typical of this rank.
std::size_t step_like(const Profile& p, std::string_view name) {
  for (std::size_t s = 0; s < p.line.steps.size() && !name.empty(); ++s) {
    if (p.line.steps[s].name != kNone && p.trace->names[p.line.steps[s].name] == name) return s;
  }
  return typical_step(p.line);
}

struct Axis {
  std::string grid, labels;
};

Axis axis_of(std::int64_t width_ns) {
  Axis out;
  const double all_ms = static_cast<double>(width_ns) / 1e6, tick = rounded_up(all_ms / 8);
  for (int i = 0; i * tick < all_ms * 0.97; ++i) {
    const double at = 100 * i * tick / all_ms;
    out.grid += fmt::format("<i style=\"left:{:.3f}%\"></i>", at);
    out.labels += fmt::format("<b style=\"left:{:.3f}%\">{:.5g}{}</b>", at, i * tick, i == 0 ? " ms" : "");
  }
  out.grid = "<span class=\"grid\">" + out.grid + "</span>";
  return out;
}

}  // namespace

std::size_t typical_step(const diagnose::Timeline& line) {
  std::vector<std::size_t> order(line.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto shorter = [&](std::size_t x, std::size_t y) { return line.steps[x].span.length() < line.steps[y].span.length(); };
  std::stable_sort(order.begin(), order.end(), shorter);
  return order.empty() ? 0 : order[order.size() / 2];
}

std::string draw_time_line(const Diagnosis& d) {
  std::vector<const Profile*> ranks;
  std::size_t left_out = 0;
  for (const Profile& p : d.profiles) {
    if (p.line.events.empty() || p.line.steps.empty()) continue;
    if (ranks.size() < kRanksMost) {
      ranks.push_back(&p);
    } else {
      ++left_out;
    }
  }
  if (ranks.empty()) return {};
  const std::uint32_t mark = ranks[0]->line.steps[typical_step(ranks[0]->line)].name;
  const std::string_view name = mark == kNone ? std::string_view() : std::string_view(ranks[0]->trace->names[mark]);
  std::vector<std::size_t> steps;
  std::int64_t width_ns = 1;
  for (const Profile* p : ranks) {
    steps.push_back(step_like(*p, name));
    width_ns = std::max(width_ns, p->line.steps[steps.back()].span.length());
  }
  const Axis axis = axis_of(width_ns);
  std::array<bool, kPaints> seen{};
  std::string body;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankDrawing drawing(*ranks[i], steps[i], width_ns, std::min(kRectsMost, kRectsInAll / ranks.size()));
    body += drawing.draw(axis.grid);
    for (std::size_t p = 0; p < kPaints; ++p) seen[p] = seen[p] || drawing.seen()[p];
  }
  std::string legend;
  for (std::size_t p = 0; p < kPaints; ++p) {
    if (seen[p]) legend += fmt::format("<span>{}{}</span>", swatch(paint_name(p)), paint_name(p));
  }
  return fmt::format(
      "<section id=\"timeline\"{}><h2>One typical step</h2><p class=\"note\">The step whose length is the median{}. Events too "
      "short "
      "to be drawn alone are drawn together, as high as they are busy. The figures at the right are shares of the step.{}</p>"
      "<p class=\"legend\">{}</p>\n{}<div class=\"axis\"><span class=\"lane\"></span><span "
      "class=\"ticks\">{}</span></div></section>\n",
      ranks.size() == 1 ? " class=\"one\"" : "", ranks.size() > 1 ? ", the same on each rank; each begins on its own clock" : "",
      left_out > 0 ? fmt::format(" {} more ranks are not drawn.", left_out) : "", legend, body, axis.labels);
}

}  // namespace muster::report
