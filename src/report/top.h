// The screen of `muster top`: from the API's answers and what a person has chosen to lines of text. Pure; keys and terminals are
// cmd/muster's.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace muster::report {

enum class TopList : std::uint8_t { incidents, jobs, nodes, findings, queues, approvals };
constexpr std::array<std::string_view, 6> names(TopList) {
  return {"incidents", "jobs", "nodes", "findings", "queues", "approvals"};
}
constexpr std::size_t kTopLists = names(TopList{}).size();
constexpr std::string_view name_of(TopList l) { return names(l)[static_cast<std::size_t>(l)]; }

// What the server said last; null where it has not answered yet. Every text in it is untrusted.
struct TopData {
  Value summary, map, guard;
  Value list;                // of incidents, jobs, findings or queues; nodes come from `map`, approvals from `guard`
  std::string list_trouble;  // why `list` could not be had
  std::string trouble;       // why nobody answers; empty: somebody does
  double age_s = 0;          // of `summary`
  double every_s = 1;        // how often it is asked for
};

// A text that stands in place of the list until it is closed.
struct TopPane {
  std::string title;
  std::string text;                  // shown where there is no explanation
  std::optional<Value> explanation;  // of the explain tool
  std::string command;               // that gives the same answer
  std::size_t first = 0;             // line at the top
};

// What a person has chosen. A frame of it says which row is selected in truth: write that back before the next one.
struct TopView {
  TopList list = TopList::incidents;
  bool all = false;      // also what is over: closed, cleared, ended, answered
  std::string filter;    // words that a row must have, in any case
  bool typing = false;   // the filter is being typed
  std::string sort_by;   // a column's name; "-NAME" for the other way round; empty: as the server has it
  std::string selected;  // id of the row, so that it stays selected when others come and go
  std::size_t row = 0;   // where it was
  std::size_t first = 0;
  std::optional<TopPane> pane;
  std::string question;  // needs a y
  std::string message;   // what came of the last key
  std::string command;   // that prints the same list
  std::size_t width = 80, height = 24;
  bool colour = false;
  bool blocks = true;     // the terminal shows more than ASCII
  bool past = false;      // as it was at a time that is over
  bool to_paper = false;  // printed once: no keys, no selected row, no empty lines
};

struct TopFrame {
  std::vector<std::string> lines;    // at most `height`, none wider than `width`, escapes of colour not counted
  std::vector<std::string> ids;      // of the rows that the filter leaves, in the order shown
  std::vector<std::string> columns;  // to sort by
  std::size_t row = 0;               // the selected one
  std::size_t first = 0;             // the one at the top
  std::size_t page = 0;              // how many rows, or lines of the pane, there is room for
  std::size_t pane_first = 0;
};

TopFrame top_frame(const TopData& data, const TopView& view);

}  // namespace muster::report
