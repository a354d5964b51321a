#include "adapters/agent/job_logs.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "adapters/agent/kernel_source.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/job_log.h"
#include "ingest/job_report.h"

namespace muster::agent {
namespace {

constexpr std::size_t kLogsMax = 10'000;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kReadMost = 4 << 20;       // of one log in one go
constexpr std::uint64_t kBehindMost = 64 << 20;  // further behind than this, the oldest is passed over
constexpr std::size_t kLineMost = 2048;          // bytes of a line that is handed on
constexpr std::size_t kAnswerMost = 128 << 10;   // the rest waits for the next time
constexpr int kRepeats = 3;                      // of one kind by one rank in a minute
constexpr int kReportsMost = 60;                 // of one job's progress in a minute
constexpr Duration kStepsEvery = seconds(10);    // how far it is, where no checkpoint was written
constexpr std::size_t kSaidMost = 200'000;
constexpr Duration kScanEvery = seconds(10);
constexpr std::size_t kHeldMost = 512;    // descriptors
constexpr std::int64_t kActive_s = 3600;  // written to within this, a log is held open
constexpr std::int64_t kRemembered_s = 3600;
constexpr std::string_view kJob = "%j";

// Kubernetes writes "2026-11-15T12:00:00.123456789Z stdout F text".
std::string_view without_cri_prefix(std::string_view line) {
  if (line.size() < 30 || line[4] != '-' || line[10] != 'T') return line;
  for (const std::string_view stream : {" stdout ", " stderr "}) {
    const std::size_t at = line.substr(0, 48).find(stream);
    const std::size_t text = at + stream.size() + 2;
    if (at != std::string_view::npos && line.size() > text && line[text - 1] == ' ') return line.substr(text);
  }
  return line;
}

bool matches(std::string_view pattern, std::string_view path, std::string_view* job) {
  while (!pattern.empty()) {
    const bool names_job = pattern.substr(0, kJob.size()) == kJob;
    if (pattern[0] != '*' && !names_job) {
      if (path.empty() || path[0] != pattern[0]) return false;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const std::string_view rest = pattern.substr(names_job ? kJob.size() : 1);
    const std::size_t most = std::min(path.find('/'), path.size());
    for (std::size_t n = names_job ? 1 : 0; n <= most; ++n) {
      if (!matches(rest, path.substr(n), job)) continue;
      if (names_job) *job = path.substr(0, n);
      return true;
    }
    return false;
  }
  return path.empty();
}

}  // namespace

std::optional<std::string> job_of_path(std::string_view pattern, std::string_view path) {
  std::string_view job = path;
  if (!matches(pattern, path, &job)) return std::nullopt;
  return std::string(job);
}

JobLogs::JobLogs(std::vector<std::string> patterns, std::string memory)
    : patterns_(std::move(patterns)), memory_(std::move(memory)) {}

JobLogs::~JobLogs() {
  for (auto& [path, log] : logs_) let_go(log);
}

std::string JobLogs::ask() {
  const Time now = monotonic_now();
  std::string out;
  if (!started_) load();
  if (!started_ || now >= scan_at_) scan(now, out);
  if (!started_ && found_ == 0) out += "?no file matches --job-log yet\n";
  started_ = true;
  if (now - minute_ >= minutes(1)) {
    minute_ = now;
    said_.clear();
  }
  // What was handed over the last time has reached the agent long since.
  save(now);
  for (auto& [path, log] : logs_) {
    if (log.there && out.size() < kAnswerMost) read(path, log, out);
  }
  const auto tell = [&](std::uint64_t& count, const char* what) {
    if (count > 0) out += fmt::format("!{} {}\n", std::exchange(count, 0), what);
  };
  tell(skipped_, "bytes of job logs were passed over: they are written faster than they can be read");
  if (left_out_ != std::exchange(told_left_out_, left_out_) && left_out_ > 0)
    out += fmt::format("!{} files match --job-log beyond the 10,000 that are followed: give a narrower pattern\n", left_out_);
  tell(held_back_, "lines of job logs repeat what was said in the same minute");
  return out;
}

void JobLogs::scan(Time now, std::string& out) {
  for (auto& [path, log] : logs_) log.there = false;
  found_ = left_out_ = 0;
  for (const std::string& pattern : patterns_) {
    std::string wild = pattern;
    for (std::size_t at = 0; (at = wild.find(kJob, at)) != std::string::npos;) wild.replace(at, kJob.size(), "*");
    glob_t all{};
    if (glob(wild.c_str(), GLOB_NOSORT, nullptr, &all) == 0) {
      for (std::size_t i = 0; i < all.gl_pathc; ++i) {
        const auto job = job_of_path(pattern, all.gl_pathv[i]);
        if (!job) continue;
        if (++found_ > kLogsMax) {
          ++left_out_;
        } else {
          meet(all.gl_pathv[i], *job);
        }
      }
    }
    globfree(&all);
  }
  for (auto it = logs_.begin(); it != logs_.end();) {
    Log& log = it->second;
    if (log.there) {
      ++it;
      continue;
    }
    if (!read_on(log, out)) {  // removed, or called otherwise now: the rest is for the next time
      ++it;
      continue;
    }
    let_go(log);
    it = logs_.erase(it);
    changed_ = true;
  }
  // A folder that takes long to read is read less often.
  scan_at_ = monotonic_now() + std::max(kScanEvery, Duration{50 * (monotonic_now() - now).ns});
}

// A log that is there when an agent first comes is followed from its end, because how old its lines are cannot be known; one that
// appears later, or while the agent was away for a moment, is read from its beginning.
void JobLogs::meet(const std::string& path, const std::string& job) {
  struct stat st {};
  // Only files: a user's fifo or device by that name would be waited for.
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return;
  const auto [it, fresh] = logs_.try_emplace(path);
  Log& log = it->second;
  log.there = true;
  log.job = job;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (fresh) {
    log.offset = started_ || remembered_ ? 0 : size;
    log.inode = st.st_ino;
    changed_ = true;
  }
  if (utc_now().ns / 1'000'000'000 - st.st_mtime > kActive_s) {
    let_go(log);
  } else if (log.inode == st.st_ino) {
    if (held_ < kHeldMost) hold(path, log);
  }
}

void JobLogs::hold(const std::string& path, Log& log) {
  if (log.fd >= 0) return;
  log.fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  held_ += log.fd >= 0 ? 1 : 0;
}

void JobLogs::let_go(Log& log) {
  if (log.fd < 0) return;
  close(log.fd);
  log.fd = -1;
  --held_;
}

void JobLogs::read(const std::string& path, Log& log, std::string& out) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return;                     // the next scan sees to it
  if (st.st_ino != log.inode || static_cast<std::uint64_t>(st.st_size) < log.offset) {  // another file, or written anew
    if (st.st_ino != log.inode && !read_on(log, out)) return;                           // first the rest of the old one
    let_go(log);
    log.inode = st.st_ino;
    log.offset = 0;
    changed_ = true;
  }
  if (static_cast<std::uint64_t>(st.st_size) <= log.offset) return;
  hold(path, log);
  read_on(log, out);
  if (held_ > kHeldMost) let_go(log);
}

// True: to its end, but for a line that is not whole yet.
bool JobLogs::read_on(Log& log, std::string& out) {
  struct stat st {};
  if (log.fd < 0 || fstat(log.fd, &st) != 0) return true;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > log.offset + kBehindMost) {
    skipped_ += size - kReadMost - log.offset;
    log.offset = size - kReadMost;
  }
  static char piece[kPiece];  // one process, one thread
  for (std::size_t done = 0; done < kReadMost && out.size() < kAnswerMost;) {
    const ssize_t got = pread(log.fd, piece, kPiece, static_cast<off_t>(log.offset));
    if (got <= 0) return true;
    const std::string_view text(piece, static_cast<std::size_t>(got));
    std::size_t used = 0;
    // A progress bar ends its lines with a return alone.
    for (std::size_t end = 0; out.size() < kAnswerMost && (end = text.find_first_of("\r\n", used)) != std::string_view::npos;
         used = end + 1)
      hand_on(log, text.substr(used, end - used), out);
    if (used == 0 && text.size() == kPiece) used = kPiece;  // a line without end: not one of ours
    if (used == 0) return true;
    log.offset += used;
    done += used;
    changed_ = true;
  }
  return false;
}

// How far the job is, as Megatron-LM writes it: a report as the job itself would send. True: it was such a line.
bool JobLogs::hand_on_progress(Log& log, std::string_view line, std::string& out) {
  auto report = parse_megatron_line(line);
  if (!report) return false;
  const Time now = monotonic_now();
  if (report->saved_step >= 0) {
    log.saved_step = report->saved_step;
  } else if (report->saving_s >= 0) {
    if (log.saved_step < 0) return true;
    report->saved_step = std::exchange(log.saved_step, -1);
  } else if (log.stepped.ns != 0 && now - log.stepped < kStepsEvery) {
    return true;
  } else {
    log.stepped = now;
  }
  if (said_.size() >= kSaidMost || ++said_[log.job + " progress"] > kReportsMost) {
    ++held_back_;
    return true;
  }
  JsonWriter w;
  w.object().field("job", to_valid_utf8(log.job)).key("report").raw("{" + render_job_report(*report) + "}").end_object();
  out += w.take_members() + "\n";
  return true;
}

void JobLogs::hand_on(Log& log, std::string_view line, std::string& out) {
  line = without_cri_prefix(line.substr(0, kTrainLineMax));
  if (hand_on_progress(log, line, out)) return;
  const auto event = parse_train_line(line);
  static const Site kNoSite;
  if (!event || !job_log_record(*event, JobId{}, Time{}, kNoSite)) return;
  // A job of many ranks says the same many times, each of its ranks at least once; a program in a loop says it without end.
  if (said_.size() >= kSaidMost ||
      ++said_[fmt::format("{} {} {}", log.job, static_cast<int>(event->kind), event->rank)] > kRepeats) {
    ++held_back_;
    return;
  }
  JsonWriter w;
  w.object().field("job", to_valid_utf8(log.job)).field("log", to_valid_utf8(line.substr(0, kLineMost))).end_object();
  out += w.take_members() + "\n";
}

// "INODE OFFSET PATH" a line. What an agent remembers that was away for long is old, and so are the lines after it.
void JobLogs::load() {
  struct stat st {};
  if (stat(memory_.c_str(), &st) != 0 || utc_now().ns / 1'000'000'000 - st.st_mtime > kRemembered_s) return;
  std::FILE* f = std::fopen(memory_.c_str(), "re");
  if (f == nullptr) return;
  remembered_ = true;
  char line[8192];
  while (std::fgets(line, sizeof line, f) != nullptr && logs_.size() < kLogsMax) {
    const std::string_view all = trim(line);
    const auto parts = split(all, ' ');
    if (parts.size() < 3) continue;
    const auto inode = parse_uint(parts[0]);
    const auto offset = parse_uint(parts[1]);
    if (!inode || !offset) continue;
    Log& log = logs_[std::string(parts[2].data(), all.data() + all.size())];
    log.inode = static_cast<ino_t>(*inode);
    log.offset = *offset;
  }
  std::fclose(f);
}

void JobLogs::save(Time now) {
  if (now - saved_ < (changed_ ? seconds(1) : minutes(1))) return;
  const std::string fresh = memory_ + ".new";
  std::FILE* f = std::fopen(fresh.c_str(), "we");
  if (f == nullptr) return;
  for (const auto& [path, log] : logs_)
    std::fprintf(f, "%ju %ju %s\n", uintmax_t{log.inode}, uintmax_t{log.offset}, path.c_str());
  const bool whole = std::fflush(f) == 0;
  std::fclose(f);
  if (whole && std::rename(fresh.c_str(), memory_.c_str()) == 0) changed_ = false;
  saved_ = now;
}

}  // namespace muster::agent
