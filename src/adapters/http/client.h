// HTTP requests to a server of ours (or an engine's), over TCP or a unix socket. Proxies from the environment are not used and
// redirects are not followed: a token goes to the address it was meant for and nowhere else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::http {

struct Request {
  std::string method = "GET";
  std::string url;          // "http://127.0.0.1:7070/api/v1/nodes"; with a unix socket the host is "localhost"
  std::string unix_socket;  // path; empty: TCP
  std::map<std::string, std::string> headers;
  std::string body;
  std::int64_t timeout_ms = 10'000;  // of the whole exchange; for a stream, of the connect only
  std::size_t answer_max = std::size_t{512} << 20;  // bytes; a larger one is an error
};

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// Once in a process, before its first request; every user of curl calls it.
void prepare_process();

// Any HTTP status is a Response; unreachable means that none came.
Result<Response> request(const Request& request);

struct ServerSentEvent {
  std::string id;    // last one seen
  std::string type;  // "message" where the server named none
  std::string data;
};

// Reads an event stream until the visitor returns false, the server ends it (both are success) or it breaks. A status other than
// 200 is returned as a Response with its body and no event visited. `silence_ms`: give up when nothing, not even a heartbeat,
// came for so long.
Result<Response> read_events(const Request& request, const std::function<bool(const ServerSentEvent&)>& visit,
                             std::int64_t silence_ms = 45'000);

// Percent-encodes everything but unreserved characters: for path pieces and query values.
std::string url_encode(std::string_view text);

}  // namespace muster::http
