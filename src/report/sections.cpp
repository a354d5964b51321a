#include "report/sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/code_spans.h"
#include "report/page.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kCellBytes = 600;  // of any one text
constexpr double kHour_us = 3.6e9;
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string hours_text(double h) {
  if (h == 0) return "0";
  const double size = h < 0 ? -h : h;
  return render_decimal(h, size < 0.95 ? 2 : size < 99.5 ? 1 : 0);
}

// In small letters, but for what is never written so.
std::string heading(const Column& c) {
  if (c.as_is) return c.name;
  std::string out = lower(c.name);
  if (const auto at = out.find("gpu"); at != std::string::npos) out.replace(at, 3, "GPU");
  return out;
}

void draw_table(std::string& out, const Section& s) {
  if (s.table.rows.empty()) {
    out += fmt::format("<p>{}</p>", page_prose(s.nothing));
  } else {
    out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
                       page_text(s.title));
    for (const Column& c : s.table.columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", c.right ? " class=\"n\"" : "", page_text(heading(c)));
    out += "</tr></thead><tbody>\n";
    for (const auto& row : s.table.rows) {
      out += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i)
        out += fmt::format("<td{}>{}</td>", s.table.columns[i].right ? " class=\"n\"" : "", page_text(row[i].text));
      out += "</tr>\n";
    }
    out += "</tbody></table></div>";
  }
  for (const std::string& n : s.notes) out += fmt::format("<p class=\"note\">{}</p>", page_prose(n));
}

}  // namespace

std::string page_text(std::string_view s) { return brief(s, kCellBytes); }

std::string page_prose(std::string_view s) {
  std::string out;
  for (const CodeSpan& span : code_spans(s))
    out += span.code ? "<code>" + page_text(span.text) + "</code>" : page_text(span.text);
  return out;
}

std::string page_section(const Section& s, const std::string& drawing) {
  std::string out = fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}", s.id, page_text(s.title), drawing);
  draw_table(out, s);
  return out + "</section>\n";
}

std::string page_definitions(const Definitions& all) {
  std::string out = "<section id=\"definitions\"><h2>How each figure is defined</h2><dl class=\"defined\">";
  for (const auto& [name, words] : all) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", page_text(name), page_prose(words));
  return out + "</dl></section>\n";
}

std::string page_fact(std::string_view name, const std::string& value, const std::string& below) {
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>", name, value,
                     below.empty() ? "" : fmt::format("<small>{}</small>", below));
}

// Commands stay in their backticks; all else is text, whatever it holds.
std::string markdown_prose(std::string_view text) {
  std::string out;
  for (const CodeSpan& s : code_spans(text)) out += s.code ? "`" + std::string(s.text) + "`" : escape_markdown(s.text);
  return out;
}

std::string markdown_section(const Section& s) {
  std::string out = fmt::format("\n## {}\n\n", s.title);
  out += s.table.rows.empty() ? markdown_prose(s.nothing) + "\n" : render_markdown(s.table);
  for (const std::string& n : s.notes) out += "\n" + markdown_prose(n) + "\n";
  return out;
}

std::string markdown_definitions(const Definitions& all) {
  std::string out = "\n## How each figure is defined\n\n";
  for (const auto& [name, text] : all) out += fmt::format("- **{}**: {}\n", escape_markdown(name), markdown_prose(text));
  return out;
}

double gpu_hours_of(std::int64_t gpu_us) { return static_cast<double>(gpu_us) / kHour_us; }
std::string render_gpu_hours(std::int64_t gpu_us) { return hours_text(gpu_hours_of(gpu_us)); }
Cell hours_cell(double h) { return Cell(h == 0 ? "-" : hours_text(h)); }
Cell count_cell(std::uint64_t n) { return Cell(n == 0 ? "-" : render_count(static_cast<std::int64_t>(n))); }

std::string day_label(Time utc) {
  const std::string text = render_utc(utc);
  const auto month = static_cast<std::size_t>(std::clamp<std::int64_t>(parse_int(text.substr(5, 2)).value_or(1), 1, 12) - 1);
  return fmt::format("{} {}", text.substr(8, 2), kMonths[month]);
}

std::string file_word(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 80)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += plain ? c : '_';
  }
  return out.empty() ? "cluster" : out;
}

}  // namespace muster::report
