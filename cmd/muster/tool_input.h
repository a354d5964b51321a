// A tool's question, member by member, with the limits that the command line's flags of the same names have. What a form sends is
// text: numbers may come as such. The first thing that is wrong is remembered.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "model/fields.h"

namespace muster::cmd {

class ToolInput {
 public:
  // A member that the tool's sheet does not have is an error.
  ToolInput(const Value& input, std::string_view tool);

  const std::optional<Error>& wrong() const { return wrong_; }
  // Empty where nothing is said; null, "" and 0 letters are nothing.
  std::string text(std::string_view key);
  bool yes(std::string_view key);
  // Each leaves `to` as it is where nothing is said.
  void count(std::string_view key, std::uint32_t& to, std::uint64_t max);
  void quantity(std::string_view key, double& to, double min, double max);
  void tokens(std::string_view key, double& to);
  // None where nothing is said.
  std::optional<Time> time(std::string_view key);
  void end_of_day(std::string_view key, std::optional<Time>& to);
  template <NamedEnum E, class To>
  void choice(std::string_view key, E, To& to) {
    const std::string word = text(key);
    E e{};
    if (word.empty()) return;
    if (parse_name(word, e)) {
      to = e;
    } else {
      std::string all;
      for (const std::string_view name : names(E{})) all += (all.empty() ? "" : ", ") + std::string(name);
      refuse(no_such(key, word, all));
    }
  }

 private:
  template <class T, class To>
  void put(const Result<T>& read, To& to) {
    if (read)
      to = static_cast<To>(*read);
    else
      refuse(read.error());
  }
  void refuse(Error e) {
    if (!wrong_) wrong_ = std::move(e);
  }
  static Error no_such(std::string_view key, const std::string& word, const std::string& all);

  const Value& input_;
  std::optional<Error> wrong_;
};

// An error that speaks of flags of the command line, for those who send fields: "--grow-to" as "grow_to". What stands between
// backticks is a command, and stays.
Error in_fields(Error e);

}  // namespace muster::cmd
