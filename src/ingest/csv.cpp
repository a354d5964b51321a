#include "ingest/csv.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {

bool read_csv_record(std::string_view text, std::size_t& i, int& line, std::vector<std::string>& cells, char separator) {
  cells.assign(1, {});
  bool quoted = false;
  while (i < text.size()) {
    const char c = text[i++];
    if (quoted) {
      if (c == '\n') ++line;
      if (c != '"') {
        cells.back() += c;
      } else if (i < text.size() && text[i] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && cells.back().empty()) {
      quoted = true;
    } else if (c == separator) {
      cells.emplace_back();
    } else if (c == '\n') {
      ++line;
      return true;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return !quoted;
}

void skip_csv_comments(std::string_view text, std::size_t& i, int& line) {
  while (i < text.size() && text[i] == '#') {
    i = std::min(text.find('\n', i), text.size() - 1) + 1;
    ++line;
  }
}

int Csv::column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return static_cast<int>(i);
  }
  return -1;
}

const std::string& Csv::cell(std::size_t row, std::string_view name) const {
  static const std::string none;
  const int c = column(name);
  return c < 0 ? none : rows[row][static_cast<std::size_t>(c)];
}

Result<Csv> parse_csv(std::string_view text, std::string_view file, bool comments) {
  Csv csv;
  std::vector<std::string> cells;
  int line = 1;
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // spreadsheets begin their files with it
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  for (std::size_t i = 0; i < text.size();) {
    if (comments) skip_csv_comments(text, i, line);
    if (i >= text.size()) break;
    const int first = line;
    const bool empty = text[i] == '\n' || text.substr(i, 2) == "\r\n";
    if (!read_csv_record(text, i, line, cells))
      return fail(Code::bad_input, fmt::format("{}:{}: a quote is not closed", file, first));
    if (empty) continue;
    if (csv.header.empty()) {
      csv.header = cells;
      continue;
    }
    if (cells.size() != csv.header.size()) {
      return fail(Code::bad_input,
                  fmt::format("{}:{}: {} cells, the header has {}", file, first, cells.size(), csv.header.size()));
    }
    csv.rows.push_back(cells);
    csv.lines.push_back(first);
  }
  if (csv.header.empty()) return fail(Code::bad_input, fmt::format("{}:1: no header line", file));
  return csv;
}

}  // namespace muster
