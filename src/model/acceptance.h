// Acceptance: what was measured on the GPUs of a node to say whether they are as they should be. A recording is a list of rows,
// in the order in which they became known; it is judged, reported and compared without any GPU.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/fields.h"

namespace muster {

enum class AcceptProfile : std::uint8_t { quick, accept, burn };
constexpr std::array<std::string_view, 3> names(AcceptProfile) { return {"quick", "accept", "burn"}; }

// In the order in which they run: cheap and decisive first, performance before heat, and what heat may bring out again at the
// end.
enum class AcceptTest : std::uint8_t {
  inventory,  // who the GPU is, and whether it is all there
  link,       // to the host: copies, their latency, launches
  sweep,      // six units of every SM, each result compared: names the SM
  hbm,        // memory read, written and copied
  march,      // every byte of memory written and verified, seven patterns
  gemm_bf16,  // exact products, every result verified
  gemm_fp16,
  gemm_fp8,
  gemm_tf32,
  gemm_int8,
  sustained,  // products of random data until heat and clock are steady
  pulse,      // a tenth of a second of load, and one of none, again and again
  sweep_hot,
  march_hot,
  peers,     // copies between the node's GPUs
  nccl,      // an all-reduce over them
  counters,  // what grew meanwhile: ECC, remapped rows, PCIe, and what the kernel said
};
constexpr std::array<std::string_view, 17> names(AcceptTest) {
  return {"inventory", "link",      "sweep", "hbm",       "march",     "gemm_bf16", "gemm_fp16", "gemm_fp8", "gemm_tf32",
          "gemm_int8", "sustained", "pulse", "sweep_hot", "march_hot", "peers",     "nccl",      "counters"};
}
constexpr std::size_t kAcceptTests = names(AcceptTest{}).size();

enum class TestState : std::uint8_t {
  done,
  could_not_run,   // why is said
  stopped,         // by a person
  hung,            // it did not come back in time, and was ended
  not_applicable,  // one GPU has no peers
};
constexpr std::array<std::string_view, 5> names(TestState) {
  return {"done", "could_not_run", "stopped", "hung", "not_applicable"};
}

namespace accepting {

// Which tests, in which version: what was measured by different suites is never compared.
struct Suite {
  std::string version;  // of the tests: kernels, shapes, data
  std::string hash;     // of all that the plan asks for
  AcceptProfile profile = AcceptProfile::quick;
  std::string muster;
  std::uint64_t seed = 1;
  std::vector<AcceptTest> tests;  // that must run
  std::uint32_t gpus = 0;         // that the node must have; 0: nobody said
};

struct Host {
  std::string name;
  Time begun;                                // utc
  std::string kernel, driver, cuda, cublas;  // versions; empty: not known
  std::string cooling;                       // "air", "liquid"; empty: nobody said
};

// -1: not known, in all numbers.
struct Gpu {
  std::int32_t gpu = 0;  // its number on the node
  std::string uuid, serial, model, pci, vbios, part;
  double sms = -1;
  double memory_mib = -1;
  double power_limit_w = -1, power_default_w = -1;
  double link_gen_max = -1, link_width_max = -1;
};

struct Ran {
  std::int32_t gpu = 0;
  AcceptTest test = AcceptTest::inventory;
  std::uint32_t turn = 0;  // 0: the first time; 1: again, since the first was short of a limit
  TestState state = TestState::done;
  std::string why;
  double begun_s = 0, took_s = 0;  // from the beginning of the recording
};

// A figure of a test; several of the same name are repetitions.
struct Measured {
  std::int32_t gpu = 0;
  AcceptTest test = AcceptTest::inventory;
  std::uint32_t turn = 0;
  std::string metric;  // "hbm_read"; what it means is in accept/metrics.h
  double value = 0;
  // Of a rate that was held over a stretch of time; 0 and -1: it was not.
  double begun_s = 0, took_s = 0;
  double mhz = -1;  // of the SMs, on the mean of the stretch
};

// A result that is not what it must be.
struct Wrong {
  std::int32_t gpu = 0;
  AcceptTest test = AcceptTest::inventory;
  std::uint32_t turn = 0;
  std::string place;  // "SM 17", "address 0x1f00000040", "row 8191"
  std::uint64_t count = 1;
  std::string detail;
};

// A counter of the driver, before the first test and after the last.
struct Counter {
  std::int32_t gpu = 0;
  std::string name;                // "ecc_uncorrected"
  double before = -1, after = -1;  // -1: this GPU does not tell
};

struct Reading {
  std::int32_t gpu = 0;
  double at_s = 0;
  double power_w = -1, mhz = -1, gpu_c = -1, memory_c = -1;
  std::uint64_t reasons = 0;  // why the clock is below its highest, as NVML says it
};

// A record of the kernel's log since the beginning that a fault catalogue knows.
struct KernelWord {
  std::int32_t gpu = -1;  // -1: of none of them
  std::int32_t code = 0;  // of an Xid; 0: it is none
  double at_s = 0;
  std::string text;
};

struct End {
  double at_s = 0;
  bool stopped = false;        // by a person
  std::uint32_t left = 0;      // processes that could not be ended
  double memory_left_mib = 0;  // on all GPUs together, beyond what was there before
};

using Row = std::variant<Suite, Host, Gpu, Ran, Measured, Wrong, Counter, Reading, KernelWord, End>;
// What each is called in a file, in the order of Row.
constexpr std::array<std::string_view, 10> kRowNames = {"suite", "host",    "gpu",     "ran",    "measured",
                                                        "wrong", "counter", "reading", "kernel", "end"};

template <class V>
void fields(V& v, Suite& r) {
  v("version", r.version);
  v("hash", r.hash);
  v("profile", r.profile);
  v("muster", r.muster);
  v("seed", r.seed);
  v("tests", r.tests);
  v("gpus", r.gpus);
}
template <class V>
void fields(V& v, Host& r) {
  v("name", r.name);
  v("begun", r.begun);
  v("kernel", r.kernel);
  v("driver", r.driver);
  v("cuda", r.cuda);
  v("cublas", r.cublas);
  v("cooling", r.cooling);
}
template <class V>
void fields(V& v, Gpu& r) {
  v("gpu", r.gpu);
  v("uuid", r.uuid);
  v("serial", r.serial);
  v("model", r.model);
  v("pci", r.pci);
  v("vbios", r.vbios);
  v("part", r.part);
  v("sms", r.sms);
  v("memory_mib", r.memory_mib);
  v("power_limit_w", r.power_limit_w);
  v("power_default_w", r.power_default_w);
  v("link_gen_max", r.link_gen_max);
  v("link_width_max", r.link_width_max);
}
template <class V>
void fields(V& v, Ran& r) {
  v("gpu", r.gpu);
  v("test", r.test);
  v("turn", r.turn);
  v("state", r.state);
  v("why", r.why);
  v("begun_s", r.begun_s);
  v("took_s", r.took_s);
}
template <class V>
void fields(V& v, Measured& r) {
  v("gpu", r.gpu);
  v("test", r.test);
  v("turn", r.turn);
  v("metric", r.metric);
  v("value", r.value);
  v("begun_s", r.begun_s);
  v("took_s", r.took_s);
  v("mhz", r.mhz);
}
template <class V>
void fields(V& v, Wrong& r) {
  v("gpu", r.gpu);
  v("test", r.test);
  v("turn", r.turn);
  v("place", r.place);
  v("count", r.count);
  v("detail", r.detail);
}
template <class V>
void fields(V& v, Counter& r) {
  v("gpu", r.gpu);
  v("name", r.name);
  v("before", r.before);
  v("after", r.after);
}
template <class V>
void fields(V& v, Reading& r) {
  v("gpu", r.gpu);
  v("at_s", r.at_s);
  v("power_w", r.power_w);
  v("mhz", r.mhz);
  v("gpu_c", r.gpu_c);
  v("memory_c", r.memory_c);
  v("reasons", r.reasons);
}
template <class V>
void fields(V& v, KernelWord& r) {
  v("gpu", r.gpu);
  v("code", r.code);
  v("at_s", r.at_s);
  v("text", r.text);
}
template <class V>
void fields(V& v, End& r) {
  v("at_s", r.at_s);
  v("stopped", r.stopped);
  v("left", r.left);
  v("memory_left_mib", r.memory_left_mib);
}

}  // namespace accepting

// What healthy GPUs of a model gave where somebody measured some: used while a site has too few of its own to know better.
struct AcceptReference {
  std::string model;       // as the driver calls it, "NVIDIA H200"
  std::string part;        // number of the board; empty: of any
  std::string algorithms;  // that products were computed by, see accept/figures.h; empty: whichever
  std::string metric;
  double median = 0;
  double sigma = 0;  // as a share of the median
  std::uint32_t cards = 0;
  std::string source;
};

// One run of the tests on one node, as far as it came.
struct Acceptance {
  std::string file;  // it was read from; untrusted
  accepting::Suite suite;
  accepting::Host host;
  std::vector<accepting::Gpu> gpus;
  std::vector<accepting::Ran> ran;
  std::vector<accepting::Measured> measured;
  std::vector<accepting::Wrong> wrong;
  std::vector<accepting::Counter> counters;
  std::vector<accepting::Reading> readings;
  std::vector<accepting::KernelWord> kernel;
  std::vector<accepting::End> end;  // one, or none: it was cut off

  void add(accepting::Row row);
};

}  // namespace muster
