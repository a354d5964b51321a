// Comma-separated tables (RFC 4180) with a header line. Written by hand: forty lines, and no packaged library reads
// from memory without a file or iostream.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct Csv {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header
  std::vector<int> lines;                      // of each row, 1-based

  int column(std::string_view name) const;  // -1: not there
};

// Lines beginning with '#' are comments. Errors are "file:line: reason".
Result<Csv> parse_csv(std::string_view text, std::string_view file);

}  // namespace muster
