#include "scrape_peers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "adapters/http/client.h"
#include "adapters/http/server.h"
#include "base/text.h"
#include "files.h"
#include "scrape_payload.h"

extern char** environ;

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

// Serves /NODE/metrics, where NODE is an index, and counts the scrapes of each.
class Exporter {
 public:
  explicit Exporter(const PeerBench& bench) : bench_(bench), asked_(bench.site.nodes.size()) {}

  Result<void> start() {
    http::Options o;
    o.port = 0;
    o.handler = [this](const std::shared_ptr<HttpExchange>& x) { answer(*x); };
    auto server = http::Server::start(std::move(o));
    if (!server) return tl::unexpected(server.error());
    server_ = std::move(*server);
    return {};
  }
  int port() const { return server_->port(); }
  bool all_asked() const { return distinct_ == asked_.size(); }

 private:
  void answer(HttpExchange& x) {
    const std::string& path = x.request().path;
    const auto slash = path.find('/', 1);
    const auto node = slash == std::string::npos ? std::nullopt : parse_uint(std::string_view(path).substr(1, slash - 1));
    if (!node || *node >= asked_.size()) {
      x.respond({404, "text/plain", {}, "no such node\n"});
      return;
    }
    const std::uint32_t round = asked_[*node]++;
    if (round == 0) ++distinct_;
    x.respond({200,
               "text/plain; version=0.0.4; charset=utf-8",
               {},
               render_payload(bench_.site, NodeId{static_cast<std::uint32_t>(*node)}, bench_.series, round)});
  }

  const PeerBench& bench_;
  std::vector<std::uint32_t> asked_;  // the server's thread alone
  std::atomic<std::size_t> distinct_{0};
  std::unique_ptr<http::Server> server_;
};

// A child process with a folder of its own; both are gone when this is.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }

  Result<fs::path> make_folder() {
    std::string name = (fs::temp_directory_path() / "muster-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return tl::unexpected(file_error("make", name, errno));
    folder_ = name;
    return folder_;
  }
  Result<void> start(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    const std::string log = (folder_ / "log").string();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int failed = ::posix_spawnp(&pid_, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed == 0) return {};
    pid_ = 0;
    return fail(failed == ENOENT ? Code::not_found : Code::internal, words[0] + " is not installed");
  }
  bool ended() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
    return pid_ == 0;
  }
  // User and system time so far. Fields 14 and 15, counted behind the name in parentheses.
  double cpu_s() const {
    std::ifstream in(fmt::format("/proc/{}/stat", pid_));
    std::string all((std::istreambuf_iterator<char>(in)), {});
    std::istringstream rest_of(all.substr(std::min(all.rfind(')') + 1, all.size())));
    std::string word;
    double ticks = 0;
    for (int field = 3; rest_of >> word; ++field) {
      if (field == 14 || field == 15) ticks += static_cast<double>(parse_uint(word).value_or(0));
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  double rss_mb() const {
    std::ifstream in(fmt::format("/proc/{}/statm", pid_));
    double size = 0, resident = 0;
    in >> size >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

 private:
  pid_t pid_ = 0;
  fs::path folder_;
};

struct PeerKind {
  const char* name;
  const char* counter;  // in its own /metrics: samples appended so far; those that begin so are added up
  bool whole_pages;     // it counts pages, not samples
};
constexpr PeerKind kMuster = {"muster", "muster_scrapes_total{outcome=\"ok\"}", true};
constexpr PeerKind kPrometheus = {"prometheus", "prometheus_tsdb_head_samples_appended_total", false};
constexpr PeerKind kVictoria = {"victoria-metrics", "vm_rows_inserted_total{type=\"promscrape\"}", false};

std::vector<std::string> command_line(const PeerKind& kind, const fs::path& folder, int port, int interval_s) {
  const auto in = [&](const char* name) { return (folder / name).string(); };
  const std::string listen = fmt::format("127.0.0.1:{}", port);
  if (kind.name == kMuster.name) {
    return {"/proc/self/exe", "up",       "--cluster", in("cluster.yaml"),      "--scrape", in("targets.json"),
            "--state",        in("data"), "--port",    fmt::format("{}", port), "--every",  fmt::format("{}s", interval_s)};
  }
  if (kind.name == kPrometheus.name) {
    return {kind.name, "--config.file=" + in("scrape.yml"), "--storage.tsdb.path=" + in("data"), "--web.listen-address=" + listen,
            "--log.level=error"};
  }
  return {kind.name, "-promscrape.config=" + in("scrape.yml"), "-storageDataPath=" + in("data"), "-httpListenAddr=" + listen,
          "-loggerLevel=ERROR"};
}

// The same targets in everybody's words.
Result<void> write_targets(const PeerBench& bench, int port, const fs::path& folder) {
  std::string yaml = fmt::format(
      "global:\n  scrape_interval: {0}s\n  scrape_timeout: {0}s\nscrape_configs:\n- job_name: dcgm\n  static_configs:\n",
      bench.interval_s);
  std::string json;
  for (std::size_t n = 0; n < bench.site.nodes.size(); ++n) {
    const std::string& name = bench.site.nodes[n].name;
    yaml += fmt::format("  - targets: [\"127.0.0.1:{}\"]\n    labels: {{__metrics_path__: \"/{}/metrics\", node: \"{}\"}}\n",
                        port, n, name);
    json +=
        fmt::format("{}{{\"targets\":[\"127.0.0.1:{}\"],\"labels\":{{\"__metrics_path__\":\"/{}/metrics\",\"node\":\"{}\"}}}}",
                    n == 0 ? "[" : ",\n", port, n, name);
  }
  if (auto ok = write_file((folder / "scrape.yml").string(), yaml); !ok) return ok;
  if (auto ok = write_file((folder / "targets.json").string(), json + "]\n"); !ok) return ok;
  return write_file((folder / "cluster.yaml").string(),
                    fmt::format("gpu: H200\nnodes: {}\nname_format: \"node{}\"\n", bench.site.nodes.size(),
                                std::string(bench.site.nodes[0].name.size() - 4, '#')));
}

std::optional<std::uint64_t> appended(const PeerKind& kind, int port) {
  http::Request r;
  r.url = fmt::format("http://127.0.0.1:{}/metrics", port);
  const auto got = http::request(r);
  if (!got || got->status != 200) return std::nullopt;
  const std::string head = std::string("\n") + kind.counter;
  std::uint64_t all = 0;
  for (std::size_t at = got->body.find(head); at != std::string::npos; at = got->body.find(head, at + 1)) {
    const std::size_t space = got->body.find_last_of(' ', got->body.find('\n', at + 1) - 1);
    all += static_cast<std::uint64_t>(std::strtod(got->body.c_str() + space + 1, nullptr));
  }
  return all;
}

int free_port() {
  http::Options o;
  o.port = 0;
  o.handler = [](const std::shared_ptr<HttpExchange>&) {};
  const auto server = http::Server::start(std::move(o));
  return server ? (*server)->port() : 0;
}

PeerFigures measure(const PeerKind& kind, const PeerBench& bench) {
  PeerFigures f;
  f.name = kind.name;
  f.series = bench.series;
  const auto without = [&](std::string why) {
    f.absent = std::move(why);
    return f;
  };
  Exporter exporter(bench);
  Child child;
  if (auto ok = exporter.start(); !ok) return without(ok.error().what);
  const auto folder = child.make_folder();
  if (!folder) return without(folder.error().what);
  if (auto ok = write_targets(bench, exporter.port(), *folder); !ok) return without(ok.error().what);
  const int port = free_port();
  if (auto ok = child.start(command_line(kind, *folder, port, bench.interval_s)); !ok) return without(ok.error().what);
  // Making the series at the first scrape costs more than adding to them, and happens once: it is left out.
  for (const auto began = Clock::now(); !exporter.all_asked(); rest()) {
    if (child.ended()) return without("it ended at once");
    if (since(began) > 60 + 4 * bench.interval_s) return without("it did not scrape every target within a minute");
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto samples = appended(kind, port);
  const double cpu = child.cpu_s();
  for (const auto began = Clock::now(); since(began) < bench.seconds; rest()) {
    if (child.ended()) return without("it ended while measured");
  }
  const auto later = appended(kind, port);
  f.cpu_s = child.cpu_s() - cpu;
  f.rss_mb = child.rss_mb();
  if (!samples || !later || *later <= *samples) return without("its own count of samples could not be read");
  f.samples = (*later - *samples) * (kind.whole_pages ? bench.site.gpus_per_node * std::uint64_t{bench.series} : 1);
  return f;
}

}  // namespace

std::vector<PeerFigures> measure_peers(const PeerBench& bench) {
  std::vector<PeerFigures> all;
  for (const PeerKind& kind : {kMuster, kPrometheus, kVictoria}) all.push_back(measure(kind, bench));
  return all;
}

}  // namespace muster::cmd
