#include "adapters/facts/sheet.h"

#include "base/text.h"

namespace muster::facts {

void Sheet::put(std::string_view key, std::string_view value, std::string_view part) {
  constexpr std::size_t kMost = 4096;  // of one value: a command line, a list of mounts
  value = clipped(value, kMost);
  if (valid_utf8(value)) return table_.put(node_, part, key, value);
  table_.put(node_, part, key, to_valid_utf8(value));
}

void Sheet::put(std::string_view key, const Reading& r, std::string_view part) {
  switch (r.found) {
    case Found::value: return put(key, std::string_view(r.text), part);
    case Found::absent: return absent(key, part);
    case Found::unreadable: return unreadable(key, part);
  }
}

}  // namespace muster::facts
