// muster bench ingest: what a sample costs from the text of a scrape to the detectors' verdict, and what it costs others to
// scrape it.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "base/json_writer.h"
#include "commands.h"
#include "detect/detectors.h"
#include "ingest/cluster_file.h"
#include "ingest/prom_text.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "scrape_payload.h"
#include "scrape_peers.h"

namespace muster::cmd {
namespace {

constexpr std::uint32_t kSeries[] = {kDefaultSeries, kFullSeries};
constexpr std::size_t kNodesPerTurn = 64;  // scrapes come spread over the interval; detectors look at what came in one turn

struct IngestFigures {
  std::uint32_t series = 0;   // per GPU
  std::uint64_t samples = 0;  // lines with a value in the scrapes measured
  std::uint64_t kept = 0;     // of them, those the detectors have a use for
  std::uint64_t refused = 0;
  std::uint64_t findings = 0;
  std::uint64_t bytes = 0;
  double parse_cpu_s = 0, detect_cpu_s = 0;
  double samples_per_cpu_s() const { return static_cast<double>(samples) / (parse_cpu_s + detect_cpu_s); }
};

double thread_cpu_s() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

State state_of(const Site& site) {
  State s;
  Now now;
  now.utc = Time{1'767'225'600'000'000'000};
  now.steady = Time{5'000'000'000};
  const auto tell = [&](Body body) {
    Event e;
    e.seq = s.seq + 1;
    e.source.stream = "bench";
    e.utc = now.utc;
    e.body = std::move(body);
    fold(s, e);
  };
  tell(RunStarted{"bench", 1, 1, "bench", now});
  tell(SiteDeclared{site});
  tell(PolicyApplied{default_policy(), "bench"});
  tell(TurnBegan{1, now});
  return s;
}

// Round 0 is not measured: detectors only take their baselines from it, and memory is touched for the first time.
IngestFigures measure(const Site& site, const State& state, std::uint32_t series, std::uint64_t rounds, Progress& progress) {
  IngestFigures f;
  f.series = series;
  detect::Detectors detectors(state);
  std::vector<Sample> samples;
  Duration passed = seconds(0);
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    double parse = 0, look = 0;
    for (std::size_t n = 0; n < site.nodes.size(); ++n) {
      const NodeId node{static_cast<std::uint32_t>(n)};
      const std::string text = render_payload(site, node, series, round);
      const Time at = state.now.utc + passed;
      const double began = thread_cpu_s();
      f.refused += parse_scrape(text, node, at, site, samples);
      parse += thread_cpu_s() - began;
      samples.push_back({at, node, -1, Field::up, 1});
      if (round > 0) f.bytes += text.size();
      if ((n + 1) % kNodesPerTurn != 0 && n + 1 != site.nodes.size()) continue;
      passed = passed + seconds(1);
      const double judged = thread_cpu_s();
      f.findings += detectors.look(samples, {}, {}, {}, state, state.now.utc + passed, state.mono() + passed).size();
      look += thread_cpu_s() - judged;
      if (round > 0) f.kept += samples.size();
      samples.clear();
      progress.update((static_cast<double>(round) + static_cast<double>(n) / static_cast<double>(site.nodes.size())) /
                      static_cast<double>(rounds + 1));
    }
    if (round == 0) continue;
    f.parse_cpu_s += parse;
    f.detect_cpu_s += look;
    f.samples += static_cast<std::uint64_t>(site.nodes.size()) * site.gpus_per_node * series;
  }
  return f;
}

struct Report {
  std::uint32_t gpus = 0;
  double rss_mb = 0;  // ours, before any peer is served
  std::vector<IngestFigures> ours;
  std::vector<PeerFigures> peers;
};

constexpr std::string_view kOurs = "muster";

double scraped(const Report& r, std::string_view name, std::uint32_t series) {
  for (const PeerFigures& p : r.peers) {
    if (p.series == series && p.name == name) return p.samples_per_cpu_s();
  }
  return 0;
}

// 0: something was not measured.
double times_best_peer(const Report& r, std::uint32_t series) {
  double best = 0;
  for (const PeerFigures& p : r.peers) {
    if (p.series == series && p.name != kOurs) best = std::max(best, p.samples_per_cpu_s());
  }
  return best > 0 ? scraped(r, kOurs, series) / best : 0;
}

std::string render_json(const Report& r) {
  JsonWriter w;
  w.object().field("gpus", r.gpus).field("rss_mb", r.rss_mb).key("ingest").array();
  for (const IngestFigures& f : r.ours) {
    w.object().field("series", f.series).field("samples", f.samples).field("samples_per_cpu_s", f.samples_per_cpu_s());
    w.field("kept", f.kept).field("refused", f.refused).field("findings", f.findings).field("bytes", f.bytes);
    w.field("parse_cpu_s", f.parse_cpu_s).field("detect_cpu_s", f.detect_cpu_s);
    w.field("times_best_peer", times_best_peer(r, f.series)).end_object();
  }
  w.end_array().key("scraping").array();
  for (const PeerFigures& p : r.peers) {
    w.object().field("name", p.name).field("series", p.series).field("absent", p.absent).field("samples", p.samples);
    w.field("cpu_s", p.cpu_s).field("samples_per_cpu_s", p.samples_per_cpu_s()).field("rss_mb", p.rss_mb).end_object();
  }
  w.end_array().field("note", "peers also store what they scrape; Muster judges it and keeps the last values").end_object();
  return w.take() + "\n";
}

std::string render_text(const Report& r) {
  std::string s = fmt::format("{} GPUs; samples in a CPU-second\n\n                       ", r.gpus);
  for (const std::uint32_t series : kSeries) s += fmt::format("{:>7} series", series);
  const auto row = [&](std::string_view name, auto figure) {
    s += fmt::format("\n{:<23}", name);
    for (const IngestFigures& f : r.ours) s += figure(f);
  };
  const auto count = [](double v) { return v > 0 ? fmt::format("{:>14.0f}", v) : fmt::format("{:>14}", "-"); };
  row("muster, parse + detect", [&](const IngestFigures& f) { return count(f.samples_per_cpu_s()); });
  for (const std::string_view name : {kOurs, std::string_view("prometheus"), std::string_view("victoria-metrics")}) {
    row(name == kOurs ? "muster up --scrape" : name, [&](const IngestFigures& f) { return count(scraped(r, name, f.series)); });
  }
  row("times the better peer", [&](const IngestFigures& f) {
    const double times = times_best_peer(r, f.series);
    return times > 0 ? fmt::format("{:>14.1f}", times) : fmt::format("{:>14}", "-");
  });
  s += fmt::format("\n\npeak memory {:.0f} MB; {} of {} samples are of use to the detectors at {} series, {} lines refused\n",
                   r.rss_mb, r.ours.back().kept, r.ours.back().samples, r.ours.back().series, r.ours.back().refused);
  s += "The last rows are whole programs that scrape the same pages over HTTP. Peers also store what they scrape; Muster judges "
       "it\n"
       "and keeps the last values.\n";
  for (const PeerFigures& p : r.peers) {
    if (!p.absent.empty()) s += fmt::format("{}, {} series: no figures, {}\n", p.name, p.series, p.absent);
  }
  return s;
}

}  // namespace

int run_bench_ingest(const BenchIngestOptions& o) {
  auto site = plain_cluster(o.gpus);
  if (!site) return say_error(site.error());
  Report r;
  r.gpus = o.gpus;
  {
    const State state = state_of(*site);
    for (const std::uint32_t series : kSeries) {
      Progress progress(fmt::format("{} series", series), o.progress);
      r.ours.push_back(measure(*site, state, series, o.rounds, progress));
    }
  }
  r.rss_mb = usage().rss_mb;
  if (o.peer_seconds > 0) {
    for (const std::uint32_t series : kSeries) {
      say(fmt::format("scraping {} series of each GPU, {:.0f} s each: ours, prometheus, victoria-metrics", series,
                      o.peer_seconds));
      const auto figures = measure_peers({*site, series, o.peer_seconds, series == kDefaultSeries ? 5 : 10});
      r.peers.insert(r.peers.end(), figures.begin(), figures.end());
    }
  }
  put(o.format == report::Format::json ? render_json(r) : render_text(r));
  return finish_output();
}

}  // namespace muster::cmd
