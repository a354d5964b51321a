// muster predict collective, muster calibrate collectives, muster bench collectives.
#include <fmt/format.h>

#include <set>

#include "commands.h"
#include "files.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "model_choice.h"
#include "predict/traffic.h"
#include "report/collectives.h"
#include "say.h"
#include "training_tables.h"

namespace muster::cmd {
namespace {

constexpr double kLeastBytes = 1 << 20;  // of the promise: below it the start is all there is
constexpr std::uint32_t kPatterns = 16;  // of an all-to-all, that stand for all
constexpr int kDraws = 8;                // of a hash

predict::Collectives shipped() {
  return {shipped_collectives(), shipped_collective_classes(), gpu_models(), shipped_collective_spread()};
}

int put_table(const report::Table& t, report::Format format) {
  put(format == report::Format::csv ? report::render_csv(t, true) : report::render_table(t, {.colour = colour_wanted()}));
  return finish_output();
}

int run_batch(const PredictCollectiveOptions& o) {
  const auto text = read_file(o.batch);
  if (!text) return say_error(text.error());
  const auto csv = parse_csv(*text, o.batch, false);
  if (!csv) return say_error(csv.error());
  const auto rows = read_collective_rows(*csv, o.batch);
  if (!rows) return say_error(rows.error());
  const predict::Collectives model = shipped();
  std::vector<std::optional<predict::CollectivePrediction>> all;
  for (const CollectiveRow& r : rows->rows) all.push_back(model.predict(r));
  return put_table(report::collective_predictions(*csv, *rows, all), o.format);
}

// What the switches leave of the cards' rate.
Result<double> fabric_share(const PredictCollectiveOptions& o, const CollectiveSetup& s) {
  if (!o.fabric || s.together >= s.gpus) return 1.0;
  design::FabricAsk ask = o.ask;
  ask.kind = *o.fabric;
  ask.nics = std::min(8U, s.together);
  ask.nodes = (s.gpus + ask.nics - 1) / ask.nics;
  ask.gb_s = s.nic_gb_s;
  const auto fabric = design::build_fabric(ask);
  if (!fabric) return tl::unexpected(fabric.error());
  double sum = 0;
  const int draws = o.hashed ? kDraws : 1;
  for (int i = 0; i < draws; ++i) {
    predict::Router router(*fabric, o.hashed ? predict::Routing::hashed : predict::Routing::adaptive,
                           static_cast<std::uint64_t>(i) + 1);
    const auto figures = s.op == Collective::all_to_all
                             ? predict::shift_traffic(*fabric, router, std::max(1U, s.gpus / kPatterns))
                             : predict::ring_traffic(*fabric, router, s.gpus, s.together);
    if (!figures) return tl::unexpected(figures.error());
    sum += std::min(1.0, figures->slowest_mean);
  }
  return sum / draws;
}

// A table: what one site measured in one set-up, whatever variants it has.
bool same_table(const CollectiveRow& a, const CollectiveRow& b) { return a.site == b.site && a.setup == b.setup; }

// The third, sixth, ... size of each table, with all its variants: the same size of another would tell it.
std::vector<bool> third_sizes(const std::vector<CollectiveRow>& rows) {
  std::vector<bool> out;
  for (const CollectiveRow& r : rows) {
    std::set<double> smaller;
    for (const CollectiveRow& o : rows) {
      if (same_table(o, r) && o.bytes < r.bytes) smaller.insert(o.bytes);
    }
    out.push_back(smaller.size() % 3 == 2);
  }
  return out;
}

// Each table by what all others teach.
report::Table without_tables(const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> kept;
  std::vector<std::optional<predict::CollectivePrediction>> all;
  std::vector<bool> done(rows.size(), false);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (done[i]) continue;
    std::vector<CollectiveRow> others;
    for (const CollectiveRow& r : rows) {
      if (!same_table(r, rows[i])) others.push_back(r);
    }
    const auto classes = predict::fit_collective_classes(others, gpu_models());
    const predict::Collectives model(others, classes, gpu_models(), shipped_collective_spread());
    for (std::size_t k = i; k < rows.size(); ++k) {
      if (!same_table(rows[k], rows[i])) continue;
      done[k] = true;
      kept.push_back(rows[k]);
      all.push_back(model.predict(rows[k]));
    }
  }
  return report::collective_accuracy(kept, all, kLeastBytes);
}

}  // namespace

int run_predict_collective(const PredictCollectiveOptions& o) {
  if (!o.batch.empty()) return run_batch(o);
  if (o.gpu.empty() || o.gpus == 0) return say_error({Code::bad_input, "on which GPUs?", "--gpu NAME --gpus N, or --batch FILE"});
  const auto chosen = chosen_gpu(o.gpu);
  if (!chosen) return say_error(chosen.error());
  const GpuModel* gpu = *chosen;
  CollectiveRow row;
  CollectiveSetup& s = row.setup;
  s.op = o.op;
  s.gpu = gpu->name;
  s.gpus = o.gpus;
  s.together = std::min(o.gpus, o.together > 0 ? o.together : gpu->domain);
  if (s.gpus % s.together != 0) {
    return say_error({Code::bad_input, fmt::format("{} GPUs are no whole NVLink domains of {}", s.gpus, s.together),
                      fmt::format("--gpus {}, or --together with a divisor", s.gpus / s.together * s.together)});
  }
  if (s.together < s.gpus) {
    s.network = o.network;
    s.nic_gb_s = o.nic_gb_s > 0 ? o.nic_gb_s : gpu->nic_gb_s;
  }
  if (o.in_network && s.network != "infiniband")
    return say_error({Code::bad_input,
                      fmt::format("--sharp is of InfiniBand's switches, which {} has not",
                                  s.network.empty() ? "one NVLink domain" : s.network),
                      "--network infiniband with GPUs of several domains, or no --sharp"});
  const auto share = fabric_share(o, s);
  if (!share) return say_error(share.error());
  const predict::Collectives model = shipped();
  const auto ways = predict::collective_ways(s, *gpu, *share, o.in_network);
  if (ways.empty())
    return say_error({Code::bad_input, "no way to exchange anything", "at least two GPUs with a network between them"});
  std::vector<double> sizes = {o.bytes};
  if (o.bytes == 0) {
    sizes.clear();
    for (double b = 1024; b <= 1.8e10; b *= 4) sizes.push_back(b);
  }
  std::vector<report::PredictedCollective> all;
  for (const double bytes : sizes) {
    row.bytes = bytes;
    const auto p = o.in_network || *share < 1 ? std::nullopt : model.predict(row);
    if (p && p->calibrated) {
      all.push_back({bytes, *p});
      if (!o.all) continue;
    }
    std::vector<report::PredictedCollective> by;
    double soonest = 0;
    for (const predict::CollectiveWay& way : ways) {
      by.push_back({bytes, model.by_way(way, s, bytes)});
      soonest = soonest == 0 ? by.back().prediction.s : std::min(soonest, by.back().prediction.s);
    }
    // What was measured of others like it moves all ways alike.
    if (p && !p->calibrated) {
      for (report::PredictedCollective& one : by) one.prediction = one.prediction.times(p->s / soonest);
    }
    std::stable_sort(by.begin(), by.end(), [](const auto& x, const auto& y) { return x.prediction.s < y.prediction.s; });
    if (!o.all) by.resize(1);
    all.insert(all.end(), by.begin(), by.end());
  }
  if (o.fabric) say(fmt::format("the switches let through {:.1f} % of the cards' rate", 100 * *share));
  return put_table(report::collective_table(all), o.format);
}

int run_calibrate_collectives(const CalibrateCollectivesOptions& o) {
  const auto rows = read_collective_folder(o.data);
  if (!rows) return say_error(rows.error());
  switch (o.part) {
    case CollectivePart::times: put(report::render_collectives(*rows)); break;
    case CollectivePart::classes:
      put(report::render_collective_classes(predict::fit_collective_classes(*rows, gpu_models())));
      break;
    case CollectivePart::spread: put(report::render_collective_spread(predict::collective_spread(*rows, gpu_models()))); break;
  }
  return finish_output();
}

int run_bench_collectives(const BenchCollectivesOptions& o) {
  const auto rows = read_collective_folder(o.data);
  if (!rows) return say_error(rows.error());
  if (o.hold == CollectiveHold::table) return put_table(without_tables(*rows), o.format);
  std::vector<CollectiveRow> taught, kept;
  const std::vector<bool> third = third_sizes(*rows);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const bool keep = o.hold == CollectiveHold::third ? third[i] : !predict::teaches((*rows)[i]);
    (keep ? kept : taught).push_back((*rows)[i]);
  }
  const auto classes = predict::fit_collective_classes(taught, gpu_models());
  const predict::Collectives model(taught, classes, gpu_models(), predict::collective_spread(taught, gpu_models()));
  std::vector<std::optional<predict::CollectivePrediction>> all;
  for (const CollectiveRow& r : kept) all.push_back(model.predict(r));
  return put_table(report::collective_accuracy(kept, all, kLeastBytes), o.format);
}

}  // namespace muster::cmd
