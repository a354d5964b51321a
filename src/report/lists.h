// Lists of the API as tables: which columns, in which words, with which colours.
#pragma once
#include <string>

#include "base/time.h"
#include "base/value.h"
#include "report/format.h"
#include "report/table.h"

namespace muster::report {

// `items` are the API's objects; `now` is the cluster's time, for ages ("-" without it).
Table list_table(Noun noun, const Value::Array& items, std::optional<Time> now);

// What names an item: a node's name, a job's number, "node001:3" for a GPU, "node001:mlx5_3" for
// a link, an action's key.
std::string name_of(Noun noun, const Value& item);

Tone tone_of(std::string_view word);  // of a state, phase, severity, status

}  // namespace muster::report
