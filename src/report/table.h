// Tables for people, and the same rows as CSV for programs.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::report {

enum class Tone { plain, good, warn, bad, dim };  // colour, where there is any

struct Cell {
  std::string text;                // for people
  std::optional<std::string> raw;  // for CSV; none: `text`
  std::optional<double> key;       // to sort by; none: by text, numbers in it as numbers
  Tone tone = Tone::plain;

  Cell() = default;
  explicit Cell(std::string t, Tone to = Tone::plain) : text(std::move(t)), tone(to) {}
};

struct Column {
  std::string name;    // in capitals, as shown
  bool right = false;  // aligned right: numbers
  bool wide = false;   // shown only on request; always in CSV
  bool as_is = false;  // in CSV too: it came from somebody's own table
  std::string csv{};   // its name there, where that is another
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as `columns`
};

struct TableStyle {
  bool headers = true;
  bool wide = false;
  bool colour = false;
};

// Columns by two blanks apart, no blanks at line ends. Untrusted text is made printable here.
std::string render_table(const Table& table, const TableStyle& style);

// RFC 4180 with \n, one line a row: control characters are made printable here too. Text that a spreadsheet would run (=, +, -, @
// first) gets a ' in front.
std::string render_csv(const Table& table, bool headers);

// For a ticket or a mail. Untrusted text must not become a heading, a link or HTML there.
std::string escape_markdown(std::string_view text);
std::string render_markdown(const Table& table);

// The order of the rows by a column's name, in any case; "-name" for the other way round. Equal rows keep their order.
Result<std::vector<std::size_t>> sort_order(const Table& table, std::string_view by);

template <class T>
std::vector<T> in_order(std::vector<T> things, const std::vector<std::size_t>& order) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const auto i : order) out.push_back(std::move(things[i]));
  return out;
}

// Columns a terminal uses for valid UTF-8: wide East Asian characters and emoji take two, combining marks none.
std::size_t display_width(std::string_view text);

// Breaks text at blanks so that no line is wider than `width` where words allow; lines after the first get `indent` blanks.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// The text in the tone's colour, by ANSI escapes.
std::string paint(std::string_view text, Tone tone, bool colour);

}  // namespace muster::report
