#include "adapters/scrape/scraper.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "ingest/prom_text.h"

namespace muster {
namespace {

constexpr Duration kLookEvery = seconds(1);
// Targets are asked in small groups, and their answers are waited for a moment: waking up costs more than reading a page.
constexpr Duration kTick = milliseconds(100);
constexpr auto kGather = std::chrono::milliseconds(5);
constexpr std::size_t kFileMax = std::size_t{64} << 20;
constexpr std::size_t kLargePage = 64 << 10;  // below, a compressed answer costs the node more than it saves the network
constexpr Duration kBackOffMost = minutes(1);

Time steady_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    text.resize(kFileMax + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if ((!in && !in.eof()) || text.size() > kFileMax) {
    return fail(Code::not_found, fmt::format("{}: cannot be read", printable(path)),
                "--scrape takes a file of targets in Prometheus' file_sd format (JSON)");
  }
  return text;
}

// Changes when the file does.
std::string stamp_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return "none";
  return fmt::format("{}/{}/{}/{}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

// One connection a target stays open, where the system lets us.
std::size_t raise_file_limit(std::size_t wanted) {
  rlimit r{};
  if (::getrlimit(RLIMIT_NOFILE, &r) != 0) return 256;
  const rlim_t more = std::min<rlim_t>(r.rlim_max, std::max<rlim_t>(r.rlim_cur, wanted + 512));
  if (more > r.rlim_cur) {
    r.rlim_cur = more;
    if (::setrlimit(RLIMIT_NOFILE, &r) != 0) ::getrlimit(RLIMIT_NOFILE, &r);
  }
  return r.rlim_cur > 1024 ? std::min<std::size_t>(wanted, r.rlim_cur - 512) : std::min<std::size_t>(wanted, r.rlim_cur / 2);
}

constexpr std::size_t kConnectionsMax = 16'384;

}  // namespace

Result<std::unique_ptr<Scraper>> Scraper::start(Mailbox& mailbox, const Site& site, ScrapeOptions options) {
  const std::string stamp = stamp_of(options.file);
  const auto text = read_file(options.file);
  if (!text) return tl::unexpected(text.error());
  const auto specs = parse_file_sd(*text, options.file);
  if (!specs) return tl::unexpected(specs.error());
  options.timeout = std::min(options.timeout, options.every);
  std::unique_ptr<Scraper> s(new Scraper(mailbox, site, std::move(options)));
  s->stamp_ = stamp;
  s->use(*specs);
  s->thread_ = std::thread([raw = s.get()] { raw->run(); });
  return s;
}

Scraper::Scraper(Mailbox& mailbox, const Site& site, ScrapeOptions options)
    : mailbox_(mailbox), site_(site), options_(std::move(options)), names_(site), fan_(raise_file_limit(kConnectionsMax)) {}

Scraper::~Scraper() {
  stop_ = true;
  fan_.wake();
  if (thread_.joinable()) thread_.join();
}

void Scraper::use(const std::vector<ScrapeTarget>& specs) {
  std::map<std::string, std::shared_ptr<Target>> next;
  const Time now = steady_now();
  for (const ScrapeTarget& spec : specs) {
    const auto known = targets_.find(spec.url);
    if (known != targets_.end() && known->second->spec == spec) {
      next[spec.url] = known->second;
      continue;
    }
    auto t = std::make_shared<Target>();
    t->spec = spec;
    // Who is named must be right: a label that names no node of ours is not overruled by an address that does.
    t->node = names_.find(!spec.node.empty() ? spec.node : !spec.instance.empty() ? spec.instance : spec.address);
    // Each has its own moment of the interval, the same after a restart, so that they never come all at once.
    const auto ticks = static_cast<std::uint64_t>(std::max<std::int64_t>(1, options_.every.ns / kTick.ns));
    t->due = now + kTick * static_cast<std::int64_t>(xxh64(spec.url) % ticks);
    queue_.push({t->due, t});
    next[spec.url] = std::move(t);
  }
  for (auto& [url, t] : targets_) {
    const auto it = next.find(url);
    if (it == next.end() || it->second != t) t->gone = true;
  }
  targets_ = std::move(next);
  targets_count_ = targets_.size();
  count_unknown();
}

void Scraper::count_unknown() {
  std::size_t unknown = 0, up = 0;
  std::string some;
  for (const auto& [url, t] : targets_) {
    up += t->up;
    if (t->node.some() || !t->asked) continue;
    if (++unknown <= 3) some += (some.empty() ? "" : ", ") + printable(t->spec.address);
  }
  up_ = up;
  unknown_ = unknown;
  if (unknown > unknown_said_) {
    log(LogLevel::warning,
        fmt::format("{} targets of {} belong to no node of the cluster file and are left out: {}{} (their label "
                    "\"node\" must be a name of that file)",
                    unknown, options_.file, some, unknown > 3 ? " ..." : ""));
  }
  unknown_said_ = unknown;
}

void Scraper::look_at_file() {
  const std::string stamp = stamp_of(options_.file);
  std::string trouble;
  if (stamp == stamp_) return;
  stamp_ = stamp;
  const auto text = read_file(options_.file);
  const auto specs = text ? parse_file_sd(*text, options_.file) : tl::unexpected(text.error());
  if (specs) {
    use(*specs);
  } else {
    ++reloads_failed_;
    trouble = fmt::format("{}; the {} targets of before stay in use", specs.error().what, targets_.size());
  }
  file_trouble_ = trouble;
}

std::string Scraper::trouble() const {
  const std::lock_guard hold(lock_);
  return trouble_;
}

void Scraper::run() {
  looked_ = steady_now();
  while (!stop_) {
    Time now = steady_now();
    if (now - looked_ >= kLookEvery) {
      look_at_file();
      count_unknown();
      sum_up();
      looked_ = now;
    }
    while (!queue_.empty() && queue_.top().at <= now && fan_.in_flight() < options_.in_flight_max) {
      const std::shared_ptr<Target> t = queue_.top().target;
      queue_.pop();
      if (!t->gone) ask(t);
    }
    Duration rest = looked_ + kLookEvery - now;
    // When all places are taken the next free one wakes us, not the clock.
    if (!queue_.empty() && fan_.in_flight() < options_.in_flight_max) rest = std::min(rest, queue_.top().at - now);
    if (fan_.in_flight() > 1) std::this_thread::sleep_for(kGather);
    fan_.poll(std::chrono::milliseconds(std::clamp<std::int64_t>(rest.ns / 1'000'000 + 1, 1, 1000)));
    deliver();
  }
}

void Scraper::ask(const std::shared_ptr<Target>& target) {
  http::Request q;
  q.url = target->spec.url;
  q.timeout_ms = options_.timeout.ns / 1'000'000;
  q.headers["Accept"] = "text/plain;version=0.0.4";
  fan_.send(q, options_.body_max, target->large, [this, target](const Result<http::Response>& r) { answered(target, r); });
}

Result<std::vector<Sample>> Scraper::read(Target& t, const Result<http::Response>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 200) return fail(Code::unreachable, fmt::format("status {}", answer->status));
  bytes_ += answer->body.size();
  t.large = answer->body.size() > kLargePage;
  if (!t.node.some() && t.spec.node.empty()) t.node = names_.find(hostname_in(answer->body));
  std::vector<Sample> samples;
  if (!t.node.some()) return samples;
  samples.push_back({Time{}, t.node, -1, Field::up, 1});
  const bool unlearnt = t.places.address.empty();
  refused_ += parse_scrape(answer->body, t.node, Time{}, site_, samples, &t.places);
  if (unlearnt && !t.places.address.empty() && !std::exchange(strange_said_, true)) {
    log(LogLevel::warning,
        fmt::format("{}: its GPUs are at other addresses than the cluster file says; they are placed by what its "
                    "first whole page shows, and addresses in findings may be wrong (give gpu_pci in the cluster "
                    "file)",
                    printable(t.spec.address)));
  }
  // A page that says nothing of its node is no sign that the node lives: another node's page, an error in HTML, nothing at all.
  if (samples.size() == 1) samples.front().value = 0;
  if (const bool empty = samples.size() == 1; empty != std::exchange(t.empty, empty) && empty) {
    const std::string_view host = hostname_in(answer->body);
    complain(t, host.empty() ? "its page says nothing of a GPU or a node"
                             : fmt::format("its page is of the host {}", printable(host.substr(0, 64))));
  }
  // Our own agent says that its page is whole; of others it is inferred.
  if (samples.back().field == Field::gpus_visible) return samples;
  // An exporter that outlives its driver has a page without GPUs. While one starts, so has it: twice in a row is a finding.
  const std::uint32_t seen = gpus_in(samples);
  if (seen == 0 && t.roll.whole()) {
    t.dark = true;
    samples.push_back({Time{}, t.node, -1, Field::driver_answers, 0});
  } else if (seen != 0 && std::exchange(t.dark, false)) {
    samples.push_back({Time{}, t.node, -1, Field::driver_answers, 1});
  }
  if (seen != 0) {
    const auto visible = t.roll.call(seen, (1U << site_.gpus_per_node) - 1);
    if (visible) samples.push_back({Time{}, t.node, -1, Field::gpus_visible, static_cast<double>(*visible)});
  }
  return samples;
}

void Scraper::answered(const std::shared_ptr<Target>& t, const Result<http::Response>& answer) {
  if (t->gone) return;
  auto samples = read(*t, answer);
  t->asked = true;
  t->up = samples.has_value();
  if (samples) {
    ++ok_;
    t->failures = 0;
  } else {
    ++failed_;
    if (++t->failures == 2) complain(*t, samples.error().what);
    samples.emplace();
    if (t->node.some()) samples->push_back({Time{}, t->node, -1, Field::up, 0});
  }
  read_.insert(read_.end(), samples->begin(), samples->end());
  again(t);
}

void Scraper::complain(const Target& t, const std::string& why) {
  constexpr std::size_t kMost = 5;
  const Time now = steady_now();
  if (now - complaints_since_ >= minutes(1)) {
    complaints_since_ = now;
    complaints_ = 0;
  }
  last_complaint_ = why.starts_with(t.spec.url) ? why : fmt::format("{}: {}", t.spec.url, why);
  if (++complaints_ <= kMost) log(LogLevel::warning, fmt::format("target {}", printable(last_complaint_)));
}

// What /healthz tells.
void Scraper::sum_up() {
  std::size_t down = 0;
  for (const auto& [url, t] : targets_) down += t->asked && (!t->up || t->empty);
  std::string trouble = file_trouble_;
  if (down > 0) {
    trouble += fmt::format("{}{} of {} targets bring nothing; the last: {}", trouble.empty() ? "" : "; ", down, targets_.size(),
                           printable(last_complaint_));
  }
  const std::lock_guard hold(lock_);
  trouble_ = trouble;
}

void Scraper::deliver() {
  if (read_.empty()) return;
  const std::size_t count = read_.size();
  Parcel parcel;
  parcel.records = count;
  parcel.open = [all = std::make_shared<std::vector<Sample>>(std::exchange(read_, {}))](Time utc, Inbox& out) {
    for (Sample& s : *all) s.at = utc;
    out.samples.insert(out.samples.end(), all->begin(), all->end());
  };
  parcel.turn_away = [](const Error&) {};
  if (mailbox_.deliver(std::move(parcel))) {
    samples_ += count;
  } else {
    dropped_ += count;
  }
}

void Scraper::again(const std::shared_ptr<Target>& t) {
  const Time now = steady_now();
  // One that does not answer is asked half as often each time, but once a minute at the least: it must be seen to come back.
  Duration step = options_.every;
  for (std::uint32_t n = 1; n < t->failures && step < kBackOffMost; ++n) step = std::min(step * 2, std::max(kBackOffMost, step));
  t->due = t->due + step;
  if (t->due <= now) {  // it took longer than an interval: its moment is kept, the missed ones are not made up for
    const std::int64_t missed = (now - t->due).ns / options_.every.ns + 1;
    t->due = t->due + options_.every * missed;
  }
  queue_.push({t->due, t});
}

std::vector<Meter> Scraper::meters() const {
  const auto n = [](const auto& x) { return static_cast<double>(x.load()); };
  return {
      {"muster_scrape_targets",
       "gauge",
       "Targets of the file, by whether they answered when last asked",
       "state",
       {{"up", n(up_)}, {"down", n(targets_count_) - n(up_)}}},
      {"muster_scrape_unknown_targets", "gauge", "Targets that belong to no node of the cluster file", "", {{"", n(unknown_)}}},
      {"muster_scrapes_total",
       "counter",
       "Exchanges with exporters, by outcome",
       "outcome",
       {{"ok", n(ok_)}, {"failed", n(failed_)}}},
      {"muster_scrape_bytes_total", "counter", "Bytes of pages read, after decompression", "", {{"", n(bytes_)}}},
      {"muster_scrape_samples_total", "counter", "Readings taken from pages", "", {{"", n(samples_)}}},
      {"muster_scrape_lines_refused_total",
       "counter",
       "Lines of pages that could not be read, or were another node's",
       "",
       {{"", n(refused_)}}},
      {"muster_scrape_samples_dropped_total",
       "counter",
       "Readings lost because the controller was behind",
       "",
       {{"", n(dropped_)}}},
      {"muster_scrape_file_errors_total",
       "counter",
       "Changes of the target file that could not be used",
       "",
       {{"", n(reloads_failed_)}}},
  };
}

}  // namespace muster
