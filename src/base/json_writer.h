// Streaming JSON output in canonical form: keys in the order written, no white space, shortest round-trip numbers, invalid UTF-8
// replaced. The same values always give the same bytes, so they can be hashed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster {

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& object();
  JsonWriter& end_object();
  JsonWriter& array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view k);
  JsonWriter& null();
  JsonWriter& value(bool b);
  JsonWriter& value(std::int64_t i);
  JsonWriter& value(std::uint64_t u);
  JsonWriter& value(int i) { return value(static_cast<std::int64_t>(i)); }
  JsonWriter& value(unsigned u) { return value(static_cast<std::uint64_t>(u)); }
  JsonWriter& value(double d);  // NaN and infinities become null
  JsonWriter& value(std::string_view s);
  JsonWriter& value(const char* s) { return value(std::string_view(s)); }
  JsonWriter& value(const std::string& s) { return value(std::string_view(s)); }
  // Bytes that are JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view k, const T& v) {
    key(k);
    return value(v);
  }

  std::string_view view() const;
  std::string take();  // the text so far; the writer is empty afterwards
  std::string take_members();  // the same of one object, without its braces
  void clear();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

}  // namespace muster
