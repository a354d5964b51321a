// What a site's GPUs were measured to do, from a file or from its Prometheus.
#include <fmt/core.h>

#include <algorithm>

#include "account_files.h"
#include "adapters/http/client.h"
#include "agent_token.h"
#include "base/text.h"
#include "files.h"
#include "ingest/gpu_activity.h"
#include "ingest/prom_api.h"
#include "report/units.h"

namespace muster::cmd {
namespace {

constexpr std::int64_t kPointsOfPiece = 400;  // of ten thousand GPUs that is a hundred megabytes or so
constexpr std::int64_t kPiecesMax = 20'000;

Result<std::string> token_of(const AccountFiles& f) {
  if (f.prometheus_token_file.empty()) return std::string();
  if (crosses_network_in_clear(f.prometheus))
    return fail(Code::bad_input, "the token for Prometheus would cross the network in the clear",
                "use https://, or a tunnel to 127.0.0.1");
  auto text = read_file(f.prometheus_token_file);
  if (!text) return text;
  return std::string(trim(*text));
}

Result<std::string> ask(const AccountFiles& f, const std::string& token, const std::string& query, Time from, Time to,
                        Duration step) {
  http::Request q;
  q.method = "POST";
  q.url = f.prometheus + "/api/v1/query_range";
  q.headers["Content-Type"] = "application/x-www-form-urlencoded";
  if (!token.empty()) q.headers["Authorization"] = "Bearer " + token;
  q.body = fmt::format("query={}&start={:.3f}&end={:.3f}&step={:.3f}", http::url_encode(query),
                       static_cast<double>(from.ms()) / 1e3, static_cast<double>(to.ms()) / 1e3, step.seconds());
  q.timeout_ms = 120'000;
  auto answer = http::request(q);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status == 401 || answer->status == 403)
    return fail(Code::not_allowed, fmt::format("{} refuses: status {}", f.prometheus, answer->status),
                "give it a token: --prometheus-token-file FILE");
  if (answer->status == 404)
    return fail(Code::not_found, fmt::format("{} has no /api/v1/query_range: status 404", f.prometheus),
                "is this a Prometheus? behind a proxy its address may have a path, as in http://head/prometheus");
  if (answer->status != 200 && answer->status != 400 && answer->status != 422)
    return fail(Code::unreachable,
                fmt::format("{}: status {}: {}", f.prometheus, answer->status, printable(error_in_answer(answer->body))));
  return std::move(answer->body);
}

// The points of whole steps: each is of the step before it.
Result<void> ask_all(const AccountFiles& f, const std::string& token, std::string_view metric, Time from, Time to,
                     ActivityReader& reader) {
  const Duration step = from_seconds(f.step_s), piece = step * kPointsOfPiece;
  if ((to - from).ns / piece.ns > kPiecesMax)
    return fail(Code::bad_input, fmt::format("{} to {} are too many points", render_utc(from), render_utc(to)),
                "a longer --step, a later --from");
  for (Time at = from + step; at <= to; at = at + piece + step) {
    auto body = ask(f, token, activity_query(metric, step), at, std::min(to, at + piece), step);
    if (!body) return tl::unexpected(body.error());
    if (auto r = reader.take(std::move(*body), metric); !r)
      return fail(r.error().code, fmt::format("{}: {}", f.prometheus, r.error().what), r.error().next);
  }
  return {};
}

void note_counts(const ActivityCounts& c, AccountRead& out) {
  const auto many = [](std::uint64_t n) { return report::render_count(static_cast<std::int64_t>(n)); };
  if (c.blind > 0)
    out.notes.push_back(
        fmt::format("{} series are of slices of GPUs (MIG), of which DCGM_FI_DEV_GPU_UTIL sees nothing: left out. "
                    "DCGM_FI_PROF_GR_ENGINE_ACTIVE does see them.",
                    many(c.blind)));
  if (c.without_node > 0)
    out.notes.push_back(fmt::format("{} series do not say of which node they are (Hostname, instance).", many(c.without_node)));
  if (c.other > 0)
    out.notes.push_back(fmt::format("{} series are of other metrics than {}, and are not used.", many(c.other), c.metric));
  if (c.impossible > 0)
    out.notes.push_back(fmt::format("{} of GPUs' activity that cannot be (no number, below 0, beyond all): that time is unseen.",
                                    report::counted(static_cast<std::int64_t>(c.impossible), "reading")));
  if (c.refused > 0)
    out.notes.push_back(fmt::format("{} series have more than {} points and are left out: ask for shorter stretches.",
                                    many(c.refused), many(kPromPointsMax)));
}

}  // namespace

Result<void> read_activity(const AccountFiles& f, AccountRead& out) {
  ActivityReader reader;
  Duration step;
  if (!f.activity.empty()) {
    auto text = read_fabric_file(f.activity);  // it may be large, and zipped
    if (!text) return tl::unexpected(text.error());
    if (auto r = reader.take(std::move(*text), f.metric); !r)
      return fail(r.error().code, fmt::format("{}: {}", f.activity, r.error().what),
                  "save the whole answer of /api/v1/query_range");
  } else if (!f.prometheus.empty()) {
    const auto token = token_of(f);
    if (!token) return tl::unexpected(token.error());
    step = from_seconds(f.step_s);
    if (step < seconds(1)) return fail(Code::bad_input, "--step must be 1s or more");
    std::vector<std::string> metrics(std::begin(kActivityMetrics), std::end(kActivityMetrics));
    if (!f.metric.empty()) metrics = {f.metric};
    for (const std::string& m : metrics) {
      if (auto r = ask_all(f, *token, m, out.question.from, out.question.to, reader); !r) return r;
      if (reader.counts().series > reader.counts().blind) break;
    }
  } else {
    return {};
  }
  out.question.activity = reader.finish(step, account::kHeldIdleBelow);
  note_counts(reader.counts(), out);
  const std::string& metric = reader.counts().metric;
  if (!out.question.activity.empty())
    out.metric = metric.empty() ? (f.metric.empty() ? std::string("the metric asked for") : f.metric) : metric;
  if (out.question.activity.empty()) out.notes.emplace_back("No GPU's activity was found in what was asked for.");
  return {};
}

}  // namespace muster::cmd
