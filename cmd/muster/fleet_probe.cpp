// muster fleet probe: what this node is and runs, read once.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "adapters/facts/probe.h"
#include "base/json_writer.h"
#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "fleet_facts.h"
#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "report/table.h"
#include "say.h"
#include "terminal.h"

namespace muster::cmd {
namespace {

using report::Cell;
using report::Tone;

Cell cell_of(const FactColumn& c, std::size_t node) {
  if (const std::string* v = c.value(node)) return Cell(v->empty() ? "\"\"" : *v);
  return c.code(node) == kFactAbsent ? Cell("absent", Tone::dim) : Cell("unreadable", Tone::warn);
}

// As many columns as a terminal has, at most 120; elsewhere a row is as long as it is.
std::size_t room() {
  if (!stdout_is_terminal()) return SIZE_MAX / 2;
  return std::clamp<std::size_t>(terminal_size({120, 24}).width, 80, 120);
}

// In lines of at most `width`, broken at blanks where there are some.
std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
  std::vector<std::string> out;
  const std::string wrapped = report::wrap(printable(text), width, 0);
  for (std::string_view line : split(wrapped, '\n')) {
    while (line.size() > width) {
      std::size_t end = width;
      while (end > 1 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // not within a letter
      out.emplace_back(line.substr(0, end));
      line.remove_prefix(end);
    }
    out.emplace_back(line);
  }
  return out;
}

// A row, and further ones for what of the `wrapped` cells does not fit into their widths.
void add_rows(report::Table& table, const std::vector<Cell>& row,
              const std::vector<std::pair<std::size_t, std::size_t>>& wrapped) {
  for (std::size_t at = 0, lines = 1; at < lines; ++at) {
    std::vector<Cell> next = at == 0 ? row : std::vector<Cell>(row.size());
    for (const auto& [column, width] : wrapped) {
      const auto parts = lines_of(row[column].text, width);
      lines = std::max(lines, parts.size());
      next[column] = Cell(at < parts.size() ? parts[at] : std::string(), row[column].tone);
    }
    table.rows.push_back(std::move(next));
  }
}

void put_table(const FactTable& table, const FactBook& book) {
  report::Table out;
  out.columns = {{"FACT"}, {"LAYER"}, {"VALUE"}};
  std::size_t widest = 0;
  for (const FactColumn& c : table.columns()) widest = std::max(widest, fact_name(c.entity, c.key).size());
  constexpr std::size_t kLayer = 10, kGaps = 4, kLeast = 20;
  const std::size_t width = std::max(kLeast, room() - std::min(room(), widest + kLayer + kGaps));
  for (const FactColumn& c : table.columns()) {
    if (c.code(0) == kFactUnknown) continue;
    const FactMeaning* m = book.find(c.key);
    add_rows(out,
             {Cell(fact_name(c.entity, c.key)), Cell(std::string(m == nullptr ? "tuning" : name_of(m->layer)), Tone::dim),
              cell_of(c, 0)},
             {{2, width}});
  }
  put(report::render_table(out, {.colour = stdout_is_terminal() && colour_wanted()}));
}

int list_facts(const FactBook& book, report::Format format) {
  if (format == report::Format::json) {
    JsonWriter w;
    w.array();
    for (const FactMeaning& m : book.rows) {
      w.object().field("fact", m.key).field("of", m.of.empty() ? "node" : m.of).field("layer", name_of(m.layer));
      w.field("kind", name_of(m.kind)).field("read", m.read).field("about", m.about).end_object();
    }
    w.end_array();
    put(w.take() + "\n");
    return finish_output();
  }
  const bool narrow = stdout_is_terminal();
  report::Table out;
  out.columns = {{"FACT"}, {"OF"}, {"LAYER"}, {"KIND"}, {"READ"}, {"ABOUT"}};
  std::size_t widest = 0;
  for (const FactMeaning& m : book.rows) widest = std::max(widest, m.key.size());
  constexpr std::size_t kRest = 5 + 10 + 8 + 5 * 2;  // of, layer, kind, and what is between columns
  const std::size_t free = narrow ? std::max<std::size_t>(40, room() - std::min(room(), widest + kRest)) : room();
  for (const FactMeaning& m : book.rows) {
    add_rows(out,
             {Cell(m.key), Cell(m.of.empty() ? "node" : m.of), Cell(std::string(name_of(m.layer))),
              Cell(std::string(name_of(m.kind))), Cell(m.read), Cell(m.about)},
             {{4, free / 2}, {5, free / 2}});
  }
  put(report::render_table(out, {.colour = false}));
  return finish_output();
}

bool one_word(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
}

// Links in it are of another root, so that only their being there counts.
bool is_system(const std::string& root) {
  std::error_code why;
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"}) {
    if (std::filesystem::exists(std::filesystem::symlink_status(root + file, why))) return true;
  }
  return !std::filesystem::exists(root, why);  // which is said by who reads it
}

}  // namespace

int run_fleet_probe(const FleetProbeOptions& o) {
  const FactBook& book = fact_book();
  if (o.list) return list_facts(book, o.format);
  facts::ProbeOptions p;
  p.root = o.root;
  p.live = o.root.empty() || o.root == "/";
  if (!p.live && !is_system(o.root))
    return say_error({Code::bad_input,
                      fmt::format("{}: no system image: neither etc/os-release nor usr/lib/os-release", printable(o.root)),
                      "name the folder that holds etc, usr and var of the image"});
  p.node = o.node;
  if (p.node.empty()) p.node = p.live ? host_name() : std::filesystem::path(o.root).lexically_normal().filename().string();
  if (p.node.empty()) p.node = "image";
  // Whoever reads lists of nodes would take it for another name, or for several.
  if (const auto names = expand_node_list(p.node); !one_word(p.node) || !names || *names != std::vector{p.node})
    return say_error({Code::bad_input, fmt::format("{} is no name of one node", printable(p.node)),
                      "name it without blanks, commas and brackets: --node NAME"});
  if (o.nvml || !o.nvml_library.empty()) p.nvml = o.nvml_library.empty() ? "libnvidia-ml.so.1" : o.nvml_library;
  p.cpu_ms_most = o.cpu_s * 1e3;
  FactTable table;
  const auto sweep = facts::read_host(p, book, table);
  if (!sweep && table.nodes().empty()) return say_error(sweep.error());
  if (auto set = set_facts(o.set, table); !set) return say_error(set.error());
  if (o.format == report::Format::table) {
    put_table(table, book);
  } else {
    put(render_facts(table, 0));
  }
  if (o.cost && sweep)
    say(fmt::format("{} facts, {} of them values, in {:.2f} ms of CPU", sweep->facts, sweep->values, sweep->cpu_ms));
  const int out = finish_output();
  return sweep ? out : say_error(sweep.error());
}

}  // namespace muster::cmd
