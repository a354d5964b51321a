// What the fuzzers' oracles share.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "model/site.h"

namespace muster::fuzz {

// Stops the fuzzer: a promise is broken.
void expect(bool promise, const char* what);
// Errors of files begin with the file's name and a line.
void expect_file_error(const Error& e, std::string_view file);
// Depth, unique keys, valid lines; `depth_max` levels at most.
void expect_tree(const Value& v, int depth_max, int lines_max);
void expect_site(const Site& s);
std::string render(const Value& v);

}  // namespace muster::fuzz
