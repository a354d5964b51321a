#include "ingest/pickle.h"

#include <fmt/core.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>


namespace muster {
namespace {

constexpr std::size_t kDepthMax = 64;

// As Python has it: what was remembered and what refers to it are one and the same.
struct Node {
  enum class Kind : std::uint8_t { plain, list, dictionary };
  Kind kind = Kind::plain;
  Value plain;
  std::vector<std::shared_ptr<Node>> list;
  std::vector<std::pair<std::string, std::shared_ptr<Node>>> members;
};
using Ref = std::shared_ptr<Node>;

// As a tree. What refers to itself has no end, and is refused by its depth.
class Unfolding {
 public:
  std::optional<Value> of(const Node& n, std::size_t depth = 0) {
    if (depth > kDepthMax || ++made_ > kPickleValuesMax) return {};
    if (n.kind == Node::Kind::plain) return n.plain;
    if (n.kind == Node::Kind::list) {
      Value::Array all;
      for (const Ref& x : n.list) {
        auto v = of(*x, depth + 1);
        if (!v) return {};
        all.push_back(std::move(*v));
      }
      return Value(std::move(all));
    }
    Value::Object all;
    for (const auto& [key, x] : n.members) {
      auto v = of(*x, depth + 1);
      if (!v) return {};
      all.push_back({key, std::move(*v)});
    }
    return Value(std::move(all));
  }

 private:
  std::size_t made_ = 0;
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : in_(bytes) {}
  // A list that holds itself would never be given back.
  ~Machine() {
    for (const Ref& n : made_lists_) {
      n->list.clear();
      n->members.clear();
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Result<Value> run() {
    while (at_ < in_.size()) {
      const auto op = static_cast<unsigned char>(in_[at_]);
      began_ = at_++;
      if (op == '.') {
        if (stack_.empty()) return bad("it ends without a value");
        auto out = Unfolding().of(*stack_.back());
        if (!out) return bad(fmt::format("it unfolds to more than {} values, or deeper than {}", kPickleValuesMax, kDepthMax));
        return std::move(*out);
      }
      step(op);
      if (!wrong_.empty()) return fail(Code::bad_input, wrong_, next_);
    }
    return bad("it ends too early");
  }

 private:
  tl::unexpected<Error> bad(std::string_view why) {
    return fail(Code::bad_input, fmt::format("byte {}: {}", began_, why), "a pickle as PyTorch's flight recorder writes it");
  }
  void refuse(std::string why, std::string next = "a pickle as PyTorch's flight recorder writes it") {
    if (wrong_.empty()) {
      wrong_ = fmt::format("byte {}: {}", began_, why);
      next_ = std::move(next);
    }
  }

  // Little-endian.
  std::uint64_t number(std::size_t bytes) {
    if (in_.size() - at_ < bytes) {
      refuse("it ends too early");
      return 0;
    }
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < bytes; ++i) n |= std::uint64_t{static_cast<unsigned char>(in_[at_ + i])} << (8 * i);
    at_ += bytes;
    return n;
  }
  std::string_view take(std::uint64_t bytes) {
    if (in_.size() - at_ < bytes) {
      refuse("it ends too early");
      return {};
    }
    const std::string_view out = in_.substr(at_, bytes);
    at_ += bytes;
    return out;
  }

  void push(Ref n) {
    if (n->kind != Node::Kind::plain) made_lists_.push_back(n);
    if (++made_ > kPickleValuesMax) return refuse(fmt::format("more than {} values", kPickleValuesMax));
    stack_.push_back(std::move(n));
  }
  void push(Value v) {
    auto n = std::make_shared<Node>();
    n->plain = std::move(v);
    push(std::move(n));
  }
  void push_list(std::vector<Ref> items) {
    auto n = std::make_shared<Node>();
    n->kind = Node::Kind::list;
    n->list = std::move(items);
    push(std::move(n));
  }
  std::vector<Ref> since_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) {
      refuse("nothing was marked");
      return {};
    }
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Ref> out(from, stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  std::vector<Ref> last(std::size_t n) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + n) {
      refuse("too little is there to take");
      return {};
    }
    const auto from = stack_.end() - static_cast<std::ptrdiff_t>(n);
    std::vector<Ref> out(from, stack_.end());
    stack_.resize(stack_.size() - n);
    return out;
  }

  void append(const std::vector<Ref>& items) {
    if (stack_.empty() || stack_.back()->kind != Node::Kind::list) return refuse("no list to add to");
    for (const Ref& n : items) stack_.back()->list.push_back(n);
  }
  void set(const std::vector<Ref>& items) {
    if (stack_.empty() || stack_.back()->kind != Node::Kind::dictionary || items.size() % 2 != 0)
      return refuse("no dictionary to add to");
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const Value& key = items[i]->plain;
      if (key.string() != nullptr) {
        stack_.back()->members.emplace_back(*key.string(), items[i + 1]);
      } else if (key.integer() != nullptr) {
        stack_.back()->members.emplace_back(fmt::format("{}", *key.integer()), items[i + 1]);
      } else {
        return refuse("a key that is neither a text nor a number");
      }
    }
  }
  void remember(std::uint64_t id) {
    if (stack_.empty()) return refuse("nothing to remember");
    memo_[id] = stack_.back();
  }
  void recall(std::uint64_t id) {
    const auto it = memo_.find(id);
    if (it == memo_.end()) return refuse("what was never remembered is recalled");
    push(it->second);
  }
  void long_number(std::uint64_t bytes) {
    const std::string_view digits = take(bytes);
    if (bytes > 8) return push(Value(std::string("a number beyond 64 bits")));
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) n |= std::uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    if (!digits.empty() && (digits.back() & 0x80) != 0 && digits.size() < 8) n |= ~std::uint64_t{0} << (8 * digits.size());
    push(Value(static_cast<std::int64_t>(n)));
  }
  void real() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    double d = 0;
    std::memcpy(&d, &bits, sizeof d);
    push(Value(d));
  }

  void make(unsigned char op) {
    switch (op) {
      case '}': {
        auto n = std::make_shared<Node>();
        n->kind = Node::Kind::dictionary;
        return push(std::move(n));
      }
      case ']':
      case ')': return push_list({});
      case 't': return push_list(since_mark());
      case 0x85:
      case 0x86:
      case 0x87: return push_list(last(op - 0x84U));
      case 'a': return append(last(1));
      case 'e': return append(since_mark());
      case 's': return set(last(2));
      default: return set(since_mark());
    }
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: number(1); return;  // protocol
      case 0x95: number(8); return;  // frame
      case '(': marks_.push_back(stack_.size()); return;
      case 'N': return push(Value());
      case 0x88: return push(Value(true));
      case 0x89: return push(Value(false));
      case 'K': return push(Value(static_cast<std::int64_t>(number(1))));
      case 'M': return push(Value(static_cast<std::int64_t>(number(2))));
      case 'J': return push(Value(static_cast<std::int64_t>(static_cast<std::int32_t>(number(4)))));
      case 0x8a: return long_number(number(1));
      case 'G': return real();
      case 'X': return push(Value(std::string(take(number(4)))));
      case 0x8c: return push(Value(std::string(take(number(1)))));
      case 'q': return remember(number(1));
      case 'r': return remember(number(4));
      case 0x94: return remember(memo_.size());
      case 'h': return recall(number(1));
      case 'j': return recall(number(4));
      case '}':
      case ']':
      case ')':
      case 't':
      case 0x85:
      case 0x86:
      case 0x87:
      case 'a':
      case 'e':
      case 's':
      case 'u': return make(op);
      default: break;
    }
    constexpr std::string_view kCode = "cRibo\x81\x92\x93";  // name, call, build
    if (kCode.find(static_cast<char>(op)) != std::string_view::npos)
      return refuse("it would name or call something, which data have no need of", "do not open it with Python either");
    refuse(fmt::format("opcode 0x{:02x} is none that a flight recorder writes", op));
  }

  std::string_view in_;
  std::size_t at_ = 0, began_ = 0, made_ = 0;
  std::vector<Ref> stack_, made_lists_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, Ref> memo_;
  std::string wrong_, next_;
};

}  // namespace

bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<Value> parse_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace muster
