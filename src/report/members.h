// An object of a document, member by member.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"

namespace muster::report {

class Members {
 public:
  Members& number(const char* key, double v) { return put(key, Value(v)); }
  Members& count(const char* key, std::uint64_t n) { return put(key, Value(static_cast<std::int64_t>(n))); }
  Members& text(const char* key, std::string s) { return put(key, Value(std::move(s))); }
  Members& yes(const char* key, bool b) { return put(key, Value(b)); }
  Members& put(std::string key, Value v) {
    members_.push_back({std::move(key), std::move(v)});
    return *this;
  }
  // All of another object, after what is here.
  Members& with(const Value& other) {
    if (other.object() != nullptr) members_.insert(members_.end(), other.object()->begin(), other.object()->end());
    return *this;
  }
  Value take() { return Value(std::move(members_)); }

 private:
  Value::Object members_;
};

inline Value texts(const std::vector<std::string>& all) {
  Value::Array out;
  for (const std::string& s : all) out.emplace_back(s);
  return Value(std::move(out));
}

}  // namespace muster::report
