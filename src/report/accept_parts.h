// What the pages, texts and files about acceptance share: a recording with its verdict, its tests, figures and counters in rows,
// and the words and numbers as people read them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accept/judge.h"
#include "accept/limits.h"
#include "accept/metrics.h"
#include "model/acceptance.h"
#include "model/gpu_model.h"

namespace muster {
class JsonWriter;
}

namespace muster::report {

constexpr std::size_t kGpusShown = 64;    // of one node; a recording may claim any number
constexpr std::size_t kPercentileOf = 8;  // GPUs: among fewer a percentile says nothing
constexpr std::string_view kNothing = "Nothing was measured: the recording holds no test of any GPU.";

struct AcceptedNode {
  const Acceptance& recording;
  const accept::Judgement& judgement;
  const accept::Limits* fleet = nullptr;  // what its figures are held against; nullptr: nothing is known
  const GpuModel* sheet = nullptr;        // data sheet; nullptr: not known
};

// What became of one test on one GPU. No state: it never began, or nobody asked for it.
struct TestCell {
  bool asked = false;              // the suite says that it must run
  std::optional<TestState> state;  // of several rounds, the one that is furthest from "done"
  bool done_once = false;
  std::string why;
  std::size_t rounds = 0;
  bool repeated = false;                   // because the first turn was short of a limit
  double begun_s = 0, took_s = 0;          // the first beginning; all rounds together
  std::uint64_t wrong = 0;                 // results
  std::optional<accept::Verdict> trouble;  // the worst that was found in it
};
struct TestRow {
  AcceptTest test = AcceptTest::inventory;
  std::vector<TestCell> cells;  // one a GPU
};

struct FigureCell {
  double value = 0;
  std::optional<double> percentile;  // see accept/fleet.h
  std::optional<double> of_median, of_sheet;
};
struct FigureRow {
  std::string name;
  const accept::Metric* metric = nullptr;  // nullptr: recorded and never judged
  double median = 0;                       // of its kind in the fleet, of `count` GPUs; of the first GPU's where they differ
  std::size_t count = 0;
  std::vector<std::optional<FigureCell>> cells;  // one a GPU
};

struct CounterRow {
  std::string name;
  std::vector<const accepting::Counter*> cells;  // one a GPU; nullptr: not recorded
  bool grew = false;
};

// A recording in rows. GPUs in the order of their numbers; -1, last, stands for the node where something is of it as a whole.
struct AcceptRows {
  std::vector<std::int32_t> gpus;
  std::size_t gpus_left_out = 0;
  std::vector<TestRow> tests;      // those that were asked for or run
  std::vector<FigureRow> figures;  // in the order of accept::metrics(), then what is not in that table
  std::vector<CounterRow> counters;
};
AcceptRows rows_of(const AcceptedNode& node);

// The same trouble of several GPUs, told once.
struct TroubleGroup {
  accept::Trouble trouble;  // of the first of them; of figures that are short of the same limit, the worst
  std::vector<std::int32_t> gpus;            // empty: of the node
};
std::vector<TroubleGroup> grouped(const accept::Judgement& j);  // the worst first

bool is_empty(const Acceptance& a);  // it holds nothing to report on
double length_s(const Acceptance& a);
const accepting::Gpu* gpu_of(const Acceptance& a, std::int32_t gpu);
const accept::GpuVerdict* verdict_of(const accept::Judgement& j, std::int32_t gpu);
accept::Verdict worst_of(const accept::GpuVerdict& v);  // its own, or that of its troubles

// "FAIL gpu0001: GPU 3 (1650123): SM 17 computes wrongly; 1 more": one printable line that stands alone, in a scheduler's reason
// too.
std::string accept_sentence(const AcceptedNode& node);

// Share of the sorted `values`, in percent, that is not better, the equal ones by half; none among fewer than `least`.
std::optional<double> percentile_in(const std::vector<double>& values, double value, accept::Better better, std::size_t least);
// What the data sheet promises, in the metric's unit: "hbm" is GB/s, "bf16" TFLOP/s. 0: it does not say.
double sheet_figure(const GpuModel* sheet, std::string_view peak);

// "; limits are provisional", "; speed was not judged": what a verdict leaves open of how fast GPUs are; empty: nothing.
std::string speed_doubt(const accept::Judgement& j);

std::string node_name(const Acceptance& a);                           // as it is written in the recording: untrusted
std::string gpu_title(const Acceptance& a, std::int32_t gpu);         // "GPU 3 (1650123)", "the node": untrusted
std::string group_title(const Acceptance& a, const TroubleGroup& g);  // "GPU 3 (1650123)", "GPUs 0, 1, 2": untrusted
std::string_view test_words(AcceptTest t);
std::string state_words(const TestCell& c);        // "done", "did not run", "hung"
std::string_view mark_of(accept::Verdict v);       // beside the word, since colours are not seen by all
std::string counter_title(std::string_view name);  // of a name that is not known: the name
bool is_meter(std::string_view name);              // runs on under any load: that it grew says nothing
std::string figure_title(const FigureRow& r);
std::string_view unit_of(const FigureRow& r);

std::string figure_text(double v);                     // four digits: "4,693", "0.4617"
std::string percentile_text(double p);                 // "p43"
std::string share_text(double share);                  // "99.8 %"
std::string length_text(double seconds);               // "41 s", "9 min 50 s", "24.0 h"
std::string minute_of(Time t);                         // "2026-10-26 07:34 UTC"
std::string growth_text(const accepting::Counter& c);  // "12 to 15 (+3)", "not told"
bool grew(const accepting::Counter& c);
void trouble_json(JsonWriter& w, const accept::Trouble& t);

}  // namespace muster::report
