// The shape of an HTTP exchange, between whoever serves sockets (adapters/http) and whoever answers (api, the twin's server).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/value.h"

namespace muster {

// Who is on the other end, as far as the socket can tell.
struct Peer {
  bool unix_socket = false;
  std::int64_t uid = -1;   // of the peer process, on a unix socket
  std::string address;     // "127.0.0.1" on TCP
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // decoded, no query: "/api/v1/nodes"
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::optional<Value> json;  // the body, where it is JSON and well-formed
  std::string json_error;     // where it should be and is not
  Peer peer;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
  std::string body;
};

// An open event stream. Safe to use from any thread; a slow reader is cut off rather than waited for.
struct HttpStream {
  virtual ~HttpStream() = default;
  virtual bool send(std::string bytes) = 0;  // false: the reader is gone
  virtual std::size_t pending() const { return 0; }  // bytes sent but not yet taken by the reader
};

// Answers one request, from the server's thread. Exactly one of the two must be called, now or later, from any thread.
struct HttpExchange {
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  virtual void respond(HttpResponse response) = 0;
  virtual std::shared_ptr<HttpStream> stream(HttpResponse head) = 0;  // the body follows in pieces
};

using HttpHandler = std::function<void(std::shared_ptr<HttpExchange>)>;

}  // namespace muster
