#include "ingest/toml.h"

#include <fmt/core.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/text.h"

namespace muster {
namespace {

struct Table;
using Tables = std::vector<std::unique_ptr<Table>>;
using Node = std::variant<Value, std::unique_ptr<Table>, Tables>;
struct Table {
  std::map<std::string, Node, std::less<>> members;
  int line = 0;
  bool headed = false;  // by a line of its own, which there may be one of
  bool closed = false;  // an inline table, which nothing is added to
};

Value value_of(const Table& t);
Value value_of(const Node& n, int line) {
  if (const auto* v = std::get_if<Value>(&n)) return *v;
  if (const auto* t = std::get_if<std::unique_ptr<Table>>(&n)) return value_of(**t);
  Value::Array all;
  for (const auto& t : std::get<Tables>(n)) all.push_back(value_of(*t));
  return Value(std::move(all), line);
}
Value value_of(const Table& t) {
  Value::Object out;
  for (const auto& [key, node] : t.members) out.push_back({key, value_of(node, t.line)});
  return Value(std::move(out), t.line);
}

bool bare(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : s_(text), file_(file) {}

  Result<Value> read() {
    Table root;
    root.line = 1;
    Table* at = &root;
    while (wrong_.empty()) {
      blanks_and_lines();
      if (s_.empty()) break;
      if (s_.front() == '[') {
        at = header(root);
      } else {
        assignment(*at);
      }
      if (wrong_.empty()) end_of_line();
    }
    if (!wrong_.empty()) return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, line_, wrong_), "mend the line");
    return value_of(root);
  }

 private:
  using Key = std::vector<std::string>;

  void bad(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }
  bool take(char c) {
    if (s_.empty() || s_.front() != c) return false;
    s_.remove_prefix(1);
    return true;
  }
  void blanks() {
    while (!s_.empty() && (s_.front() == ' ' || s_.front() == '\t')) s_.remove_prefix(1);
  }
  void comment() {
    if (!s_.empty() && s_.front() == '#') s_.remove_prefix(std::min(s_.size(), s_.find('\n')));
  }
  // Over comments and ends of lines as well.
  void blanks_and_lines() {
    for (;;) {
      blanks();
      comment();
      if (s_.starts_with("\r\n")) s_.remove_prefix(1);
      if (!take('\n')) return;
      ++line_;
    }
  }
  void end_of_line() {
    blanks();
    comment();
    if (s_.starts_with("\r\n")) s_.remove_prefix(1);
    if (s_.empty()) return;
    if (s_.front() != '\n') bad("something is left over behind the value");
  }

  std::string plain_key() {
    if (s_.starts_with('"') || s_.starts_with('\'')) return text().value_or("");
    std::size_t n = 0;
    while (n < s_.size() && bare(s_[n])) ++n;
    if (n == 0) bad("a key is missing");
    const std::string out(s_.substr(0, n));
    s_.remove_prefix(n);
    return out;
  }
  Key key() {
    Key out;
    do {
      blanks();
      out.push_back(plain_key());
      blanks();
      if (out.size() > kTomlDepthMax) bad("keys of too many parts");
    } while (wrong_.empty() && take('.'));
    return out;
  }

  // The table at the first `n` parts of a key, made where it is not; nullptr: something else is there.
  Table* descend(Table* from, const Key& k, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      auto [it, fresh] = from->members.try_emplace(k[i], std::unique_ptr<Table>());
      if (fresh) {
        auto t = std::make_unique<Table>();
        t->line = line_;
        it->second = std::move(t);
      }
      if (auto* t = std::get_if<std::unique_ptr<Table>>(&it->second)) {
        from = t->get();
      } else if (auto* all = std::get_if<Tables>(&it->second)) {
        from = all->back().get();
      } else {
        from = nullptr;
      }
      if (from == nullptr || from->closed) {
        bad(fmt::format("{} is a value, no table", printable(k[i])));
        return nullptr;
      }
    }
    return from;
  }

  Table* header(Table& root) {
    take('[');
    const bool many = take('[');
    const Key k = key();
    base_ = k.size();
    if (!take(']') || (many && !take(']'))) bad("a table's name must end with ]");
    if (!wrong_.empty()) return &root;
    if (!many) {
      Table* t = descend(&root, k, k.size());
      if (t == nullptr) return &root;
      if (t->headed) bad(fmt::format("[{}] is there twice", printable(join(k, "."))));
      t->headed = true;
      return t;
    }
    Table* parent = descend(&root, k, k.size() - 1);
    if (parent == nullptr) return &root;
    Node& node = parent->members.try_emplace(k.back(), Tables()).first->second;
    auto* all = std::get_if<Tables>(&node);
    if (all == nullptr) {
      bad(fmt::format("{} is no array of tables", printable(k.back())));
      return &root;
    }
    all->push_back(std::make_unique<Table>());
    all->back()->line = line_;
    return all->back().get();
  }

  void assignment(Table& into) {
    const Key k = key();
    blanks();
    if (wrong_.empty() && !take('=')) bad("= is missing behind a key");
    if (!wrong_.empty()) return;
    Table* t = descend(&into, k, k.size() - 1);
    if (t == nullptr) return;
    blanks();
    Node node = value(base_ + k.size());
    if (!wrong_.empty()) return;
    if (!t->members.try_emplace(k.back(), std::move(node)).second) bad(fmt::format("{} is there twice", printable(k.back())));
  }

  Node value(std::size_t depth) {
    if (depth > kTomlDepthMax) {
      bad("nested too deeply");
      return Value();
    }
    if (s_.empty()) {
      bad("a value is missing");
      return Value();
    }
    if (s_.front() == '"' || s_.front() == '\'') return Value(text().value_or(""), line_);
    if (s_.front() == '[') return array(depth);
    if (s_.front() == '{') return inline_table(depth);
    return scalar();
  }

  Node array(std::size_t depth) {
    const int line = line_;
    take('[');
    Value::Array out;
    for (;;) {
      blanks_and_lines();
      if (take(']')) return Value(std::move(out), line);
      const Node n = value(depth + 1);
      if (!wrong_.empty()) return Value();
      out.push_back(value_of(n, line_));
      blanks_and_lines();
      if (take(',')) continue;
      if (take(']')) return Value(std::move(out), line);
      bad("an array must go on with a comma or end with ]");
      return Value();
    }
  }

  Node inline_table(std::size_t depth) {
    take('{');
    auto out = std::make_unique<Table>();
    out->line = line_;
    blanks();
    if (take('}')) return out;
    for (;;) {
      const Key k = key();
      blanks();
      if (wrong_.empty() && !take('=')) bad("= is missing behind a key");
      Table* t = wrong_.empty() ? descend(out.get(), k, k.size() - 1) : nullptr;
      if (t == nullptr) return Value();
      blanks();
      if (!t->members.try_emplace(k.back(), value(depth + k.size())).second)
        bad(fmt::format("{} is there twice", printable(k.back())));
      blanks();
      if (!wrong_.empty()) return Value();
      if (take(',')) continue;
      if (take('}')) break;
      bad("an inline table must go on with a comma or end with }");
      return Value();
    }
    out->closed = true;
    return out;
  }

  Node scalar() {
    std::size_t n = 0;
    while (n < s_.size() && (bare(s_[n]) || s_[n] == '+' || s_[n] == '.' || s_[n] == ':')) ++n;
    const std::string_view word = s_.substr(0, n);
    s_.remove_prefix(n);
    if (word == "true" || word == "false") return Value(word == "true", line_);
    std::string digits;
    for (const char c : word) {
      if (c != '_' && !(c == '+' && digits.empty())) digits += c;
    }
    if (const auto i = parse_int(digits)) return Value(*i, line_);
    if (const auto x = parse_hex(digits); x && digits.starts_with("0x") && *x <= INT64_MAX)
      return Value(static_cast<std::int64_t>(*x), line_);
    if (const auto d = parse_double(digits)) return Value(*d, line_);
    const bool date = word.size() >= 8 && word[0] >= '0' && word[0] <= '9';
    if (!date) bad(fmt::format("'{}' is no value", printable(word.substr(0, 40))));
    return Value(std::string(word), line_);
  }

  // One character after a backslash; false: there is no such.
  bool escaped(std::string& out) {
    if (s_.empty()) return false;
    const char c = s_.front();
    s_.remove_prefix(1);
    constexpr std::string_view kFrom = "btnfr\"\\e", kTo = "\b\t\n\f\r\"\\\x1b";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out += kTo[i];
      return true;
    }
    const std::size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const auto code = digits > 0 && s_.size() >= digits ? parse_hex(s_.substr(0, digits)) : std::nullopt;
    if (!code || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) return false;
    s_.remove_prefix(digits);
    const auto u = static_cast<std::uint32_t>(*code);
    if (u < 0x80) {
      out += static_cast<char>(u);
    } else {
      const int more = u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
      out += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | (u >> (6 * more)));
      for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((u >> (6 * i)) & 0x3F));
    }
    return true;
  }

  std::optional<std::string> text() {
    const char quote = s_.front();
    const std::string three(3, quote);
    const bool many = s_.starts_with(three);
    s_.remove_prefix(many ? 3 : 1);
    if (many && s_.starts_with('\n')) {
      s_.remove_prefix(1);
      ++line_;
    }
    std::string out;
    for (;;) {
      if (s_.empty() || (!many && s_.front() == '\n')) {
        bad("a text without an end");
        return {};
      }
      if (many ? s_.starts_with(three) : s_.front() == quote) break;
      const char c = s_.front();
      s_.remove_prefix(1);
      if (c == '\n') ++line_;
      if (c != '\\' || quote == '\'') {
        out += c;
        continue;
      }
      if (many && (s_.starts_with('\n') || s_.starts_with(' '))) {  // the line goes on
        while (!s_.empty() && (s_.front() == ' ' || s_.front() == '\n' || s_.front() == '\t')) {
          if (s_.front() == '\n') ++line_;
          s_.remove_prefix(1);
        }
      } else if (!escaped(out)) {
        bad("a backslash before something that has none");
        return {};
      }
    }
    s_.remove_prefix(many ? 3 : 1);
    return out;
  }

  std::string_view s_, file_;
  std::string wrong_;
  std::size_t base_ = 0;  // parts of the name of the table that is filled
  int line_ = 1;
};

}  // namespace

Result<Value> parse_toml(std::string_view text, std::string_view file) {
  if (text.size() > kTomlBytesMax) return fail(Code::bad_input, fmt::format("{}:1: no configuration is that large", file));
  if (!valid_utf8(text)) return fail(Code::bad_input, fmt::format("{}:1: it is not UTF-8", file));
  return Reader(text, file).read();
}

}  // namespace muster
