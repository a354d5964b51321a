#include "adapters/agent/sender.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <random>

#include "adapters/agent/kernel_source.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::agent {
namespace {

constexpr std::size_t kBatchLines = 1000;
constexpr std::size_t kBatchBytes = 256 << 10;
constexpr std::int64_t kRetryFirstMs = 100;
constexpr std::int64_t kRetryMostMs = 5000;

}  // namespace

std::string encode_letter(const Letter& l) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", l.stream, l.boot, l.seq, l.machine_boot, l.mono.ns, l.utc.ns, l.members);
}

std::optional<Letter> decode_letter(std::string_view line) {
  const auto parts = split(line, '\t');
  if (parts.size() != 7) return std::nullopt;
  const auto seq = parse_uint(parts[2]);
  const auto mono = parse_int(parts[4]);
  const auto utc = parse_int(parts[5]);
  if (!seq || !mono || !utc) return std::nullopt;
  return Letter{std::string(parts[0]), std::string(parts[1]), *seq, Time{*mono}, Time{*utc},
                std::string(parts[3]), std::string(parts[6])};
}

std::string render_batch(const std::string& node, const std::vector<Letter>& letters, const std::string& scrape,
                         const std::string& machine_boot, Time mono, Time utc) {
  JsonWriter w;
  w.object().field("node", node).key("items");
  std::string items = "[";
  for (const Letter& l : letters) {
    // Ages, not times: the two machines' clocks need not agree, and a jump of either changes nothing.
    const Duration age = l.machine_boot == machine_boot ? mono - l.mono : utc - l.utc;
    items += fmt::format("{}{{\"stream\":\"{}\",\"boot\":\"{}\",\"seq\":{},\"age_ms\":{},{}}}", items.size() > 1 ? "," : "",
                         l.stream, l.boot, l.seq, std::max<std::int64_t>(0, age.ns / 1'000'000), l.members);
  }
  w.raw(items + "]");
  if (!scrape.empty()) w.field("scrape", scrape);
  w.end_object();
  return w.take();
}

std::size_t batch_length(const std::vector<Letter>& letters) {
  std::map<std::string_view, std::string_view> boots;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto [it, first] = boots.try_emplace(letters[i].stream, letters[i].boot);
    if (!first && it->second != letters[i].boot) return i;
  }
  return letters.size();
}

Result<http::Response> post_intake(const std::string& url, const std::string& token, std::string body) {
  http::Request q;
  q.method = "POST";
  const bool unix_socket = url.rfind("unix:", 0) == 0;
  q.url = (unix_socket ? std::string("http://localhost") : url) + "/api/v1/intake";
  if (unix_socket) q.unix_socket = url.substr(5);
  q.headers["content-type"] = "application/json";
  if (!token.empty()) q.headers["authorization"] = "Bearer " + token;
  q.body = std::move(body);
  q.timeout_ms = 10'000;
  return http::request(q);
}

Sender::Sender(Spool& spool, SenderOptions options) : spool_(spool), options_(std::move(options)), boot_(machine_boot()) {
  thread_ = std::thread([this] { run(); });
}

Sender::~Sender() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  bell_.notify_all();
  thread_.join();
}

void Sender::wake() {
  {
    const std::lock_guard hold(lock_);
    news_ = true;
  }
  bell_.notify_all();
}

void Sender::scrape() {
  scrape_now_ = true;
  wake();
}

int Sender::post(const std::string& body, std::string& why) {
  const auto r = post_intake(options_.url, options_.token, body);
  if (!r) {
    why = r.error().what;
    return 0;
  }
  if (r->status == 200 && options_.answered) options_.answered(r->body);
  if (r->status != 200) why = fmt::format("it answers {}: {}", r->status, printable(r->body.substr(0, 300)));
  return r->status;
}

// True when there is nothing left to do.
bool Sender::send_once() {
  const std::vector<std::string> lines = spool_.peek(kBatchLines, kBatchBytes);
  std::vector<Letter> letters;
  std::size_t torn = 0;
  for (const std::string& line : lines) {
    if (auto l = decode_letter(line)) {
      letters.push_back(std::move(*l));
    } else if (letters.empty()) {
      ++torn;  // cannot be sent, now or ever
    } else {
      break;
    }
  }
  letters.resize(batch_length(letters));
  const Time now = monotonic_now();
  const bool scrape = scrape_now_.exchange(false) || now - scraped_ >= options_.scrape_every || scraped_.ns == 0;
  if (letters.empty() && !scrape) {
    if (torn > 0) spool_.acknowledge(torn);
    return torn == 0;
  }
  std::string why;
  const int status = post(render_batch(options_.node, letters, scrape ? options_.scrape() : "", boot_, now, utc_now()), why);
  const bool never = status == 400 || status == 413;
  if (why != said_ && !why.empty()) log(LogLevel::warning, "the controller does not take what happened here: " + why);
  if (status == 200 && !said_.empty()) log(LogLevel::warning, "the controller answers again");
  said_ = why;
  answers_ = status == 200;
  if (status != 200 && !never) {
    if (scrape) scrape_now_ = true;
    return false;
  }
  if (scrape) scraped_ = now;
  spool_.acknowledge(torn + letters.size());
  (never ? refused_ : sent_) += letters.size();
  return false;
}

void Sender::run() {
  std::int64_t wait_ms = 0;  // after a failure
  std::int64_t pause_ms = kRetryFirstMs;
  std::mt19937_64 dice(xxh64(options_.node + boot_) ^ static_cast<std::uint64_t>(monotonic_now().ns));
  for (;;) {
    {
      std::unique_lock hold(lock_);
      const auto most = std::chrono::milliseconds(wait_ms > 0 ? wait_ms : 1000);
      if (wait_ms > 0) {
        bell_.wait_for(hold, most, [&] { return stop_; });  // news do not shorten the pause after a failure
      } else {
        bell_.wait_for(hold, most, [&] { return stop_ || news_; });
      }
      if (stop_) return;
      news_ = false;
    }
    wait_ms = 0;
    while (!send_once()) {
      if (!answers_) {
        // Between half of it and all: thousands of agents whose controller comes back must not ask in step.
        wait_ms = pause_ms / 2 + static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(pause_ms / 2 + 1));
        pause_ms = std::min(pause_ms * 2, kRetryMostMs);
        break;
      }
      pause_ms = kRetryFirstMs;
      const std::lock_guard hold(lock_);
      if (stop_) return;
    }
  }
}

}  // namespace muster::agent
