#include "api/openapi.h"

#include <fmt/core.h>

#include <set>

#include "api/routes.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace muster::api {
namespace {

void parameter(JsonWriter& w, std::string_view in, std::string_view name, std::string_view about) {
  w.object().field("name", name).field("in", in).field("required", in == "path");
  if (!about.empty()) w.field("description", about);
  w.key("schema").object().field("type", "string").end_object().end_object();
}

void response(JsonWriter& w, std::string_view status, std::string_view about, std::string_view media, std::string_view schema) {
  w.key(status).object().field("description", about);
  w.key("content").object().key(media).object();
  if (!schema.empty()) w.key("schema").object().field("$ref", schema).end_object();
  w.end_object().end_object().end_object();
}

void operation(JsonWriter& w, const Route& r) {
  w.key(r.method == "GET" ? "get" : "post").object().field("summary", r.about).field("x-role", name_of(r.role));
  w.key("parameters").array();
  for (const std::string_view piece : split(r.pattern, '/')) {
    if (piece.starts_with('{')) parameter(w, "path", piece.substr(1, piece.size() - 2), "");
  }
  for (const Parameter& p : r.query) parameter(w, "query", p.name, p.about);
  w.end_array();
  if (r.body_max > 0) {
    w.key("requestBody").object().field("required", true).field("description", fmt::format("at most {} bytes", r.body_max));
    w.key("content").object().key("application/json").object().key("schema").object();
    if (r.id == RouteId::commands) {
      w.field("$ref", "#/components/schemas/Command");
    } else {
      w.field("type", "object");
    }
    w.end_object().end_object().end_object().end_object();
  }
  if (r.method == "POST") {
    w.key("security").array();
    w.object().key("token").array().end_array().end_object().object().key("session").array().end_array().end_object();
    w.end_array();
  }
  w.key("responses").object();
  response(w, "200", "done", r.media, "");
  response(w, "default", "what went wrong, and what to do next", "application/json", "#/components/schemas/Error");
  w.end_object().end_object();
}

void text_properties(JsonWriter& w, std::initializer_list<std::string_view> names) {
  w.key("properties").object();
  for (const std::string_view n : names) w.key(n).object().field("type", "string").end_object();
}

void field_schema(JsonWriter& w, const ToolField& f) {
  using Kind = ToolField::Kind;
  w.key(f.name).object().key("type");
  switch (f.kind) {
    case Kind::text: w.value("string"); break;
    case Kind::time: w.value("string").field("format", "date-time"); break;
    case Kind::yes: w.value("boolean"); break;
    case Kind::object: w.value("object"); break;
    case Kind::list: w.value("array"); break;
    // What a form sends is text: numbers are taken as such too.
    case Kind::whole: w.array().value("integer").value("string").end_array(); break;
    case Kind::number: w.array().value("number").value("string").end_array(); break;
  }
  w.field("description", f.about).end_object();
}

void tool_path(JsonWriter& w, std::string_view name, const Tool& tool, const ToolSheet& sheet) {
  w.key("/api/v1/tools/" + std::string(name)).object().key("post").object();
  w.field("summary", sheet.answer).field("x-tool-role", name_of(tool.role())).key("requestBody").object();
  w.key("content").object().key("application/json").object().key("schema").object().field("type", "object");
  w.key("properties").object();
  for (const ToolField& f : sheet.fields) field_schema(w, f);
  w.end_object().key("required").array();
  for (const ToolField& f : sheet.fields) {
    if (f.needed) w.value(f.name);
  }
  w.end_array().field("additionalProperties", false).end_object().end_object().end_object().end_object();
  w.key("responses").object();
  response(w, "200", sheet.answer, "application/json", "");
  response(w, "default", "what went wrong, and what to do next", "application/json", "#/components/schemas/Error");
  w.end_object().end_object().end_object();
}

void components(JsonWriter& w) {
  w.key("components").object().key("schemas").object();
  w.key("Error").object().field("type", "object").key("properties").object();
  w.key("error").object().field("type", "object");
  text_properties(w, {"code", "what", "next"});
  w.end_object().end_object().end_object().end_object();
  w.key("Command").object().field("type", "object").key("required").array().value("verb").end_array();
  text_properties(w, {"verb", "node", "job", "reason", "id"});
  w.key("spec").object().field("type", "object").end_object();
  w.key("upgrade").object().field("type", "object").end_object();
  w.key("approval").object().field("type", "integer").end_object().end_object().end_object();
  w.end_object().key("securitySchemes").object();
  w.key("token").object().field("type", "http").field("scheme", "bearer").end_object();
  w.key("session").object().field("type", "apiKey").field("in", "cookie").field("name", "muster_session_PORT").end_object();
  w.end_object().end_object();
}

}  // namespace

std::string render_openapi(const Tools& tools, const std::function<ToolSheet(std::string_view)>& sheets) {
  JsonWriter w;
  w.object().field("openapi", "3.1.0");
  w.key("info").object().field("title", "Muster").field("version", MUSTER_VERSION);
  w.field("description", "Reading is open on the machine itself; acting needs a token, a session or the unix socket.");
  w.end_object();
  w.key("paths").object();
  std::set<std::string_view> written;
  for (const Route& r : routes()) {
    if (!written.insert(r.pattern).second) continue;
    w.key(r.pattern).object();
    for (const Route& same : routes()) {
      if (same.pattern == r.pattern) operation(w, same);
    }
    w.end_object();
  }
  for (const auto& [name, tool] : tools) {
    const ToolSheet sheet = sheets ? sheets(name) : ToolSheet{};
    if (!sheet.answer.empty()) tool_path(w, name, *tool, sheet);
  }
  w.end_object();
  components(w);
  w.end_object();
  return w.take();
}

}  // namespace muster::api
