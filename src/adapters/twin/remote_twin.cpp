#include "adapters/twin/remote_twin.h"

#include <fmt/core.h>

#include <chrono>

#include "adapters/http/client.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"

namespace muster {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(100);
constexpr auto kRetryEvery = std::chrono::milliseconds(500);
constexpr auto kSilent = std::chrono::seconds(3);
constexpr int kStartPatienceMs = 30'000;  // a twin on a busy machine answers late: better waited for than not controlled
constexpr int kPatienceMs = 5000;
constexpr int kAskedAtOnce = 20;  // between two polls: what there is to report must not wait for hundreds of questions

std::int64_t whole(const Value& v) { return v.integer() == nullptr ? 0 : *v.integer(); }
double real(const Value& v) {
  double d = 0;
  return v.number(d) ? d : 0;
}
std::string words(const Value* v) { return v == nullptr || v->string() == nullptr ? "" : *v->string(); }
const Value::Array& list(const Value& v, std::string_view name) {
  static const Value::Array none;
  const Value* x = v.find(name);
  return x == nullptr || x->array() == nullptr ? none : *x->array();
}

JobId parse_job(const Value& v) {
  const std::string text = words(&v);
  const auto parts = split(text, '_');
  JobId id{static_cast<std::uint32_t>(parse_uint(parts[0]).value_or(0)), 0};
  if (parts.size() == 2) id.array_index = static_cast<std::uint32_t>(parse_uint(parts[1]).value_or(0)) + 1;
  return id;
}

void read_reports(const Value& v, Inbox& out) {
  for (const Value& x : list(v, "samples")) {
    const Value::Array* a = x.array();
    if (a == nullptr || a->size() != 5 || whole((*a)[3]) < 0 || whole((*a)[3]) >= static_cast<std::int64_t>(kFields)) continue;
    out.samples.push_back({Time{whole((*a)[0])}, NodeId{static_cast<std::uint32_t>(whole((*a)[1]))},
                           static_cast<std::int16_t>(whole((*a)[2])), static_cast<Field>(whole((*a)[3])), real((*a)[4])});
  }
  for (const Value& x : list(v, "kernel")) {
    const Value::Array* a = x.array();
    if (a == nullptr || a->size() != 8 || whole((*a)[3]) < 0 ||
        whole((*a)[3]) >= static_cast<std::int64_t>(names(KernelKind{}).size()))
      continue;
    KernelRecord r;
    r.at = Time{whole((*a)[0])};
    r.node = NodeId{static_cast<std::uint32_t>(whole((*a)[1]))};
    r.slot = static_cast<std::int16_t>(whole((*a)[2]));
    r.kind = static_cast<KernelKind>(whole((*a)[3]));
    r.code = static_cast<std::int32_t>(whole((*a)[4]));
    r.boot = std::strtoull(words(&(*a)[5]).c_str(), nullptr, 16);
    r.seq = static_cast<std::uint64_t>(whole((*a)[6]));
    r.text = words(&(*a)[7]);
    out.kernel.push_back(std::move(r));
  }
  for (const Value& x : list(v, "steps")) {
    const Value::Array* a = x.array();
    if (a == nullptr || a->size() != 5) continue;
    out.steps.push_back({Time{whole((*a)[0])}, parse_job((*a)[1]), static_cast<std::uint32_t>(whole((*a)[2])),
                         static_cast<std::uint64_t>(whole((*a)[3])), real((*a)[4])});
  }
}

}  // namespace

RemoteTwin::RemoteTwin(std::string where, Mailbox& mailbox) : mailbox_(mailbox) {
  if (where.rfind("unix:", 0) == 0) {
    socket_ = where.substr(5);
    url_ = "http://localhost";
  } else {
    url_ = std::move(where);
  }
}

Result<std::unique_ptr<RemoteTwin>> RemoteTwin::connect(const std::string& where, Mailbox& mailbox) {
  std::unique_ptr<RemoteTwin> t(new RemoteTwin(where, mailbox));
  int status = 0;
  auto v = t->get("/v1/cluster", kStartPatienceMs, &status);
  if (!v) return tl::unexpected(v.error());
  const Value* site = v->find("site");
  if (status != 200 || site == nullptr)
    return fail(Code::unreachable, where + " does not serve a twin", "start one: muster twin serve");
  auto s = decode_site(*site);
  if (!s) return tl::unexpected(s.error());
  t->site_ = std::move(*s);
  t->boot_ = words(v->find("boot"));
  t->simulation_ = words(v->find("simulation"));
  if (const Value* speed = v->find("speed")) t->speed_ = std::max(real(*speed), 1e-3);
  auto first = t->get("/v1/reports?after=18446744073709551615", kStartPatienceMs, &status);  // only for its clock
  if (!first) return tl::unexpected(first.error());
  const Value::Array& now = list(*first, "now");
  if (now.size() != 3) return fail(Code::unreachable, where + " gives no time");
  t->now_ = {Time{whole(now[0])}, Time{whole(now[1])}, Time{whole(now[2])}};
  return t;
}

RemoteTwin::~RemoteTwin() {
  {
    const std::lock_guard hold(lock_);
    stop_ = true;
  }
  polled_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RemoteTwin::begin(const std::string& boot, std::uint64_t seq) {
  after_ = boot == boot_ ? seq : 0;
  thread_ = std::thread([this] { run(); });
}

Result<Value> RemoteTwin::get(const std::string& path, int patience_ms, int* status) {
  http::Request q;
  q.method = "GET";
  q.url = url_ + path;
  q.unix_socket = socket_;
  q.timeout_ms = patience_ms;
  auto r = http::request(q);
  if (!r) return tl::unexpected(r.error());
  *status = r->status;
  return parse_json(r->body);
}

// Takes over an answer; false when it is not of the twin this controller knows.
bool RemoteTwin::take(const Value& answer) {
  if (words(answer.find("boot")) != boot_) return false;
  Inbox in;
  const std::uint64_t batch = answer.find("batch") == nullptr ? 0 : static_cast<std::uint64_t>(whole(*answer.find("batch")));
  if (const Value* reports = answer.find("reports"); reports != nullptr && batch != ack_) read_reports(*reports, in);
  std::uint64_t last = after_;
  for (const Value& e : list(answer, "events")) {
    const Value* seq = e.find("seq");
    const Value* utc = e.find("utc");
    const Value* body = e.find("body");
    if (seq == nullptr || utc == nullptr || body == nullptr) continue;
    auto b = decode_body(words(e.find("type")), *body);
    last = static_cast<std::uint64_t>(whole(*seq));
    if (!b) {
      log(LogLevel::error, fmt::format("the twin's event {} cannot be read: {}", last, b.error().what));
      continue;
    }
    in.events.push_back({{boot_, "engine", last}, Time{whole(*utc)}, std::move(*b), {}});
  }
  const Value::Array& now = list(answer, "now");
  const std::lock_guard hold(lock_);
  if (now.size() == 3 && whole(now[1]) >= now_.steady.ns) now_ = {Time{whole(now[0])}, Time{whole(now[1])}, Time{whole(now[2])}};
  after_ = last;
  ack_ = batch;
  ready_ = std::move(in);
  has_ready_ = true;
  return true;
}

void RemoteTwin::run() {
  for (;;) {
    std::uint64_t after = 0;
    std::uint64_t ack = 0;
    std::set<std::string> questions;
    {
      // The next question acknowledges the last answer, so it waits until a turn has made that durable.
      std::unique_lock hold(lock_);
      polled_.wait(hold, [&] { return stop_ || (!has_ready_ && !in_turn_); });
      if (stop_) return;
      after = after_;
      ack = ack_;
      questions.swap(questions_);
    }
    ask_about(std::move(questions));
    int status = 0;
    const auto answer = get(fmt::format("/v1/reports?after={}&ack={}", after, ack), kPatienceMs, &status);
    const bool ok = answer && status == 200 && take(*answer);
    if (ok) mailbox_.wake();
    std::unique_lock hold(lock_);
    if (ok) answered_ = std::chrono::steady_clock::now();
    replaced_ = answer && status == 200 && !ok;
    polled_.wait_for(hold, ok ? kPollEvery : kRetryEvery, [&] { return stop_; });
    if (stop_) return;
  }
}

Result<std::string> RemoteTwin::trouble() const {
  const std::lock_guard hold(lock_);
  if (replaced_) {
    return fail(Code::conflict, "another twin answers at this address: its jobs and nodes are not those of this journal",
                "control it with a state directory of its own: muster up --state DIR");
  }
  const auto quiet = std::chrono::steady_clock::now() - answered_;
  if (quiet < kSilent) return std::string();
  return std::string("the engine does not answer: what is shown is what was last known, and nothing can be done");
}

Now RemoteTwin::now() const {
  const std::lock_guard hold(lock_);
  return now_;
}

void RemoteTwin::poll(Inbox& out) {
  {
    const std::lock_guard hold(lock_);
    in_turn_ = has_ready_;
    if (has_ready_) {
      const auto move_all = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
        from.clear();
      };
      move_all(out.samples, ready_.samples);
      move_all(out.kernel, ready_.kernel);
      move_all(out.steps, ready_.steps);
      move_all(out.events, ready_.events);
      has_ready_ = false;
    }
  }
  mailbox_.collect(now().utc, out);
}

void RemoteTwin::wait(Time until) {
  {
    const std::lock_guard hold(lock_);
    in_turn_ = false;  // the turn that used the last answer is over, and durable
    if (has_ready_) return;
  }
  polled_.notify_all();
  const double left_s = std::max(0.0, (until - now().steady).seconds() / speed_);
  mailbox_.wait_for(std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(left_s, 1.0) * 1e9)));
}

Result<std::string> RemoteTwin::post(const std::string& path, const std::string& body) {
  http::Request q;
  q.method = "POST";
  q.url = url_ + path;
  q.unix_socket = socket_;
  q.headers["content-type"] = "application/json";
  q.body = body;
  q.timeout_ms = 3000;
  auto r = http::request(q);
  if (!r) return tl::unexpected(r.error());
  if (r->status == 200) return r->body;
  std::string what = fmt::format("the twin answered {}", r->status);
  if (const auto v = parse_json(r->body); v && v->find("error") != nullptr) what = words(v->find("error")->find("what"));
  return fail(r->status == 404 ? Code::not_found : Code::refused, what);
}

Result<void> RemoteTwin::submit(const Order& order) {
  auto r = post("/v1/orders", encode_order(order));
  if (r || r.error().code == Code::unreachable) return {};
  return tl::unexpected(r.error());
}

Result<void> RemoteTwin::inquire(const std::string& key) {
  const std::lock_guard hold(lock_);
  questions_.insert(key);
  return {};
}

// What the twin says comes with its reports. Whatever it was not asked or did not hear comes next time.
void RemoteTwin::ask_about(std::set<std::string> keys) {
  for (int asked = 0; !keys.empty() && asked < kAskedAtOnce; ++asked) {
    JsonWriter w;
    w.object().field("key", *keys.begin()).end_object();
    if (const auto r = post("/v1/inquire", w.take()); !r && r.error().code == Code::unreachable) break;
    keys.erase(keys.begin());
  }
  const std::lock_guard hold(lock_);
  questions_.merge(keys);
}

}  // namespace muster
