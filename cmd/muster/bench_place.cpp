// muster bench place: speed and quality of gang placement, on one size of cluster or over many.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "report/table.h"
#include "run_report.h"
#include "say.h"
#include "trial/place_bench.h"

namespace muster::cmd {
namespace {

using trial::PlaceFigures;

constexpr std::uint32_t kSizes[] = {1'000, 3'000, 10'000, 30'000, 98'304, 300'000, 1'000'000};

PlaceFigures run(const BenchPlaceOptions& o, std::uint32_t gpus, trial::Placement placement, trial::GangMix mix = {},
                 bool costs = false) {
  return trial::run_place_bench({gpus, o.load, o.seed, o.decisions, mix, placement, costs});
}

void write_fields(JsonWriter& w, const PlaceFigures& f) {
  w.field("gpus", f.gpus).field("nodes", f.nodes).field("leaves", f.leaves).field("pods", f.pods);
  w.field("p50_us", f.p50_us).field("p99_us", f.p99_us).field("p999_us", f.p999_us).field("max_us", f.max_us);
  w.field("leaves_ratio", f.leaves_ratio).field("at_minimum_pct", f.at_minimum_pct);
  w.field("leaves_ratio_mean", f.leaves_ratio_mean).field("decisions", f.decisions).field("rejected_pct", f.rejected_pct);
  w.field("load_seen", f.load_seen).field("gang_nodes_mean", f.gang_mean).field("gangs_running", f.running);
  w.field("clock_us", f.clock_us);
}

report::Table table_of(const std::vector<std::pair<std::string, PlaceFigures>>& rows) {
  report::Table t;
  for (const char* name :
       {"", "GPUS", "LEAVES/MIN", "AT MIN %", "REJECTED %", "LOAD", "P50 US", "P99 US", "P99.9 US", "MAX US"}) {
    t.columns.push_back({name, !t.columns.empty(), false});
  }
  for (const auto& [name, f] : rows) {
    t.rows.push_back({report::Cell(name)});
    for (auto text : {fmt::format("{}", f.gpus), fmt::format("{:.4f}", f.leaves_ratio), fmt::format("{:.2f}", f.at_minimum_pct),
                      fmt::format("{:.2f}", f.rejected_pct), fmt::format("{:.4f}", f.load_seen), fmt::format("{:.2f}", f.p50_us),
                      fmt::format("{:.2f}", f.p99_us), fmt::format("{:.2f}", f.p999_us), fmt::format("{:.1f}", f.max_us)}) {
      t.rows.back().emplace_back(std::move(text));
    }
  }
  return t;
}

// Microseconds of p99 per doubling of the cluster: the slope of the line through all sizes over log2(GPUs).
double us_per_doubling(const std::vector<PlaceFigures>& all) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto n = static_cast<double>(all.size());
  for (const auto& f : all) {
    const double x = std::log2(static_cast<double>(f.gpus));
    sx += x;
    sy += f.p99_us;
    sxx += x * x;
    sxy += x * f.p99_us;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// One line a size, the bar as long as p99: straight bars down the page are growth by the logarithm of the size.
std::string plot(const std::vector<PlaceFigures>& all) {
  double most = 0;
  for (const auto& f : all) most = std::max(most, f.p99_us);
  std::string out = "\np99 of a decision, thread CPU\n";
  for (const auto& f : all) {
    const auto bar = [&](double us) { return static_cast<std::size_t>(std::lround(60 * us / most)); };
    std::string line(std::max<std::size_t>(bar(f.p99_us), 1), '=');
    line[std::min(bar(f.p50_us), line.size() - 1)] = '|';  // p50
    out += fmt::format("{:>9} GPUs {} {:.2f} us\n", f.gpus, line, f.p99_us);
  }
  return out + fmt::format("| p50; p99 grows by {:.2f} us per doubling of the cluster\n", us_per_doubling(all));
}

std::string svg(const std::vector<PlaceFigures>& all, double load) {
  constexpr double kLeft = 60, kTop = 50, kWidth = 620, kHeight = 300;
  double most = 1;
  for (const auto& f : all) most = std::max(most, f.p99_us);
  most = std::ceil(most / 2) * 2;
  const double low = std::log10(all.front().gpus), high = std::log10(all.back().gpus);
  const auto x = [&](double gpus) { return kLeft + kWidth * (std::log10(gpus) - low) / std::max(high - low, 1e-9); };
  const auto y = [&](double us) { return kTop + kHeight * (1 - us / most); };
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 410" font-family="sans-serif" font-size="12">)"
      "\n<rect width=\"720\" height=\"410\" fill=\"white\"/>\n"
      "<text x=\"60\" y=\"24\" font-size=\"15\">Gang placement: thread CPU of a decision at load {}, by size of cluster</text>\n",
      load);
  for (int i = 0; i <= 4; ++i) {
    const double us = most * i / 4;
    out += fmt::format(
        "<path d=\"M60 {0:.1f}H680\" stroke=\"#ddd\"/><text x=\"54\" y=\"{1:.1f}\" text-anchor=\"end\">{2:g} us</text>\n", y(us),
        y(us) + 4, us);
  }
  const auto line = [&](const char* colour, const char* label, auto value) {
    std::string points, dots;
    for (const auto& f : all) {
      points += fmt::format("{:.1f},{:.1f} ", x(f.gpus), y(value(f)));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>", x(f.gpus), y(value(f)), colour);
    }
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}", points, colour, dots);
    out += fmt::format("<text x=\"686\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n", y(value(all.back())) + 4, colour, label);
  };
  line("#0969da", "p99", [](const PlaceFigures& f) { return f.p99_us; });
  line("#57606a", "p50", [](const PlaceFigures& f) { return f.p50_us; });
  for (const auto& f : all) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"370\" text-anchor=\"middle\">{}</text>\n", x(f.gpus), f.gpus);
  }
  return out + "<text x=\"370\" y=\"394\" text-anchor=\"middle\">GPUs (logarithmic)</text>\n</svg>\n";
}

int finish(const BenchPlaceOptions& o, const std::vector<PlaceFigures>& all, const std::string& text) {
  if (!o.svg.empty()) {
    if (auto ok = write_file(o.svg, svg(all, o.load)); !ok) return say_error(ok.error());
    say("wrote " + o.svg);
  }
  put(text);
  return finish_output();
}

int run_scale(const BenchPlaceOptions& o) {
  std::vector<PlaceFigures> all;
  std::vector<std::pair<std::string, PlaceFigures>> rows;
  for (const std::uint32_t gpus : kSizes) {
    all.push_back(run(o, gpus, trial::Placement::muster));
    rows.emplace_back("muster", all.back());
  }
  if (o.format != report::Format::json) return finish(o, all, render_table(table_of(rows), {}) + plot(all));
  JsonWriter w;
  w.object().field("seed", o.seed).field("load", o.load).field("p99_us_per_doubling", us_per_doubling(all));
  w.field("rss_mb", usage().rss_mb).key("sizes").array();
  for (const auto& f : all) {
    w.object();
    write_fields(w, f);
    w.end_object();
  }
  w.end_array().end_object();
  return finish(o, all, w.take() + "\n");
}

}  // namespace

int run_bench_place(const BenchPlaceOptions& o) {
  if (o.gpus < 8 || o.decisions == 0) {
    return say_error(
        {Code::bad_input, "bench place needs a node of 8 GPUs and a decision at least", "see --gpus and --decisions"});
  }
  if (!o.svg.empty() && !o.scale) {
    return say_error(
        {Code::bad_input, "--svg draws how the time grows with the cluster, and this is one cluster", "add --scale"});
  }
  if (o.scale) return run_scale(o);
  const PlaceFigures ours = run(o, o.gpus, trial::Placement::muster);
  std::vector<std::pair<std::string, PlaceFigures>> rows{{"muster", ours}};
  if (o.peer) {
    rows.emplace_back("first-fit", run(o, o.gpus, trial::Placement::first_fit));
    rows.emplace_back("muster, heavy mix", run(o, o.gpus, trial::Placement::muster, trial::kHeavyMix));
    rows.emplace_back("first-fit, heavy mix", run(o, o.gpus, trial::Placement::first_fit, trial::kHeavyMix));
    rows.emplace_back("muster, costs", run(o, o.gpus, trial::Placement::muster, {}, true));
  }
  if (o.format != report::Format::json) {
    const std::string foot = fmt::format(
        "\n{} decisions each, seed {}, gangs of {:.1f} nodes on average, {} GPUs a node, {} nodes a leaf, {} leaves a pod\n"
        "times are thread CPU of one decision and hold one read of that clock, {:.2f} us; nothing is subtracted\n",
        ours.decisions, o.seed, ours.gang_mean, trial::kGpusPerNode, trial::kNodesPerLeaf, trial::kLeavesPerPod, ours.clock_us);
    return finish(o, {ours}, render_table(table_of(rows), {}) + foot);
  }
  JsonWriter w;
  w.object().field("seed", o.seed).field("load", o.load);
  write_fields(w, ours);
  w.field("rss_mb", usage().rss_mb);
  if (o.peer) {
    w.key("beside").array();
    for (std::size_t i = 1; i < rows.size(); ++i) {
      w.object().field("name", rows[i].first);
      write_fields(w, rows[i].second);
      w.end_object();
    }
    w.end_array();
  }
  w.end_object();
  return finish(o, {ours}, w.take() + "\n");
}

}  // namespace muster::cmd
