#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

// An agent may hand in what its node says, and nothing else that acts.
enum class Role { viewer, agent, operator_, admin };

// One member of a tool's question.
struct ToolField {
  enum class Kind : std::uint8_t { text, whole, number, yes, time, object, list };
  std::string_view name;
  Kind kind = Kind::text;
  std::string_view about;  // in one sentence
  bool needed = false;
};
constexpr std::array<std::string_view, 7> names(ToolField::Kind) {
  return {"a text",    "a whole number", "a number", "true or false", "a time in UTC, as 2026-11-15T02:03:04Z",
          "an object", "a list"};
}

// What a tool may be asked and what it answers, for whoever calls it.
struct ToolSheet {
  std::string_view answer;  // in one sentence; empty: nothing is known of the tool
  std::span<const ToolField> fields;
};

// A question with an answer, JSON in and JSON out (explain, what-if, inject ...). Registered by the composition root, so that the
// API needs to know none of them. Must be safe to call from any thread.
struct Tool {
  virtual ~Tool() = default;
  virtual Role role() const = 0;  // who may call it
  // Who may ask just this: reading an answer may be open to more people than starting the work for it.
  virtual Role role_for(const Value& /*input*/) const { return role(); }
  virtual Result<std::string> call(const Value& input) = 0;
};

using Tools = std::map<std::string, Tool*>;

}  // namespace muster
