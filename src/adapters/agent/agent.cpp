#include "adapters/agent/agent.h"

#include <fmt/core.h>
#include <poll.h>
#include <time.h>

#include <algorithm>

#include "adapters/agent/accept_word.h"
#include "adapters/agent/facts_probe.h"
#include "adapters/agent/host_probes.h"
#include "adapters/agent/job_environment.h"
#include "adapters/agent/job_logs.h"
#include "adapters/agent/nvml.h"
#include "adapters/agent/ras_watch.h"
#include "adapters/agent/zero_pages.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"
#include "ingest/json.h"
#include "ingest/kernel_log.h"

namespace muster::agent {
namespace {

constexpr std::size_t kPiecesATurn = 5000;
constexpr std::uint64_t kJobsWait = 1 << 20;  // bytes in the spool beyond which reports of jobs are joined, not kept
constexpr int kSettled = 5;                   // seconds after the start when all that is done once was done
constexpr Duration kVerdictEvery = seconds(5);
constexpr Duration kWordHolds = minutes(1);  // of the controller, how many nodes it would let go
constexpr std::string_view kMountPrefix = "mount ";
constexpr std::string_view kCommandPrefix = "command ";
constexpr std::string_view kJobLogs = "job logs";
constexpr std::string_view kNcclRas = "nccl-ras";
constexpr std::string_view kJobEnvironments = "job environments";
constexpr std::string_view kFacts = "facts";

// Xids after which a GPU does not work until somebody does something, and the driver's words for a lost one.
constexpr int kFatal[] = {48, 64, 79, 95, 119, 120, 140};

ProbeSpec mount_probe(const std::string& path, Duration deadline) {
  return {std::string(kMountPrefix) + path, seconds(10), deadline, [path] { return ask_mount(path); }};
}

// Job logs that cannot be read lie on a file system that does not answer: no fault of the driver.
bool of_files(std::string_view probe) { return probe.substr(0, kMountPrefix.size()) == kMountPrefix || probe == kJobLogs; }

// What the controller answers about the jobs on this node.
std::map<std::string, Pace> read_paces(const std::string& answer) {
  std::map<std::string, Pace> out;
  const auto v = parse_json(answer);
  const Value* jobs = v ? v->find("jobs") : nullptr;
  if (jobs == nullptr || jobs->array() == nullptr) return out;
  for (const Value& j : *jobs->array()) {
    const Value* id = j.find("job");
    if (id == nullptr || id->string() == nullptr) continue;
    Pace p;
    if (const Value* x = j.find("checkpoint_every_s")) x->number(p.every_s);
    if (const Value* x = j.find("next_checkpoint_at")) x->number(p.next_unix);
    out[*id->string()] = p;
  }
  return out;
}

HttpResponse text_response(int status, std::string type, std::string body) {
  HttpResponse r;
  r.status = status;
  r.content_type = std::move(type);
  r.body = std::move(body);
  return r;
}

}  // namespace

std::vector<ProbeSpec> make_probes(const Options& o) {
  std::vector<ProbeSpec> out;
  out.push_back({"nvml", seconds(1), o.deadline, [library = o.nvml] { return ask_nvml(library); },
                 [library = o.nvml](const auto& tell) { watch_nvml(library, tell); }});
  out.push_back({"sysfs", seconds(5), o.deadline, [] { return ask_sysfs(""); }});
  out.push_back({"versions", minutes(10), o.deadline, [] { return ask_versions(""); }});
  out.push_back({std::string(kFacts), minutes(5), o.deadline, [node = o.node] { return ask_facts(node); }});
  for (const std::string& path : o.mounts) out.push_back(mount_probe(path, o.deadline));
  for (const auto& [name, command] : o.commands) {
    out.push_back(
        {std::string(kCommandPrefix) + name, seconds(30), o.deadline, [command = command] { return ask_command(command); }});
  }
  if (!o.job_logs.empty()) {
    const auto logs = std::make_shared<JobLogs>(o.job_logs, o.folder + "/job-logs");
    out.push_back({std::string(kJobLogs), seconds(1), o.deadline, [logs] { return logs->ask(); }});
  }
  if (!o.nccl_ras.empty()) {
    // It waits for processes that do not answer, up to five seconds a leg.
    const auto ras = std::make_shared<RasWatch>(o.nccl_ras);
    out.push_back({std::string(kNcclRas), seconds(30), std::max(o.deadline, seconds(25)), [ras] { return ras->ask(); }});
  }
  if (o.job_environments && !o.controller.empty()) {
    const auto watch = std::make_shared<EnvironmentWatch>("");
    out.push_back({std::string(kJobEnvironments), seconds(10), o.deadline, [watch] { return watch->ask(monotonic_now()); }});
  }
  return out;
}

std::string trouble_of(const ProbeReport& r) {
  if (r.state == ProbeState::died) return "the probe's process died";
  if (r.state != ProbeState::ok) return {};
  if (r.name.rfind(kMountPrefix, 0) == 0) return r.text;
  return r.name.rfind(kCommandPrefix, 0) == 0 && r.text.rfind("0 ", 0) != 0 ? "exit " + r.text : "";
}

Agent::Agent(Options options) : options_(std::move(options)), boot_(machine_boot()) {}

Agent::~Agent() {
  sender_.reset();
  if (source_ && cursor_ && spool_ && !spool_->in_memory()) cursor_->save(source_->position());
}

Result<std::unique_ptr<Agent>> Agent::start(Options options) {
  std::unique_ptr<Agent> a(new Agent(std::move(options)));
  const Options& o = a->options_;
  auto probes = Probes::start(make_probes(o), [deadline = o.deadline] {
    std::vector<ProbeSpec> found;
    for (const Mount& m : shared_mounts()) found.push_back(mount_probe(m.path, deadline));
    return found;
  });
  if (!probes) return tl::unexpected(probes.error());
  a->probes_ = std::move(*probes);
  // Taken after the fork: a probe that is stuck in the kernel for ever must not hold it.
  auto lock = FileLock::take(o.folder + "/lock", "the agent's folder " + o.folder);
  if (!lock) return tl::unexpected(lock.error());
  a->lock_file_ = std::move(*lock);
  auto cursor = Cursor::open(o.folder + "/cursor");
  if (!cursor) return tl::unexpected(cursor.error());
  a->cursor_ = std::move(*cursor);
  auto spool = Spool::open(o.folder + "/spool", {.disk_bytes = o.spool_bytes});
  if (!spool) return tl::unexpected(spool.error());
  a->spool_ = std::move(*spool);
  if (!o.kernel_log.empty()) {
    auto source = KernelSource::open(o.kernel_log, a->cursor_->position(), o.trust_kernel_log);
    if (!source) return tl::unexpected(source.error());
    a->source_ = std::move(*source);
    a->picture_.figures.kernel_trusted = a->source_->trusted();
    a->more_ = true;
  }
  if (!o.job_socket.empty()) {
    auto jobs = JobSocket::start(o.job_socket);
    if (!jobs) return tl::unexpected(jobs.error());
    a->jobs_ = std::move(*jobs);
  }
  if (!o.controller.empty()) {
    a->say(AgentWord::started, "muster " MUSTER_VERSION, 0, o.kernel_log);
    SenderOptions s{o.node, o.controller, o.token};
    s.scrape = [agent = a.get()] { return render_exposition(agent->picture(), agent->options_.node); };
    s.answered = [agent = a.get()](const std::string& answer) { agent->hear_controller(answer); };
    a->sender_ = std::make_unique<Sender>(*a->spool_, std::move(s));
    a->sender_->wake();
  }
  return a;
}

void Agent::hear_controller(const std::string& answer) {
  if (jobs_) jobs_->advise(read_paces(answer));
  const auto v = parse_json(answer);
  const Value* left = v ? v->find("refusals_left") : nullptr;
  double number = 0;
  if (left == nullptr || !left->number(number)) return;
  const std::lock_guard hold(lock_);
  refusals_left_ = static_cast<std::uint32_t>(std::clamp(number, 0.0, 1e9));
  refusals_at_ = monotonic_now();
}

// What hooks go by. Written when it changes, and often enough that nobody takes it for old.
void Agent::renew_verdict(Time now) {
  Verdict v = judge_node(picture());
  v.boot = boot_;
  {
    const std::lock_guard hold(lock_);
    if (now - refusals_at_ < kWordHolds) v.left = refusals_left_;
  }
  v.uptime_s = verdict_.uptime_s;
  if (v == verdict_ && now - verdict_at_ < kVerdictEvery) return;
  v.uptime_s = uptime_s();
  verdict_ = std::move(v);
  verdict_at_ = now;
  // A file that cannot be written grows old, and what is old passes.
  if (auto saved = save_verdict(options_.folder, verdict_); !saved) log(LogLevel::warning, saved.error().what);
}

Picture Agent::picture() const {
  const std::lock_guard hold(lock_);
  Picture p = picture_;
  if (sender_) {
    p.figures.sent = sender_->sent();
    p.figures.controller_answers = sender_->answers();
  }
  p.figures.spool_bytes = spool_->waiting_bytes();
  return p;
}

// False: there was no room for it.
bool Agent::keep(const Letter& letter) {
  if (options_.controller.empty()) return true;
  if (spool_->append(encode_letter(letter)) == Spool::Kept::no) return false;
  if (sender_) sender_->wake();
  return true;
}

void Agent::say(AgentWord word, const std::string& subject, std::uint64_t count, const std::string& text) {
  if (options_.controller.empty()) return;
  JsonWriter w;
  w.object().field("word", name_of(word)).field("subject", subject).field("count", count).field("text", text).end_object();
  keep_own(w.take_members());
}

void Agent::keep_own(const std::string& members) {
  if (keep({"agent", cursor_->id(), cursor_->next_own(), monotonic_now(), utc_now(), boot_, members})) return;
  ++untold_dropped_;
  const std::lock_guard hold(lock_);
  ++picture_.figures.dropped;
}

void Agent::note_fatal(const KernelRecord& r) {
  const bool fatal = r.kind == KernelKind::off_bus || r.kind == KernelKind::gsp_dead ||
                     (r.kind == KernelKind::xid && std::find(std::begin(kFatal), std::end(kFatal), r.code) != std::end(kFatal));
  if (!fatal) return;
  probes_->hurry();  // what NVML says of it is the second witness
  // By address where the record names one: a second record of the same GPU replaces the first.
  const auto line = parse_log_line(r.text);
  const std::lock_guard hold(lock_);
  if (picture_.figures.fatal.size() < 64)
    picture_.figures.fatal[line ? line->event.pci : r.text] = printable(r.text.substr(0, 200));
}

void Agent::on_piece(const KernelPiece& p) {
  static const Site kNoSite;
  {
    const std::lock_guard hold(lock_);
    ++picture_.figures.kernel_records;
    picture_.figures.kernel_missing += p.missing;
  }
  untold_missing_ += p.missing;
  std::string_view text = p.bytes;
  std::optional<KernelRecord> record;
  if (p.structured) {
    record = parse_kmsg(p.bytes, NodeId{0}, 0, Time{}, kNoSite);
    if (!record) return;
    text = text.substr(text.find(';') + 1);
    text = text.substr(0, text.find('\n'));
  } else if (!parse_log_line(p.bytes)) {
    return;
  }
  const Time now = monotonic_now();
  const bool passes = budget_.take(kind_of_record(text), now);
  {
    const std::lock_guard hold(lock_);
    ++picture_.figures.kernel_faults;
    if (!passes) ++picture_.figures.held_back;
  }
  if (!passes) return;
  if (source_->trusted() && record) note_fatal(*record);
  JsonWriter w;
  w.object().field(p.structured ? "kmsg" : "line", to_valid_utf8(p.bytes)).field("trusted", source_->trusted()).end_object();
  const Time mono = source_->trusted() && p.mono.ns > 0 && p.mono < now ? p.mono : now;
  if (keep({"kernel", source_->position().boot, p.seq, mono, utc_now(), boot_, w.take_members()})) return;
  ++untold_dropped_;
  const std::lock_guard hold(lock_);
  ++picture_.figures.dropped;
}

bool Agent::driver_hangs() const {
  const std::lock_guard hold(lock_);
  return std::any_of(picture_.figures.probes.begin(), picture_.figures.probes.end(),
                     [](const auto& p) { return p.second.hung && !of_files(p.first); });
}

// The driver told of an Xid by way of NVML. The kernel log says the same and more, and sooner: where it is followed and can be
// trusted, this only shows on the page.
void Agent::on_told(const ProbeReport& r) {
  Readings told = parse_readings(r.text);
  const bool send = !source_ || !source_->trusted();
  const Time now = monotonic_now();
  for (const Xid& x : told.xids) {
    log(LogLevel::warning, fmt::format("NVML tells of Xid {} on GPU {}", x.code, x.gpu));
    if (!send || !budget_.take(fmt::format("nvml {} {}", x.gpu, x.code), now)) continue;
    JsonWriter w;
    w.object().field("xid", x.code).field("pci", x.pci).end_object();
    keep_own(w.take_members());
  }
  const std::lock_guard hold(lock_);
  merge_readings(picture_.readings, std::move(told));
  auto& xids = picture_.readings.xids;
  if (xids.size() > 256) xids.erase(xids.begin(), xids.end() - 128);
}

// Who the GPUs are and what the node runs: told at the start and when it changes. Call without the lock.
void Agent::tell_facts() {
  if (options_.controller.empty()) return;
  std::map<std::string, std::string> now;  // what it is about -> JSON members
  {
    const std::lock_guard hold(lock_);
    for (const auto& [index, g] : picture_.readings.gpus) {
      if (g.facts.count("uuid") == 0) continue;
      JsonWriter w;
      w.object().key("gpu").object().field("index", index);
      for (const auto& [name, text] : g.facts) w.field(name, text);
      w.end_object().end_object();
      now[fmt::format("gpu {}", index)] = w.take_members();
    }
    if (picture_.figures.probes.count("versions") != 0) {
      JsonWriter w;
      w.object().key("facts").object();
      for (const auto& [name, text] : picture_.readings.node) {
        const bool state = name == "boot_time" || name.rfind("nvml", 0) == 0;
        if (!state) w.field(name, text);
      }
      w.end_object().end_object();
      now["node"] = w.take_members();
    }
  }
  for (const auto& [what, members] : now) {
    if (told_facts_[what] == members) continue;
    if (keep({"agent", cursor_->id(), cursor_->next_own(), monotonic_now(), utc_now(), boot_, members}))
      told_facts_[what] = members;  // else it is told the next time
  }
}

// A GPU that NVML lost is what a kernel record needs as its second witness: nobody waits for the next page to hear of it.
void Agent::tell_losses() {
  std::set<int> lost;
  {
    const std::lock_guard hold(lock_);
    for (const auto& [index, g] : picture_.readings.gpus) {
      if (const auto it = g.values.find("muster_gpu_lost"); it != g.values.end() && it->second != 0) lost.insert(index);
    }
  }
  if (std::exchange(lost_, lost) != lost && sender_) sender_->scrape();
}

// What jobs' logs and NCCL's watch say, ready to be sent; "!COUNT WORDS" is what was left out of it, "?WORDS" what is odd.
void Agent::on_job_lines(const ProbeReport& r) {
  for (const std::string_view line : split(r.text, '\n')) {
    if (line.empty()) continue;
    if (line[0] == '?') {
      log(LogLevel::warning, fmt::format("{} {}", r.name, printable(line.substr(1))));
      continue;
    }
    if (line[0] != '!') {
      keep_own(std::string(line));
      continue;
    }
    log(LogLevel::warning, fmt::format("{}: {}", r.name, printable(line.substr(1))));
    const std::size_t blank = std::min(line.find(' '), line.size() - 1);
    say(AgentWord::dropped, r.name, parse_uint(line.substr(1, blank - 1)).value_or(0), std::string(line.substr(blank + 1)));
  }
}

void Agent::on_report(ProbeReport r) {
  if (r.state == ProbeState::told) return on_told(r);
  const bool of_processes = r.name == kNcclRas || r.name == kJobEnvironments;
  const bool of_jobs = r.name == kJobLogs || of_processes;
  if (of_jobs && r.state == ProbeState::ok && !options_.controller.empty()) on_job_lines(r);
  if (r.name == kFacts) {
    // It reads files from wherever they lie: that it hangs is no word about the driver, and what was read before still holds.
    const std::lock_guard hold(lock_);
    if (r.state == ProbeState::ok && !r.text.empty()) facts_ = std::move(r.text);
    return;
  }
  if (of_processes) return;  // a job that does not answer, or whose files do not, is no fault of the node
  const bool mount = of_files(r.name);
  const bool command = r.name.rfind(kCommandPrefix, 0) == 0;
  bool was_hung = false;
  {
    const std::lock_guard hold(lock_);
    ProbeStatus& s = picture_.figures.probes[r.name];
    was_hung = s.hung;
    s.hung = r.state == ProbeState::hung || (r.state == ProbeState::died && s.hung);
    s.took_s = r.took.seconds();
    s.trouble = trouble_of(r);
    if (r.state == ProbeState::ok && !mount && !command) merge_readings(picture_.readings, parse_readings(r.text));
    // A driver that hangs tells nothing: old values must not pass for new ones.
    if (r.name == "nvml" && r.state != ProbeState::ok) picture_.readings.gpus.clear();
  }
  if (r.state == ProbeState::hung && !was_hung) {
    const std::string text = fmt::format("no answer within {}", render_duration(r.took));
    log(LogLevel::warning, fmt::format("probe '{}': {}", printable(r.name), text));
    say(mount ? AgentWord::mount_stalled : AgentWord::probe_hung, r.name, 0, text);
  }
  if (r.state == ProbeState::ok && (r.name == "nvml" || r.name == "versions")) tell_facts();
  if (r.state == ProbeState::ok && r.name == "nvml") tell_losses();
  // Each mount is a finding of its own, and all other probes are one together.
  if (was_hung && r.state == ProbeState::ok && (mount || !driver_hangs()))
    say(mount ? AgentWord::mount_back : AgentWord::probe_back, r.name, 0, "");
}

// What jobs said since the last second. Users write it: while much waits to be sent it is not added to, and nothing is lost, for
// the newest word of each job stays where it is.
void Agent::hear_jobs(Time now) {
  if (!jobs_) return;
  {
    const std::lock_guard hold(lock_);
    picture_.figures.job_reports = jobs_->heard();
    picture_.figures.job_refusals = jobs_->refused();
  }
  if (options_.controller.empty() || spool_->waiting_bytes() > kJobsWait) return;
  for (const std::string& members : jobs_->take(now)) keep_own(members);
}

void Agent::each_second(Time now) {
  if (now - second_ < seconds(1)) return;
  second_ = now;
  if (source_) source_->look_after();
  untold_held_back_ += budget_.take_held_back();
  // What was lost is told before anything else may be lost again; while there is no room to tell it, the count is kept.
  const auto tell = [&](std::uint64_t& count, AgentWord word, const char* text) {
    if (count == 0) return;
    const std::uint64_t n = std::exchange(count, 0);
    const std::uint64_t dropped = untold_dropped_;
    say(word, source_ ? options_.kernel_log : "", n, text);
    if (untold_dropped_ == dropped) return;
    untold_dropped_ = dropped;
    count += n;
  };
  tell(untold_missing_, AgentWord::kernel_gap, "the kernel overwrote records before they were read");
  tell(untold_held_back_, AgentWord::dropped, "too many records of one kind");
  tell(untold_dropped_, AgentWord::dropped, "the spool is full");
  if (source_ && !spool_->in_memory()) cursor_->save(source_->position());
  spool_->sync();
  hear_jobs(now);
  renew_verdict(now);
  for (const HookWord& w : take_hook_words(options_.folder)) {
    log(LogLevel::warning, fmt::format("{}: {}", w.hook, w.text));
    say(AgentWord::dropped, w.hook, 1, w.text);
  }
  take_accept_words(options_.folder, [&](const std::string& members) {
    return keep({"agent", cursor_->id(), cursor_->next_own(), monotonic_now(), utc_now(), boot_, members});
  });
  if (++seconds_ == kSettled) release_code();
}

Result<void> Agent::turn() {
  pollfd fds[2] = {{probes_->fd(), POLLIN, 0}, {source_ ? source_->wake_fd() : -1, POLLIN, 0}};
  const std::int64_t left_ms = (second_ + seconds(1) - monotonic_now()).ns / 1'000'000 + 1;
  poll(fds, 2, more_ ? 0 : static_cast<int>(std::clamp<std::int64_t>(left_ms, 1, 1000)));
  if (source_) more_ = source_->read(kPiecesATurn, [&](const KernelPiece& p) { on_piece(p); }) >= kPiecesATurn;
  auto reports = probes_->read();
  if (!reports) return tl::unexpected(reports.error());
  for (ProbeReport& r : *reports) on_report(std::move(r));
  each_second(monotonic_now());
  return {};
}

HttpHandler Agent::handler() {
  return [this](const std::shared_ptr<HttpExchange>& x) {
    const std::string& path = x->request().path;
    if (x->request().method != "GET") return x->respond(text_response(405, "text/plain", "only GET\n"));
    if (path == "/metrics") {
      return x->respond(
          text_response(200, "text/plain; version=0.0.4; charset=utf-8", render_exposition(picture(), options_.node)));
    }
    if (path == "/check") {
      const std::vector<std::string> problems = check_node(picture());
      JsonWriter w;
      w.object().field("node", options_.node).field("ok", problems.empty()).key("problems").array();
      for (const std::string& p : problems) w.value(p);
      w.end_array().end_object();
      return x->respond(text_response(200, "application/json", w.take()));
    }
    if (path == "/facts") {
      const std::lock_guard hold(lock_);
      if (facts_.empty()) return x->respond(text_response(503, "text/plain", "nothing is read yet; ask again in a second\n"));
      return x->respond(text_response(200, "application/json", facts_));
    }
    if (path == "/healthz") return x->respond(text_response(200, "text/plain", "ok\n"));
    x->respond(text_response(404, "text/plain", "there is /metrics, /check, /facts and /healthz\n"));
  };
}

}  // namespace muster::agent
