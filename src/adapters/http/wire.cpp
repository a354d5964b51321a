#include "adapters/http/wire.h"

#include <fmt/core.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster::http {
namespace {

std::string_view phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return status < 400 ? "OK" : "Error";
  }
}

// A header value can never start another header, whatever is put into it.
std::string one_line(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c == '\r' || c == '\n' || c == '\0') c = ' ';
  }
  return out;
}

}  // namespace

std::string render_head(const HttpResponse& r, bool keep_alive, std::string_view framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", r.status, phrase(r.status));
  if (r.status != 204 && r.status != 304) head += fmt::format("Content-Type: {}\r\n", one_line(r.content_type));
  for (const auto& [name, value] : r.headers) head += fmt::format("{}: {}\r\n", one_line(name), one_line(value));
  head += framing;
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

HttpResponse error_response(int status, std::string_view code, std::string_view what, std::string_view next) {
  JsonWriter w;
  w.object().key("error").object().field("code", code).field("what", what).field("next", next).end_object().end_object();
  HttpResponse r;
  r.status = status;
  r.body = w.take();
  return r;
}

void read_json(HttpRequest& request, std::size_t depth_max) {
  if (request.body.empty()) return;
  const auto type = request.headers.find("content-type");
  if (type == request.headers.end() || lower(trim(split(type->second, ';')[0])) != "application/json") {
    request.json_error = "the body must be JSON, with the header Content-Type: application/json";
  } else if (auto json = parse_json(request.body, static_cast<int>(depth_max))) {
    request.json = std::move(*json);
  } else {
    request.json_error = json.error().what;
  }
}

}  // namespace muster::http
