// Tables of training runs, collectives and calibrations: what is taken from them can be computed with, what is not has file and
// line.
#include "check.h"
#include "ingest/calibration_file.h"
#include "ingest/collective_rows.h"
#include "ingest/launch_config.h"
#include "ingest/model_config.h"
#include "ingest/op_trace.h"
#include "ingest/timings_file.h"
#include "ingest/training_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto csv = parse_csv(text, "t.csv", false)) {
    const auto t = read_training_rows(*csv, "t.csv");
    if (!t) fuzz::expect_file_error(t.error(), "t.csv");
    if (t) {
      fuzz::expect(t->rows.size() + t->skipped.size() == csv->rows.size(), "each row is taken or skipped");
      for (const TrainingRow& r : t->rows) {
        const TrainingPlan& p = r.plan;
        fuzz::expect(std::uint64_t{p.tp} * p.cp * p.pp * p.dp == p.gpus && p.gpus > 0, "its parts are its GPUs");
        fuzz::expect(p.micro_batches() > 0 && r.model.layers > 0 && r.model.hidden > 0 && p.seq > 0, "there is work to do");
        fuzz::expect(r.step_s >= 0 && r.nic_gb_s > 0, "times and rates are not negative");
      }
    }
  }
  if (const auto csv = parse_csv(text, "t.csv", false)) {
    const auto t = read_collective_rows(*csv, "t.csv");
    if (!t) fuzz::expect_file_error(t.error(), "t.csv");
    if (t) {
      fuzz::expect(t->rows.size() + t->skipped.size() == csv->rows.size(), "each row is taken or skipped");
      for (const CollectiveRow& r : t->rows) {
        fuzz::expect(r.bytes > 0 && r.setup.gpus >= 2 && r.setup.together >= 1, "there is something to exchange");
        fuzz::expect(r.time_s >= 0 && r.setup.nic_gb_s >= 0, "times and rates are not negative");
      }
    }
  }
  if (const auto t = parse_op_trace(text, "t")) {
    for (const JobOp& o : t->ops)
      fuzz::expect(o.type < t->types.size() && o.dp < t->dp && o.stage < t->stages && o.length_s >= 0, "operations are in range");
  }
  if (const auto c = parse_launch_config(text, "t")) {
    fuzz::expect(c->tp >= 1 && c->cp >= 1 && !c->framework.empty(), "what is taken of a configuration can be planned with");
  } else {
    fuzz::expect(c.error().what.find("t") == 0, "an error names the file");
  }
  if (const auto c = parse_calibrations(text, "t.csv")) {
    for (const Calibration& one : *c) {
      for (const CalibrationField& f : calibration_fields()) {
        fuzz::expect(one.*f.value >= f.min && one.*f.value <= f.max, "parameters are within their ranges");
      }
    }
  } else {
    fuzz::expect_file_error(c.error(), "t.csv");
  }
  if (const auto m = parse_model_config(text, "t.csv")) {
    fuzz::expect(m->layers > 0 && m->heads > 0 && m->kv_heads > 0 && m->head_dim > 0 && m->params() > 0, "it is a model");
  }
  if (const auto timings = parse_timings(text, "t.csv")) {
    for (const Timing& t : *timings) {
      fuzz::expect(t.forward_s > 0 && t.backward_s >= 0, "times are above 0");
      fuzz::expect(t.kind != Timing::Kind::step || (t.model.heads > 0 && t.model.layers > 0 && t.plan.seq > 0), "it is a step");
    }
  } else {
    fuzz::expect_file_error(timings.error(), "t.csv");
  }
  return 0;
}
