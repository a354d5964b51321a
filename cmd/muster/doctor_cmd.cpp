// muster doctor: what a site offers, what is missing, what that costs, and the line that would add it. Looks only.
#include <fmt/core.h>

#include <algorithm>

#include "adapters/slurm/doctor.h"
#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "ingest/slurm_file.h"
#include "report/table.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Cell;
using report::Tone;
using slurm::Diagnosis;
using slurm::Judgement;

bool is_wrong(const Diagnosis& d) { return d.judgement != Judgement::ok && d.judgement != Judgement::off; }
bool stops_muster(const Diagnosis& d) { return d.judgement == Judgement::missing && d.essential; }

std::string as_json(const std::vector<Diagnosis>& all, bool ok) {
  JsonWriter w;
  w.object().field("ok", ok).key("checks").array();
  for (const Diagnosis& d : all) {
    w.object().field("thing", d.thing).field("judgement", name_of(d.judgement)).field("essential", d.essential);
    w.field("found", d.found).field("cost", d.cost).field("line", d.line).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

Tone tone_of(const Diagnosis& d) {
  switch (d.judgement) {
    case Judgement::ok: return Tone::good;
    case Judgement::off: return Tone::dim;
    case Judgement::missing: return d.essential ? Tone::bad : Tone::warn;
    default: return Tone::warn;
  }
}

// A table of all, and below it, of what is missing, the cost and the line to copy: both are too long for a column.
std::string as_table(const std::vector<Diagnosis>& all) {
  report::Table table{{{"THING"}, {"JUDGEMENT"}, {"FOUND"}}, {}};
  for (const Diagnosis& d : all)
    table.rows.push_back({Cell(d.thing), Cell(std::string(name_of(d.judgement)), tone_of(d)), Cell(d.found)});
  std::string out = report::render_table(table, {.colour = colour_wanted()});
  for (const Diagnosis& d : all) {
    if (!is_wrong(d)) continue;
    out += fmt::format("\n{}{}: {}\n  without it: {}\n  to add it:  {}\n", d.thing, stops_muster(d) ? " (essential)" : "",
                       d.found, d.cost, d.line);
  }
  return out;
}

}  // namespace

int run_doctor(const DoctorOptions& o) {
  const auto text = read_file(o.slurm);
  if (!text) return say_error(text.error());
  const auto settings = slurm::parse_settings(*text, o.slurm);
  if (!settings) return say_error(settings.error());
  const std::vector<Diagnosis> all = slurm::judge(slurm::gather(*settings), *settings);
  const bool ok = std::none_of(all.begin(), all.end(), stops_muster);
  put(o.format == report::Format::json ? as_json(all, ok) : as_table(all));
  constexpr int kFindings = 6;
  return ok ? 0 : kFindings;
}

}  // namespace muster::cmd
