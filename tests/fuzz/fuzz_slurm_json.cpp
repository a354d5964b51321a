// slurmrestd's answers: what is accepted has names and states, within bounds, and only JSON is accepted.
#include "check.h"
#include "ingest/json.h"
#include "ingest/slurm_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using namespace muster::slurm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::int64_t kLatest_ns = 9'000'000'000'000'000'000;
  if (const auto nodes = parse_nodes_json(text)) {
    fuzz::expect(nodes->empty() || text.find('{') != std::string_view::npos, "only JSON");
    for (const NodeRow& n : *nodes) {
      fuzz::expect(!n.name.empty() && !n.state.empty(), "a node has a name and a state");
      fuzz::expect(n.reason_at.ns >= 0 && n.reason_at.ns <= kLatest_ns && n.booted.ns >= 0, "times are times");
    }
  }
  if (const auto jobs = parse_jobs_json(text)) {
    for (const JobRow& j : *jobs) {
      fuzz::expect(j.id.number > 0 && !j.state.empty(), "a job has a number and a state");
      fuzz::expect(j.time_limit_s >= 0, "a limit is none or a time");
    }
  }
  if (const auto rows = parse_reservations_json(text)) {
    for (const ReservationRow& r : *rows) fuzz::expect(!r.name.empty() && r.from.ns >= 0, "a reservation has a name");
  }
  if (const auto rows = parse_partitions_json(text)) {
    for (const PartitionRow& p : *rows) fuzz::expect(!p.name.empty(), "a partition has a name");
  }
  if (const auto rows = parse_ping_json(text)) {
    for (const PingRow& p : *rows) fuzz::expect(!p.host.empty(), "a controller has a host");
  }
  (void)parse_diag_json(text);
  if (const auto versions = parse_rest_versions(text)) {
    for (std::size_t i = 1; i < versions->size(); ++i) fuzz::expect((*versions)[i - 1] != (*versions)[i], "each once");
  }
  fuzz::expect(!rest_error(500, text).what.empty(), "an error has words");
  if (const auto token = parse_token(text)) fuzz::expect(token->expires.ns >= 0 && token->expires.ns <= kLatest_ns, "a time");
  return 0;
}
