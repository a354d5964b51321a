// What jobs say of themselves: all that is accepted is in range, and what is written of it is read as the same.
#include "check.h"
#include "ingest/job_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto in_range = [](const JobReport& r) {
    expect(r.step >= -1 && r.step <= kReportStepMax && r.saved_step >= -1 && r.saved_step <= kReportStepMax, "steps");
    expect(r.step_s <= kReportSecondsMax && r.saving_s <= kReportSecondsMax && r.step_s == r.step_s, "seconds");
    expect(r.job.size() <= kReportJobMax && r.attempt >= 0 && r.attempt <= UINT32_MAX, "who");
  };
  if (const auto r = parse_job_report(text)) {
    in_range(*r);
    expect(r->step < 0 || r->saved_step <= r->step, "nothing is saved that was not reached");
    auto again = parse_job_report("{" + render_job_report(*r) + "}");
    expect(again.has_value(), "what is written can be read");
    again->job = r->job;
    expect(*again == *r, "and is the same");
  }
  if (const auto r = parse_megatron_line(text)) {
    in_range(*r);
    expect(r->step >= 0 || r->saved_step >= 0 || r->saving_s >= 0, "a line says something");
  }
  return 0;
}
