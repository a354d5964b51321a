// The one HTTP server: HTTP/1.1 on a loopback TCP port, on a unix socket, or on both, for any HttpHandler.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "ports/http.h"

namespace muster::http {

// Every wait and every buffer is bounded, so that no client, slow, silent or hostile, can hold the server.
struct Limits {
  int header_ms = 5'000;    // from the first byte (or the connect) to the end of the header
  int body_ms = 10'000;     // from there to the end of the body
  int idle_ms = 60'000;     // between two requests of a connection
  int answer_ms = 120'000;  // for the handler
  int write_ms = 30'000;    // without the reader taking a byte
  std::size_t header_bytes = 16 << 10;
  std::size_t body_bytes = 1 << 20;          // of one request
  std::size_t bodies_bytes = 64 << 20;       // of all requests together
  std::size_t json_depth = 64;
  std::size_t connections = 4096;            // when full, the oldest half-open or idle one makes room
  std::size_t streams = 512;                 // open event streams
  std::size_t stream_queue_bytes = 1 << 20;  // of one reader: who lags further is cut off
};

struct Options {
  std::string address = "127.0.0.1";  // loopback only: there is no TLS
  int port = 7070;                    // 0: any free one; below 0: no TCP at all
  std::string unix_path;              // empty: no unix socket
  HttpHandler handler;                // called on the server's one thread: must return quickly
  Limits limits;
  bool anywhere = false;  // also other addresses: only for what anybody may read
};

class Server {
 public:
  // Listens when it returns. Fails with conflict where the port or the socket is somebody else's.
  static Result<std::unique_ptr<Server>> start(Options options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;                // as bound; -1 without TCP
  std::size_t connections() const; // open now, from any thread
  // Closes everything and joins the thread. Exchanges still held by a handler may be answered later, into the void.
  void stop();

  class Core;

 private:
  explicit Server(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace muster::http
