// Boost.Beast parses, Boost.Asio waits; one thread does both. All deadlines are looked at by one sweep of all connections instead
// of a timer each: a few thousand connections are looked through in microseconds.
#include <utility>  // before Asio: g++ 12 needs std::exchange there

#include "adapters/http/server.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <thread>

#include "adapters/http/listen.h"
#include "adapters/http/target.h"
#include "adapters/http/wire.h"
#include "base/check.h"
#include "base/text.h"
#include "ingest/gunzip.h"

namespace muster::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kCoalesceBytes = 64 << 10;
constexpr auto kSweep = std::chrono::milliseconds(200);
constexpr int kLingerMs = 1'000;

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

  void run(const Listener& on_tcp, Listener on_unix);
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
  Listener unix_listener;
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
      : number(n), core_(core), socket_(std::move(socket)), peer_(peer_of(socket_.native_handle(), unix_socket)),
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
  read_json(request, limits().json_depth);
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

// Whoever asks for it gets text packed: maps and lists shrink to a fifth, and a page that follows a large cluster asks often.
void pack(HttpResponse& r, const HttpRequest& q) {
  constexpr std::size_t kWorthIt = 1400;  // what fits one packet is not
  const auto accepted = q.headers.find("accept-encoding");
  const bool text = r.content_type.starts_with("text/") || r.content_type.starts_with("application/json");
  if (!text || r.body.size() < kWorthIt || r.headers.contains("Content-Encoding")) return;
  r.headers["Vary"] = "Accept-Encoding";
  if (accepted == q.headers.end() || accepted->second.find("gzip") == std::string::npos) return;
  std::string packed = pack_gzip(r.body);
  if (packed.empty() || packed.size() >= r.body.size()) return;
  r.body = std::move(packed);
  r.headers["Content-Encoding"] = "gzip";
}

void Exchange::respond(HttpResponse response) {
  if (answered_.exchange(true)) return;
  pack(response, request());
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
  // At once when on the server's thread: what another thread sends right after this must not overtake the head.
  asio::dispatch(core->io, [c = connection_, core = core.get(), head = std::move(head), queue]() mutable {
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
  set_connection_options(socket.native_handle(), unix_socket);
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

void Server::Core::run(const Listener& on_tcp, Listener on_unix) {
  if (on_tcp.fd >= 0) {
    port = on_tcp.port;
    tcp.assign(asio::ip::tcp::v4(), on_tcp.fd);  // the protocol only matters to sockets opened through it
    accept(tcp, false);
  }
  if (on_unix.fd >= 0) {
    local.assign(asio::local::stream_protocol(), on_unix.fd);
    accept(local, true);
  }
  unix_listener = std::move(on_unix);
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
  // Released here, by whoever stops the server: a stream's sender may hold the core a moment longer, and what the handler owns
  // may join the very thread that sends.
  options.handler = nullptr;
  remove_socket(unix_listener);
}

// ---------------------------------------------------------------- server

Result<std::unique_ptr<Server>> Server::start(Options options) {
  MUSTER_CHECK(options.handler);
  options.limits.connections = fit_connections(options.limits.connections);
  auto core = std::make_shared<Core>(std::move(options));
  Listener on_tcp, on_unix;
  if (core->options.port >= 0) {
    auto l = listen_tcp(core->options.address, core->options.port, core->options.anywhere);
    if (!l) return tl::unexpected(l.error());
    on_tcp = std::move(*l);
  }
  if (!core->options.unix_path.empty()) {
    auto l = listen_unix(core->options.unix_path);
    if (!l) {
      if (on_tcp.fd >= 0) close(on_tcp.fd);
      return tl::unexpected(l.error());
    }
    on_unix = std::move(*l);
  }
  core->run(on_tcp, std::move(on_unix));
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::Server(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Server::~Server() { stop(); }
void Server::stop() { core_->stop(); }
int Server::port() const { return core_->port; }
std::size_t Server::connections() const { return core_->open; }

}  // namespace muster::http
