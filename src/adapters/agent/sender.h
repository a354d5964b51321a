// Sender: the thread that hands the spool to the controller, batch by batch, and what is newest of the readings now and then. A
// batch leaves the spool only when the controller says that it is durable there.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "adapters/agent/spool.h"
#include "adapters/http/client.h"
#include "base/time.h"

namespace muster::agent {

// One line of the spool: when and in which stream, and the rest of a JSON object.
struct Letter {
  std::string stream;  // "kernel" or "agent"
  std::string boot;
  std::uint64_t seq = 0;
  Time mono;  // when it happened, on `machine_boot`'s clock
  Time utc;   // likewise, for when the machine has booted since
  std::string machine_boot;
  std::string members;  // JSON members without braces: "\"kmsg\":\"...\""
};
std::string encode_letter(const Letter& letter);
std::optional<Letter> decode_letter(std::string_view line);
// The body of POST /api/v1/intake. `scrape` may be empty.
std::string render_batch(const std::string& node, const std::vector<Letter>& letters, const std::string& scrape,
                         const std::string& machine_boot, Time mono, Time utc);
// How many of them may go together: never two incarnations of one stream, or a resend could not be told from news.
std::size_t batch_length(const std::vector<Letter>& letters);

// Hands a body to a controller, POST /api/v1/intake: to "http(s)://HOST:PORT" or "unix:PATH", with the token unless it is empty.
Result<http::Response> post_intake(const std::string& url, const std::string& token, std::string body);

struct SenderOptions {
  std::string node;
  std::string url;    // "http://127.0.0.1:7070" or "unix:PATH"
  std::string token;  // empty: none
  Duration scrape_every = seconds(10);
  std::function<std::string()> scrape;
  std::function<void(const std::string&)> answered;  // with what the controller said, from the sender's thread; may be empty
};

class Sender {
 public:
  Sender(Spool& spool, SenderOptions options);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void wake();    // something new is in the spool
  void scrape();  // the readings are news by themselves: they go at once, not when they are next due
  bool answers() const { return answers_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t refused() const { return refused_; }  // items the controller says it will never take

 private:
  void run();
  bool send_once();
  int post(const std::string& body, std::string& why);

  Spool& spool_;
  SenderOptions options_;
  std::string boot_;
  std::mutex lock_;
  std::condition_variable bell_;
  bool stop_ = false;
  bool news_ = false;
  std::atomic<bool> answers_{false};
  std::atomic<bool> scrape_now_{false};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> refused_{0};
  Time scraped_;
  std::string said_;
  std::thread thread_;
};

}  // namespace muster::agent
