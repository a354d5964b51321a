// muster accept: the tests run on this node, recorded as they go, judged at the end.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>

#include "accept/judge.h"
#include "accept/plan.h"
#include "accept_known.h"
#include "accept_shown.h"
#include "adapters/accept/bench.h"
#include "adapters/agent/accept_word.h"
#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "progress.h"
#include "report/table.h"
#include "say.h"

namespace muster::cmd {
namespace {

volatile std::sig_atomic_t stopped = 0;
void on_stop(int) { stopped = 1; }

void listen_for_stop() {
  struct sigaction act = {};
  act.sa_handler = on_stop;
  sigemptyset(&act.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &act, nullptr);
}

// What shares the host's memory is not tried on all GPUs at once.
std::uint32_t at_once(AcceptTest t) { return t == AcceptTest::link ? 2 : 0; }

bench::Task task_of(const accept::Step& s) {
  bench::Task t;
  t.test = s.test;
  t.seconds = s.seconds;
  t.deadline_s = s.deadline_s;
  t.at_once = at_once(s.test);
  return t;
}

std::vector<bench::Task> tasks_of(AcceptProfile profile) {
  std::vector<bench::Task> out;
  for (const accept::Step& s : accept::plan_of(profile)) out.push_back(task_of(s));
  return out;
}

// What was short of a limit, once more on the GPUs that were.
std::vector<bench::Task> again(const Acceptance& a, const accept::Limits& limits) {
  std::vector<bench::Task> out;
  for (const auto& [gpu, test] : accept::worth_repeating(a, limits)) {
    const auto same = std::find_if(out.begin(), out.end(), [t = test](const bench::Task& x) { return x.test == t; });
    if (same != out.end()) {
      same->gpus.push_back(gpu);
      continue;
    }
    for (const accept::Step& s : accept::plan_of(a.suite.profile)) {
      if (s.test != test) continue;
      out.push_back(task_of(s));
      out.back().turn = 1;
      out.back().gpus = {gpu};
    }
  }
  return out;
}

// The recording as a file: a row is on its way to the disk when it is known, so that a node which dies leaves all it said.
class Recording {
 public:
  static Result<Recording> create(const std::string& folder, const std::string& name) {
    Recording r;
    if (folder == "none") return r;
    std::error_code why;
    std::filesystem::create_directories(folder, why);
    if (why) return tl::unexpected(file_error("make", folder, why.value()));
    r.path_ = (std::filesystem::path(folder) / name).string();
    r.fd_ = ::open(r.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (r.fd_ < 0) return tl::unexpected(file_error("write", r.path_, errno));
    return r;
  }
  Recording(Recording&& o) noexcept : path_(std::move(o.path_)), fd_(std::exchange(o.fd_, -1)), trouble_(o.trouble_) {}
  Recording& operator=(Recording&&) = delete;
  ~Recording() {
    if (fd_ >= 0) ::close(fd_);
  }

  void add(const accepting::Row& row) {
    if (fd_ < 0 || trouble_ != 0) return;
    const std::string line = render_row(row);
    if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) trouble_ = errno == 0 ? ENOSPC : errno;
  }
  Result<void> finish() {
    if (fd_ < 0) return {};
    if (trouble_ == 0 && ::fsync(fd_) != 0) trouble_ = errno;
    if (trouble_ != 0) return tl::unexpected(file_error("write", path_, trouble_));
    return {};
  }
  const std::string& path() const { return path_; }

 private:
  Recording() = default;
  std::string path_;
  int fd_ = -1;
  int trouble_ = 0;
};

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

// A file name of a node's name, which may be anything.
std::string plain(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.') c = '_';
  }
  return name.substr(0, 100);
}

Time utc_now() {
  timespec t = {};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return Time{t.tv_sec * 1'000'000'000LL + t.tv_nsec};
}

// 20261118T120000Z
std::string compact_utc(Time t) {
  std::string s = render_utc(Time{t.ns / 1'000'000'000 * 1'000'000'000});
  std::erase_if(s, [](char c) { return c == '-' || c == ':'; });
  return s;
}

class Acceptor {
 public:
  explicit Acceptor(const AcceptOptions& o) : o_(o), node_(o.node.empty() ? host_name() : o.node) {}

  // One round of all tests.
  Result<Acceptance> round(const accept::Limits& limits) {
    auto file = Recording::create(o_.out, fmt::format("{}.{}{}", plain(node_), compact_utc(utc_now()), kRecordingEnd));
    if (!file) return tl::unexpected(file.error());
    a_ = {};
    end_.reset();
    a_.file = file->path();
    file_ = &*file;
    add(suite());
    measure(limits);
    for (accepting::Measured& m : accept::from_readings(a_)) add(std::move(m));
    if (end_) add(*std::exchange(end_, {}));
    file_ = nullptr;
    if (auto ok = file->finish(); !ok) return tl::unexpected(ok.error());
    if (!file->path().empty()) say(fmt::format("recorded in {}", file->path()));
    return std::move(a_);
  }

 private:
  accepting::Suite suite() const {
    accepting::Suite s = accept::suite_of(o_.profile);
    s.muster = MUSTER_VERSION;
    s.seed = o_.seed;
    s.gpus = o_.expected > 0 ? o_.expected : static_cast<std::uint32_t>(o_.gpus.size());
    return s;
  }

  void add(accepting::Row row) {
    if (auto* host = std::get_if<accepting::Host>(&row)) host->name = node_;
    file_->add(row);
    a_.add(std::move(row));
  }

  // The end comes last, after what is worked out of the readings.
  void take(accepting::Row row) {
    if (auto* end = std::get_if<accepting::End>(&row)) {
      end_ = *end;
    } else {
      add(std::move(row));
    }
  }

  void measure(const accept::Limits& limits) {
    const bench::Stop stop = [] { return stopped != 0; };
    const bench::Sink sink = [this](accepting::Row row) { take(std::move(row)); };
    bench::Options options;
    options.library = o_.library;
    if (!o_.nvml.empty()) options.nvml = o_.nvml;
    options.gpus = o_.gpus;
    options.kernel_log = o_.kernel_log;
    options.plant = o_.plant;
    options.seed = o_.seed;
    options.cooling = o_.cooling;
    const std::vector<bench::Task> tasks = tasks_of(o_.profile);
    auto opened = bench::Bench::open(options, stop);
    if (!opened) {
      say_error(opened.error());
      for (accepting::Row& row : bench::not_run(options, opened.error(), tasks)) take(std::move(row));
      return;
    }
    bench::Bench& bench = **opened;
    run(bench, tasks, sink, stop);
    const auto more = bench.stopped() ? std::vector<bench::Task>() : again(a_, limits);
    if (!more.empty()) {
      say(fmt::format("{} tests are short of a limit and run once more", more.size()));
      run(bench, more, sink, stop);
    }
    bench.finish(sink);
  }

  void run(bench::Bench& bench, const std::vector<bench::Task>& tasks, const bench::Sink& sink, const bench::Stop& stop) const {
    Progress progress("accept", static_cast<ProgressMode>(o_.progress));
    double all = 0;
    for (const bench::Task& t : tasks) all += t.seconds + 0.5;
    const auto tell = [&](const bench::Progress& p) {
      double done = (p.task.seconds + 0.5) * p.share;
      for (std::size_t i = 0; i < p.index && i < tasks.size(); ++i) done += tasks[i].seconds + 0.5;
      progress.update(done / all, name_of(p.task.test));
    };
    bench.run(tasks, sink, tell, stop);
  }

  const AcceptOptions& o_;
  std::string node_;
  Acceptance a_;
  std::optional<accepting::End> end_;
  Recording* file_ = nullptr;
};

int list_plan(const AcceptOptions& o) {
  const auto plan = accept::plan_of(o.profile);
  if (o.format == AcceptFormat::json) {
    JsonWriter w;
    w.object().field("version", accept::kSuiteVersion).field("hash", accept::suite_hash(o.profile));
    w.field("profile", name_of(o.profile)).field("seconds", accept::seconds_of(plan)).key("required").array();
    for (const accept::Step& s : plan) {
      if (s.required) w.value(name_of(s.test));
    }
    w.end_array().key("tests").array();
    for (const accept::Step& s : plan) {
      w.object().field("test", name_of(s.test)).field("seconds", s.seconds).field("deadline_s", s.deadline_s);
      w.field("required", s.required).end_object();
    }
    w.end_array().end_object();
    put(w.take() + "\n");
    return finish_output();
  }
  report::Table t;
  t.columns = {{"TEST"}, {"SECONDS", true}, {"AT MOST", true}, {"REQUIRED"}};
  for (const accept::Step& s : plan)
    t.rows.push_back({report::Cell(std::string(name_of(s.test))), report::Cell(fmt::format("{:g}", s.seconds)),
                      report::Cell(fmt::format("{:g}", s.deadline_s)), report::Cell(s.required ? "yes" : "no")});
  put(report::render_table(t, {.colour = colour_wanted()}));
  put(fmt::format("{}: suite {} {}, about {:.0f} s\n", name_of(o.profile), accept::kSuiteVersion, accept::suite_hash(o.profile),
                  accept::seconds_of(plan)));
  return finish_output();
}

// Readings of power and heat fill a page of one round; of many rounds only the figures are kept.
void forget_readings(std::vector<Acceptance>& rounds) {
  for (Acceptance& a : rounds) a.readings = {};
}

}  // namespace

int run_accept(const AcceptOptions& o) {
  if (o.list) return list_plan(o);
  auto known = read_recordings(o.known.folders, WithReadings::no);
  if (!known) return say_error(known.error());
  listen_for_stop();
  Acceptor acceptor(o);
  const Time until = utc_now() + from_seconds(o.hours * 3600);
  accept::Verdict worst = accept::Verdict::pass;
  std::optional<Acceptance> shown;
  std::optional<accept::Judgement> judged;
  for (bool more = true; more;) {
    const accept::Limits limits = limits_of(known->all, o.known.shipped);
    auto round = acceptor.round(limits);
    if (!round) return say_error(round.error());
    accept::Judgement j = accept::judge(*round, limits);
    more = o.profile == AcceptProfile::burn && stopped == 0 && !round->gpus.empty() && utc_now() < until;
    if (o.profile == AcceptProfile::burn) {
      say(fmt::format("round {}: {}", render_utc(round->host.begun), name_of(j.verdict)));
      known->all.push_back(*round);
      forget_readings(known->all);
    }
    // A burn is shown by its worst round.
    if (!shown || j.verdict > worst) {
      worst = j.verdict;
      shown = std::move(*round);
      judged = std::move(j);
    }
  }
  const accept::Limits limits = limits_of(known->all, o.known.shipped);
  if (auto ok = show_accepted({*shown, *judged, limits}, {o.format, o.html, o.rma}); !ok) return say_error(ok.error());
  if (!o.spool.empty()) {
    if (auto ok = agent::save_accept_word(o.spool, accept::word_of(*shown, *judged)); !ok) return say_error(ok.error());
  }
  const int output = finish_output();
  return output != 0 ? output : exit_code_of(worst);
}

}  // namespace muster::cmd
