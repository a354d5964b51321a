// A tree of values as JSON or YAML for programs and people. Bytes that could steer a terminal are written as escapes that every
// reader turns back into what they were.
#pragma once
#include <string>

#include "base/json_writer.h"
#include "base/value.h"

namespace muster::report {

void write_value(JsonWriter& w, const Value& value);
std::string render_json_line(const Value& value);  // one line, no line end
std::string render_json(const Value& value);       // indented by two, ends with a line end
std::string render_yaml(const Value& value);       // block style, ends with a line end

}  // namespace muster::report
