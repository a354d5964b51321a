#include "api/auth.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "api/routes.h"
#include "base/check.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::size_t kSessionsMax = 1024;
constexpr std::size_t kCodesMax = 64;

std::string header(const HttpRequest& r, const std::string& name) {
  const auto it = r.headers.find(name);
  return it == r.headers.end() ? std::string() : it->second;
}

// The time it takes says nothing about where two digests differ.
bool same(const Digest& a, const Digest& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

struct Host {
  std::string name;
  std::string port = "80";
};

Host parse_host(std::string_view text) {
  Host h;
  const auto colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos;
  h.name = lower(has_port ? text.substr(0, colon) : text);
  if (has_port) h.port = std::string(text.substr(colon + 1));
  return h;
}

// Cookies are shared by all ports of a host name: each muster has its own name for its own.
std::string cookie_name(const HttpRequest& r) {
  const std::string port = parse_host(header(r, "host")).port;
  return parse_uint(port) ? "muster_session_" + port : "muster_session";
}

std::string cookie_value(const HttpRequest& r) {
  const std::string cookies = header(r, "cookie"), want = cookie_name(r) + "=";
  for (const std::string_view piece : split(cookies, ';')) {
    const std::string_view one = trim(piece);
    if (one.starts_with(want)) return std::string(one.substr(want.size()));
  }
  return {};
}

bool loopback(const Peer& p) { return p.unix_socket || p.address.starts_with("127.") || p.address == "::1"; }

bool reads(const HttpRequest& r) { return r.method == "GET" || r.method == "HEAD"; }

}  // namespace

std::string new_token(const Random& random) {
  Digest bytes{};
  random(bytes);
  return "mstr_" + render_hex(bytes);
}

Auth::Auth(AuthConfig config) : config_(std::move(config)) { MUSTER_CHECK(config_.random && config_.steady); }

std::string Auth::secret() {
  Digest bytes{};
  config_.random(bytes);
  return render_hex(bytes);
}

void Auth::accept_token(std::string_view token, std::string name, Role role) {
  const std::lock_guard lock(mutex_);
  tokens_.push_back({sha256(token), std::move(name), role, kNever});
}

std::string Auth::new_login_code(Role role) {
  const std::string code = secret().substr(0, 32);
  const std::lock_guard lock(mutex_);
  drop_expired(codes_);
  if (codes_.size() >= kCodesMax) codes_.erase(codes_.begin());
  codes_.push_back({sha256(code), "", role, config_.steady() + config_.code_life});
  return code;
}

std::optional<std::string> Auth::redeem(const std::string& code, const HttpRequest& request) {
  const std::string session = secret();
  const std::lock_guard lock(mutex_);
  drop_expired(codes_);
  drop_expired(sessions_);
  const Grant* found = find(codes_, code);
  if (found == nullptr) return std::nullopt;
  const Role role = found->role;
  codes_.erase(codes_.begin() + (found - codes_.data()));
  if (sessions_.size() >= kSessionsMax) sessions_.erase(sessions_.begin());
  sessions_.push_back({sha256(session), "browser", role, config_.steady() + config_.session_life});
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict", cookie_name(request), session,
                     config_.session_life.ns / 1'000'000'000);
}

// Looks at all of them whichever fits.
const Auth::Grant* Auth::find(const std::vector<Grant>& grants, std::string_view secret) const {
  const Digest digest = sha256(secret);
  const Time now = config_.steady();
  const Grant* found = nullptr;
  for (const Grant& g : grants) {
    if (same(g.digest, digest) && now < g.expires) found = &g;
  }
  return found;
}

void Auth::drop_expired(std::vector<Grant>& grants) const {
  const Time now = config_.steady();
  std::erase_if(grants, [&](const Grant& g) { return g.expires <= now; });
}

std::optional<Denial> Auth::screen(const HttpRequest& r) const {
  if (r.peer.unix_socket) return std::nullopt;
  const std::string text = header(r, "host");
  const Host host = parse_host(text);
  if (std::find(config_.hosts.begin(), config_.hosts.end(), host.name) == config_.hosts.end()) {
    return Denial{403,
                  {Code::not_allowed, fmt::format("the Host '{}' is not one of ours", printable(text)),
                   "use http://127.0.0.1:PORT or http://localhost:PORT"}};
  }
  if (reads(r)) return std::nullopt;
  const std::string origin = header(r, "origin"), site = header(r, "sec-fetch-site");
  const bool foreign =
      (!origin.empty() && origin != "http://" + text) || (!site.empty() && site != "same-origin" && site != "none");
  if (foreign) {
    return Denial{403,
                  {Code::not_allowed, fmt::format("a page of another origin ('{}') may not act here", printable(origin)),
                   "act from our own page or from the command line"}};
  }
  return std::nullopt;
}

bool Auth::acts_from_own_page(const HttpRequest& r) const {
  return header(r, "x-muster") == "1" && header(r, "origin") == "http://" + header(r, "host");
}

Result<Identity> Auth::identify(const HttpRequest& r) {
  const std::string authorization = header(r, "authorization");
  const std::lock_guard lock(mutex_);
  if (!authorization.empty()) {
    constexpr std::string_view kBearer = "Bearer ";
    const bool bearer = authorization.starts_with(kBearer);
    const Grant* g = bearer ? find(tokens_, trim(std::string_view(authorization).substr(kBearer.size()))) : nullptr;
    if (g == nullptr) {
      return fail(Code::not_allowed, "the token is not one of ours",
                  "the state directory holds two: `token` for people, `agent-token` for agents and nothing else");
    }
    return Identity{g->name, g->role};
  }
  if (r.peer.unix_socket && r.peer.uid >= 0) {
    const std::string name = config_.user_name ? config_.user_name(r.peer.uid) : fmt::format("uid {}", r.peer.uid);
    return Identity{name, r.peer.uid == 0 || r.peer.uid == config_.server_uid ? Role::admin : Role::viewer};
  }
  const std::string cookie = cookie_value(r);
  if (!cookie.empty() && (reads(r) || acts_from_own_page(r))) {
    if (const Grant* g = find(sessions_, cookie)) return Identity{g->name, g->role};
  }
  if (loopback(r.peer)) return Identity{};
  return fail(Code::not_allowed, "reading from another machine needs a token", "send the header Authorization: Bearer TOKEN");
}

std::optional<Denial> Auth::require(const Identity& who, Role role) {
  // An agent's token is on every node: it hands in what the node says, and reads nothing.
  const bool may = who.role == Role::agent ? role == Role::agent : who.role >= role;
  if (may) return std::nullopt;
  if (who.name.empty()) {
    return Denial{401,
                  {Code::not_allowed, "acting needs a token, a login or the command line; reading does not",
                   "use the muster command as the user who runs the server, open the login link it printed, or send "
                   "Authorization: Bearer TOKEN with the token from the state directory"}};
  }
  return Denial{403,
                {Code::not_allowed, fmt::format("{} may not do this", printable(who.name)),
                 fmt::format("it needs the role {}", name_of(role))}};
}

}  // namespace muster::api
