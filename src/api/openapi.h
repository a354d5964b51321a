// The OpenAPI 3.1 document, made from the route table so that it cannot differ from it.
#pragma once
#include <string>

namespace muster::api {

std::string render_openapi();

}  // namespace muster::api
