// Logs of training frameworks and their configurations: what is kept is bounded, printable and can be computed with, pieces of
// any size give the same, and errors name the file.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/comm_settings.h"
#include "ingest/run_config.h"
#include "ingest/step_log.h"
#include "ingest/toml.h"

namespace {

using namespace muster;
using fuzz::expect;

void expect_settings(const CommSettings& s) {
  for (const auto* t :
       {&s.framework, &s.backward_prefetch, &s.offload_optimizer, &s.offload_param, &s.comm_dtype, &s.moe_dispatcher})
    expect(t->size() <= 64 && printable(*t) == *t, "words of settings are short and printable");
}

void expect_config(const RunConfig& c) {
  expect_settings(c.settings);
  if (c.model) expect(c.model->layers > 0 && c.model->heads > 0 && c.model->params() > 0, "it is a model");
  if (!c.launch) return;
  expect(c.launch->tp >= 1 && c.launch->cp >= 1 && c.launch->pp >= 1, "there are ranks");
  const auto p = plan_of(*c.launch, 64, 2048, 8);
  if (!p) return;
  expect(std::uint64_t{p->tp} * p->cp * p->pp * p->dp == p->gpus && p->gpus > 0, "its parts are its GPUs");
  expect(p->micro_batches() >= 1 && p->seq > 0 && p->pieces() >= 1, "there is work to do");
}

void expect_log(const StepLog& log) {
  expect(log.steps.size() <= kStepsMax && log.timers.size() <= kStepTimersMax && log.marks.size() <= kStepMarksMax,
         "lists are bounded");
  expect(log.arguments.size() <= kStepSettingsMax && log.engine.size() <= kStepSettingsMax, "settings are bounded");
  for (const StepSample& s : log.steps) {
    expect(std::isfinite(s.time_s) && s.time_s >= 0 && std::isfinite(s.at_s) && s.tflops >= 0 && s.mfu_pct >= 0,
           "times are times");
    expect(s.line >= 1 && s.line <= log.lines, "the line is one of the text");
  }
  for (const PhaseTimer& t : log.timers) {
    expect(t.times > 0 && t.min_ms >= -1e-6 && t.max_ms >= t.min_ms - 1e-3,
           "a timer has been printed, and its fastest is not its slowest");
    expect(printable(t.name) == t.name && !t.name.empty(), "names are printable");
  }
  for (const auto* all : {&log.arguments, &log.engine}) {
    for (const auto& [name, value] : *all)
      expect(value.size() <= 8 * kStepTextMax && printable(value) == value, "values are printable");
  }
  for (const auto* t : {&log.gpu_name, &log.model, &log.framework}) expect(printable(*t) == *t, "texts are printable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_step_log(text);
  const StepLog log = parse_step_log(text);
  expect_log(log);
  StepLogReader reader;
  const std::size_t each = 1 + size % 13;
  for (std::size_t i = 0; i < size; i += each) reader.feed(text.substr(i, each));
  const StepLog pieces = reader.finish();
  expect(pieces.steps.size() == log.steps.size() && pieces.lines == log.lines && pieces.arguments == log.arguments &&
             pieces.timers.size() == log.timers.size(),
         "pieces give the same");
  expect_config(run_config_of(log));
  for (const char* file : {"t", "t.toml"}) {
    if (const auto c = parse_run_config(text, file)) {
      expect_config(*c);
    } else {
      expect(c.error().what.find("t") == 0, "an error names the file");
    }
  }
  if (const auto v = parse_toml(text, "t.toml")) {
    fuzz::expect_tree(*v, static_cast<int>(kTomlDepthMax) + 2, static_cast<int>(size) + 1);
  } else {
    fuzz::expect_file_error(v.error(), "t.toml");
  }
  return 0;
}
