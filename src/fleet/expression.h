// Expressions over the facts of a node: "gpu.class in (hopper, blackwell) and driver.loaded >= 580". What nobody knows makes the
// result unknown where it matters, and never true: docs/formats/fleet_rules.md.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::fleet {

enum class Truth : std::uint8_t { no, unknown, yes };

// Whether programs write it for on or off: "yes", "0", "Enabled".
bool is_flag(std::string_view text);

// What is known of one fact where an expression is held against it.
struct Known {
  enum class State : std::uint8_t { unknown, absent, value } state = State::unknown;
  std::string_view text{};
};

class Expression {
 public:
  enum class Op : std::uint8_t {
    fact,
    text,
    first,
    major,
    release,
    word,  // values
    all,
    any,
    negate,  // of truths
    equal,
    differs,
    less,
    most,
    more,
    least,  // versions compared
    in,
    contains,
    present,
    absent,
    within,  // within: number of releases, before, list
    constant
  };
  struct Part {
    Op op = Op::constant;
    std::string text{};               // of fact and text
    std::uint32_t number = 0;         // of word and within; fact: place in facts(); constant: 0 or 1
    std::vector<std::uint32_t> of{};  // places of its parts, each before it
  };

  // The facts it names, each once, in the order of the text; "today" is one of them.
  const std::vector<std::string>& facts() const { return facts_; }
  const std::vector<Part>& parts() const { return parts_; }
  bool empty() const { return parts_.empty(); }

  // `known` has what is known of each of facts(). An empty expression holds.
  Truth holds(const std::vector<Known>& known) const;
  // Facts, by place in facts(), without which it stays unknown; empty where it is not unknown.
  std::vector<std::uint32_t> missing(const std::vector<Known>& known) const;

 private:
  friend class ExpressionParser;
  Known value(std::uint32_t part, const std::vector<Known>& known) const;
  Truth truth(std::uint32_t part, const std::vector<Known>& known) const;
  Truth is_present(std::uint32_t part, const std::vector<Known>& known) const;
  Truth compare(const Part& part, const std::vector<Known>& known) const;
  void gather(std::uint32_t part, const std::vector<Known>& known, std::vector<std::uint32_t>& out) const;

  std::vector<Part> parts_;  // the last is the whole
  std::vector<std::string> facts_;
};

// An error says what is wrong and where in the text. `is_fact` tells names of facts from plain words.
Result<Expression> parse_expression(std::string_view text, const std::function<bool(std::string_view)>& is_fact);

}  // namespace muster::fleet
