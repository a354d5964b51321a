#include "adapters/http/client.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <mutex>
#include <string_view>

#include "base/text.h"

namespace muster::http {
namespace {

constexpr std::size_t kEventMax = std::size_t{16} << 20;

struct EasyDeleter {
  void operator()(CURL* c) const { curl_easy_cleanup(c); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

struct ListDeleter {
  void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};
using List = std::unique_ptr<curl_slist, ListDeleter>;

// Reads the lines of an event stream, https://html.spec.whatwg.org/multipage/server-sent-events.html
class EventReader {
 public:
  explicit EventReader(const std::function<bool(const ServerSentEvent&)>& visit) : visit_(visit) {}

  // False: the visitor has had enough, or a line is absurdly long.
  bool feed(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n' || c == '\r') {
        const bool second_of_crlf = c == '\n' && last_ == '\r';
        last_ = c;
        if (second_of_crlf) continue;
        if (!line(line_)) return false;
        line_.clear();
      } else {
        last_ = c;
        line_ += c;
        if (line_.size() > kEventMax) return false;
      }
    }
    return true;
  }

 private:
  bool line(std::string_view l) {
    if (l.empty()) return dispatch();
    if (l.front() == ':') return true;
    const auto colon = l.find(':');
    const std::string_view name = l.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view{} : l.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (name == "id") event_.id = value;
    if (name == "event") event_.type = value;
    if (name == "data") {
      event_.data.append(value);
      event_.data += '\n';
    }
    return event_.data.size() <= kEventMax;
  }

  bool dispatch() {
    bool more = true;
    if (!event_.data.empty()) {
      event_.data.pop_back();
      if (event_.type.empty()) event_.type = "message";
      more = visit_(event_);
    }
    event_.data.clear();
    event_.type.clear();
    return more;
  }

  const std::function<bool(const ServerSentEvent&)>& visit_;
  ServerSentEvent event_;
  std::string line_;
  char last_ = 0;
};

struct Transfer {
  CURL* curl = nullptr;
  Response response;
  std::size_t most = 0;           // bytes of its body
  EventReader* events = nullptr;  // where the body is a stream
  bool stopped = false;           // by the visitor
  bool too_large = false;
};

std::size_t on_body(char* data, std::size_t, std::size_t n, void* arg) {
  auto& t = *static_cast<Transfer*>(arg);
  long status = 0;
  curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &status);
  if (t.events != nullptr && status == 200) {
    if (t.events->feed({data, n})) return n;
    t.stopped = true;
    return 0;
  }
  if (t.response.body.size() + n > t.most) {
    t.too_large = true;
    return 0;
  }
  t.response.body.append(data, n);
  return n;
}

std::size_t on_header(char* data, std::size_t, std::size_t n, void* arg) {
  auto& t = *static_cast<Transfer*>(arg);
  const std::string_view line(data, n);
  const auto colon = line.find(':');
  if (colon != std::string_view::npos) {
    t.response.headers[lower(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
  }
  return n;
}

Result<Easy> prepare(const Request& r, Transfer& t, List& headers) {
  prepare_process();
  Easy easy(curl_easy_init());
  if (!easy) return fail(Code::internal, "curl could not be set up");
  CURL* c = easy.get();
  t.curl = c;
  t.most = r.answer_max;
  curl_easy_setopt(c, CURLOPT_URL, r.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(r.timeout_ms));
  if (!r.unix_socket.empty()) curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, r.unix_socket.c_str());
  if (r.method == "HEAD") curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
  if (r.method != "GET" || !r.body.empty()) {
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r.method.c_str());
    if (r.method != "HEAD") {
      curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(r.body.size()));
      curl_easy_setopt(c, CURLOPT_POSTFIELDS, r.body.data());
    }
  }
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : r.headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) {
      curl_slist_free_all(list);
      return fail(Code::bad_input, fmt::format("header {} contains a line break", printable(name)));
    }
    list = curl_slist_append(list, (name + ": " + value).c_str());
  }
  headers.reset(list);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
  return easy;
}

tl::unexpected<Error> failure(const Request& r, CURLcode rc, const char* detail) {
  const std::string where = r.unix_socket.empty() ? r.url : r.unix_socket;
  // Of a socket in a file curl names a host and a port that nobody asked for.
  const bool misnamed = !r.unix_socket.empty() && rc == CURLE_COULDNT_CONNECT;
  const std::string_view why = *detail != '\0' && !misnamed ? std::string_view(detail) : std::string_view(curl_easy_strerror(rc));
  if (rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL) {
    return fail(Code::bad_input, fmt::format("{}: {}", printable(where), why), "an address looks like http://127.0.0.1:7070");
  }
  if (rc == CURLE_OPERATION_TIMEDOUT) {
    return fail(Code::unreachable, fmt::format("no answer from {} in time: {}", printable(where), why),
                "look whether it is overloaded or stopped (SIGSTOP), then try again");
  }
  return fail(Code::unreachable, fmt::format("cannot reach {}: {}", printable(where), why),
              "is it running, and is the address right? `muster demo` starts one on this machine");
}

}  // namespace

void prepare_process() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

Result<Response> request(const Request& r) {
  Transfer t;
  List headers;
  auto easy = prepare(r, t, headers);
  if (!easy) return tl::unexpected(easy.error());
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy->get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy->get(), CURLOPT_TIMEOUT_MS, static_cast<long>(r.timeout_ms));
  const CURLcode rc = curl_easy_perform(easy->get());
  if (t.too_large) {
    return fail(Code::unreachable,
                fmt::format("the answer of {} is larger than {} MiB", printable(r.url), r.answer_max >> 20U));
  }
  if (rc != CURLE_OK) return failure(r, rc, detail);
  long status = 0;
  curl_easy_getinfo(easy->get(), CURLINFO_RESPONSE_CODE, &status);
  t.response.status = static_cast<int>(status);
  return std::move(t.response);
}

Result<Response> read_events(const Request& r, const std::function<bool(const ServerSentEvent&)>& visit,
                             std::int64_t silence_ms) {
  Transfer t;
  EventReader reader(visit);
  t.events = &reader;
  List headers;
  auto easy = prepare(r, t, headers);
  if (!easy) return tl::unexpected(easy.error());
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy->get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy->get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy->get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>((silence_ms + 999) / 1000));
  const CURLcode rc = curl_easy_perform(easy->get());
  if (rc != CURLE_OK && !t.stopped) return failure(r, rc, detail);
  long status = 0;
  curl_easy_getinfo(easy->get(), CURLINFO_RESPONSE_CODE, &status);
  t.response.status = static_cast<int>(status);
  return std::move(t.response);
}

std::string url_encode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                       c == '_' || c == '~';
    if (plain) {
      out += ch;
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

}  // namespace muster::http
