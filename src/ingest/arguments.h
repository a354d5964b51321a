// Command-line arguments as they stand in a launch script: "--name value", "--name=value" or "--name" anywhere in it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

class Arguments {
 public:
  // Comments are left out, a backslash at a line's end joins lines, and a variable that the script itself sets to something plain
  // ("TP=8", "TP=${TP:-8}") is put in where it is used.
  explicit Arguments(std::string_view script);

  bool has(std::string_view name) const { return all_.count(std::string(name)) > 0; }
  std::string text(std::string_view name) const;  // empty: not there, or without a value
  // None: it is not there. What is there and no number is not finite.
  std::optional<double> number(std::string_view name) const;

 private:
  std::map<std::string, std::string> all_;
};

}  // namespace muster
