// The least reader of JSON that our own writer's output needs, for tests of rooms that may not see ingest.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "base/value.h"

namespace muster {

class PlainJson {
 public:
  static Result<Value> parse(std::string_view text) {
    PlainJson p{text};
    Value v = p.value();
    if (p.bad_ || p.at_ != text.size()) return fail(Code::corrupt, "not plain JSON at byte " + std::to_string(p.at_));
    return v;
  }

 private:
  explicit PlainJson(std::string_view text) : text_(text) {}

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }
  Value value() {
    if (bad_) return {};
    if (peek() == '"') return Value(string());
    if (take('[')) return Value(array());
    if (take('{')) return Value(object());
    if (word("null")) return {};
    if (word("true")) return Value(true);
    if (word("false")) return Value(false);
    return number();
  }
  Value number() {
    const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    if (const auto i = parse_int(digits)) return Value(*i);
    if (const auto d = parse_double(digits)) return Value(*d);
    bad_ = true;
    return {};
  }
  Value::Array array() {
    Value::Array a;
    if (take(']')) return a;
    do a.push_back(value());
    while (!bad_ && take(','));
    bad_ = bad_ || !take(']');
    return a;
  }
  Value::Object object() {
    Value::Object o;
    if (take('}')) return o;
    do {
      std::string key = string();
      bad_ = bad_ || !take(':');
      o.push_back({std::move(key), value()});
    } while (!bad_ && take(','));
    bad_ = bad_ || !take('}');
    return o;
  }
  std::string string() {
    std::string out;
    bad_ = bad_ || !take('"');
    while (!bad_ && peek() != '"') {
      if (at_ >= text_.size())
        bad_ = true;
      else if (take('\\'))
        escape(out);
      else
        out += text_[at_++];
    }
    bad_ = bad_ || !take('"');
    return out;
  }
  void escape(std::string& out) {
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'u':  // the writer escapes control characters this way, and nothing else
        out += static_cast<char>(std::strtol(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
        at_ += 4;
        break;
      default: out += c;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

}  // namespace muster
