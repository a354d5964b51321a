// Errors on the wire: {"error":{"code","what","next"}} with a status that follows from the code.
#pragma once
#include <string_view>

#include "base/result.h"
#include "ports/http.h"

namespace muster::api {

std::string_view name_of(Code code);  // "not_found"
int status_of(Code code);
HttpResponse render_error(const Error& error);
HttpResponse render_error(int status, const Error& error);
HttpResponse render_json(std::string body);

}  // namespace muster::api
