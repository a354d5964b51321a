#include "ingest/xml.h"

#include <expat.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster {
namespace {

struct Reader {
  const XmlEvents& events;
  XML_Parser parser;
  std::vector<std::string> texts;  // of the open elements
  const char* refused = nullptr;

  void refuse(const char* why) {
    if (refused == nullptr) refused = why;
    XML_StopParser(parser, XML_FALSE);
  }
};

Reader& of(void* p) { return *static_cast<Reader*>(p); }

void on_open(void* p, const XML_Char* name, const XML_Char** attributes) {
  Reader& r = of(p);
  if (r.refused != nullptr) return;
  if (r.texts.size() >= kXmlDepthMax) return r.refuse("elements are nested too deeply");
  r.texts.emplace_back();
  XmlAttributes all;
  for (; *attributes != nullptr; attributes += 2)
    all.emplace_back(attributes[0], std::string_view(attributes[1]).substr(0, kXmlTextMax));
  if (r.events.begin) r.events.begin(name, all, XML_GetCurrentLineNumber(r.parser));
  if (r.events.open) r.events.open(name, attribute(all, "id"));
}

void on_close(void* p, const XML_Char* name) {
  Reader& r = of(p);
  if (r.refused != nullptr || r.texts.empty()) return;
  const std::string text = std::move(r.texts.back());
  r.texts.pop_back();
  if (r.events.close) r.events.close(name, trim(text));
}

void on_text(void* p, const XML_Char* s, int n) {
  Reader& r = of(p);
  if (r.refused != nullptr || r.texts.empty()) return;
  std::string& t = r.texts.back();
  std::string_view more(s, static_cast<std::size_t>(n));
  if (t.empty()) more.remove_prefix(std::min(more.find_first_not_of(" \t\r\n"), more.size()));
  t += more.substr(0, kXmlTextMax - std::min(t.size(), kXmlTextMax));
}

void on_entity(void* p, const XML_Char*, int, const XML_Char*, int, const XML_Char*, const XML_Char*, const XML_Char*,
               const XML_Char*) {
  of(p).refuse("it declares entities");
}

void on_skipped(void* p, const XML_Char*, int) { of(p).refuse("it uses an entity that is not XML's own"); }

}  // namespace

std::string_view attribute(const XmlAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    if (key == name) return value;
  }
  return {};
}

Result<void> read_xml(std::string_view text, const XmlEvents& events) {
  if (text.size() > kXmlBytesMax) return fail(Code::bad_input, "line 1: longer than 16 MiB");
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, void (*)(XML_Parser)> parser(XML_ParserCreate("UTF-8"),
                                                                                        XML_ParserFree);
  if (!parser) return fail(Code::internal, "line 1: no memory for an XML parser");
  Reader reader{events, parser.get(), {}, nullptr};
  XML_SetUserData(parser.get(), &reader);
  XML_SetHashSalt(parser.get(), 0x6d757374);  // a fixed one: the result must not depend on the process
  XML_SetElementHandler(parser.get(), on_open, on_close);
  XML_SetCharacterDataHandler(parser.get(), on_text);
  XML_SetEntityDeclHandler(parser.get(), on_entity);
  XML_SetSkippedEntityHandler(parser.get(), on_skipped);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) == XML_STATUS_OK) return {};
  const char* why = reader.refused != nullptr ? reader.refused : XML_ErrorString(XML_GetErrorCode(parser.get()));
  return fail(Code::bad_input, "line " + std::to_string(XML_GetCurrentLineNumber(parser.get())) + ": " + why);
}

}  // namespace muster
