#include "base/value.h"

namespace muster {

bool Value::number(double& out) const {
  if (const auto* i = std::get_if<std::int64_t>(&data_)) {
    out = static_cast<double>(*i);
    return true;
  }
  if (const auto* d = std::get_if<double>(&data_)) {
    out = *d;
    return true;
  }
  return false;
}

const Value* Value::find(std::string_view key) const {
  const Object* o = object();
  if (o == nullptr) return nullptr;
  for (const Member& m : *o) {
    if (m.key == key) return &m.value;
  }
  return nullptr;
}

std::string_view Value::kind() const {
  static constexpr std::string_view kNames[] = {"nothing", "a boolean", "a whole number", "a number",
                                                "text",    "a list",    "an object"};
  return kNames[data_.index()];
}

}  // namespace muster
