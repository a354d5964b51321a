// hbm: how fast memory is read, written and copied. Reading and writing apart, since a copy hides both behind the turning round
// of the memory's bus: it reaches nine points less of the data sheet.
#include <algorithm>

#include "tiles.cuh"

namespace muster_accept {
namespace {

constexpr int kThreads = 256, kLoads = 4;
using HbmTile = Tile<kThreads, kLoads>;
constexpr std::size_t kBytes = std::size_t{8} << 30, kLeastBytes = std::size_t{1} << 30;
constexpr int kRepeats = 9, kRoundsLeast = 3, kRoundsMost = 40;

// Of the free memory at most two fifths each, since another buffer is needed for the copy.
std::size_t buffer_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const std::size_t bytes = std::min(kBytes, free / 5 * 2) / kLeastBytes * kLeastBytes;
  if (bytes == 0) {
    throw CouldNotRun{text("the GPU is in use: %.1f of %.1f GiB are free, and 3 are needed",
                           static_cast<double>(free) / (1ull << 30), static_cast<double>(total) / (1ull << 30))};
  }
  return bytes;
}

template <class Launch>
double gb_s(const Run& run, cudaStream_t stream, double bytes, Launch launch) {
  std::vector<Event> marks;
  marks.reserve(kRepeats + 1);
  marks.emplace_back();
  marks.back().record(stream);
  for (int i = 0; i < kRepeats; ++i) {
    launch();
    marks.emplace_back();
    marks.back().record(stream);
  }
  marks.back().wait(run);
  std::vector<double> rates;
  for (std::size_t i = 1; i < marks.size(); ++i) rates.push_back(1e-9 * bytes / marks[i].seconds_since(marks[i - 1]));
  return median_of(rates);
}

}  // namespace

void run_hbm(Run& run) {
  const std::size_t bytes = buffer_bytes();
  const Memory<uint4> first(bytes / 16), second(bytes / 16);
  const Memory<std::uint32_t> sink(1);
  const Stream stream;
  const auto blocks = static_cast<std::uint32_t>(bytes / HbmTile::bytes);
  const auto size = static_cast<double>(bytes);
  const auto write = [&] {
    write_tiles<kThreads, kLoads><<<blocks, kThreads, 0, stream>>>(first.data(), static_cast<std::uint32_t>(run.seed));
    check_launch("writing memory");
  };
  const auto read = [&] {
    read_tiles<kThreads, kLoads, false><<<blocks, kThreads, 0, stream>>>(first.data(), sink.data());
    check_launch("reading memory");
  };
  const auto copy = [&] {
    check(cudaMemcpyAsync(second.data(), first.data(), bytes, cudaMemcpyDeviceToDevice, stream), "copying memory");
  };
  write(), read(), copy();  // not measured: kernels are loaded, pages touched
  wait_for(run, stream);
  for (int round = 0; round < kRoundsMost && (round < kRoundsLeast || run.time_left()); ++round) {
    run.measured("hbm_write", gb_s(run, stream, size, write));
    run.measured("hbm_read", gb_s(run, stream, size, read));
    run.measured("hbm_copy", gb_s(run, stream, 2 * size, copy));
    run.progress(run.seconds > 0 ? (now_s() - run.begun_s) / run.seconds : (round + 1.0) / kRoundsLeast);
    run.ask();
  }
}

}  // namespace muster_accept
