// Who may do what. Reading on this machine is open; acting needs a token, a session cookie got with a one-time code, or the right
// user on the unix socket. Against pages of other origins: only known Host names are answered, a request that acts must come from
// our own origin, and a cookie acts only together with a header that a form cannot send.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "ports/http.h"
#include "ports/tool.h"

namespace muster::api {

// "mstr_" and 64 hex digits from 256 random bits; the prefix lets secret scanners find a leaked one.
using Random = std::function<void(std::span<std::uint8_t>)>;
std::string new_token(const Random& random);

struct AuthConfig {
  Random random;                                        // cryptographic
  std::function<Time()> steady;                         // for expiry
  std::int64_t server_uid = -1;                         // this uid and root may do everything over the unix socket
  std::function<std::string(std::int64_t)> user_name;   // of a uid, for the audit; may be empty
  // Any port: people reach it through `ssh -L`. A rebound DNS name is stopped by the name alone.
  std::vector<std::string> hosts = {"127.0.0.1", "localhost", "[::1]"};
  Duration session_life = hours(12);
  Duration code_life = minutes(15);
};

struct Identity {
  std::string name;  // for the audit: "root", "token", "browser"; empty: nobody in particular
  Role role = Role::viewer;
};

struct Denial {
  int status = 403;
  Error error;
};

// Safe to use from any thread.
class Auth {
 public:
  explicit Auth(AuthConfig config);

  // Only its hash is kept.
  void accept_token(std::string_view token, std::string name, Role role);
  // For /login?code=...; works once, within code_life.
  std::string new_login_code(Role role);
  // The Set-Cookie value of a new session, or nothing where the code is unknown, used or too old.
  std::optional<std::string> redeem(const std::string& code, const HttpRequest& request);

  // Whether the request may be looked at at all: Host and, for what is not a read, Origin.
  std::optional<Denial> screen(const HttpRequest& request) const;
  // Who asks. A wrong token is an error even where none was needed.
  Result<Identity> identify(const HttpRequest& request);
  // Whether that is enough.
  static std::optional<Denial> require(const Identity& who, Role role);

 private:
  struct Grant {
    Digest digest{};
    std::string name;
    Role role = Role::viewer;
    Time expires;
  };
  std::string secret();
  const Grant* find(const std::vector<Grant>& grants, std::string_view secret) const;
  void drop_expired(std::vector<Grant>& grants) const;
  bool acts_from_own_page(const HttpRequest& request) const;

  AuthConfig config_;
  mutable std::mutex mutex_;
  std::vector<Grant> tokens_, codes_, sessions_;
};

}  // namespace muster::api
