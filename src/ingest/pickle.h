// Python's pickles, as data: numbers, texts, lists, tuples and dictionaries. Nothing that would name or call anything is read, so
// a pickle from anybody is safe here, unlike in Python.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

bool looks_like_pickle(std::string_view bytes);

// What may be held of one, beyond its own bytes. A pickle of PyTorch's needs about as much as it is long.
constexpr std::size_t kPickleBytesMax = std::size_t{2} << 30;

// As Python has it: what was remembered and what refers to it are one and the same. A stack of calls that a hundred thousand
// blocks share is held once. Whoever walks it bounds the depth: it may hold itself.
class Pickle {
 public:
  class Item {
   public:
    bool is_null() const;
    std::optional<bool> boolean() const;
    std::optional<std::int64_t> integer() const;
    std::optional<double> number() const;          // integers count
    std::optional<std::string_view> text() const;  // as in the pickle, which must still be there; maybe not UTF-8
    bool is_list() const;                          // or a tuple, or a set
    bool is_dictionary() const;
    std::size_t size() const;                 // of a list or dictionary; 0 for others
    std::optional<std::uint64_t> id() const;  // of a list or dictionary: two with the same are one

    // Of a list: two with the same hold the same. None: it cannot be told.
    std::optional<std::uint64_t> content() const;

    // The items of a list; f(Item) says whether to go on.
    template <class F>
    void each(F f) const {
      for (Run r = first_run(); r.count > 0; r = next_run(r)) {
        for (std::uint32_t i = 0; i < r.count; ++i) {
          if (!f(value_at(r, i))) return;
        }
      }
    }
    // Those of a dictionary: f(key, Item) says whether to go on. Keys are texts or whole numbers.
    template <class F>
    void each_member(F f) const {
      for (Run r = first_run(); r.count > 0; r = next_run(r)) {
        for (std::uint32_t i = 0; i < r.count; ++i) {
          if (!f(key_at(r, i), value_at(r, i))) return;
        }
      }
    }
    // Of a dictionary, by a key that is text.
    std::optional<Item> find(std::string_view key) const;

   private:
    friend class Pickle;
    struct Run {
      std::uint32_t run = 0, count = 0;
    };
    Item(const Pickle* of, std::uint64_t cell) : of_(of), cell_(cell) {}
    Run first_run() const;
    Run next_run(Run r) const;
    Item key_at(Run r, std::uint32_t i) const;
    Item value_at(Run r, std::uint32_t i) const;

    const Pickle* of_;
    std::uint64_t cell_;
  };

  Item root() const;
  std::size_t bytes_held() const;

  Pickle(Pickle&&) noexcept;
  Pickle& operator=(Pickle&&) noexcept;
  ~Pickle();

  struct Store;  // what it is made of
 private:
  friend Result<Pickle> read_pickle(std::string_view bytes);
  explicit Pickle(std::unique_ptr<Store> store);
  std::unique_ptr<Store> store_;
};

// Errors name the byte. `bytes` must outlive what is read from it; at most 2 GiB.
Result<Pickle> read_pickle(std::string_view bytes);

// The same as a tree. Tuples become arrays, keys texts. What refers to itself many times over may grow to so many values at most.
constexpr std::size_t kPickleValuesMax = 8'000'000;
Result<Value> parse_pickle(std::string_view bytes);

}  // namespace muster
