#include "ingest/plain_row.h"

#include <charconv>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

#include "ingest/json_number.h"

namespace muster {
namespace {

// Visits the fields of a row in their order, and stops at the first that is not spelled plainly.
class PlainFields {
 public:
  explicit PlainFields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  template <class T>
  void operator()(std::string_view name, T& t) {
    plain_ = plain_ && key(name) && read(t);
  }

  bool skip(std::string_view s) {
    if (left() < s.size() || std::memcmp(at_, s.data(), s.size()) != 0) return false;
    at_ += s.size();
    return true;
  }

  // What stands between two quotes and for itself: ASCII, nothing escaped.
  std::optional<std::string_view> text() {
    if (at_ == end_ || *at_ != '"') return std::nullopt;
    const char* from = ++at_;
    while (at_ != end_ && *at_ >= ' ' && *at_ <= '~' && *at_ != '"' && *at_ != '\\') ++at_;
    if (at_ == end_ || *at_ != '"') return std::nullopt;
    return std::string_view(from, static_cast<std::size_t>(at_++ - from));
  }

  bool ends() { return plain_ && left() == 1 && *at_ == '}'; }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  // ,"name":
  bool key(std::string_view name) {
    const std::size_t size = name.size() + 4;
    if (left() < size || at_[0] != ',' || at_[1] != '"' || at_[size - 2] != '"' || at_[size - 1] != ':') return false;
    if (std::memcmp(at_ + 2, name.data(), name.size()) != 0) return false;
    at_ += size;
    return true;
  }

  template <class T>
  bool number(std::size_t size, T& out) {
    const bool fits = std::from_chars(at_, at_ + size, out).ec == std::errc();
    at_ += size;
    return fits;
  }

  template <std::integral T>
  bool read(T& out) {
    const JsonNumber n = json_number_at({at_, left()});
    std::int64_t i = 0;
    if (n.size == 0 || !n.whole() || !number(n.size, i) || !std::in_range<T>(i)) return false;
    out = static_cast<T>(i);
    return true;
  }
  bool read(double& out) {
    const JsonNumber n = json_number_at({at_, left()});
    if (n.size == 0) return false;
    if (!n.whole()) return number(n.size, out);
    std::int64_t i = 0;  // "-0" is no -0.0 here, as in a tree
    if (!number(n.size, i)) return false;
    out = static_cast<double>(i);
    return true;
  }
  bool read(bool& out) {
    out = skip("true");
    return out || skip("false");
  }
  bool read(std::string& out) {
    const auto s = text();
    if (s) out = *s;
    return s.has_value();
  }
  bool read(Time& out) { return read(out.ns); }
  template <NamedEnum E>
  bool read(E& out) {
    const auto s = text();
    return s && parse_name(*s, out);
  }
  template <class T>
  bool read(std::vector<T>&) {
    return false;  // one row in a thousand has a list
  }

  const char* at_;
  const char* end_;
  bool plain_ = true;
};

template <std::size_t I = 0>
std::optional<accepting::Row> row_of(std::size_t index, PlainFields& from) {
  if constexpr (I == std::variant_size_v<accepting::Row>) {
    return std::nullopt;
  } else {
    if (index != I) return row_of<I + 1>(index, from);
    std::variant_alternative_t<I, accepting::Row> row;
    fields(from, row);
    return from.ends() ? std::optional<accepting::Row>(std::move(row)) : std::nullopt;
  }
}

}  // namespace

std::optional<accepting::Row> parse_plain_row(std::string_view line) {
  PlainFields from(line);
  if (!from.skip("{\"row\":")) return std::nullopt;
  const auto kind = from.text();
  if (!kind) return std::nullopt;
  std::size_t index = 0;
  while (index < accepting::kRowNames.size() && accepting::kRowNames[index] != *kind) ++index;
  return row_of(index, from);
}

}  // namespace muster
