#include "tool_input.h"

#include <fmt/core.h>

#include "base/text.h"
#include "flag_values.h"
#include "report/units.h"
#include "tool_sheets.h"

namespace muster::cmd {

ToolInput::ToolInput(const Value& input, std::string_view tool) : input_(input) {
  if (const auto ok = check_question(input, tool); !ok) refuse(ok.error());
}

std::optional<Time> ToolInput::time(std::string_view key) {
  const std::string word = text(key);
  if (word.empty()) return std::nullopt;
  const auto utc = report::parse_utc(word);
  if (!utc)
    refuse({Code::bad_input, fmt::format("{} is '{}'", key, printable(word)),
            "it must be a time in UTC, e.g. 2026-11-15T02:03:04Z"});
  return utc;
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

Error in_fields(Error e) {
  const auto told = [](const std::string& text) {
    std::string out;
    bool command = false, flag = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      command = command != (c == '`');
      const bool letter = i + 2 < text.size() && text[i + 2] >= 'a' && text[i + 2] <= 'z';
      const bool begins = !command && text.compare(i, 2, "--") == 0 && letter && (i == 0 || text[i - 1] != '-');
      if (begins) {
        flag = true;
        ++i;
        continue;
      }
      flag = flag && ((c >= 'a' && c <= 'z') || c == '-');
      out += flag && c == '-' ? '_' : c;
    }
    return out;
  };
  e.what = told(e.what);
  e.next = told(e.next);
  return e;
}

Error ToolInput::no_such(std::string_view key, const std::string& word, const std::string& all) {
  return {Code::bad_input, fmt::format("{} is \"{}\"", key, printable(word)), "one of " + all};
}

}  // namespace muster::cmd
