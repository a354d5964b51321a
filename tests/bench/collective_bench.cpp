// How fast a collective is predicted: 1 GiB all-reduced by 4,096 GPUs on a three-level fabric, in processor time. Cold: the
// fabric is built and routed, and its flows shared out; then again with what the fabric gives known. Ends with 1 when it is over
// what is promised: 100 ms and 1 ms.
#include <fmt/core.h>

#include <ctime>

#include "design/fabrics.h"
#include "ingest/collective_rows.h"
#include "ingest/hardware_file.h"
#include "predict/collectives.h"
#include "predict/traffic.h"

using namespace muster;

namespace {

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

int main() {
  bool held = true;
  for (const std::uint32_t gpus : {4096U, 40960U}) {
    const double began = cpu_s();
    const predict::Collectives model(shipped_collectives(), shipped_collective_classes(), gpu_models(),
                                     shipped_collective_spread());
    CollectiveRow row;
    row.setup = {Collective::all_reduce, "h100", gpus, 8, 50, "infiniband"};
    row.bytes = 1 << 30;
    const auto fabric = design::build_fabric({.kind = design::FabricKind::rail, .nodes = gpus / 8, .levels = 3});
    if (!fabric) {
      fmt::print("{}\n", fabric.error().what);
      return 1;
    }
    predict::Router router(*fabric, predict::Routing::hashed);
    const auto share = predict::ring_traffic(*fabric, router, gpus, 8);
    if (!share) return 1;
    const auto first = model.predict(row, share->slowest_mean);
    const double cold = cpu_s() - began;
    constexpr int kTimes = 1000;
    const double again = cpu_s();
    double sum = 0;
    for (int i = 0; i < kTimes; ++i) {
      row.bytes = (1 << 30) + i;
      sum += model.predict(row, share->slowest_mean)->s;
    }
    const double warm = (cpu_s() - again) / kTimes;
    if (!first || !(sum > 0)) return 1;
    fmt::print(
        "1 GiB all-reduce over {} GPUs, three levels: {:.2f} ms ({:.0f} % of the cards' rate); cold {:.1f} CPU-ms, "
        "cached {:.4f} CPU-ms\n",
        gpus, first->s * 1e3, 100 * share->slowest_mean, cold * 1e3, warm * 1e3);
    if (gpus == 4096) held = cold < 0.1 && warm < 1e-3;
  }
  fmt::print("{} - under 100 ms cold and 1 ms cached\n", held ? "ok" : "not ok");
  return held ? 0 : 1;
}
