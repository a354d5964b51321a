// Form: reads the named fields of one YAML mapping into variables, checks kinds and ranges, and refuses keys nobody
// asked for. Every error says "file:line: reason", and the first one in the file's order of trouble wins: a misspelt
// key before what is missing.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "model/fields.h"

namespace muster {

class Form {
 public:
  // `where` is the path to this mapping for messages: "limits." or "".
  Form(const Value& v, std::string_view file, std::string where = {});

  // Each leaves `out` alone when the key is absent. True when it was there and right.
  bool text(std::string_view key, std::string& out, std::size_t bytes_max = 200);
  bool number(std::string_view key, double& out, double min, double max);
  bool whole(std::string_view key, std::uint32_t& out, std::uint32_t min, std::uint32_t max);
  bool whole(std::string_view key, std::uint64_t& out, std::uint64_t min, std::uint64_t max);
  bool flag(std::string_view key, bool& out);
  bool duration(std::string_view key, Duration& out, Duration min, Duration max);  // "10m", or seconds
  template <NamedEnum E>
  bool name(std::string_view key, E& out) {
    std::string word;
    if (!text(key, word)) return false;
    if (parse_name(word, out)) return true;
    const auto all = names(E{});
    wrong_name(key, word, {all.begin(), all.end()});
    return false;
  }
  // nullptr when absent, or not of that kind (which is an error).
  const Value::Array* list(std::string_view key, std::size_t items_max);
  const Value* object(std::string_view key);
  const Value* any(std::string_view key);
  void need(std::string_view key);  // an error when absent

  void error(const Value& at, std::string reason);
  void error(int line, std::string reason);
  void adopt(Error e);  // of a form within this one
  bool ok() const { return !error_.has_value(); }
  // To be called when every key has been asked for.
  Result<void> finish();

 private:
  const Value* ask(std::string_view key);
  std::string path(std::string_view key) const;
  void wrong_kind(std::string_view key, const Value& v, std::string_view wanted);
  void wrong_name(std::string_view key, const std::string& word, std::vector<std::string> all);

  const Value& v_;
  std::string file_;
  std::string where_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

// "text" with everything unprintable shown and cut to a sensible length, for messages.
std::string quoted(std::string_view text);

}  // namespace muster
