#include "tool_input.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "flag_values.h"

namespace muster::cmd {

ToolInput::ToolInput(const Value& input, std::initializer_list<std::string_view> known) : input_(input) {
  if (input.object() == nullptr) {
    refuse({Code::bad_input, fmt::format("a question must be an object, is {}", input.kind()),
            "{\"list\":true} says what there is"});
    return;
  }
  for (const Value::Member& m : *input.object()) {
    if (std::find(known.begin(), known.end(), m.key) != known.end()) continue;
    const std::vector<std::string> all(known.begin(), known.end());
    const auto meant = nearest(m.key, all);
    refuse({Code::bad_input, fmt::format("there is no \"{}\" to say here", printable(m.key.substr(0, 100))),
            meant ? fmt::format("did you mean \"{}\"?", *meant) : "one of " + join(all, ", ")});
  }
}

std::string ToolInput::text(std::string_view key) {
  const Value* v = input_.find(key);
  if (v == nullptr || v->is_null()) return {};
  constexpr std::size_t kLongest = 200;
  if (v->string() != nullptr) {
    if (v->string()->size() <= kLongest && valid_utf8(*v->string())) return std::string(trim(*v->string()));
    refuse({Code::bad_input, fmt::format("{} is longer than {} bytes, or no text", key, kLongest), "a name or a number"});
    return {};
  }
  double d = 0;
  if (v->integer() != nullptr) return std::to_string(*v->integer());
  if (v->number(d)) return render_number(d);
  refuse({Code::bad_input, fmt::format("{} is {}", key, v->kind()), "a text or a number"});
  return {};
}

bool ToolInput::yes(std::string_view key) {
  const Value* v = input_.find(key);
  if (v == nullptr || v->is_null()) return false;
  if (v->boolean() != nullptr) return *v->boolean();
  refuse({Code::bad_input, fmt::format("{} is {}", key, v->kind()), "true or false"});
  return false;
}

void ToolInput::count(std::string_view key, std::uint32_t& to, std::uint64_t max) {
  if (const std::string s = text(key); !s.empty()) put(parse_count(key, s, 1, max), to);
}

void ToolInput::quantity(std::string_view key, double& to, double min, double max) {
  if (const std::string s = text(key); !s.empty()) put(parse_quantity(key, s, min, max), to);
}

void ToolInput::tokens(std::string_view key, double& to) {
  if (const std::string s = text(key); !s.empty()) put(parse_tokens(key, s), to);
}

void ToolInput::end_of_day(std::string_view key, std::optional<Time>& to) {
  const std::string s = text(key);
  if (s.empty()) return;
  const auto day = parse_day(key, s);
  if (day)
    to = *day + days(1) - nanoseconds(1);
  else
    refuse(day.error());
}

Error ToolInput::no_such(std::string_view key, const std::string& word, const std::string& all) {
  return {Code::bad_input, fmt::format("{} is \"{}\"", key, printable(word)), "one of " + all};
}

}  // namespace muster::cmd
