// Lists of nodes as cluster people write them: "node[001-004,007],login1".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::api {

class NodeList {
 public:
  static Result<NodeList> parse(std::string_view text);
  bool has(std::string_view name) const;

 private:
  struct Range {
    std::uint64_t first = 0, last = 0;
    std::size_t width = 0;  // as many digits, zero-padded; 0: not padded
  };
  struct Part {
    std::string literal;        // then, unless empty:
    std::vector<Range> ranges;  // one number out of these
  };
  using Name = std::vector<Part>;
  static bool fits(const Name& name, std::size_t part, std::string_view rest);
  std::vector<Name> names_;
};

}  // namespace muster::api
