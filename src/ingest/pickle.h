// Python's pickles, as data: numbers, texts, lists, tuples and dictionaries. Nothing that would name or call anything is read, so
// a pickle from anybody is safe here, unlike in Python.
#pragma once
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

bool looks_like_pickle(std::string_view bytes);

// Tuples become arrays, keys texts. Errors name the byte. What refers to itself many times over may grow to so many values at
// most.
constexpr std::size_t kPickleValuesMax = 8'000'000;
Result<Value> parse_pickle(std::string_view bytes);

}  // namespace muster
