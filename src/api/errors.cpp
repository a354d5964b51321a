#include "api/errors.h"

#include "base/json_writer.h"

namespace muster::api {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::internal: return "internal";
    case Code::bad_input: return "bad_input";
    case Code::not_found: return "not_found";
    case Code::not_allowed: return "not_allowed";
    case Code::unreachable: return "unreachable";
    case Code::refused: return "refused";
    case Code::conflict: return "conflict";
    case Code::corrupt: return "corrupt";
  }
  return "internal";
}

int status_of(Code code) {
  switch (code) {
    case Code::bad_input: return 400;
    case Code::not_allowed: return 403;
    case Code::not_found: return 404;
    case Code::refused:
    case Code::conflict: return 409;
    case Code::unreachable: return 503;
    case Code::internal:
    case Code::corrupt: return 500;
  }
  return 500;
}

HttpResponse render_error(const Error& error) { return render_error(status_of(error.code), error); }

HttpResponse render_error(int status, const Error& error) {
  JsonWriter w;
  w.object().key("error").object();
  w.field("code", name_of(error.code)).field("what", error.what).field("next", error.next);
  w.end_object().end_object();
  HttpResponse r = render_json(w.take());
  r.status = status;
  return r;
}

HttpResponse render_json(std::string body) {
  HttpResponse r;
  r.body = std::move(body);
  return r;
}

}  // namespace muster::api
