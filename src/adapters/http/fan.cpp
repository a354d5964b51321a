#include "adapters/http/fan.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <map>
#include <vector>

#include "adapters/http/wire.h"
#include "base/text.h"

namespace muster::http {
namespace {

struct Exchange {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  Request request;  // curl reads the body where it lies
  std::size_t body_max = 0;
  bool too_large = false;
  Response response;
  Fan::Done done;
  char detail[CURL_ERROR_SIZE] = "";

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { curl_slist_free_all(headers); }
};

std::size_t on_body(char* data, std::size_t, std::size_t n, void* arg) {
  auto& x = *static_cast<Exchange*>(arg);
  if (x.response.body.size() + n > x.body_max) {
    x.too_large = true;
    return 0;
  }
  x.response.body.append(data, n);
  return n;
}

std::size_t on_header(char* data, std::size_t, std::size_t n, void* arg) {
  constexpr std::size_t kHeadersMax = 100;
  auto& headers = static_cast<Exchange*>(arg)->response.headers;
  const std::string_view line(data, n);
  const auto colon = line.find(':');
  if (colon != std::string_view::npos && headers.size() < kHeadersMax) {
    headers[lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  }
  return n;
}

void prepare(Exchange& x, bool gzip) {
  CURL* c = x.easy;
  const Request& r = x.request;
  curl_easy_reset(c);
  curl_easy_setopt(c, CURLOPT_URL, r.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);  // a name server that hangs is not waited for beyond the timeout
  curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 128L << 10);  // a node's whole page in one read
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  if (gzip) curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(r.timeout_ms));
  if (r.method != "GET") {
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r.method.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(r.body.size()));
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, r.body.data());
  }
  x.headers = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : r.headers) x.headers = curl_slist_append(x.headers, (name + ": " + value).c_str());
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, x.headers);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x.detail);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &x);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &x);
}

Result<Response> outcome(Exchange& x, CURLcode rc) {
  const std::string where = printable(x.request.url);
  if (x.too_large) return fail(Code::bad_input, fmt::format("the answer of {} is larger than {} bytes", where, x.body_max));
  if (rc != CURLE_OK) {
    const std::string_view why = x.detail[0] != '\0' ? std::string_view(x.detail) : std::string_view(curl_easy_strerror(rc));
    return fail(Code::unreachable, fmt::format("{}: {}", where, why), "is it running, and is the address right?");
  }
  long status = 0;
  curl_easy_getinfo(x.easy, CURLINFO_RESPONSE_CODE, &status);
  x.response.status = static_cast<int>(status);
  return std::move(x.response);
}

}  // namespace

struct Fan::Guts {
  CURLM* multi = nullptr;
  std::map<CURL*, std::unique_ptr<Exchange>> open;
  std::vector<CURL*> spare;  // set up already; each costs some KB, so that a few hundred are kept at most
};

Fan::Fan(std::size_t idle_max) : guts_(std::make_unique<Guts>()) {
  prepare_process();
  guts_->multi = curl_multi_init();
  curl_multi_setopt(guts_->multi, CURLMOPT_MAXCONNECTS, static_cast<long>(idle_max));
}

Fan::~Fan() {
  for (auto& [easy, x] : guts_->open) {
    curl_multi_remove_handle(guts_->multi, easy);
    curl_easy_cleanup(easy);
  }
  for (CURL* easy : guts_->spare) curl_easy_cleanup(easy);
  curl_multi_cleanup(guts_->multi);
}

std::size_t Fan::in_flight() const { return guts_->open.size(); }

void Fan::send(const Request& request, std::size_t body_max, bool gzip, Done done) {
  auto x = std::make_unique<Exchange>();
  if (guts_->spare.empty()) {
    x->easy = curl_easy_init();
  } else {
    x->easy = guts_->spare.back();
    guts_->spare.pop_back();
  }
  x->request = request;
  x->body_max = body_max;
  x->done = std::move(done);
  prepare(*x, gzip);
  CURL* easy = x->easy;
  guts_->open[easy] = std::move(x);
  curl_multi_add_handle(guts_->multi, easy);
}

void Fan::poll(std::chrono::milliseconds most) {
  int running = 0;
  curl_multi_perform(guts_->multi, &running);
  int left = 0;
  if (curl_multi_poll(guts_->multi, nullptr, 0, static_cast<int>(most.count()), nullptr) == CURLM_OK) {
    curl_multi_perform(guts_->multi, &running);
  }
  while (const CURLMsg* m = curl_multi_info_read(guts_->multi, &left)) {
    if (m->msg != CURLMSG_DONE) continue;
    CURL* easy = m->easy_handle;
    const CURLcode rc = m->data.result;
    const auto it = guts_->open.find(easy);
    const std::unique_ptr<Exchange> x = std::move(it->second);
    guts_->open.erase(it);
    Result<Response> r = outcome(*x, rc);
    curl_multi_remove_handle(guts_->multi, easy);
    constexpr std::size_t kSpareMax = 256;
    if (guts_->spare.size() < kSpareMax) {
      guts_->spare.push_back(easy);
    } else {
      curl_easy_cleanup(easy);
    }
    x->done(std::move(r));
  }
}

void Fan::wake() { curl_multi_wakeup(guts_->multi); }

Result<Response> Fan::ask(const Request& request, std::size_t body_max, const std::atomic<bool>& stop) {
  auto answer = std::make_shared<std::optional<Result<Response>>>();  // outlives an exchange that is given up
  send(request, body_max, true, [answer](Result<Response> r) { *answer = std::move(r); });
  while (!*answer) {
    if (stop) return fail(Code::unreachable, "muster is shutting down");
    poll(std::chrono::milliseconds(20));
  }
  return std::move(**answer);
}

}  // namespace muster::http
