// A JSON member that may not be known: null then.
#pragma once
#include <optional>
#include <string_view>

#include "base/json_writer.h"

namespace muster::report {

template <class T>
void write_maybe(JsonWriter& w, std::string_view key, const std::optional<T>& v) {
  w.key(key);
  if (v)
    w.value(*v);
  else
    w.null();
}

}  // namespace muster::report
