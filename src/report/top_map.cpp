#include "report/top_map.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/lists.h"
#include "report/units.h"

namespace muster::report::top {
namespace {

constexpr std::string_view kWorstFirst = "lxsrdbi";

struct Map {
  explicit Map(const Value& m) : racks(list_of(m, "racks")), names(list_of(m, "names")), states(text_of(m, "gpu_state")) {
    per_node = static_cast<std::size_t>(std::min<std::int64_t>(count_of(m, "gpus_per_node"), 1024));
  }
  std::string_view gpus(std::size_t node) const {
    const std::size_t at = node * per_node;
    return at < states.size() ? std::string_view(states).substr(at, per_node) : std::string_view();
  }
  char worst(std::size_t node) const {
    const auto mine = gpus(node);
    for (const char c : kWorstFirst) {
      if (mine.find(c) != std::string_view::npos) return c;
    }
    return '?';
  }
  const Value::Array& racks;
  const Value::Array& names;
  std::string states;
  std::size_t per_node = 0;
};

// A node's state as `muster get nodes` has it, told by its GPUs; one that boots is down here.
std::string_view node_state(std::string_view gpus) {
  const auto has = [&](char c) { return gpus.find(c) != std::string_view::npos; };
  return has('x')               ? "down"
         : has('r')             ? "repairing"
         : has('d')             ? "drained"
         : has('s') || has('l') ? "suspect"
         : has('b')             ? "busy"
         : has('i')             ? "idle"
                                : "";
}

// The nodes of a rack that the answer has.
std::vector<std::size_t> nodes_of(const Map& map, const Value& rack) {
  std::vector<std::size_t> out;
  for (const Value& n : list_of(rack, "nodes")) {
    if (n.integer() != nullptr && *n.integer() >= 0 && static_cast<std::size_t>(*n.integer()) < map.names.size())
      out.push_back(static_cast<std::size_t>(*n.integer()));
  }
  return out;
}

struct Strip {
  std::string label;  // the first rack on it
  std::string cells;  // letters, a blank between racks
};

// Racks one after the other, on lines of `width` cells; `group` nodes a cell.
std::vector<Strip> strips_of(const Map& map, std::size_t group, std::size_t width) {
  std::vector<Strip> out;
  for (const Value& rack : map.racks) {
    const auto nodes = nodes_of(map, rack);
    std::string cells;
    for (std::size_t i = 0; i < nodes.size(); i += group) {
      std::size_t worst = kWorstFirst.size();
      for (std::size_t k = i; k < std::min(nodes.size(), i + group); ++k) {
        worst = std::min(worst, kWorstFirst.find(map.worst(nodes[k])));
      }
      cells += worst < kWorstFirst.size() ? kWorstFirst[worst] : '?';
    }
    while (!cells.empty()) {
      const bool fits = !out.empty() && out.back().cells.size() + 1 + std::min(cells.size(), width) <= width;
      if (!fits) out.push_back({printable(text_of(rack, "name")), ""});
      auto& line = out.back().cells;
      if (!line.empty()) line += ' ';
      const std::size_t n = std::min(cells.size(), width - line.size());
      line += cells.substr(0, n);
      cells.erase(0, n);
    }
  }
  return out;
}

std::string letters(const Strip& s, const TopView& v) {
  std::string out;
  for (std::size_t i = 0; i < s.cells.size();) {
    const std::size_t end = std::min(s.cells.find_first_not_of(s.cells[i], i), s.cells.size());
    const GpuState* state = state_of(s.cells[i]);
    std::string run;
    for (; i < end; ++i) run += s.cells[i] == ' ' ? " " : glyph(s.cells[i], v.blocks);
    out += tint(run, state != nullptr ? state->tone : Tone::plain, v.colour);
  }
  return out;
}

// Two lines of cells in one of text: the upper halves and the lower ones.
std::string halves(std::string_view upper, std::string_view lower) {
  const auto at = [](std::string_view s, std::size_t i) { return i < s.size() ? state_of(s[i]) : nullptr; };
  std::string out;
  for (std::size_t i = 0; i < std::max(upper.size(), lower.size()); ++i) {
    const GpuState *up = at(upper, i), *down = at(lower, i);
    out += up != nullptr && down != nullptr ? fmt::format("\x1b[{};{}m▀\x1b[0m", up->colour, down->colour + 10)
           : up != nullptr                  ? fmt::format("\x1b[{}m▀\x1b[0m", up->colour)
           : down != nullptr                ? fmt::format("\x1b[{}m▄\x1b[0m", down->colour)
                                            : " ";
  }
  return out;
}

}  // namespace

Lines map_lines(const TopData& d, const TopView& v, std::size_t most) {
  const Map map(d.map);
  if (most < 2 || map.names.empty() || v.width < 30) return {};
  const std::size_t label = v.width >= 60 ? 12 : 0;
  std::size_t largest = 1;
  for (const Value& rack : map.racks) largest = std::max(largest, list_of(rack, "nodes").size());
  for (std::size_t group = 1; group < 2 * largest; group *= 2) {
    const auto strips = strips_of(map, group, v.width - label);
    const bool plain = strips.size() <= most - 1;
    const bool half = !plain && v.colour && v.blocks && strips.size() <= 2 * (most - 1);
    if (strips.empty() || (!plain && !half)) continue;
    const std::string cell = half ? "half a cell" : "a cell";
    Lines out{words(v,
                    group == 1 ? fmt::format("racks, {} a node: its worst GPU", cell)
                               : fmt::format("racks, {} for {} nodes: the worst GPU of them", cell, group),
                    Tone::dim)
                  .text};
    for (std::size_t i = 0; i < strips.size(); i += half ? 2 : 1) {
      std::string line;
      if (label > 0) {
        const std::string name = clip(strips[i].label, label - 1, v.blocks);
        line = tint(name, Tone::dim, v.colour) + std::string(label - display_width(name), ' ');
      }
      const std::string_view lower = half && i + 1 < strips.size() ? strips[i + 1].cells : std::string_view();
      out.push_back(line + (half ? halves(strips[i].cells, lower) : letters(strips[i], v)));
    }
    return out;
  }
  return {};
}

Table node_table(const Value& answer, const TopView& v) {
  const Map map(answer);
  Table t{{{"NAME"}, {"STATE"}, {"GPUS"}, {"JOB"}, {"INCIDENT", true}, {"RACK"}}, {}};
  std::vector<std::string> rack_of(map.names.size());
  for (const Value& rack : map.racks) {
    for (const std::size_t n : nodes_of(map, rack)) rack_of[n] = text_of(rack, "name");
  }
  const auto& jobs = list_of(answer, "node_job");
  const auto& incidents = list_of(answer, "node_incident");
  const auto text = [](const Value::Array& list, std::size_t i) {
    if (i >= list.size()) return std::string();
    return list[i].string() != nullptr    ? *list[i].string()
           : list[i].integer() != nullptr ? std::to_string(*list[i].integer())
                                          : "";
  };
  t.rows.reserve(map.names.size());
  for (std::size_t n = 0; n < map.names.size(); ++n) {
    std::string gpus;
    for (const char c : map.gpus(n)) gpus += glyph(c, v.blocks);
    const auto state = node_state(map.gpus(n));
    const GpuState* worst = state_of(map.worst(n));
    t.rows.push_back({cell(text(map.names, n)), cell(std::string(state), tone_of(state)),
                      cell(std::move(gpus), worst != nullptr ? worst->tone : Tone::plain), cell(text(jobs, n)),
                      cell(text(incidents, n)), cell(rack_of[n])});
  }
  return t;
}

}  // namespace muster::report::top
