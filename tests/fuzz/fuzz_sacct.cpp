// Records of jobs: what is read has a number and times that fit, pieces of any size say the same, and what is wrong has a line.
#include "base/text.h"
#include "check.h"
#include "ingest/gpu_activity.h"
#include "ingest/gres_text.h"
#include "ingest/sacct_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ZoneOffsets zone = {{Time{0}, 3600}, {Time{1'774'746'000'000'000'000}, 7200}, {Time{1'792'890'000'000'000'000}, 3600}};
  const auto whole = parse_sacct_file(text, "jobs", zone);
  if (!whole) {
    fuzz::expect(whole.error().what.substr(0, 5) == "jobs:" && !whole.error().next.empty(),
                 "an error names the file and what to do");
  } else {
    fuzz::expect(whole->counts.jobs == whole->jobs.size() && whole->counts.jobs <= whole->counts.rows, "jobs are rows");
    for (const JobRecord& j : whole->jobs) {
      fuzz::expect(j.id.number > 0 && j.line > 0 && j.id.array_members > 0, "jobs have numbers");
      fuzz::expect(j.started.ns >= -86'400'000'000'000 && j.ended.ns >= -86'400'000'000'000, "times are of this age");
      fuzz::expect(!j.gpus_milli || *j.gpus_milli >= 0, "GPUs are no fewer than none");
      fuzz::expect(!j.energy_j || *j.energy_j > 0, "energy is measured or not said");
    }
  }
  std::size_t jobs = 0;
  SacctReader pieces("jobs", zone, [&](const JobRecord&) { ++jobs; });
  bool fine = true;
  for (std::size_t at = 0; at < text.size() && fine; at += 7) fine = pieces.feed(text.substr(at, 7)).has_value();
  fine = fine && pieces.finish().has_value();
  fuzz::expect(fine == whole.has_value() && (!fine || jobs == whole->jobs.size()), "pieces say what the whole says");
  const GresGpus g = parse_gres(text);
  fuzz::expect(g.milli >= 0 && g.shards >= 0, "counts are counts");
  ActivityReader activity;
  if (activity.take(std::string(text), "DCGM_FI_PROF_SM_ACTIVE")) {
    for (const NodeActivity& a : activity.finish({}, 0.05)) {
      Time last{INT64_MIN};
      for (const ActivitySlice& s : a.slices) {
        fuzz::expect(s.from >= last && s.to >= s.from && s.idle_milli >= 0 && s.idle_milli <= s.measured_milli,
                     "slices are apart");
        last = s.to;
      }
    }
  }
  return 0;
}
