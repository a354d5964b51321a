// XML as a stream of elements, read by expat: no tree is built, so memory is bounded by depth and not by the text. DTDs are not
// fetched and entities are not expanded: a text that declares or uses any beyond the five of XML is refused where it does.
#pragma once
#include <functional>
#include <string_view>

#include "base/result.h"

namespace muster {

constexpr std::size_t kXmlBytesMax = 16U << 20;
constexpr std::size_t kXmlDepthMax = 32;
constexpr std::size_t kXmlTextMax = 1024;  // bytes kept of what stands directly in an element; the rest is dropped

struct XmlEvents {
  std::function<void(std::string_view name, std::string_view id)> open;     // id: the attribute of that name; empty: none
  std::function<void(std::string_view name, std::string_view text)> close;  // text: without blanks around it
};

// Calls back in the order of the text. An error begins with "line N: "; what was told before it holds.
Result<void> read_xml(std::string_view text, const XmlEvents& events);

}  // namespace muster
