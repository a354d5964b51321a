// muster twin serve: a twin in a process of its own, for a controller in another one. Its log of received orders is the witness
// of what that controller really sent.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include "adapters/http/server.h"
#include "commands.h"
#include "files.h"
#include "model/codec.h"
#include "say.h"
#include "scene.h"
#include "secrets.h"
#include "twin/serve.h"

namespace muster::cmd {
namespace {

std::atomic<bool> stopping{false};
void on_signal(int) { stopping = true; }

// Appends a line per order, flushed before the order is carried out.
class OrdersLog {
 public:
  ~OrdersLog() {
    if (fd_ >= 0) close(fd_);
  }
  Result<void> open_file(const std::string& path) {
    if (path.empty()) return {};
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) return tl::unexpected(file_error("write", path, errno));
    return {};
  }
  Result<void> append(const Order& o) {
    if (fd_ < 0) return {};
    const std::string line = encode_order(o) + "\n";
    if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fdatasync(fd_) != 0) {
      return fail(Code::internal, fmt::format("the log of orders cannot be written: {}", std::strerror(errno)));
    }
    return {};
  }

 private:
  int fd_ = -1;
};

}  // namespace

int run_twin_serve(const TwinServeOptions& o) {
  auto scene = build_scene(o.twin);
  if (!scene) return say_error(scene.error());
  OrdersLog log;
  if (auto r = log.open_file(o.orders_log); !r) return say_error(r.error());
  scene->twin.job_environments = true;
  scene->twin.full_scrapes = affords_full_scrapes(scene->twin.site, o.speed);
  twin::Twin twin(scene->twin);
  const std::string simulation = fmt::format("weather x{:g}, speed x{:g}, seed {}", o.twin.weather, o.speed, o.twin.seed);
  twin::Service service(twin, scene->twin.site, random_hex(8), simulation, o.speed,
                        [&](const Order& order) { return log.append(order); });

  http::Options options;
  std::mutex one_at_a_time;  // the server's thread and this one
  options.handler = [&, answer = service.handler()](std::shared_ptr<HttpExchange> x) {
    const std::lock_guard hold(one_at_a_time);
    answer(std::move(x));
  };
  if (o.listen.rfind("unix:", 0) == 0) {
    options.port = -1;
    options.unix_path = o.listen.substr(5);
  } else {
    options.port = std::atoi(o.listen.substr(o.listen.rfind(':') + 1).c_str());
  }
  auto server = http::Server::start(std::move(options));
  if (!server) return say_error(server.error());
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
  const std::string where = o.listen.rfind("unix:", 0) == 0 ? o.listen : fmt::format("http://127.0.0.1:{}", (*server)->port());
  say(fmt::format("twin of {} nodes, {} GPUs, SIMULATED ({})", scene->twin.site.nodes.size(), scene->twin.site.gpus(),
                  simulation));
  say(fmt::format("serves     {}", where));
  say(fmt::format("control it with: muster up --twin {}", where));

  const auto began = std::chrono::steady_clock::now();
  const Time began_sim = twin.now().steady;
  while (!stopping) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    {
      const std::lock_guard hold(one_at_a_time);
      service.advance_to(began_sim + from_seconds(wall.count() * o.speed));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  (*server)->stop();
  return 0;
}

}  // namespace muster::cmd
