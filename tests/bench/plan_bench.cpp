// How fast the search for a plan is: processor seconds, candidates, and so microseconds a candidate. Ends with 1 when it is over
// what is promised: a microsecond each, and a second for 175B on 1,024 GPUs with a million candidates.
#include <fmt/core.h>

#include <ctime>

#include "design/search.h"
#include "ingest/hardware_file.h"

using namespace muster;

namespace {

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The one that ships: by its paper and its GPU's data sheet.
design::SearchAsk gpt3(std::uint32_t gpus, std::uint32_t batch) {
  design::SearchAsk a;
  a.model = *find_transformer("gpt3-175b");
  a.gpu = *find_gpu_model("a100");
  a.network = {8, a.gpu.nic_gb_s};
  a.gpus = gpus;
  a.global_batch = batch;
  a.seq = 2048;
  return a;
}

}  // namespace

int main() {
  bool held = true;
  for (const auto& [gpus, batch] : {std::pair{1024U, 1536U}, {10240U, 15360U}}) {
    const design::SearchAsk ask = gpt3(gpus, batch);
    const double began = cpu_s();
    const auto found = design::search(ask);
    const double took = cpu_s() - began;
    if (!found) return 1;
    const double each_us = took / static_cast<double>(found->candidates) * 1e6;
    fmt::print("175B on {} GPUs, batch {}: {} candidates, {} fit, {:.3f} CPU-s, {:.3f} us each\n", gpus, batch, found->candidates,
               found->fit, took, each_us);
    if (gpus == 1024) held = each_us <= 1 && took < 1 && found->candidates >= 1'000'000;
  }
  fmt::print("{} - a microsecond a candidate, a second for a million of them\n", held ? "ok" : "not ok");
  return held ? 0 : 1;
}
