#include "adapters/slurm/rest.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <fstream>

#include "adapters/http/client.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::int64_t kWithin_ms = 5'000;
constexpr std::size_t kAnswerMost = std::size_t{256}
                                    << 20U;  // 100,000 nodes take about 270 bytes of text each, ten times that as JSON
constexpr std::size_t kTokenMost = 64U << 10U;

std::string in_words(Time utc) {
  const time_t s = utc.ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&s, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool knows(const std::string& version) {
  return std::find(kRestVersions.begin(), kRestVersions.end(), version) != kRestVersions.end();
}

}  // namespace

Result<std::string> Rest::token() {
  struct stat s {};
  const std::string& path = settings_.token_file;
  const auto wrong = [&](const std::string& why) {
    return fail(Code::not_allowed, fmt::format("the token for slurmrestd cannot be read: {}: {}", printable(path), why),
                "scontrol token username=NAME lifespan=SECONDS prints one; the file holds what stands after SLURM_JWT=");
  };
  if (stat(path.c_str(), &s) != 0) return wrong(strerror(errno));
  const std::string seen = fmt::format("{} {} {}.{}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  if (seen == token_file_seen_) return token_;
  if (s.st_size > static_cast<off_t>(kTokenMost)) return wrong("it is too large for a token");
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return wrong("it cannot be opened");
  std::string_view word = trim(text);
  if (word.rfind("SLURM_JWT=", 0) == 0) word.remove_prefix(10);  // as scontrol prints it
  if (word.empty() || word.find_first_of(" \t\r\n") != std::string_view::npos) return wrong("it holds no single word");
  token_ = word;
  token_file_seen_ = seen;
  return token_;
}

// 22.05 says "Unspecified error" of every token it does not take: the token itself knows more.
Error Rest::explain(Error e) const {
  if (e.code != Code::not_allowed || settings_.token_file.empty()) {
    if (e.code == Code::not_allowed && e.next.empty())
      e.next = "give `rest` a token_file, or use the unix socket of a slurmrestd with rest_auth/local";
    return e;
  }
  const auto facts = parse_token(token_);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  e.next = fmt::format("put a new one into {}: scontrol token username={} lifespan=SECONDS", printable(settings_.token_file),
                       settings_.user.empty() ? "NAME" : printable(settings_.user));
  if (!facts) {
    e.what = fmt::format("slurmrestd does not take the token in {}: {}", printable(settings_.token_file), facts.error().what);
  } else if (facts->expires.ns > 0 && facts->expires.ns / 1'000'000'000 <= now.tv_sec) {
    e.what = fmt::format("the token in {} expired at {}", printable(settings_.token_file), in_words(facts->expires));
  } else if (!facts->user.empty() && !settings_.user.empty() && facts->user != settings_.user) {
    e.what = fmt::format("the token in {} is {}'s, and `rest.user` is {}", printable(settings_.token_file),
                         printable(facts->user), printable(settings_.user));
  } else {
    e.what = fmt::format("slurmrestd does not take the token in {} ({}): another cluster's, or signed with another key",
                         printable(settings_.token_file), e.what);
  }
  return e;
}

Result<std::string> Rest::get(const std::string& path, int* status) {
  http::Request r;
  r.timeout_ms = kWithin_ms;
  r.answer_max = kAnswerMost;
  const bool on_socket = settings_.url.rfind("unix:", 0) == 0;
  if (on_socket) r.unix_socket = settings_.url.substr(5);
  r.url = (on_socket ? "http://localhost" : settings_.url) + path;
  if (!settings_.token_file.empty()) {
    const auto word = token();
    if (!word) return tl::unexpected(word.error());
    const auto facts = parse_token(*word);
    const std::string user = !settings_.user.empty() ? settings_.user : facts ? facts->user : std::string();
    if (!user.empty()) r.headers["X-SLURM-USER-NAME"] = user;
    r.headers["X-SLURM-USER-TOKEN"] = *word;
  }
  auto answer = http::request(r);
  if (!answer) {
    Error e = answer.error();
    // Without what was asked for, which differs from call to call.
    if (const auto at = e.what.find(r.url); at != std::string::npos) e.what.replace(at, r.url.size(), settings_.url);
    e.what = on_socket ? fmt::format("slurmrestd does not answer at {}", printable(settings_.url)) : "slurmrestd: " + e.what;
    e.next = fmt::format("look whether slurmrestd runs and listens at {}", printable(settings_.url));
    return tl::unexpected(std::move(e));
  }
  *status = answer->status;
  return std::move(answer->body);
}

Result<std::vector<std::string>> Rest::versions() {
  int status = 0;
  auto body = get("/openapi/v3", &status);
  if (body && status == 404) body = get("/openapi", &status);
  if (!body) return tl::unexpected(body.error());
  if (status != 200) return tl::unexpected(explain(rest_error(status, *body)));
  return parse_rest_versions(*body);
}

Result<void> Rest::choose() {
  if (!version_.empty()) return {};
  if (!settings_.version.empty()) {
    version_ = settings_.version;
    return {};
  }
  const auto offered = versions();
  if (!offered) return tl::unexpected(offered.error());
  const auto known = std::find_if(offered->begin(), offered->end(), knows);
  if (known == offered->end()) {
    return fail(Code::not_found,
                fmt::format("slurmrestd offers no version that is read here: {}",
                            offered->empty() ? std::string("none") : printable(join(*offered, ", "))),
                fmt::format("start it with one of {}", join({kRestVersions.begin(), kRestVersions.end()}, ", ")));
  }
  version_ = *known;
  return {};
}

template <class Row, class Parse>
Result<std::vector<Row>> Rest::list(const char* what, Kept<Row>& kept, Parse parse) {
  if (const auto ok = choose(); !ok) return tl::unexpected(ok.error());
  std::string path = fmt::format("/slurm/{}/{}", version_, what);
  if (kept.updated.ns > 0) path += fmt::format("?update_time={}", kept.updated.ns / 1'000'000'000);
  int status = 0;
  const auto body = get(path, &status);
  if (body && status == 304 && kept.updated.ns > 0) return kept.rows;
  Error wrong;
  if (!body) {
    wrong = body.error();
  } else if (status != 200) {
    wrong = explain(rest_error(status, *body));
    // Another slurmrestd may answer by now: which versions it has is asked again.
    if (status == 404 && settings_.version.empty()) version_.clear();
  } else {
    RestMeta meta;
    auto rows = parse(*body, &meta);
    if (rows) {
      meta_ = meta;
      kept.rows = *rows;
      kept.updated = meta.updated;
      return rows;
    }
    wrong = explain(rows.error());
  }
  kept.updated = {};
  return tl::unexpected(std::move(wrong));
}

Result<std::vector<NodeRow>> Rest::nodes() { return list("nodes", nodes_, parse_nodes_json); }
Result<std::vector<ReservationRow>> Rest::reservations() { return list("reservations", reservations_, parse_reservations_json); }

Result<RestFacts> discover_rest(const RestSettings& settings) {
  Rest rest(settings);
  RestFacts out;
  out.url = settings.url;
  out.auth = !settings.token_file.empty() ? "token" : settings.url.rfind("unix:", 0) == 0 ? "unix socket" : "none";
  const auto offered = rest.versions();
  if (!offered && offered.error().code != Code::not_allowed) return tl::unexpected(offered.error());
  if (offered) out.offered = *offered;
  const auto nodes = rest.nodes();
  const auto reservations = nodes ? rest.reservations() : Result<std::vector<ReservationRow>>(std::vector<ReservationRow>());
  out.version = rest.version();
  out.slurm = rest.meta().slurm;
  out.warnings = rest.meta().warnings;
  out.nodes = nodes.has_value();
  out.reservations = nodes.has_value() && reservations.has_value();
  out.drains = out.nodes && out.version != "v0.0.38";
  if (!nodes || !reservations) {
    const Error& e = nodes ? reservations.error() : nodes.error();
    out.problem = e.what;
    out.next = e.next;
  }
  return out;
}

}  // namespace muster::slurm
