// A labelled corpus for the detectors: text files of cases, each with what a node's kernel, exporters and jobs said and with the
// findings that are right. tests/corpus/README.md is the format's page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "model/finding.h"

namespace muster::trial {

struct Label {
  FindingKind kind = FindingKind::gpu_lost;
  NodeId node;             // none: the site, or a job
  std::int16_t slot = -1;  // -1: the node itself
  JobId job;
  std::string subject;  // what it must begin with; empty: anything
  auto operator<=>(const Label&) const = default;
};
std::string render(const Label& l);

// What comes in at one moment.
struct Input {
  enum class Kind { kmsg, logfile, scrape, log, event, step, up_stops, up_again };
  Kind kind = Kind::kmsg;
  Duration at;  // since the case's beginning
  NodeId node;
  std::string text;  // kmsg: one record; scrape: a whole one; log: one line
  Body event;
  JobId job;
  double step_s = 0;
};

struct Case {
  std::string name;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t nodes = 4;
  std::uint32_t per_rack = 0, per_leaf = 0;  // nodes; 0: all of them in one
  std::uint32_t per_row = 0;                 // racks; 0: rows are not known
  std::vector<Label> expected;
  std::vector<Label> allowed;  // right as well, if seen
  std::vector<Input> inputs;   // by time
  Duration length;             // until when it is watched
};

// The cluster of a case: nodes n0, n1 ... of eight GPUs at 0000:1b:00, 2c, 3d, 4e, 9b, ac, bd and ce.
Site corpus_site(const Case& c);

// One file's cases, tables expanded. A mistake is refused with its line.
Result<std::vector<Case>> parse_corpus(std::string_view text, std::string_view file);

}  // namespace muster::trial
