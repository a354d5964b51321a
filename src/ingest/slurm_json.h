// What slurmrestd answers: v0.0.38 of Slurm 22.05 and v0.0.40 to v0.0.45 of 23.11 to 26.05, read into the same rows as the tools'
// text. Between them numbers became {set, infinite, number} and states became lists; each is read in both forms.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/slurm_text.h"

namespace muster::slurm {

// Newest first. v0.0.39 (23.02) is left out: nobody has tried it.
constexpr std::array<std::string_view, 7> kRestVersions = {"v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42",
                                                           "v0.0.41", "v0.0.40", "v0.0.38"};

// What comes with every answer. Errors in it are the answer's own: not_allowed (the token), unreachable (slurmctld is silent), or
// refused.
struct RestMeta {
  std::string slurm;                  // release of slurmrestd: "24.11.5"
  std::vector<std::string> warnings;  // 24.11 and later: something in the request was not understood and left out
  Time updated;                       // by slurmctld's clock: when what is listed last changed; 0: not told
};

Result<std::vector<NodeRow>> parse_nodes_json(std::string_view text, RestMeta* meta = nullptr);
Result<std::vector<JobRow>> parse_jobs_json(std::string_view text, RestMeta* meta = nullptr);
Result<std::vector<PartitionRow>> parse_partitions_json(std::string_view text, RestMeta* meta = nullptr);
Result<std::vector<ReservationRow>> parse_reservations_json(std::string_view text, RestMeta* meta = nullptr);

struct PingRow {
  std::string host;
  bool up = false;
};
Result<std::vector<PingRow>> parse_ping_json(std::string_view text, RestMeta* meta = nullptr);

struct DiagRow {
  std::uint64_t jobs_pending = 0;
  std::uint64_t jobs_running = 0;
  std::uint64_t server_threads = 0;
};
Result<DiagRow> parse_diag_json(std::string_view text, RestMeta* meta = nullptr);

// GET /openapi/v3: versions that it has GET .../nodes/ for, as "v0.0.42", newest first.
Result<std::vector<std::string>> parse_rest_versions(std::string_view text);
// The errors of an answer that has no HTTP status 200; what the status alone says where the body has none.
Error rest_error(int status, std::string_view body);

// What a token says of itself, without proof. An error: it is no JWT.
struct TokenFacts {
  std::string user;  // `sun`, or `username`; empty: not told
  Time expires;      // utc; 0: not told
};
Result<TokenFacts> parse_token(std::string_view token);

}  // namespace muster::slurm
