#include "report/table.h"

#include <fmt/format.h>

#include "base/node_list.h"
#include "base/text.h"

namespace muster::report {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Blocks that terminals draw two columns wide (Unicode's W and F, by block) and marks drawn over the character before.
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range kNoWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
                              {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
                              {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};

template <std::size_t N>
bool in(const Range (&ranges)[N], std::uint32_t cp) {
  for (const auto& r : ranges) {
    if (cp >= r.first && cp <= r.last) return true;
  }
  return false;
}

// The code point at text[i], which must start a well-formed sequence; moves i past it.
std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto c = static_cast<unsigned char>(text[i++]);
  if (c < 0x80) return c;
  const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
  std::uint32_t cp = c & (0x3F >> more);
  for (int k = 0; k < more && i < text.size(); ++k) cp = (cp << 6) | (static_cast<unsigned char>(text[i++]) & 0x3F);
  return cp;
}

std::string csv_field(const Cell& cell) {
  std::string text = printable(cell.raw ? *cell.raw : cell.text);
  const bool runs = !text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos;
  if (runs && !parse_double(text)) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

bool cell_less(const Cell& a, const Cell& b) {
  if (a.key && b.key) return *a.key < *b.key;
  if (a.key.has_value() != b.key.has_value()) return !a.key.has_value();
  return natural_less(a.text, b.text);
}

std::string same_case(std::string_view s) {
  std::string out(s);
  for (auto& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto cp = next_code_point(text, i);
    width += cp < 0x300 ? 1 : in(kNoWidth, cp) ? 0 : in(kWide, cp) ? 2 : 1;
  }
  return width;
}

std::string paint(std::string_view text, Tone tone, bool colour) {
  static constexpr std::string_view kCodes[] = {"", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
  if (!colour || tone == Tone::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<std::size_t>(tone)], text);
}

std::string render_table(const Table& table, const TableStyle& style) {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].wide && !style.wide) continue;
    shown.push_back(c);
    if (style.headers) widths[c] = display_width(table.columns[c].name);
    for (const auto& row : table.rows) widths[c] = std::max(widths[c], display_width(printable(row[c].text)));
  }
  std::string out;
  const auto add_line = [&](auto&& text_of, auto&& tone_of) {
    std::string line;
    std::size_t owed = 0;  // blanks that are written only if something follows
    for (const auto c : shown) {
      const std::string text = printable(text_of(c));
      const std::size_t gap = widths[c] - std::min(widths[c], display_width(text));
      const std::size_t before = owed + (table.columns[c].right ? gap : 0);
      if (!text.empty()) line.append(before, ' ').append(paint(text, tone_of(c), style.colour));
      owed = (text.empty() ? before : 0) + (table.columns[c].right ? 0 : gap) + 2;
    }
    out += line + "\n";
  };
  if (style.headers) {
    add_line([&](std::size_t c) { return table.columns[c].name; }, [](std::size_t) { return Tone::dim; });
  }
  for (const auto& row : table.rows) {
    add_line([&](std::size_t c) { return row[c].text; }, [&](std::size_t c) { return row[c].tone; });
  }
  return out;
}

std::string render_csv(const Table& table, bool headers) {
  std::string out;
  const auto add_line = [&](auto&& field) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) out += (c ? "," : "") + field(c);
    out += "\n";
  };
  if (headers) {
    add_line([&](std::size_t c) {
      if (!table.columns[c].csv.empty()) return csv_field(Cell(table.columns[c].csv));
      std::string name = table.columns[c].name;
      if (table.columns[c].as_is) return csv_field(Cell(std::move(name)));
      for (auto& ch : name) ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch == ' ' ? '_' : ch;
      return csv_field(Cell(std::move(name)));
    });
  }
  for (const auto& row : table.rows) add_line([&](std::size_t c) { return csv_field(row[c]); });
  return out;
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_[]<>|#~&!").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string render_markdown(const Table& table) {
  std::string out = "|";
  for (const Column& c : table.columns) out += " " + lower(c.name) + " |";
  out += "\n|";
  for (const Column& c : table.columns) out += c.right ? "---:|" : "---|";
  for (const auto& row : table.rows) {
    out += "\n|";
    for (const Cell& c : row) out += " " + escape_markdown(c.text) + " |";
  }
  return out + "\n";
}

Result<std::vector<std::size_t>> sort_order(const Table& table, std::string_view by) {
  const bool down = by.starts_with('-');
  const auto wanted = same_case(down ? by.substr(1) : by);
  std::vector<std::string> names;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    names.push_back(table.columns[c].name);
    if (table.columns[c].name != wanted) continue;
    std::vector<std::size_t> order(table.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return down ? cell_less(table.rows[b][c], table.rows[a][c]) : cell_less(table.rows[a][c], table.rows[b][c]);
    });
    return order;
  }
  const auto meant = nearest(wanted, names);
  return fail(Code::bad_input, fmt::format("there is no column \"{}\" to sort by", down ? by.substr(1) : by),
              (meant ? "did you mean " + *meant + "? " : std::string()) + "columns: " + join(names, ", "));
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  bool first = true;
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    const auto size = display_width(word);
    if (!first && column + 1 + size > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += size;
    first = false;
  }
  return out;
}

}  // namespace muster::report
