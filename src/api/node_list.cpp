#include "api/node_list.h"

#include <fmt/core.h>

#include "base/text.h"

namespace muster::api {
namespace {

// Commas inside brackets belong to the range.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      out.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return out;
}

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(Code::bad_input, fmt::format("node list '{}': {}", printable(text), why), "write it like node[001-004],node017");
}

}  // namespace

Result<NodeList> NodeList::parse(std::string_view text) {
  NodeList out;
  for (std::string_view rest : split_outside_brackets(text)) {
    if (rest.empty()) return bad(text, "an empty name");
    Name name;
    while (!rest.empty()) {
      const auto open = rest.find('[');
      Part part{std::string(rest.substr(0, open)), {}};
      if (part.literal.find(']') != std::string::npos) return bad(text, "a ] without [");
      rest = open == std::string_view::npos ? std::string_view{} : rest.substr(open + 1);
      if (open != std::string_view::npos) {
        const auto close = rest.find(']');
        if (close == std::string_view::npos) return bad(text, "a [ without ]");
        for (const std::string_view piece : split(rest.substr(0, close), ',')) {
          const auto dash = piece.find('-');
          const std::string_view first = piece.substr(0, dash);
          const auto low = parse_uint(first);
          const auto high = dash == std::string_view::npos ? low : parse_uint(piece.substr(dash + 1));
          if (!low || !high || *high < *low) return bad(text, "a range is not NUMBER or NUMBER-NUMBER");
          part.ranges.push_back({*low, *high, first.starts_with('0') ? first.size() : 0});
        }
        rest = rest.substr(close + 1);
      }
      name.push_back(std::move(part));
    }
    out.names_.push_back(std::move(name));
  }
  return out;
}

bool NodeList::fits(const Name& name, std::size_t part, std::string_view rest) {
  if (part == name.size()) return rest.empty();
  const Part& p = name[part];
  if (!rest.starts_with(p.literal)) return false;
  rest.remove_prefix(p.literal.size());
  if (p.ranges.empty()) return fits(name, part + 1, rest);
  for (std::size_t digits = 1; digits <= rest.size() && digits <= 18; ++digits) {
    const auto number = parse_uint(rest.substr(0, digits));
    if (!number) return false;
    for (const Range& r : p.ranges) {
      const bool padded_right = r.width == 0 ? digits == 1 || rest.front() != '0'
                                             : digits == r.width || (digits > r.width && rest.front() != '0');
      if (padded_right && *number >= r.first && *number <= r.last && fits(name, part + 1, rest.substr(digits))) return true;
    }
  }
  return false;
}

bool NodeList::has(std::string_view name) const {
  for (const Name& n : names_) {
    if (fits(n, 0, name)) return true;
  }
  return false;
}

}  // namespace muster::api
