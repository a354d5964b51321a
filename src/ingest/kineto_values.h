// The pieces that Kineto's JSON is read with: where values end, numbers from their text, names as numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/trace.h"

namespace muster::kineto {

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
std::size_t skip_space(std::string_view s, std::size_t at);

// Follows brackets and strings from one piece of text to the next.
class Nesting {
 public:
  // Where the value that was begun ends; npos: not in here.
  std::size_t end(std::string_view s);

 private:
  std::uint64_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, begun_ = false;
};

// Microseconds in decimal text, with or without a fraction or an exponent, as nanoseconds; what is finer is cut off.
bool nanoseconds_of(std::string_view text, std::int64_t& out);
std::uint64_t whole_of(std::string_view token, std::uint64_t otherwise);
std::string_view unquoted(std::string_view token);
std::string plain(std::string_view raw);  // a JSON string without its quotes, with its escapes resolved

// Numbers for texts, from 0.
class Names {
 public:
  explicit Names(std::vector<std::string>& all) : all_(all) {}
  std::uint32_t of(std::string_view text) {
    if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
    const auto id = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back(text);
    ids_.emplace(text, id);
    return id;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::vector<std::string>& all_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

// "[64, 2, 1]": how many there are in all.
std::uint64_t product_of(std::string_view list);
// "[[4, 8], [[8], [8]], []]", with the types and values beside it: a tensor, a list of them, something else.
std::vector<OpInput> read_inputs(std::string_view dims, std::string_view types, std::string_view values);

}  // namespace muster::kineto
