#include "adapters/http/target.h"

#include "base/text.h"

namespace muster::http {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decode(std::string_view s, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (s[i] == '%') {
      if (i + 2 >= s.size() || hex(s[i + 1]) < 0 || hex(s[i + 2]) < 0) {
        return fail(Code::bad_input, "the address has a malformed % escape");
      }
      out += static_cast<char>(hex(s[i + 1]) * 16 + hex(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  for (const char c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return fail(Code::bad_input, "the address contains a control character");
    }
  }
  if (!valid_utf8(out)) return fail(Code::bad_input, "the address is not valid UTF-8");
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') return fail(Code::bad_input, "the address must begin with /");
  target = target.substr(0, target.find('#'));
  const auto mark = target.find('?');
  auto path = decode(target.substr(0, mark), false);
  if (!path) return tl::unexpected(path.error());
  Target out{std::move(*path), {}};
  if (mark == std::string_view::npos) return out;
  for (const std::string_view piece : split(target.substr(mark + 1), '&')) {
    if (piece.empty()) continue;
    const auto equals = piece.find('=');
    auto name = decode(piece.substr(0, equals), true);
    if (!name) return tl::unexpected(name.error());
    auto value = decode(equals == std::string_view::npos ? std::string_view{} : piece.substr(equals + 1), true);
    if (!value) return tl::unexpected(value.error());
    out.query[*name] = std::move(*value);
  }
  return out;
}

}  // namespace muster::http
