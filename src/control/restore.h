// From a journal back to a state: the newest usable snapshot, and the events after it.
#pragma once
#include <functional>

#include "base/value.h"
#include "control/books.h"
#include "ports/journal.h"

namespace muster::control {

using ParseJson = std::function<Result<Value>(std::string_view)>;

// Empty books (seq 0) for an empty journal.
Result<Books> restore(Journal& journal, const ParseJson& parse_json);
std::string encode_books(const Books& b);

}  // namespace muster::control
