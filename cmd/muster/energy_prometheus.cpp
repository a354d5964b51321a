// Power and energy of a stretch from a Prometheus, in pieces of some hundred points a series.
#include <fmt/core.h>

#include "adapters/http/client.h"
#include "agent_token.h"
#include "base/text.h"
#include "energy_read.h"
#include "files.h"
#include "ingest/power_readings.h"

namespace muster::cmd {
namespace {

constexpr std::int64_t kPointsOfPiece = 480;  // of ten thousand GPUs that is a hundred megabytes or so
constexpr std::int64_t kPiecesMax = 20'000;

Result<std::string> token_of(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = read_file(file);
  if (!text) return text;
  return std::string(trim(*text));
}

Result<void> judge(const http::Response& answer, const std::string& url) {
  if (answer.status == 401 || answer.status == 403)
    return fail(Code::not_allowed, fmt::format("{} refuses: status {}", url, answer.status),
                "give it a token: --prometheus-token-file FILE");
  if (answer.status == 404)
    return fail(Code::not_found, fmt::format("{} has no /api/v1/query_range: status 404", url),
                "is this a Prometheus? behind a proxy its address may have a path, as in http://head/prometheus");
  if (answer.status != 200 && answer.status != 400 && answer.status != 422)
    return fail(Code::unreachable, fmt::format("{}: status {}: {}", url, answer.status, printable(error_in_answer(answer.body))));
  return {};
}

}  // namespace

Result<void> ask_prometheus(const EnergyOptions& o, Time from, Time to, const std::function<Result<void>(std::string&)>& take) {
  const auto token = token_of(o.prometheus_token_file);
  if (!token) return tl::unexpected(token.error());
  const Duration step = from_seconds(o.step_s), piece = step * kPointsOfPiece;
  if ((to - from).ns / piece.ns > kPiecesMax)
    return fail(Code::bad_input, fmt::format("{} to {} are too many points", render_utc(from), render_utc(to)),
                "a longer --step, a later --from");
  for (Time at = from; at <= to; at = at + piece + step) {
    http::Request q;
    q.method = "POST";
    q.url = o.prometheus + "/api/v1/query_range";
    q.headers["Content-Type"] = "application/x-www-form-urlencoded";
    if (!token->empty()) q.headers["Authorization"] = "Bearer " + *token;
    q.body =
        fmt::format("query={}&start={:.3f}&end={:.3f}&step={:.3f}", http::url_encode(power_query()),
                    static_cast<double>(at.ms()) / 1e3, static_cast<double>(std::min(to, at + piece).ms()) / 1e3, step.seconds());
    q.timeout_ms = 120'000;
    auto answer = http::request(q);
    if (!answer) return tl::unexpected(answer.error());
    if (auto ok = judge(*answer, o.prometheus); !ok) return ok;
    if (auto ok = take(answer->body); !ok) return ok;
  }
  return {};
}

}  // namespace muster::cmd
