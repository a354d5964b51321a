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

  int column(std::string_view name) const;                                  // -1: not there
  const std::string& cell(std::size_t row, std::string_view column) const;  // empty where there is no such column
};

// Lines beginning with '#' are comments, unless the table has columns whose names begin so. Errors are "file:line: reason".
Result<Csv> parse_csv(std::string_view text, std::string_view file, bool comments = true);

// For tables too large to keep as text: one record starting at `i`; moves `i` and `line` past it. False: a quote is not closed.
bool read_csv_record(std::string_view text, std::size_t& i, int& line, std::vector<std::string>& cells, char separator = ',');
// Past lines that begin with '#', at the beginning of a line.
void skip_csv_comments(std::string_view text, std::size_t& i, int& line);

}  // namespace muster
