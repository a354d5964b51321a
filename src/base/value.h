// Value: a small tree for data read from JSON and YAML, each piece knowing the line it came from so that errors can name it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster {

class Value {
 public:
  struct Member;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;  // in the order written; keys are unique (readers refuse duplicates)

  Value() = default;
  template <class T>
  explicit Value(T v, int line = 0) : data_(std::move(v)), line_(line) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  // Integers count as numbers.
  bool number(double& out) const;
  // Member of an object; nullptr when absent or when this is no object.
  const Value* find(std::string_view key) const;
  std::string_view kind() const;  // "object", "number" ... for error messages
  int line() const { return line_; }  // 1-based; 0 when unknown
  void set_line(int line) { line_ = line; }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
  int line_ = 0;
};

struct Value::Member {
  std::string key;
  Value value;
};

}  // namespace muster
