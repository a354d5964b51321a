// The OpenAPI 3.1 document, made from the route table so that it cannot differ from it.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "ports/tool.h"

namespace muster::api {

// With a path of its own for each tool, where `sheets` knows what it may be asked.
std::string render_openapi(const Tools& tools = {}, const std::function<ToolSheet(std::string_view)>& sheets = {});

}  // namespace muster::api
