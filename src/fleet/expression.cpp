#include "fleet/expression.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "fleet/version.h"

namespace muster::fleet {
namespace {

using Op = Expression::Op;
using State = Known::State;

Truth truth_of(bool b) { return b ? Truth::yes : Truth::no; }
Truth negated(Truth t) { return t == Truth::unknown ? t : truth_of(t == Truth::no); }

// "NVIDIA DGX H100" and "DGXH100" name the same machine: letters and digits only, in lower case.
std::string folded(std::string_view s) {
  std::string out;
  for (const char c : lower(s)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80) out += c;
  }
  return out;
}

// How programs write that something is on; what is neither is left as it is.
std::string_view plain_flag(std::string_view s) {
  const std::string l = lower(s);
  for (const char* on : {"true", "1", "yes", "on", "enabled", "enable", "true(1)"}) {
    if (l == on) return "true";
  }
  for (const char* off : {"false", "0", "no", "off", "disabled", "disable", "false(0)"}) {
    if (l == off) return "false";
  }
  return s;
}

// Where there is nothing to compare part by part, as in "" and "***", only the same text is the same.
bool same_words(std::string_view a, std::string_view b) {
  return has_parts(a) && has_parts(b) ? compare_versions(a, b) == 0 : trim(a) == trim(b);
}

// As versions of a VBIOS are: 97.00.B9.00.69 and 97.00.89.00.69 have no order that anybody knows, but differ for sure.
bool hexadecimal(std::string_view version) {
  return version.find_first_not_of("0123456789abcdefABCDEF.") == std::string_view::npos;
}

// `bound`: b stands in the rule itself, as in "== unlimited", which no number is.
Truth equal_values(const Known& a, const Known& b, bool bound) {
  if (a.state == State::unknown || b.state == State::unknown) return Truth::unknown;
  if (a.state == State::absent || b.state == State::absent) return truth_of(a.state == b.state);
  const auto flag = [](std::string_view s) { return s == "true" || s == "false"; };
  const std::string_view fa = plain_flag(a.text), fb = plain_flag(b.text);
  if (flag(a.text) || flag(b.text)) return flag(fa) && flag(fb) ? truth_of(fa == fb) : Truth::unknown;
  const auto x = version_in(a.text), y = version_in(b.text);
  if (x && y) {
    const auto order = order_versions(*x, *y);
    const bool comparable = order != std::partial_ordering::unordered || (hexadecimal(*x) && hexadecimal(*y));
    return comparable ? truth_of(order == 0) : Truth::unknown;
  }
  if (flag(fa) && flag(fb)) return truth_of(fa == fb);  // init_on_alloc=on is not init_on_alloc=0
  if (x && bound) return Truth::no;
  if (x || y) return Truth::unknown;  // "banana" is neither 2.28 nor another version
  return truth_of(same_words(a.text, b.text));
}

Truth ordered(Op op, std::string_view a, std::string_view b) {
  const auto x = version_in(a), y = version_in(b);
  if (!x || !y) return Truth::unknown;
  const auto order = order_versions(*x, *y);
  if (order == std::partial_ordering::unordered) return Truth::unknown;
  switch (op) {
    case Op::less: return truth_of(order < 0);
    case Op::most: return truth_of(order <= 0);
    case Op::more: return truth_of(order > 0);
    default: return truth_of(order >= 0);
  }
}

// Whether a is in the branch or is the word b.
Truth among(std::string_view a, std::string_view b) {
  const auto branch = version_in(b);
  if (!branch) return truth_of(has_parts(b) ? in_branch(a, b) : same_words(a, b));
  const auto version = version_in(a);
  return version ? truth_of(in_branch(*version, *branch)) : Truth::unknown;
}

// The first `numbers` numbers of the version in a text; empty: it has not so many, or is none.
std::string_view leading(std::string_view text, int numbers) {
  const auto version = version_in(text);
  if (!version) return {};
  std::size_t n = 0;
  while (true) {
    const std::size_t from = n;
    while (n < version->size() && (*version)[n] >= '0' && (*version)[n] <= '9') ++n;
    if (n == from) return {};
    if (--numbers == 0) return version->substr(0, n);
    if (n >= version->size() || (*version)[n] != '.') return {};
    ++n;
  }
}

// Counted from 1; empty: there are not so many.
std::string_view word_of(std::string_view s, std::uint32_t which) {
  while (true) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    const std::string_view w = s.substr(0, s.find_first_of(" \t"));
    if (w.empty() || which <= 1) return w;
    --which;
    s.remove_prefix(w.size());
  }
}

}  // namespace

bool is_flag(std::string_view text) {
  const std::string_view flag = plain_flag(trim(text));
  return flag == "true" || flag == "false";
}

Known Expression::value(std::uint32_t at, const std::vector<Known>& known) const {
  const Part& p = parts_[at];
  switch (p.op) {
    case Op::fact: return known[p.number];
    case Op::text: return {State::value, p.text};
    case Op::first: {
      for (const std::uint32_t of : p.of) {
        const Known k = value(of, known);
        if (k.state != State::absent) return k;  // unknown: nobody knows whether one behind it counts
      }
      return {State::absent, {}};
    }
    case Op::major:
    case Op::release: {
      Known k = value(p.of[0], known);
      if (k.state != State::value) return k;
      k.text = leading(k.text, p.op == Op::major ? 1 : 2);
      if (k.text.empty()) k.state = State::unknown;
      return k;
    }
    case Op::word: {
      Known k = value(p.of[0], known);
      if (k.state != State::value) return k;
      k.text = word_of(k.text, p.number);
      if (k.text.empty()) k.state = State::absent;
      return k;
    }
    default: return {};
  }
}

// Of several the first: where any has a value there is one, whichever it is.
Truth Expression::is_present(std::uint32_t at, const std::vector<Known>& known) const {
  const Part& p = parts_[at];
  if (p.op != Op::first) {
    const Known k = value(at, known);
    return k.state == State::unknown ? Truth::unknown : truth_of(k.state == State::value);
  }
  Truth out = Truth::no;
  for (const std::uint32_t of : p.of) out = std::max(out, is_present(of, known));
  return out;
}

Truth Expression::compare(const Part& p, const std::vector<Known>& known) const {
  if (p.op == Op::present) return is_present(p.of[0], known);
  if (p.op == Op::absent) return negated(is_present(p.of[0], known));
  const Known a = value(p.of[0], known);
  if (p.op == Op::in) {
    Truth any = Truth::no;
    for (std::size_t i = 1; i < p.of.size(); ++i) {
      const Known b = value(p.of[i], known);
      if (a.state == State::unknown || b.state == State::unknown) {
        any = Truth::unknown;
      } else if (a.state == State::value && b.state == State::value) {
        const Truth t = among(a.text, b.text);
        if (t == Truth::yes) return t;
        if (t == Truth::unknown) any = t;
      }
    }
    return any;
  }
  const Known b = value(p.of[1], known);
  if (p.op == Op::equal || p.op == Op::differs) {
    const Truth same = equal_values(a, b, parts_[p.of[1]].op == Op::text);
    return p.op == Op::equal ? same : negated(same);
  }
  if (a.state == State::unknown || b.state == State::unknown) return Truth::unknown;
  if (a.state == State::absent || b.state == State::absent) return Truth::no;
  if (p.op == Op::contains) {
    const std::string part = folded(b.text);  // nothing is in everything
    return part.empty() ? Truth::unknown : truth_of(folded(a.text).find(part) != std::string::npos);
  }
  if (p.op == Op::within) {
    const auto place = [&](const Known& k) {
      for (std::size_t i = 2; i < p.of.size(); ++i) {
        if (among(k.text, value(p.of[i], known).text) == Truth::yes) return static_cast<std::ptrdiff_t>(i);
      }
      return std::ptrdiff_t{-1};
    };
    const auto x = place(a), y = place(b);
    if (x < 0 || y < 0) return Truth::unknown;  // a release that the list does not have
    return truth_of(x <= y && y - x <= static_cast<std::ptrdiff_t>(p.number));
  }
  return ordered(p.op, a.text, b.text);
}

Truth Expression::truth(std::uint32_t at, const std::vector<Known>& known) const {
  const Part& p = parts_[at];
  switch (p.op) {
    case Op::constant: return truth_of(p.number != 0);
    case Op::negate: return negated(truth(p.of[0], known));
    case Op::all:
    case Op::any: {
      const Truth ends = p.op == Op::all ? Truth::no : Truth::yes;
      Truth out = negated(ends);
      for (const std::uint32_t of : p.of) {
        const Truth t = truth(of, known);
        if (t == ends) return ends;
        if (t == Truth::unknown) out = t;
      }
      return out;
    }
    default: return compare(p, known);
  }
}

Truth Expression::holds(const std::vector<Known>& known) const {
  return parts_.empty() ? Truth::yes : truth(static_cast<std::uint32_t>(parts_.size() - 1), known);
}

void Expression::gather(std::uint32_t at, const std::vector<Known>& known, std::vector<std::uint32_t>& out) const {
  const Part& p = parts_[at];
  if (p.op == Op::fact) {
    if (known[p.number].state == State::unknown && std::find(out.begin(), out.end(), p.number) == out.end())
      out.push_back(p.number);
    return;
  }
  const bool of_truths = p.op == Op::all || p.op == Op::any || p.op == Op::negate;
  for (const std::uint32_t of : p.of) {
    if (!of_truths || truth(of, known) == Truth::unknown) gather(of, known, out);
  }
}

std::vector<std::uint32_t> Expression::missing(const std::vector<Known>& known) const {
  std::vector<std::uint32_t> out;
  if (holds(known) == Truth::unknown) gather(static_cast<std::uint32_t>(parts_.size() - 1), known, out);
  return out;
}

// Recursive descent. Parentheses are counted, so that no text can exhaust the stack.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const std::function<bool(std::string_view)>& is_fact) : text_(text), is_fact_(is_fact) {
    next();
  }

  Result<Expression> parse() {
    if (token_.empty()) return std::move(out_);
    const auto whole = alternatives();
    if (!whole) return tl::unexpected(whole.error());
    if (!token_.empty()) return bad("nothing more was expected");
    return std::move(out_);
  }

 private:
  using Place = Result<std::uint32_t>;
  static constexpr int kDepthMax = 40;
  static constexpr std::size_t kPartsMax = 4000;
  static constexpr std::size_t kShownMax = 200;  // bytes of a text that an error repeats

  static std::string shown(std::string_view text) {
    return printable(clipped(text, kShownMax)) + (text.size() > kShownMax ? "..." : "");
  }

  tl::unexpected<Error> bad(std::string_view why, std::string todo = {}) const {
    const std::string at =
        token_.empty() && !quoted_ ? "at the end" : fmt::format("at \"{}\" (byte {})", shown(token_), from_ + 1);
    return fail(Code::bad_input, fmt::format("{} {} of \"{}\"", why, at, shown(text_)), std::move(todo));
  }

  void next() {
    quoted_ = false;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    from_ = at_;
    if (at_ >= text_.size()) {
      token_ = {};
      return;
    }
    const char c = text_[at_];
    if (c == '"') {
      const auto end = text_.find('"', at_ + 1);
      quoted_ = end != std::string_view::npos;
      token_ = quoted_ ? text_.substr(at_ + 1, end - at_ - 1) : text_.substr(at_);
      at_ = quoted_ ? end + 1 : text_.size();
      return;
    }
    if (c == '(' || c == ')' || c == ',') {
      ++at_;
    } else if (std::string_view("=<>!").find(c) != std::string_view::npos) {
      at_ += at_ + 1 < text_.size() && text_[at_ + 1] == '=' ? 2 : 1;
    } else {
      while (at_ < text_.size() && std::string_view(" \t(),\"=<>!").find(text_[at_]) == std::string_view::npos) ++at_;
    }
    token_ = text_.substr(from_, at_ - from_);
  }
  bool is(std::string_view word) const { return !quoted_ && token_ == word; }
  bool take(std::string_view word) {
    if (!is(word)) return false;
    next();
    return true;
  }
  std::uint32_t add(Expression::Part part) {
    out_.parts_.push_back(std::move(part));
    return static_cast<std::uint32_t>(out_.parts_.size() - 1);
  }

  Place several(Op op, std::string_view between, Place (ExpressionParser::*one)()) {
    std::vector<std::uint32_t> of;
    do {
      const auto x = (this->*one)();
      if (!x) return x;
      of.push_back(*x);
      if (out_.parts_.size() > kPartsMax) return bad("too long", "make several rules of it");
    } while (take(between));
    return of.size() == 1 ? of[0] : add({op, {}, 0, std::move(of)});
  }
  Place alternatives() {
    if (++depth_ > kDepthMax) return bad("too many parentheses", fmt::format("at most {} within one another", kDepthMax));
    auto out = several(Op::any, "or", &ExpressionParser::conjunction);
    --depth_;
    return out;
  }
  Place conjunction() { return several(Op::all, "and", &ExpressionParser::negation); }

  bool at_comparison() const {
    if (quoted_) return false;
    for (const char* op : {"==", "!=", "<", "<=", ">", ">=", "in", "contains", "present", "absent", "within"}) {
      if (token_ == op) return true;
    }
    return false;
  }

  Place negation() {
    bool turned = false;
    while (take("not")) turned = !turned;
    auto x = primary();
    if (!x || !turned) return x;
    return add({Op::negate, {}, 0, {*x}});
  }

  Place primary() {
    if (is("true") || is("false")) {
      const bool yes = is("true");
      next();
      return add({Op::constant, {}, yes ? 1u : 0u, {}});
    }
    if (take("(")) {
      auto x = alternatives();
      if (!x) return x;
      return take(")") ? x : Place(bad("a ) is missing"));
    }
    if (!at_comparison()) {  // else what is compared is what was compared before: ">= 6 and < 7"
      const auto x = term(true);
      if (!x) return x;
      subject_ = *x;
    } else if (!subject_) {
      return bad("a fact is missing");
    }
    return comparison(*subject_);
  }

  Place comparison(std::uint32_t subject) {
    const bool turned = take("not");
    auto x = bare_comparison(subject);
    if (!x || !turned) return x;
    return add({Op::negate, {}, 0, {*x}});
  }

  Place bare_comparison(std::uint32_t subject) {
    if (take("present")) return add({Op::present, {}, 0, {subject}});
    if (take("absent")) return add({Op::absent, {}, 0, {subject}});
    if (take("in")) {
      std::vector<std::uint32_t> of{subject};
      if (auto ok = list(of); !ok) return tl::unexpected(ok.error());
      return add({Op::in, {}, 0, std::move(of)});
    }
    if (take("within")) return within(subject);
    static constexpr std::pair<std::string_view, Op> kOps[] = {{"==", Op::equal},         {"!=", Op::differs}, {"<", Op::less},
                                                               {"<=", Op::most},          {">", Op::more},     {">=", Op::least},
                                                               {"contains", Op::contains}};
    for (const auto& [word, op] : kOps) {
      if (!take(word)) continue;
      const std::size_t from = from_;
      const auto y = term(false);
      if (!y) return y;
      if (auto ok = is_bound(op, *y, from); !ok) return tl::unexpected(ok.error());
      return add({op, {}, 0, {subject, *y}});
    }
    return bad("a comparison is missing (==, !=, <, <=, >, >=, in, contains, present, absent, within)");
  }

  Result<void> is_bound(Op op, std::uint32_t at, std::size_t from) const {
    const bool orders = op == Op::less || op == Op::most || op == Op::more || op == Op::least;
    const Expression::Part& p = out_.parts_[at];
    const auto in = [&] { return fmt::format(", in \"{}\" (byte {})", shown(text_), from + 1); };
    if (p.op == Op::text && op == Op::contains && folded(p.text).empty())
      return fail(Code::bad_input, fmt::format("\"{}\" has neither letters nor digits{}", shown(p.text), in()),
                  "contains compares these only: contains H100");
    if (!orders || p.op != Op::text || version_in(p.text)) return {};
    return fail(Code::bad_input, fmt::format("\"{}\" is neither a version nor a number{}", shown(p.text), in()),
                "before and after are of versions and numbers: >= 580.95");
  }

  Place within(std::uint32_t subject) {
    const auto n = parse_uint(token_);
    if (!n || *n > 100) return bad("a number of releases is missing");
    next();
    if (!take("before")) return bad("\"before\" is missing");
    const auto y = term(false);
    if (!y) return y;
    if (!take("of")) return bad("\"of\" and the releases, oldest first, are missing");
    std::vector<std::uint32_t> of{subject, *y};
    if (auto ok = list(of); !ok) return tl::unexpected(ok.error());
    return add({Op::within, {}, static_cast<std::uint32_t>(*n), std::move(of)});
  }

  Result<void> list(std::vector<std::uint32_t>& of) {
    const bool many = take("(");
    do {
      const auto x = term(false);
      if (!x) return tl::unexpected(x.error());
      of.push_back(*x);
      if (out_.parts_.size() > kPartsMax) return bad("too long", "make several rules of it");
    } while (many && take(","));
    if (many && !take(")")) return bad("a ) is missing");
    return {};
  }

  Place term(bool subject) {
    if (token_.empty() && !quoted_) return bad("a fact or a value is missing");
    if (!quoted_ && token_[0] == '"') return bad("a quote is not closed");
    if (!quoted_ && std::string_view("()=<>!,").find(token_[0]) != std::string_view::npos)
      return bad("a fact or a value is missing");
    const std::string word(token_);
    const bool plain = !quoted_;
    const std::size_t from = from_;
    next();
    if (plain && is("(") && (word == "first" || word == "major" || word == "release" || word == "word")) return call(word);
    const bool own = subject && word.find('.') != std::string::npos;  // a site's own facts have no meaning here
    if (plain && (word == "today" || own || is_fact_(word))) return fact(word);
    if (subject)
      return fail(Code::bad_input, fmt::format("\"{}\" is no fact, in \"{}\" (byte {})", shown(word), shown(text_), from + 1),
                  "muster fleet probe --list shows what is known");
    return add({Op::text, word, 0, {}});
  }

  Place fact(const std::string& name) {
    auto& all = out_.facts_;
    const auto it = std::find(all.begin(), all.end(), name);
    const auto place = static_cast<std::uint32_t>(it - all.begin());
    if (it == all.end()) all.push_back(name);
    return add({Op::fact, name, place, {}});
  }

  Place call(const std::string& name) {
    next();
    if (++depth_ > kDepthMax) return bad("too many parentheses", fmt::format("at most {} within one another", kDepthMax));
    std::vector<std::uint32_t> of;
    std::uint32_t number = 0;
    do {
      if (name == "word" && !of.empty()) {
        const auto n = parse_uint(token_);
        if (!n || *n < 1 || *n > 100) return bad("which word is missing, from 1");
        number = static_cast<std::uint32_t>(*n);
        next();
        break;
      }
      const auto x = term(true);
      if (!x) return x;
      of.push_back(*x);
      if (out_.parts_.size() > kPartsMax) return bad("too long", "make several rules of it");
    } while (take(","));
    --depth_;
    if (!take(")")) return bad("a ) is missing");
    if (name == "word" && number == 0) return bad("which word is missing, from 1");
    const Op op = name == "first" ? Op::first : name == "major" ? Op::major : name == "release" ? Op::release : Op::word;
    if (op != Op::first && of.size() != 1) return bad("one fact was expected");
    return add({op, {}, number, std::move(of)});
  }

  std::string_view text_;
  const std::function<bool(std::string_view)>& is_fact_;
  std::size_t at_ = 0, from_ = 0;  // past the token, and where it begins
  std::string_view token_;
  bool quoted_ = false;
  int depth_ = 0;
  std::optional<std::uint32_t> subject_;
  Expression out_;
};

Result<Expression> parse_expression(std::string_view text, const std::function<bool(std::string_view)>& is_fact) {
  return ExpressionParser(text, is_fact).parse();
}

}  // namespace muster::fleet
