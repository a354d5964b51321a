#include "ingest/pickle.h"

#include <fmt/core.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kMarksMax = 10'000;
constexpr std::size_t kSharedRunsMax = 1'000'000;
constexpr std::size_t kGapMax = 65'536;  // between what is remembered; those who write pickles leave none
constexpr std::string_view kWanted = "a pickle of plain data, as PyTorch writes its dumps";

// A cell is 8 bytes: what it is in the low 3 bits, its value in the rest. Numbers of more than 61 bits stand elsewhere.
enum class Kind : std::uint8_t { null, boolean, integer, text, container, wide, real, huge };
using Cell = std::uint64_t;
constexpr Cell cell(Kind kind, std::uint64_t value) { return value << 3 | static_cast<std::uint64_t>(kind); }
constexpr Kind kind_of(Cell c) { return static_cast<Kind>(c & 7); }
constexpr std::uint64_t value_of(Cell c) { return c >> 3; }

// Where it stands in the pickle: 31 bits, and 30 bits of length.
constexpr unsigned kTextLengthBits = 30;
constexpr std::size_t kPickleLengthMax = (std::size_t{1} << 31) - 1;
constexpr std::string_view kHugeNumber = "a number beyond 64 bits";

// Grows without moving what it has.
class Cells {
 public:
  std::uint64_t size() const { return size_; }
  Cell operator[](std::uint64_t i) const { return pages_[i >> kPageBits][i & (kPage - 1)]; }
  void push_back(Cell c) {
    if (size_ >> kPageBits == pages_.size()) pages_.push_back(std::make_unique<Cell[]>(kPage));
    pages_[size_ >> kPageBits][size_ & (kPage - 1)] = c;
    ++size_;
  }

 private:
  static constexpr unsigned kPageBits = 12;
  static constexpr std::uint64_t kPage = std::uint64_t{1} << kPageBits;
  std::vector<std::unique_ptr<Cell[]>> pages_;
  std::uint64_t size_ = 0;
};

constexpr std::uint32_t kNone = ~std::uint32_t{0};
// What was added to a list or a dictionary at once: Python adds by the thousand.
struct Run {
  std::uint64_t values = 0, keys = 0;  // in the cells; a list has no keys
  std::uint32_t count = 0, next = kNone;
};
struct Container {
  std::uint32_t first = kNone, last = kNone, count = 0;
  bool dictionary = false;
};

}  // namespace

struct Pickle::Store {
  std::string_view in;
  Cells cells;
  std::vector<Run> runs;
  std::vector<Container> containers;
  std::vector<std::uint64_t> wide;
  Cell root = 0;

  std::string_view text(Cell c) const {
    const std::uint64_t v = value_of(c);
    return in.substr(v >> kTextLengthBits, v & ((std::uint64_t{1} << kTextLengthBits) - 1));
  }
  std::size_t held() const {
    return cells.size() * sizeof(Cell) + runs.size() * sizeof(Run) + containers.size() * sizeof(Container) + wide.size() * 8;
  }
};

namespace {

class Machine {
 public:
  Machine(std::string_view bytes, Pickle::Store& store) : in_(bytes), s_(store) { s_.in = bytes; }

  Result<void> run() {
    if (in_.size() > kPickleLengthMax) return fail(Code::bad_input, "it is longer than 2 GiB", "a smaller dump");
    while (at_ < in_.size()) {
      const auto op = static_cast<unsigned char>(in_[at_]);
      began_ = at_++;
      if (op == '.') {
        if (stack_.empty()) refuse("it ends without a value");
      } else {
        step(op);
        if (s_.held() + memo_.size() * sizeof(Cell) + stack_.size() * sizeof(Cell) + shared_.size() * 48 > kPickleBytesMax)
          refuse(fmt::format("what it says takes more than {} GiB", kPickleBytesMax >> 30), "a smaller dump");
      }
      if (!wrong_.empty()) return fail(Code::bad_input, wrong_, next_);
      if (op == '.') {
        s_.root = stack_.back();
        return {};
      }
    }
    return fail(Code::bad_input, fmt::format("byte {}: it ends too early", began_), std::string(kWanted));
  }

 private:
  void refuse(std::string_view why, std::string_view next = kWanted) {
    if (wrong_.empty()) {
      wrong_ = fmt::format("byte {}: {}", began_, why);
      next_ = next;
    }
  }

  // Little-endian.
  std::uint64_t number(std::size_t bytes) {
    const std::string_view digits = take(bytes);
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) n |= std::uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
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

  void push(Cell c) { stack_.push_back(c); }
  void push_integer(std::int64_t n) {
    constexpr std::int64_t kInline = std::int64_t{1} << 60;
    if (n >= 0 && n < kInline) return push(cell(Kind::integer, static_cast<std::uint64_t>(n)));
    push(cell(Kind::wide, s_.wide.size()));
    s_.wide.push_back(static_cast<std::uint64_t>(n));
  }
  void push_text(std::uint64_t length) {
    const std::uint64_t from = at_;
    if (length >= std::uint64_t{1} << kTextLengthBits) return refuse("it ends too early");
    take(length);
    push(cell(Kind::text, from << kTextLengthBits | length));
  }
  void push_container(bool dictionary) {
    push(cell(Kind::container, s_.containers.size()));
    s_.containers.push_back({kNone, kNone, 0, dictionary});
  }
  void push_list(std::size_t from) {
    s_.containers.push_back({});
    add(s_.containers.back(), from, 1);
    push(cell(Kind::container, s_.containers.size() - 1));
  }

  std::size_t since_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) {
      refuse("nothing was marked");
      return stack_.size();
    }
    const std::size_t from = marks_.back();
    marks_.pop_back();
    return from;
  }
  std::size_t last(std::size_t n) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + n) {
      refuse("too little is there to take");
      return stack_.size();
    }
    return stack_.size() - n;
  }

  // Where the cells from[0], from[step] ... of the stack stand: the stacks of calls and the keys of dictionaries are the same
  // over and over, and are kept once.
  std::uint64_t keep(std::size_t from, std::size_t step, bool share) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t i = from; i < stack_.size() && share; i += step) {
      hash = (hash ^ stack_[i]) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    if (share) {
      if (const auto it = shared_.find(hash); it != shared_.end() && same(it->second, from, step)) return it->second;
    }
    const std::uint64_t at = s_.cells.size();
    for (std::size_t i = from; i < stack_.size(); i += step) s_.cells.push_back(stack_[i]);
    if (share && shared_.size() < kSharedRunsMax) shared_.emplace(hash, at);
    return at;
  }
  bool same(std::uint64_t at, std::size_t from, std::size_t step) const {
    for (std::size_t i = from; i < stack_.size(); i += step, ++at) {
      if (at >= s_.cells.size() || s_.cells[at] != stack_[i]) return false;
    }
    return true;
  }
  // Takes what stands on the stack from there: values (step 1), or keys and values in turn (step 2).
  void add(Container& to, std::size_t from, std::size_t step) {
    const std::size_t count = (stack_.size() - from) / step;
    if (count == 0) return;
    Run run;
    run.count = static_cast<std::uint32_t>(count);
    if (step == 1) {
      bool references = count > 1;
      for (std::size_t i = from; i < stack_.size() && references; ++i) references = kind_of(stack_[i]) == Kind::container;
      run.values = keep(from, 1, references);
    } else {
      run.keys = keep(from, 2, true);
      run.values = keep(from + 1, 2, false);
    }
    stack_.resize(from);
    const auto id = static_cast<std::uint32_t>(s_.runs.size());
    s_.runs.push_back(run);
    (to.first == kNone ? to.first : s_.runs[to.last].next) = id;
    to.last = id;
    to.count += run.count;
  }
  Container* under(std::size_t from, bool dictionary) {
    if (from == 0 || from > stack_.size() || kind_of(stack_[from - 1]) != Kind::container) return nullptr;
    Container& c = s_.containers[value_of(stack_[from - 1])];
    return c.dictionary == dictionary ? &c : nullptr;
  }
  void append(std::size_t from) {
    if (!wrong_.empty()) return;
    Container* list = under(from, false);
    if (list == nullptr) return refuse("no list to add to");
    add(*list, from, 1);
  }
  void set(std::size_t from) {
    if (!wrong_.empty()) return;
    Container* dictionary = under(from, true);
    if (dictionary == nullptr || (stack_.size() - from) % 2 != 0) return refuse("no dictionary to add to");
    for (std::size_t i = from; i < stack_.size(); i += 2) {
      const Kind k = kind_of(stack_[i]);
      if (k != Kind::text && k != Kind::integer && k != Kind::wide) return refuse("a key that is neither a text nor a number");
    }
    add(*dictionary, from, 2);
  }
  void remember(std::uint64_t id) {
    if (stack_.empty()) return refuse("nothing to remember");
    if (id > memo_.size() + kGapMax) return refuse("what is remembered is not counted on");
    if (memo_.size() <= id) memo_.resize(id + 1, kForgotten);
    memo_[id] = stack_.back();
  }
  void recall(std::uint64_t id) {
    if (id >= memo_.size() || memo_[id] == kForgotten) return refuse("what was never remembered is recalled");
    push(memo_[id]);
  }
  void long_number(std::uint64_t bytes) {
    const std::string_view digits = take(bytes);
    if (bytes > 8) return push(cell(Kind::huge, 0));
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) n |= std::uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
    if (!digits.empty() && (digits.back() & 0x80) != 0 && digits.size() < 8) n |= ~std::uint64_t{0} << (8 * digits.size());
    push_integer(static_cast<std::int64_t>(n));
  }
  void real() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    push(cell(Kind::real, s_.wide.size()));
    s_.wide.push_back(bits);
  }

  void make(unsigned char op) {
    switch (op) {
      case '}': return push_container(true);
      case ']':
      case ')':
      case 0x8f: return push_container(false);  // a list, a tuple, a set
      case 't':
      case 0x91: return push_list(since_mark());  // a tuple, a set
      case 0x85:
      case 0x86:
      case 0x87: return push_list(last(op - 0x84U));
      case 'a': return append(last(1));
      case 'e':
      case 0x90: return append(since_mark());
      case 's': return set(last(2));
      default: return set(since_mark());
    }
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: number(1); return;  // protocol
      case 0x95: number(8); return;  // frame
      case '(':
        if (marks_.size() >= kMarksMax) return refuse("it is marked too deep");
        marks_.push_back(stack_.size());
        return;
      case 'N': return push(cell(Kind::null, 0));
      case 0x88: return push(cell(Kind::boolean, 1));
      case 0x89: return push(cell(Kind::boolean, 0));
      case 'K': return push_integer(static_cast<std::int64_t>(number(1)));
      case 'M': return push_integer(static_cast<std::int64_t>(number(2)));
      case 'J': return push_integer(static_cast<std::int32_t>(number(4)));
      case 0x8a: return long_number(number(1));
      case 0x8b: return long_number(number(4));
      case 'G': return real();
      case 'X':
      case 'T':
      case 'B': return push_text(number(4));
      case 0x8c:
      case 'U':
      case 'C': return push_text(number(1));
      case 0x8d:
      case 0x8e:
      case 0x96: return push_text(number(8));
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
      case 0x8f:
      case 0x90:
      case 0x91:
      case 'a':
      case 'e':
      case 's':
      case 'u': return make(op);
      default: break;
    }
    // Name, call, build, persistent ids, extensions.
    constexpr std::string_view kCode = "cRiboPQ\x81\x82\x83\x84\x92\x93";
    if (kCode.find(static_cast<char>(op)) != std::string_view::npos)
      return refuse("it would name or call something, which data have no need of", "do not open it with Python either");
    refuse(fmt::format("opcode 0x{:02x} is none that plain data are written with", op));
  }

  static constexpr Cell kForgotten = cell(Kind::null, 1);
  std::string_view in_;
  Pickle::Store& s_;
  std::size_t at_ = 0, began_ = 0;
  std::vector<Cell> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::uint64_t> shared_;
  std::string wrong_, next_;
};

// As a tree. What refers to itself has no end, and is refused by its depth.
class Unfolding {
 public:
  std::optional<Value> of(const Pickle::Item& n, std::size_t depth = 0) {
    if (depth > kDepthMax || ++made_ > kPickleValuesMax) return {};
    if (n.is_list()) return list_of(n, depth);
    if (n.is_dictionary()) return object_of(n, depth);
    if (n.is_null()) return Value();
    if (const auto b = n.boolean()) return Value(*b);
    if (const auto i = n.integer()) return Value(*i);
    if (const auto d = n.number()) return Value(*d);
    return Value(std::string(n.text().value_or(kHugeNumber)));
  }

 private:
  std::optional<Value> list_of(const Pickle::Item& n, std::size_t depth) {
    Value::Array all;
    bool whole = true;
    n.each([&](const Pickle::Item& x) {
      auto v = of(x, depth + 1);
      if (v) all.push_back(std::move(*v));
      return whole = v.has_value();
    });
    if (!whole) return {};
    return Value(std::move(all));
  }
  std::optional<Value> object_of(const Pickle::Item& n, std::size_t depth) {
    Value::Object all;
    bool whole = true;
    n.each_member([&](const Pickle::Item& key, const Pickle::Item& x) {
      auto v = of(x, depth + 1);
      whole = v.has_value();
      if (v) all.push_back({key.text() ? std::string(*key.text()) : fmt::format("{}", key.integer().value_or(0)), std::move(*v)});
      return whole;
    });
    if (!whole) return {};
    return Value(std::move(all));
  }

  std::size_t made_ = 0;
};

}  // namespace

bool Pickle::Item::is_null() const { return kind_of(cell_) == Kind::null; }
std::optional<bool> Pickle::Item::boolean() const {
  if (kind_of(cell_) != Kind::boolean) return {};
  return value_of(cell_) != 0;
}
std::optional<std::int64_t> Pickle::Item::integer() const {
  if (kind_of(cell_) == Kind::integer) return static_cast<std::int64_t>(value_of(cell_));
  if (kind_of(cell_) == Kind::wide) return static_cast<std::int64_t>(of_->store_->wide[value_of(cell_)]);
  return {};
}
std::optional<double> Pickle::Item::number() const {
  if (const auto i = integer()) return static_cast<double>(*i);
  if (kind_of(cell_) != Kind::real) return {};
  double d = 0;
  std::memcpy(&d, &of_->store_->wide[value_of(cell_)], sizeof d);
  return d;
}
std::optional<std::string_view> Pickle::Item::text() const {
  if (kind_of(cell_) == Kind::huge) return kHugeNumber;
  if (kind_of(cell_) != Kind::text) return {};
  return of_->store_->text(cell_);
}
std::optional<std::uint64_t> Pickle::Item::id() const {
  if (kind_of(cell_) != Kind::container) return {};
  return value_of(cell_);
}
std::optional<std::uint64_t> Pickle::Item::content() const {
  if (!is_list()) return {};
  const Container& c = of_->store_->containers[*id()];
  if (c.first == kNone || c.first != c.last) return {};
  const auto& run = of_->store_->runs[c.first];
  return run.values << 32 | run.count;  // fewer than 2^28 cells fit into what may be held
}
bool Pickle::Item::is_list() const { return id() && !of_->store_->containers[*id()].dictionary; }
bool Pickle::Item::is_dictionary() const { return id() && of_->store_->containers[*id()].dictionary; }
std::size_t Pickle::Item::size() const { return id() ? of_->store_->containers[*id()].count : 0; }

std::optional<Pickle::Item> Pickle::Item::find(std::string_view key) const {
  std::optional<Item> out;
  if (!is_dictionary()) return out;
  each_member([&](const Item& k, const Item& value) {
    if (k.text() == key) out = value;
    return !out;
  });
  return out;
}

Pickle::Item::Run Pickle::Item::first_run() const {
  if (!id()) return {};
  const Container& c = of_->store_->containers[*id()];
  return c.first == kNone ? Run{} : Run{c.first, of_->store_->runs[c.first].count};
}
Pickle::Item::Run Pickle::Item::next_run(Run r) const {
  const std::uint32_t next = of_->store_->runs[r.run].next;
  return next == kNone ? Run{} : Run{next, of_->store_->runs[next].count};
}
Pickle::Item Pickle::Item::key_at(Run r, std::uint32_t i) const {
  return {of_, of_->store_->cells[of_->store_->runs[r.run].keys + i]};
}
Pickle::Item Pickle::Item::value_at(Run r, std::uint32_t i) const {
  return {of_, of_->store_->cells[of_->store_->runs[r.run].values + i]};
}

Pickle::Pickle(std::unique_ptr<Store> store) : store_(std::move(store)) {}
Pickle::Pickle(Pickle&&) noexcept = default;
Pickle& Pickle::operator=(Pickle&&) noexcept = default;
Pickle::~Pickle() = default;
Pickle::Item Pickle::root() const { return {this, store_->root}; }
std::size_t Pickle::bytes_held() const { return store_->held(); }

bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<Pickle> read_pickle(std::string_view bytes) {
  auto store = std::make_unique<Pickle::Store>();
  if (auto done = Machine(bytes, *store).run(); !done) return tl::unexpected(done.error());
  return Pickle(std::move(store));
}

Result<Value> parse_pickle(std::string_view bytes) {
  const auto all = read_pickle(bytes);
  if (!all) return tl::unexpected(all.error());
  auto out = Unfolding().of(all->root());
  if (!out) {
    return fail(Code::bad_input, fmt::format("it unfolds to more than {} values, or deeper than {}", kPickleValuesMax, kDepthMax),
                std::string(kWanted));
  }
  return std::move(*out);
}

}  // namespace muster
