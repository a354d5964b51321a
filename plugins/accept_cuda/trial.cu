// trial: no test of a GPU, but of choices in this code: where the checks of products run, how memory is read, which shapes keep a
// GPU busy, what other proposals of cuBLASLt would give. For whoever changes them, or meets a new kind of GPU; its figures are
// nobody's limits.
#include <algorithm>

#include "pipeline.cuh"
#include "random_load.cuh"
#include "tiles.cuh"

namespace muster_accept {
namespace {

constexpr double kStretch_s = 0.25;
constexpr int kRepeats = 9;

void tell_proposals(const Run& run, const Shape& shape, const char* what, const std::vector<Choice>& proposals) {
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    const std::string name = text("proposal_%s_%s_%zu", what, kNumberNames[static_cast<int>(shape.number)], i);
    run.measured(name, 1e-12 * shape.flop() / proposals[i].seconds);
    run.measured(name + "_id", proposals[i].id);
  }
}

// The speed of verified products as a share of unchecked ones, in turns.
void try_way(Run& run, Number number, Way way) {
  Pipeline p(run, number, way);
  p.prepare(mix(run.seed));
  const std::uint32_t products = p.products_in(kStretch_s / 4);
  Marks marks(run.gpu, 2 * 4 + 1);
  marks.put(p.stream());
  for (int turn = 0; turn < 4; ++turn) {
    for (std::uint32_t i = 0; i < products; ++i) p.verified();
    p.join();
    marks.put(p.stream());
    for (std::uint32_t i = 0; i < products; ++i) p.unchecked();
    marks.put(p.stream());
  }
  const Checked checked = p.collect();
  tell_wrong(run, number, checked);
  Total verified, unchecked;
  for (std::size_t m = 1; m < marks.size(); ++m) (m % 2 == 1 ? verified : unchecked).add(marks.between(m - 1, m));
  const std::string name =
      std::string("check_") + kNumberNames[static_cast<int>(number)] + "_" + kWayNames[static_cast<int>(way)];
  run.measured(name, unchecked.seconds() / verified.seconds());
  run.measured(name + "_mhz", verified.mhz());
}

template <int kThreads, int kLoads, bool kStreaming>
void try_reading(Run& run, const Memory<uint4>& memory, const Memory<std::uint32_t>& sink) {
  using T = Tile<kThreads, kLoads>;
  const std::size_t bytes = memory.size() * 16;
  const auto blocks = static_cast<std::uint32_t>(bytes / T::bytes);
  const Stream stream;
  const auto timed = [&](auto launch) {
    std::vector<double> rates;
    for (int i = 0; i < kRepeats; ++i) {
      const Event begin, end;
      begin.record(stream);
      launch();
      check_launch("a tile kernel");
      end.record(stream);
      end.wait(run);
      rates.push_back(1e-9 * static_cast<double>(bytes) / end.seconds_since(begin));
    }
    return median_of(rates);
  };
  const std::string name = text("_%dx%d%s", kThreads, kLoads, kStreaming ? "_streaming" : "");
  const double read =
      timed([&] { read_tiles<kThreads, kLoads, kStreaming><<<blocks, kThreads, 0, stream>>>(memory.data(), sink.data()); });
  run.measured("read" + name, read);
  if (kStreaming) return;
  run.measured("write" + name, timed([&] { write_tiles<kThreads, kLoads><<<blocks, kThreads, 0, stream>>>(memory.data(), 1u); }));
}

void try_memory(Run& run) {
  const Memory<uint4> memory((std::size_t{8} << 30) / 16);
  const Memory<std::uint32_t> sink(1);
  try_reading<256, 4, false>(run, memory, sink);
  try_reading<256, 4, true>(run, memory, sink);
  try_reading<256, 8, false>(run, memory, sink);
  try_reading<256, 8, true>(run, memory, sink);
  try_reading<512, 4, false>(run, memory, sink);
  try_reading<512, 4, true>(run, memory, sink);
  try_reading<1024, 4, false>(run, memory, sink);
  try_reading<128, 8, false>(run, memory, sink);
}

void try_shape(Run& run, const Shape& shape) {
  RandomLoad load(run, shape);
  load.prepare(mix(run.seed + 4));
  const auto products = static_cast<std::uint32_t>(std::max(1.0, 4 * kStretch_s / std::max(load.matmul().seconds(), 1e-5)));
  Marks marks(run.gpu, 2);
  marks.put(load.stream());
  for (std::uint32_t i = 0; i < products; ++i) load.product();
  marks.put(load.stream());
  marks.event(1).wait(run);
  const Stretch s = marks.between(0, 1);
  const std::string name =
      text("load_%s_%ux%ux%u", kNumberNames[static_cast<int>(shape.number)], shape.rows, shape.columns, shape.depth);
  run.measured(name, 1e-12 * shape.flop() * products / s.seconds);
  run.measured(name + "_mhz", s.mhz);
}

void try_proposals(Run& run, Number number) {
  Pipeline exact(run, number);
  exact.prepare(mix(run.seed));
  tell_proposals(run, exact.matmul().shape, "exact", exact.compared());
  if (number != Number::bf16 && number != Number::fp8) return;
  RandomLoad load(run, load_shape(run.gpu, number));
  load.prepare(mix(run.seed + 4));
  tell_proposals(run, load.matmul().shape, "random", load.compared());
}

}  // namespace

void run_trial(Run& run) {
  try_memory(run);
  for (int n = 0; n < kNumbers; ++n) try_proposals(run, static_cast<Number>(n));
  run.progress(0.2);
  for (int n = 0; n < kNumbers; ++n) {
    for (const Way way : {Way::behind, Way::beside, Way::serial}) try_way(run, static_cast<Number>(n), way);
    run.ask();
    run.progress(0.2 + 0.1 * (n + 1));
  }
  for (const Number n : {Number::bf16, Number::fp8}) {
    try_shape(run, load_shape(run.gpu, n));
    try_shape(run, {n, false, 8192, 8192, 8192});
    try_shape(run, {n, false, 8192, 8192, 16384});
    run.ask();
  }
}

}  // namespace muster_accept
