#include "client.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapters/http/client.h"
#include "adapters/state/state_dir.h"
#include "address.h"
#include "agent_token.h"
#include "base/text.h"
#include "ingest/json.h"
#include "report/units.h"
#include "secrets.h"

namespace muster::cmd {
namespace {

constexpr std::int64_t kTimeoutMs = 30'000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<std::string> read_token(const std::string& file) {
  if (file.empty()) return std::string(trim(variable("MUSTER_TOKEN")));
  std::FILE* f = std::fopen(file.c_str(), "re");
  if (!f) {
    return fail(Code::bad_input, fmt::format("cannot read the token file {}: {}", file, std::strerror(errno)),
                "the server keeps its token in the file `token` of its state directory");
  }
  char buffer[513] = {};
  const auto n = std::fread(buffer, 1, 512, f);
  std::fclose(f);
  const auto token = trim(std::string_view(buffer, n));
  if (token.empty() || token.find_first_of(" \t\r\n") != std::string_view::npos || !valid_utf8(token)) {
    return fail(Code::bad_input, fmt::format("{} holds no token", file), "it should be one word on one line");
  }
  return std::string(token);
}

Code code_named(std::string_view name, int status) {
  static constexpr std::pair<std::string_view, Code> kCodes[] = {
      {"internal", Code::internal},       {"bad_input", Code::bad_input},     {"not_found", Code::not_found},
      {"not_allowed", Code::not_allowed}, {"unreachable", Code::unreachable}, {"refused", Code::refused},
      {"conflict", Code::conflict},       {"corrupt", Code::corrupt}};
  for (const auto& [text, code] : kCodes) {
    if (text == name) return code;
  }
  switch (status) {
    case 400:
    case 413: return Code::bad_input;
    case 401:
    case 403: return Code::not_allowed;
    case 404: return Code::not_found;
    case 409: return Code::conflict;
    case 502:
    case 503:
    case 504: return Code::unreachable;
    default: return Code::internal;
  }
}

Error error_in(const http::Response& response) {
  const auto body = parse_json(response.body);
  const auto* error = body ? body->find("error") : nullptr;
  if (!error) {
    return {code_named("", response.status),
            fmt::format("the server answered with status {} and no reason", response.status),
            "is it a Muster server of this version?"};
  }
  Error e{code_named(report::text_of(*error, "code"), response.status), report::text_of(*error, "what"),
          report::text_of(*error, "next")};
  if (e.code == Code::not_allowed && e.next.empty()) {
    e.next = "run it as the user who started Muster, or give --token-file FILE";
  }
  return e;
}

// The socket is there and nobody listens: who made it has ended without a farewell.
bool is_left_behind(const std::string& socket) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket.size() >= sizeof to.sun_path) return false;
  socket.copy(to.sun_path, socket.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return refused;
}

Error nobody_there(const Error& why, const std::string& server, const std::string& socket) {
  const std::string where = server.empty() ? socket : server;
  const bool absent = server.empty() && ::access(socket.c_str(), F_OK) != 0 && errno == ENOENT;
  if (server.empty() && !absent && is_left_behind(socket)) {
    const std::string dir = socket.substr(0, socket.rfind('/'));
    return {Code::unreachable,
            fmt::format("nothing answers in the state directory {}: the Muster that worked there has ended", dir),
            fmt::format("start it again: `muster up ... --state {0}`, or `muster demo --state {0}`", dir)};
  }
  return {Code::unreachable,
          absent ? fmt::format("no Muster is running here: there is no {}", where)
                 : fmt::format("no Muster answers at {}: {}", where, why.what),
          "start one with `muster demo` (a simulated cluster) or `muster up`, or say where it is with --state DIR or "
          "--server URL"};
}

}  // namespace

Result<Client> Client::open(const Connection& connection) {
  Client c;
  c.at_ = connection.at;
  c.server_ = connection.server;
  if (c.server_.empty() && connection.state.empty()) c.server_ = variable("MUSTER_SERVER");
  while (c.server_.ends_with('/')) c.server_.pop_back();
  if (c.server_.empty()) {
    c.socket_ = state_path(connection.state) + "/muster.sock";
    return c;
  }
  if (!c.server_.starts_with("http://") && !c.server_.starts_with("https://")) {
    return fail(Code::bad_input, fmt::format("MUSTER_SERVER must be http://HOST:PORT, is \"{}\"", c.server_));
  }
  auto token = read_token(connection.token_file);
  if (!token) return tl::unexpected(token.error());
  c.token_ = std::move(*token);
  if (!c.token_.empty() && crosses_network_in_clear(c.server_)) {
    return fail(Code::not_allowed, fmt::format("a token would travel to {} in the clear", c.server_),
                "use https://, or forward the port: ssh -L 7070:127.0.0.1:7070 HOST");
  }
  return c;
}

Result<Value> Client::send(const std::string& method, const std::string& target, const std::string& body) const {
  http::Request request;
  request.method = method;
  request.url = (server_.empty() ? "http://localhost" : server_) + target;
  request.unix_socket = socket_;
  request.timeout_ms = kTimeoutMs;
  request.body = body;
  if (!body.empty()) request.headers["Content-Type"] = "application/json";
  if (!token_.empty()) request.headers["Authorization"] = "Bearer " + token_;
  const auto response = http::request(request);
  if (!response) {
    return tl::unexpected(response.error().code == Code::unreachable ? nobody_there(response.error(), server_, socket_)
                                                                     : response.error());
  }
  if (response->status < 200 || response->status > 299) return tl::unexpected(error_in(*response));
  auto value = parse_json(response->body);
  if (!value) {
    return fail(Code::internal, "the server's answer is not JSON: " + value.error().what,
                "is it a Muster server of this version?");
  }
  return value;
}

Result<Value> Client::get(const std::string& path, const Query& query) const {
  std::string target = path;
  char join = '?';
  for (const auto& [name, text] : query) {
    target += join + name + "=" + http::url_encode(text);
    join = '&';
  }
  if (!at_.empty()) target += join + ("at=" + http::url_encode(at_));
  return send("GET", target, "");
}

Result<Value> Client::post(const std::string& path, const std::string& body) const { return send("POST", path, body); }

std::optional<Time> Client::cluster_now() const {
  const auto summary = get("/api/v1/summary");
  return summary ? report::time_of(*summary, "now_utc") : std::nullopt;
}

std::string Client::page() const {
  return server_.empty() ? find_address(socket_.substr(0, socket_.rfind('/'))) : server_;
}

std::string piece(const std::string& text) { return "/" + http::url_encode(text); }

std::string new_command_id() { return "cli-" + random_hex(12); }

}  // namespace muster::cmd
