#include "base/node_list.h"

#include <fmt/format.h>

#include "base/text.h"

namespace muster {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

auto bad_list(std::string_view piece, std::string_view why) {
  return fail(Code::bad_input, fmt::format("node list \"{}\": {}", piece.substr(0, 200), why),
              "write lists like node[001-064,070] or node001,node002");
}

// One name or range at the top level, up to a comma outside brackets.
Result<std::vector<std::string_view>> split_top(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t from = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (i < text.size() && c == '[') {
      if (inside) return bad_list(text, "a [ inside of [ ]");
      inside = true;
    } else if (i < text.size() && c == ']') {
      if (!inside) return bad_list(text, "a ] without its [");
      inside = false;
    } else if (c == ',' && (!inside || i == text.size())) {
      if (inside) return bad_list(text, "a [ without its ]");
      const auto piece = trim(text.substr(from, i - from));
      if (piece.empty()) return bad_list(text, "an empty name");
      pieces.push_back(piece);
      from = i + 1;
    }
  }
  return pieces;
}

// "001-064,070" as numbers rendered with their width.
Result<std::vector<std::string>> expand_ranges(std::string_view piece, std::string_view ranges, std::size_t max) {
  std::vector<std::string> out;
  for (const auto range : split(ranges, ',')) {
    const auto dash = range.find('-');
    const auto first_text = range.substr(0, dash);
    const auto last_text = dash == std::string_view::npos ? first_text : range.substr(dash + 1);
    if (first_text.size() > 18 || last_text.size() > 18) return bad_list(piece, "a number of more than 18 digits");
    const auto first = parse_uint(first_text);
    const auto last = parse_uint(last_text);
    if (!first || !last || !is_digit(first_text[0]) || !is_digit(last_text[0])) {
      return bad_list(piece, fmt::format("\"{}\" is no number and no range", range));
    }
    if (*last < *first) return bad_list(piece, fmt::format("the range {} runs backwards", range));
    if (*last - *first >= max - out.size()) return bad_list(piece, fmt::format("more than {} names", max));
    for (auto n = *first; n <= *last; ++n) out.push_back(fmt::format("{:0{}}", n, first_text.size()));
  }
  return out;
}

Result<std::vector<std::string>> expand_piece(std::string_view piece, std::size_t max) {
  std::vector<std::string> names{""};
  for (std::size_t i = 0; i < piece.size();) {
    const auto open = piece.find('[', i);
    for (auto& n : names) n += piece.substr(i, open == std::string_view::npos ? open : open - i);
    if (open == std::string_view::npos) break;
    const auto close = piece.find(']', open);
    const auto numbers = expand_ranges(piece, piece.substr(open + 1, close - open - 1), max);
    if (!numbers) return tl::unexpected(numbers.error());
    if (numbers->size() > max / names.size()) return bad_list(piece, fmt::format("more than {} names", max));
    std::vector<std::string> longer;
    longer.reserve(names.size() * numbers->size());
    for (const auto& n : names) {
      for (const auto& number : *numbers) longer.push_back(n + number);
    }
    names = std::move(longer);
    i = close + 1;
  }
  return names;
}

// "node017b" is "node", "017", "b".
struct Parts {
  std::string_view before, digits, after;
};

Parts take_apart(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < 18) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

// Zeros in front fix the width of every number of a range; without them any width fits ("9-10").
bool same_width(std::string_view first, std::string_view digits) {
  return first.size() == digits.size() || (first[0] != '0' && digits[0] != '0');
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(std::string_view text, std::size_t max) {
  const auto pieces = split_top(text);
  if (!pieces) return tl::unexpected(pieces.error());
  std::vector<std::string> out;
  for (const auto piece : *pieces) {
    auto names = expand_piece(piece, max - out.size());
    if (!names) return tl::unexpected(names.error());
    if (names->size() > max - out.size()) return bad_list(piece, fmt::format("more than {} names", max));
    out.insert(out.end(), std::make_move_iterator(names->begin()), std::make_move_iterator(names->end()));
  }
  return out;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
      continue;
    }
    const auto run = [](std::string_view s, std::size_t& at) {
      while (at < s.size() && s[at] == '0') ++at;
      const auto from = at;
      while (at < s.size() && is_digit(s[at])) ++at;
      return s.substr(from, at - from);
    };
    const auto x = run(a, i), y = run(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (i < a.size() || j < b.size()) return i >= a.size();
  return a < b;  // "n1" and "n01" differ all the same
}

std::string compress_node_list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), natural_less);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < names.size();) {
    const auto head = take_apart(names[i]);
    if (head.digits.empty() || names[i].find_first_of("[],") != std::string::npos) {
      pieces.push_back(names[i++]);
      continue;
    }
    std::vector<std::string> ranges;
    std::size_t count = 0;
    while (i < names.size()) {
      const auto first = take_apart(names[i]);
      if (first.before != head.before || first.after != head.after || first.digits.empty() ||
          !same_width(head.digits, first.digits)) {
        break;
      }
      auto last = first;
      for (++i, ++count; i < names.size(); ++i, ++count) {
        const auto next = take_apart(names[i]);
        const bool follows = next.before == head.before && next.after == head.after && !next.digits.empty() &&
                             same_width(first.digits, next.digits) &&
                             *parse_uint(next.digits) == *parse_uint(last.digits) + 1;
        if (!follows) break;
        last = next;
      }
      ranges.push_back(first.digits == last.digits ? std::string(first.digits)
                                                   : fmt::format("{}-{}", first.digits, last.digits));
    }
    pieces.push_back(count == 1 ? fmt::format("{}{}{}", head.before, head.digits, head.after)
                                : fmt::format("{}[{}]{}", head.before, join(ranges, ","), head.after));
  }
  return join(pieces, ",");
}

}  // namespace muster
