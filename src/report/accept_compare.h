// Two sets of recordings side by side, as text, JSON and a page of one file: the report of a proof of concept.
#pragma once
#include <string>

#include "accept/compare.h"

namespace muster::report {

// "H200 to B200: better in 12 of 17 figures, worse in 2, not told apart in 3"
std::string accept_compare_sentence(const accept::Comparison& c);
std::string render_accept_compare(const accept::Comparison& c, bool colour);
std::string accept_compare_json(const accept::Comparison& c);
std::string accept_compare_page(const accept::Comparison& c);

}  // namespace muster::report
