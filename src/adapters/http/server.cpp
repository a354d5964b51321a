// Boost.Beast parses, Boost.Asio waits; one thread does both. All deadlines are looked at by one sweep of all connections instead
// of a timer each: a few thousand connections are looked through in microseconds.
#include <utility>  // before Asio: g++ 12 needs std::exchange there

#include "adapters/http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <thread>

#include "adapters/http/target.h"
#include "base/check.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kFilesKept = 256;      // descriptors left for everything that is not a connection
constexpr std::size_t kCoalesceBytes = 64 << 10;
constexpr auto kSweep = std::chrono::milliseconds(200);
constexpr int kLingerMs = 1'000;

std::string_view phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return status < 400 ? "OK" : "Error";
  }
}

// A header value can never start another header, whatever is put into it.
std::string one_line(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c == '\r' || c == '\n' || c == '\0') c = ' ';
  }
  return out;
}

std::string render_head(const HttpResponse& r, bool keep_alive, std::string_view framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", r.status, phrase(r.status));
  if (r.status != 204 && r.status != 304) head += fmt::format("Content-Type: {}\r\n", one_line(r.content_type));
  for (const auto& [name, value] : r.headers) head += fmt::format("{}: {}\r\n", one_line(name), one_line(value));
  head += framing;
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

HttpResponse error_response(int status, std::string_view code, std::string_view what, std::string_view next = {}) {
  JsonWriter w;
  w.object().key("error").object().field("code", code).field("what", what).field("next", next).end_object().end_object();
  HttpResponse r;
  r.status = status;
  r.body = w.take();
  return r;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Room for as many descriptors as connections are allowed, and fewer connections where the system says no.
void fit_to_files(Limits& limits) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t want = limits.connections + kFilesKept;
  if (files.rlim_cur < want) {
    rlimit raised = files;
    raised.rlim_cur = std::min<rlim_t>(want, files.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  }
  if (files.rlim_cur < want) {
    limits.connections = files.rlim_cur > 2 * kFilesKept ? files.rlim_cur - kFilesKept : files.rlim_cur / 2;
  }
}

Peer peer_of(Socket& socket, bool unix_socket) {
  Peer peer;
  peer.unix_socket = unix_socket;
  if (unix_socket) {
    ucred cred{};
    socklen_t size = sizeof cred;
    if (getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0) peer.uid = cred.uid;
    return peer;
  }
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(socket.native_handle(), reinterpret_cast<sockaddr*>(&from), &size) == 0) {
    const void* address = from.ss_family == AF_INET6
                              ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(&from)->sin6_addr)
                              : static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(&from)->sin_addr);
    if (inet_ntop(from.ss_family, address, text, sizeof text) != nullptr) peer.address = text;
  }
  return peer;
}

// What a stream's two ends share: the sender on any thread, the connection on the server's.
struct StreamQueue {
  std::atomic<std::size_t> pending{0};
  std::atomic<bool> gone{false};
};

enum class Phase { header, body, answering, writing, idle, streaming, lingering };

}  // namespace

class Connection;

class Server::Core : public std::enable_shared_from_this<Server::Core> {
 public:
  explicit Core(Options o) : options(std::move(o)), sweep_timer(io), tcp(io), local(io) {}

  Result<void> listen_tcp();
  Result<void> listen_unix();
  void run();
  void stop();
  template <class Acceptor>
  void accept(Acceptor& acceptor, bool unix_socket);
  void admit(Socket socket, bool unix_socket);
  bool evict();
  void sweep();
  void forget(Connection& c);

  // Destroyed last: what is queued in it may hold connections.
  asio::io_context io{1};
  Options options;
  asio::steady_timer sweep_timer;
  asio::ip::tcp::acceptor tcp;
  asio::local::stream_protocol::acceptor local;
  std::string unix_path;
  struct stat unix_file {};
  int port = -1;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections;
  std::list<Connection*> half_open, idle;  // oldest first
  std::uint64_t next_connection = 0;
  std::size_t bodies_bytes = 0;
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> streams{0};
  std::atomic<bool> stopped{false};
  std::thread thread;
};

// One client. All of it runs on the server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Server::Core& core, Socket socket, std::uint64_t n, bool unix_socket)
      : number(n), core_(core), socket_(std::move(socket)), peer_(peer_of(socket_, unix_socket)),
        buffer_(core.options.limits.header_bytes + (64 << 10)) {}

  void start() { read_header(); }
  void close();
  void respond(HttpResponse response);
  void start_stream(HttpResponse head, std::shared_ptr<StreamQueue> queue);
  void push(std::string bytes);
  void finish_stream();
  bool late(Steady::time_point now) const { return now > deadline_; }

  const std::uint64_t number;

 private:
  const Limits& limits() const { return core_.options.limits; }
  void enter(Phase phase, int ms);
  void leave_lists();
  void wait_for_request();
  void read_header();
  void read_body();
  void dispatch();
  void refuse(const error_code& ec);
  void refuse(int status, std::string_view code, std::string_view what);
  void write();
  void wrote();
  void next_pieces();
  void watch_for_end();
  void linger();

  Server::Core& core_;
  Socket socket_;
  Peer peer_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  std::string head_, body_;
  std::size_t written_ = 0;
  std::size_t reserved_ = 0;  // of core_.bodies_bytes
  Phase phase_ = Phase::answering;
  Steady::time_point deadline_ = Steady::time_point::max();
  std::list<Connection*>* list_ = nullptr;
  std::list<Connection*>::iterator place_;
  bool keep_alive_ = false, head_only_ = false, closed_ = false, http11_ = true;
  // Streaming
  std::shared_ptr<StreamQueue> queue_;
  std::deque<std::string> pieces_;
  std::size_t in_flight_ = 0;  // bytes of pieces being written
  bool busy_ = false, finishing_ = false;
  std::array<char, 512> scratch_{};
};

namespace {

class Stream final : public HttpStream {
 public:
  Stream(std::weak_ptr<Server::Core> core, std::weak_ptr<Connection> connection, std::shared_ptr<StreamQueue> queue,
         std::size_t queue_max);
  ~Stream() override;
  bool send(std::string bytes) override;
  std::size_t pending() const override { return queue_->pending; }

 private:
  template <class F>
  void post(F f);
  std::weak_ptr<Server::Core> core_;
  std::weak_ptr<Connection> connection_;
  std::shared_ptr<StreamQueue> queue_;
  std::size_t queue_max_;
};

class Exchange final : public HttpExchange {
 public:
  Exchange(std::weak_ptr<Server::Core> core, std::weak_ptr<Connection> connection, HttpRequest request, std::size_t queue_max)
      : core_(std::move(core)), connection_(std::move(connection)), request_(std::move(request)), queue_max_(queue_max) {}
  ~Exchange() override;
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  std::shared_ptr<HttpStream> stream(HttpResponse head) override;

 private:
  std::weak_ptr<Server::Core> core_;
  std::weak_ptr<Connection> connection_;
  HttpRequest request_;
  std::size_t queue_max_;
  std::atomic<bool> answered_{false};
};

}  // namespace

// ---------------------------------------------------------------- connection: reading

void Connection::enter(Phase phase, int ms) {
  leave_lists();
  phase_ = phase;
  deadline_ = Steady::now() + std::chrono::milliseconds(ms);
  if (phase == Phase::header || phase == Phase::lingering) list_ = &core_.half_open;
  if (phase == Phase::idle) list_ = &core_.idle;
  if (list_ != nullptr) place_ = list_->insert(list_->end(), this);
}

void Connection::leave_lists() {
  if (list_ != nullptr) list_->erase(place_);
  list_ = nullptr;
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  leave_lists();
  core_.bodies_bytes -= std::exchange(reserved_, 0);
  if (queue_) {
    queue_->gone = true;
    core_.streams -= 1;
  }
  error_code ignored;
  socket_.close(ignored);
  core_.forget(*this);
}

void Connection::wait_for_request() {
  if (buffer_.size() > 0) return read_header();
  enter(Phase::idle, limits().idle_ms);
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code ec) {
    if (self->closed_) return;
    if (ec) return self->close();
    self->read_header();
  });
}

void Connection::read_header() {
  enter(Phase::header, limits().header_ms);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits().header_bytes));
  parser_->body_limit(limits().body_bytes);
  bhttp::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (self->closed_) return;
    if (ec) return self->refuse(ec);
    self->read_body();
  });
}

void Connection::read_body() {
  enter(Phase::body, limits().body_ms);
  const auto length = parser_->content_length();
  reserved_ = parser_->chunked() ? limits().body_bytes : length ? static_cast<std::size_t>(*length) : 0;
  core_.bodies_bytes += reserved_;
  if (core_.bodies_bytes > limits().bodies_bytes) return refuse(503, "unreachable", "too many large requests at once");
  if (beast::iequals(parser_->get()[bhttp::field::expect], "100-continue") && reserved_ > 0) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    error_code ignored;  // a few bytes into an empty socket buffer: if they do not fit, the client sends the body anyway
    socket_.non_blocking(true, ignored);
    socket_.write_some(asio::buffer(kContinue), ignored);
  }
  bhttp::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (self->closed_) return;
    if (ec) return self->refuse(ec);
    self->dispatch();
  });
}

void Connection::refuse(const error_code& ec) {
  static const auto& http_errors = bhttp::make_error_code(bhttp::error::bad_target).category();
  if (ec.category() != http_errors || ec == bhttp::error::end_of_stream || ec == bhttp::error::partial_message) return close();
  if (ec == bhttp::error::body_limit) {
    return refuse(413, "bad_input", fmt::format("the body is larger than {} bytes", limits().body_bytes));
  }
  if (ec == bhttp::error::header_limit || ec == bhttp::error::buffer_overflow) {
    return refuse(431, "bad_input", fmt::format("the header is larger than {} bytes", limits().header_bytes));
  }
  refuse(400, "bad_input", fmt::format("malformed HTTP request: {}", ec.message()));
}

void Connection::refuse(int status, std::string_view code, std::string_view what) {
  keep_alive_ = false;
  respond(error_response(status, code, what));
}

void Connection::dispatch() {
  enter(Phase::answering, limits().answer_ms);
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  http11_ = message.version() >= 11;
  head_only_ = message.method() == bhttp::verb::head;
  HttpRequest request;
  request.method = std::string(message.method_string());
  const auto raw_target = message.target();
  auto target = parse_target({raw_target.data(), raw_target.size()});
  if (!target) return refuse(400, "bad_input", target.error().what);
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  for (const auto& field : message) {
    const std::string name = lower({field.name_string().data(), field.name_string().size()});
    const std::string_view value{field.value().data(), field.value().size()};
    const auto [at, first] = request.headers.try_emplace(name, value);
    if (first) continue;
    if (name == "host" || name == "authorization" || name == "origin") {
      return refuse(400, "bad_input", fmt::format("header {} is there twice", name));
    }
    at->second += name == "cookie" ? "; " : ", ";
    at->second += value;
  }
  request.body = std::move(message.body());
  request.peer = peer_;
  if (!request.body.empty()) {
    const auto type = request.headers.find("content-type");
    if (type == request.headers.end() || lower(trim(split(type->second, ';')[0])) != "application/json") {
      request.json_error = "the body must be JSON, with the header Content-Type: application/json";
    } else if (auto json = parse_json(request.body, static_cast<int>(limits().json_depth))) {
      request.json = std::move(*json);
    } else {
      request.json_error = json.error().what;
    }
  }
  auto exchange = std::make_shared<Exchange>(core_.weak_from_this(), weak_from_this(), std::move(request),
                                             limits().stream_queue_bytes);
  try {
    core_.options.handler(exchange);
  } catch (const std::exception& e) {
    exchange->respond(error_response(500, "internal", e.what()));
  }
}

// ---------------------------------------------------------------- connection: writing

void Connection::respond(HttpResponse response) {
  if (closed_) return;
  core_.bodies_bytes -= std::exchange(reserved_, 0);
  const bool bodiless = response.status == 204 || response.status == 304;
  head_ = render_head(response, keep_alive_, bodiless ? "" : fmt::format("Content-Length: {}\r\n", response.body.size()));
  body_ = head_only_ || bodiless ? std::string() : std::move(response.body);
  written_ = 0;
  write();
}

void Connection::write() {
  enter(queue_ ? Phase::streaming : Phase::writing, limits().write_ms);
  busy_ = true;
  std::array<asio::const_buffer, 2> buffers;
  const std::size_t of_head = std::min(written_, head_.size());
  buffers[0] = asio::buffer(head_.data() + of_head, head_.size() - of_head);
  const std::size_t of_body = written_ - of_head;
  buffers[1] = asio::buffer(body_.data() + of_body, body_.size() - of_body);
  socket_.async_write_some(buffers, [self = shared_from_this()](error_code ec, std::size_t n) {
    if (self->closed_) return;
    if (ec) return self->close();
    self->written_ += n;
    if (self->written_ < self->head_.size() + self->body_.size()) return self->write();
    self->wrote();
  });
}

void Connection::wrote() {
  busy_ = false;
  head_.clear();
  body_ = {};
  written_ = 0;
  if (queue_) return next_pieces();
  if (!keep_alive_) return linger();
  wait_for_request();
}

// Closing at once could reset the connection before the client has read the answer: it is told that nothing more comes, and what
// it still sends is thrown away for a moment.
void Connection::linger() {
  if (phase_ != Phase::lingering) {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    enter(Phase::lingering, kLingerMs);
  }
  socket_.async_read_some(asio::buffer(scratch_), [self = shared_from_this()](error_code ec, std::size_t) {
    if (self->closed_) return;
    if (ec) return self->close();
    self->linger();
  });
}

// ---------------------------------------------------------------- connection: streaming

void Connection::start_stream(HttpResponse head, std::shared_ptr<StreamQueue> queue) {
  if (closed_) {
    queue->gone = true;
    core_.streams -= 1;
    return;
  }
  queue_ = std::move(queue);
  core_.bodies_bytes -= std::exchange(reserved_, 0);
  head_ = render_head(head, false, http11_ ? "Transfer-Encoding: chunked\r\n" : "");
  written_ = 0;
  watch_for_end();
  write();
}

void Connection::push(std::string bytes) {
  if (closed_) return;
  pieces_.push_back(std::move(bytes));
  if (!busy_) next_pieces();
}

void Connection::finish_stream() {
  finishing_ = true;
  if (!closed_ && !busy_) next_pieces();
}

void Connection::next_pieces() {
  queue_->pending -= std::exchange(in_flight_, 0);
  if (pieces_.empty()) {
    if (finishing_) {
      if (!http11_) return close();
      // The reader of scratch_ is already waiting, so this ends the stream without lingering.
      error_code ignored;
      socket_.write_some(asio::buffer(std::string_view("0\r\n\r\n")), ignored);
      socket_.shutdown(Socket::shutdown_send, ignored);
      enter(Phase::lingering, kLingerMs);
      return;
    }
    enter(Phase::streaming, 0);
    deadline_ = Steady::time_point::max();
    return;
  }
  std::string data;
  while (!pieces_.empty() && (data.empty() || data.size() + pieces_.front().size() <= kCoalesceBytes)) {
    data += pieces_.front();
    pieces_.pop_front();
  }
  in_flight_ = data.size();
  if (http11_) {
    head_ = fmt::format("{:x}\r\n", data.size());
    data += "\r\n";
  }
  body_ = std::move(data);
  written_ = 0;
  write();
}

void Connection::watch_for_end() {
  socket_.async_read_some(asio::buffer(scratch_), [self = shared_from_this()](error_code ec, std::size_t) {
    if (self->closed_) return;
    if (ec) return self->close();
    self->watch_for_end();
  });
}

// ---------------------------------------------------------------- exchange and stream: from any thread

namespace {

Exchange::~Exchange() {
  if (!answered_) respond(error_response(500, "internal", "the request was dropped without an answer"));
}

void Exchange::respond(HttpResponse response) {
  if (answered_.exchange(true)) return;
  const auto core = core_.lock();
  if (!core || core->stopped) return;
  asio::dispatch(core->io, [connection = connection_, response = std::move(response)]() mutable {
    if (const auto c = connection.lock()) c->respond(std::move(response));
  });
}

std::shared_ptr<HttpStream> Exchange::stream(HttpResponse head) {
  auto queue = std::make_shared<StreamQueue>();
  auto stream = std::make_shared<Stream>(core_, connection_, queue, queue_max_);
  const auto core = core_.lock();
  if (!core || core->stopped || answered_) {
    queue->gone = true;
    return stream;
  }
  if (core->streams.fetch_add(1) >= core->options.limits.streams) {
    core->streams -= 1;
    queue->gone = true;
    respond(error_response(503, "unreachable", "too many event streams are open", "close some pages, or poll instead"));
    return stream;
  }
  answered_ = true;
  asio::post(core->io, [c = connection_, core = core.get(), head = std::move(head), queue]() mutable {
    if (const auto connection = c.lock()) {
      connection->start_stream(std::move(head), std::move(queue));
    } else {
      queue->gone = true;
      core->streams -= 1;
    }
  });
  return stream;
}

Stream::Stream(std::weak_ptr<Server::Core> core, std::weak_ptr<Connection> connection, std::shared_ptr<StreamQueue> queue,
               std::size_t queue_max)
    : core_(std::move(core)), connection_(std::move(connection)), queue_(std::move(queue)), queue_max_(queue_max) {}

template <class F>
void Stream::post(F f) {
  const auto core = core_.lock();
  if (!core || core->stopped) {
    queue_->gone = true;
    return;
  }
  asio::post(core->io, [connection = connection_, f = std::move(f)]() mutable {
    if (const auto c = connection.lock()) f(*c);
  });
}

Stream::~Stream() {
  if (!queue_->gone) post([](Connection& c) { c.finish_stream(); });
}

bool Stream::send(std::string bytes) {
  if (queue_->gone) return false;
  if (bytes.empty()) return true;
  if (queue_->pending.fetch_add(bytes.size()) + bytes.size() > queue_max_) {
    queue_->gone = true;
    post([](Connection& c) { c.close(); });
    return false;
  }
  post([bytes = std::move(bytes)](Connection& c) mutable { c.push(std::move(bytes)); });
  return !queue_->gone;
}

}  // namespace

// ---------------------------------------------------------------- core

Result<void> Server::Core::listen_tcp() {
  const std::string name = options.address == "localhost" ? "127.0.0.1" : options.address;
  error_code ec;
  const auto address = asio::ip::make_address(name, ec);
  if (ec) {
    return fail(Code::bad_input, fmt::format("'{}' is not an IP address", printable(options.address)), "use 127.0.0.1 or ::1");
  }
  if (!address.is_loopback()) {
    return fail(Code::bad_input,
                fmt::format("refusing to listen on {}: there is no TLS, so tokens and the cluster's state would cross the "
                            "network in the clear", name),
                "listen on 127.0.0.1 and reach it from elsewhere with: ssh -L 7070:127.0.0.1:7070 HOST");
  }
  if (options.port > 65535) return fail(Code::bad_input, fmt::format("port {} is above 65535", options.port));
  const asio::ip::tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  tcp.open(endpoint.protocol(), ec);
  if (!ec) fcntl(tcp.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!ec) tcp.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) tcp.bind(endpoint, ec);
  if (!ec) tcp.listen(4096, ec);
  if (ec == asio::error::address_in_use) {
    return fail(Code::conflict, fmt::format("port {} is in use by another program", options.port),
                "use --port N (--port 0 takes any free one), or stop the other program");
  }
  if (ec == asio::error::access_denied) {
    return fail(Code::not_allowed, fmt::format("port {} needs root", options.port), "use --port N with N above 1023");
  }
  if (ec) return fail(Code::unreachable, fmt::format("cannot listen on {}:{}: {}", name, options.port, ec.message()));
  port = tcp.local_endpoint().port();
  accept(tcp, false);
  return {};
}

// The socket is bound under a temporary name, made 0600, and only then given its name: nobody can ever reach it with other
// permissions, whatever the umask.
Result<void> Server::Core::listen_unix() {
  unix_path = options.unix_path;
  const std::string temporary = fmt::format("{}.{}", unix_path, getpid());
  if (temporary.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(Code::bad_input, fmt::format("{} is too long a path for a unix socket", printable(unix_path)),
                "use a state directory with a shorter path");
  }
  struct stat there {};
  if (lstat(unix_path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return fail(Code::conflict, fmt::format("{} is in the way: it is not a socket", printable(unix_path)), "move it away");
    }
    error_code refused;
    asio::local::stream_protocol::socket probe(io);
    probe.connect(unix_path, refused);
    if (!refused) {
      return fail(Code::conflict, fmt::format("another muster listens on {}", printable(unix_path)),
                  "stop it, or use another state directory");
    }
  }
  error_code ec;
  unlink(temporary.c_str());
  local.open(asio::local::stream_protocol(), ec);
  if (!ec) fcntl(local.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!ec) local.bind(temporary, ec);
  if (!ec && chmod(temporary.c_str(), 0600) != 0) ec.assign(errno, boost::system::system_category());
  if (!ec) local.listen(1024, ec);
  if (!ec && rename(temporary.c_str(), unix_path.c_str()) != 0) ec.assign(errno, boost::system::system_category());
  if (ec) {
    unlink(temporary.c_str());
    return fail(Code::unreachable, fmt::format("cannot listen on {}: {}", printable(unix_path), ec.message()),
                "the folder must exist and be writable");
  }
  lstat(unix_path.c_str(), &unix_file);
  accept(local, true);
  return {};
}

template <class Acceptor>
void Server::Core::accept(Acceptor& acceptor, bool unix_socket) {
  auto socket = std::make_shared<Socket>(io);
  acceptor.async_accept(*socket, [this, &acceptor, unix_socket, socket](error_code ec) {
    if (stopped || ec == asio::error::operation_aborted) return;
    if (!ec) {
      admit(std::move(*socket), unix_socket);
    } else if (ec == boost::system::errc::too_many_files_open || ec == boost::system::errc::too_many_files_open_in_system ||
               ec == boost::system::errc::no_buffer_space || ec == boost::system::errc::not_enough_memory) {
      if (!evict()) {
        auto pause = std::make_shared<asio::steady_timer>(io, std::chrono::milliseconds(50));
        pause->async_wait([this, &acceptor, unix_socket, pause](error_code) {
          if (!stopped) accept(acceptor, unix_socket);
        });
        return;
      }
    }
    accept(acceptor, unix_socket);
  });
}

void Server::Core::admit(Socket socket, bool unix_socket) {
  while (connections.size() >= options.limits.connections) {
    if (!evict()) return;  // every connection is in the middle of something: the new one is closed
  }
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!unix_socket) {
    const int on = 1;
    setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  auto connection = std::make_shared<Connection>(*this, std::move(socket), next_connection++, unix_socket);
  connections.emplace(connection->number, connection);
  open = connections.size();
  connection->start();
}

// Those that have said nothing complete go before those that may come back.
bool Server::Core::evict() {
  auto& from = half_open.empty() ? idle : half_open;
  if (from.empty()) return false;
  from.front()->close();
  return true;
}

void Server::Core::forget(Connection& c) {
  connections.erase(c.number);
  open = connections.size();
}

void Server::Core::sweep() {
  sweep_timer.expires_after(kSweep);
  sweep_timer.async_wait([this](error_code ec) {
    if (ec || stopped) return;
    const auto now = Steady::now();
    std::vector<std::shared_ptr<Connection>> late;
    for (const auto& [number, c] : connections) {
      if (c->late(now)) late.push_back(c);
    }
    for (const auto& c : late) c->close();
    sweep();
  });
}

void Server::Core::run() {
  sweep();
  thread = std::thread([this] { io.run(); });
}

void Server::Core::stop() {
  if (stopped.exchange(true)) return;
  if (thread.joinable()) {
    asio::post(io, [this] {
      error_code ignored;
      tcp.close(ignored);
      local.close(ignored);
      while (!connections.empty()) {
        const auto keep = connections.begin()->second;
        keep->close();
      }
      io.stop();
    });
    thread.join();
  }
  struct stat now {};
  if (unix_file.st_ino != 0 && lstat(unix_path.c_str(), &now) == 0 && now.st_ino == unix_file.st_ino &&
      now.st_dev == unix_file.st_dev) {
    unlink(unix_path.c_str());
  }
}

// ---------------------------------------------------------------- server

Result<std::unique_ptr<Server>> Server::start(Options options) {
  MUSTER_CHECK(options.handler);
  fit_to_files(options.limits);
  auto core = std::make_shared<Core>(std::move(options));
  if (core->options.port >= 0) {
    if (auto r = core->listen_tcp(); !r) return tl::unexpected(r.error());
  }
  if (!core->options.unix_path.empty()) {
    if (auto r = core->listen_unix(); !r) return tl::unexpected(r.error());
  }
  core->run();
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::Server(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Server::~Server() { stop(); }
void Server::stop() { core_->stop(); }
int Server::port() const { return core_->port; }
std::size_t Server::connections() const { return core_->open; }

}  // namespace muster::http
