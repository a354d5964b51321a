// Tables of a sweep, and NCCL's table of what it reckons with, from anybody: sound values or an error that says where.
#include "base/text.h"
#include "check.h"
#include "ingest/nccl_log.h"
#include "ingest/nccl_sweep.h"
#include "ingest/nccl_tests.h"

namespace {

using namespace muster;
using fuzz::expect;

void sound(const TuneInput& in) {
  for (const SweepRun& r : in.runs) {
    expect(r.key.nodes >= 1 && r.key.ranks_per_node >= 1 && r.key.nvlink_domain >= 1, "a shape has ranks");
    expect(r.way.channels <= 64, "channels are as many as NCCL has");
    expect(printable(r.failure) == r.failure, "texts are printable");
    for (const auto& [bytes, us] : r.times) expect(bytes > 0 && us > 0, "sizes and times are above 0");
  }
  for (const NcclBelief& b : in.beliefs) expect(b.latency_us >= 0 && b.gb_s >= 0, "starts and rates are no less than none");
}

void sweep(std::string_view text) {
  looks_like_sweep(text);
  auto in = parse_sweep(text, "a.csv");
  if (!in) {
    expect(in.error().what.starts_with("a.csv"), "errors begin with the file");
    return;
  }
  expect(!in->runs.empty(), "without a run it is an error");
  sound(*in);
  number_runs(in->runs);
  std::size_t times = 0;
  for (const SweepRun& r : in->runs) times += r.times.size();
  expect(times_of(in->runs).size() == times, "no time is lost");
}

void log(std::string_view text) {
  const NcclLog log = parse_nccl_log(text, "a.log");
  sound(tune_input(log, {}));
  if (const auto tests = parse_nccl_tests(text, "a.log")) {
    TuneHint hint;
    hint.nodes = 2;
    hint.ranks_per_node = 4;
    sound(tune_input(*tests, log, hint));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'L') {
    log(text);
  } else {
    sweep(text);
  }
  return 0;
}
