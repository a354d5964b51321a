// Requests and responses as bytes, apart from the parsing of HTTP itself.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "ports/http.h"

namespace muster::http {

// Status line and header fields up to and with the empty line; `framing` is the field that says how long the body is.
std::string render_head(const HttpResponse& r, bool keep_alive, std::string_view framing);
// {"error":{"code","what","next"}}
HttpResponse error_response(int status, std::string_view code, std::string_view what, std::string_view next = {});
// Fills request.json or request.json_error from its body.
void read_json(HttpRequest& request, std::size_t depth_max);

}  // namespace muster::http
