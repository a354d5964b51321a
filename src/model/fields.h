// How structs are written and read. Each persistent struct has one function
//     template <class V> void fields(V& v, T& t) { v("name", t.name); ... }
// in its namespace: the encoder, the decoder and the docs all visit that one list, in that order. Enums are written by name; the
// names come from `names(E{})`, in the enum's order.
#pragma once
#include <array>
#include <string_view>

namespace muster {

template <class E>
concept NamedEnum = requires(E e) { names(e)[0]; };

template <NamedEnum E>
constexpr std::string_view name_of(E e) {
  return names(e)[static_cast<std::size_t>(e)];
}

template <NamedEnum E>
constexpr bool parse_name(std::string_view text, E& out) {
  const auto all = names(E{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == text) {
      out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}

}  // namespace muster
