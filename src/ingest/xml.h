// XML as a stream of elements, read by expat: no tree is built, so memory is bounded by depth and not by the text. DTDs are not
// fetched and entities are not expanded: a text that declares or uses any beyond the five of XML is refused where it does.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr std::size_t kXmlBytesMax = 16U << 20;
constexpr std::size_t kXmlDepthMax = 32;
constexpr std::size_t kXmlTextMax = 1024;  // bytes kept of what stands directly in an element; the rest is dropped

using XmlAttributes = std::vector<std::pair<std::string_view, std::string_view>>;  // in their order; valid during the call
// The value of the one of that name; empty: there is none.
std::string_view attribute(const XmlAttributes& attributes, std::string_view name);

// Those that are not set are not called.
struct XmlEvents {
  std::function<void(std::string_view name, std::string_view id)> open;     // id: the attribute of that name; empty: none
  std::function<void(std::string_view name, std::string_view text)> close;  // text: without blanks around it
  std::function<void(std::string_view name, const XmlAttributes& attributes, std::uint64_t line)> begin = {};  // before `open`
};

// Calls back in the order of the text. An error begins with "line N: "; what was told before it holds.
Result<void> read_xml(std::string_view text, const XmlEvents& events);

}  // namespace muster
