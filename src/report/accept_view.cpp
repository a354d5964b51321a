#include "report/accept_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Judged;
using accept::Verdict;

constexpr std::size_t kWidth = 120;
constexpr std::size_t kKeyFigures = 5;   // beside each GPU, without `wide`
constexpr std::size_t kTextBytes = 600;  // of any one text
constexpr std::size_t kListed = 100;     // of anything that a recording may hold any number of
constexpr std::array<std::string_view, 10> kKeys = {"hbm_read",   "hbm_write", "bf16_per_mhz", "sustained_bf16", "fp8_per_mhz",
                                                    "mhz_at_cap", "pair_gb_s", "h2d_gb_s",     "march_verify",   "gpu_c_max"};

std::string said(std::string_view s) { return printable(clipped(s, kTextBytes)) + (s.size() > kTextBytes ? "…" : ""); }

Tone tone_of(Verdict v) {
  switch (v) {
    case Verdict::pass: return Tone::good;
    case Verdict::degraded:
    case Verdict::could_not_run: return Tone::warn;
    case Verdict::fail: break;
  }
  return Tone::bad;
}

std::string figure_cell_text(const FigureCell& c) {
  return figure_text(c.value) + (c.percentile ? " " + percentile_text(*c.percentile) : "");
}

// Those that say most of a GPU, as far as they were measured, in the order of their weight.
std::vector<const FigureRow*> key_figures(const AcceptRows& rows) {
  std::vector<const FigureRow*> out;
  for (const std::string_view key : kKeys) {
    const auto it = std::find_if(rows.figures.begin(), rows.figures.end(), [key](const auto& r) { return r.name == key; });
    if (it != rows.figures.end() && out.size() < kKeyFigures) out.push_back(&*it);
  }
  return out;
}

std::string gpus_text(const AcceptedNode& node, const AcceptRows& rows, bool colour) {
  Table t;
  t.columns = {{"GPU"}, {"SERIAL"}, {"VERDICT"}};
  const std::vector<const FigureRow*> keys = key_figures(rows);
  for (const FigureRow* r : keys) {
    const std::string_view unit = unit_of(*r);
    t.columns.push_back({upper(figure_title(*r)) + (unit.empty() ? "" : fmt::format(" {}", unit)), true});
  }
  for (std::size_t i = 0; i < rows.gpus.size(); ++i) {
    if (rows.gpus[i] < 0) continue;
    const accepting::Gpu* g = gpu_of(node.recording, rows.gpus[i]);
    const accept::GpuVerdict* v = verdict_of(node.judgement, rows.gpus[i]);
    std::vector<Cell> row = {
        Cell(std::to_string(rows.gpus[i])), Cell(g == nullptr ? "-" : said(g->serial.empty() ? g->uuid : g->serial)),
        v == nullptr ? Cell("not judged", Tone::warn) : Cell(std::string(name_of(worst_of(*v))), tone_of(worst_of(*v)))};
    for (const FigureRow* r : keys) row.push_back(r->cells[i] ? Cell(figure_cell_text(*r->cells[i])) : Cell("-"));
    t.rows.push_back(std::move(row));
  }
  if (t.rows.empty()) return {};
  std::string out = render_table(t, {true, false, colour});
  const bool stands = std::any_of(keys.begin(), keys.end(), [](const FigureRow* r) {
    return std::any_of(r->cells.begin(), r->cells.end(), [](const auto& c) { return c && c->percentile; });
  });
  if (stands) out += "p43: 43 % of its kind in the fleet are not better\n";
  return out;
}

void add_trouble(std::string& out, const Acceptance& a, const TroubleGroup& g, bool colour) {
  const accept::Trouble& t = g.trouble;
  const std::string part = t.part == accept::Part::whole ? "" : fmt::format(", {}", name_of(t.part));
  const std::string words = fmt::format("{}{} ({}): {}", said(group_title(a, g)), part, name_of(t.test), said(t.what));
  out += fmt::format("\n{} {}\n", paint(name_of(t.verdict), tone_of(t.verdict), colour), wrap(words, kWidth - 14, 2));
  if (!t.evidence.empty()) out += "  evidence: " + wrap(said(t.evidence), kWidth - 12, 12) + "\n";
  if (!t.next.empty()) out += "  do: " + wrap(said(t.next), kWidth - 6, 6) + "\n";
}

// Tests that did not end well, or with `wide` all of them.
std::string tests_text(const AcceptRows& rows, bool wide, bool colour) {
  Table t;
  t.columns = {{"TEST"}, {"GPU"}, {"STATE"}, {"TOOK", true}, {"WHY"}};
  for (const TestRow& r : rows.tests) {
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
      const TestCell& c = r.cells[i];
      const bool well = c.state == TestState::done || c.state == TestState::not_applicable || (!c.state && !c.asked);
      if ((well && !wide) || (!c.state && !c.asked) || t.rows.size() >= kListed * 10) continue;
      t.rows.push_back({Cell(std::string(name_of(r.test))), Cell(rows.gpus[i] < 0 ? "node" : std::to_string(rows.gpus[i])),
                        Cell(state_words(c), well ? Tone::plain : Tone::warn), Cell(c.state ? length_text(c.took_s) : "-"),
                        Cell(said(c.why))});
    }
  }
  if (t.rows.empty()) return {};
  return std::string(wide ? "\ntests\n" : "\ntests that did not end well\n") + render_table(t, {true, false, colour});
}

std::string figures_text(const AcceptRows& rows, bool colour) {
  Table t;
  t.columns = {{"FIGURE"}, {"UNIT"}, {"MEDIAN", true}, {"OF", true}};
  for (const std::int32_t g : rows.gpus) t.columns.push_back({g < 0 ? "NODE" : fmt::format("GPU {}", g), true});
  for (const FigureRow& r : rows.figures) {
    std::vector<Cell> row = {Cell(said(figure_title(r))), Cell(std::string(unit_of(r))),
                             Cell(r.count > 0 ? figure_text(r.median) : "-"), Cell(r.count > 0 ? std::to_string(r.count) : "-")};
    for (const auto& c : r.cells) row.push_back(c ? Cell(figure_cell_text(*c)) : Cell("-"));
    t.rows.push_back(std::move(row));
  }
  return t.rows.empty() ? "" : "\nfigures\n" + render_table(t, {true, false, colour});
}

std::string growth_lines(const AcceptedNode& node, const AcceptRows& rows) {
  std::string out;
  std::size_t still = 0;
  for (const CounterRow& r : rows.counters) {
    if (!r.grew) {
      still += !is_meter(r.name);
      continue;
    }
    for (const accepting::Counter* c : r.cells) {
      if (c != nullptr && grew(*c))
        out += fmt::format("  {}, {} ({}): {}\n", said(gpu_title(node.recording, c->gpu)), said(counter_title(c->name)),
                           said(c->name), growth_text(*c));
    }
  }
  if (rows.counters.empty()) return {};
  if (out.empty()) return fmt::format("\nno counter grew ({} were read)\n", still);
  return "\ncounters that grew\n" + out + (still > 0 ? fmt::format("  {} others did not\n", still) : "");
}

std::string kernel_lines(const Acceptance& a) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kListed, a.kernel.size()); ++i) {
    const accepting::KernelWord& w = a.kernel[i];
    out += fmt::format("  {:.1f} s{}{}: {}\n", w.at_s, w.gpu < 0 ? "" : fmt::format(", GPU {}", w.gpu),
                       w.code > 0 ? fmt::format(", Xid {}", w.code) : "", said(w.text));
  }
  if (a.kernel.size() > kListed) out += fmt::format("  {} more\n", a.kernel.size() - kListed);
  return out.empty() ? "" : "\nthe kernel said\n" + out;
}

std::string about(const Acceptance& a) {
  const auto known = [](std::string_view what, const std::string& s) {
    return s.empty() ? "" : fmt::format(", {} {}", what, said(s));
  };
  return fmt::format("\n{}{}{}{}, suite {} ({}), profile {}, {}{}\n",
                     a.host.begun.ns == 0 ? "begun at a time nobody recorded" : "begun " + render_utc(a.host.begun),
                     known("driver", a.host.driver), known("CUDA", a.host.cuda), known("cuBLASLt", a.host.cublas),
                     said(a.suite.version), said(a.suite.hash), name_of(a.suite.profile),
                     a.end.empty()           ? "cut off after "
                     : a.end.front().stopped ? "stopped by a person after "
                                             : "took ",
                     length_text(length_s(a)));
}

void gpu_json(JsonWriter& w, const AcceptedNode& node, const AcceptRows& rows, std::size_t i) {
  const Acceptance& a = node.recording;
  const std::int32_t gpu = rows.gpus[i];
  w.object().field("gpu", gpu);
  if (const accept::GpuVerdict* v = verdict_of(node.judgement, gpu); v != nullptr) w.field("verdict", name_of(worst_of(*v)));
  if (const accepting::Gpu* g = gpu_of(a, gpu); g != nullptr) {
    w.field("uuid", g->uuid).field("serial", g->serial).field("model", g->model).field("pci", g->pci).field("vbios", g->vbios);
    w.field("part", g->part).field("sms", g->sms).field("memory_mib", g->memory_mib).field("power_limit_w", g->power_limit_w);
    w.field("power_default_w", g->power_default_w).field("link_gen_max", g->link_gen_max);
    w.field("link_width_max", g->link_width_max).field("kind", accept::render(accept::cohort_of(a, *g)));
  }
  w.key("tests").array();
  for (const TestRow& r : rows.tests) {
    const TestCell& c = r.cells[i];
    if (!c.state && !c.asked) continue;
    w.object().field("test", name_of(r.test)).field("state", c.state ? name_of(*c.state) : "did_not_run").field("why", c.why);
    w.field("required", c.asked).field("rounds", static_cast<std::uint64_t>(c.rounds)).field("repeated", c.repeated);
    w.field("begun_s", c.begun_s).field("took_s", c.took_s).field("wrong", c.wrong);
    if (c.trouble) w.field("trouble", name_of(*c.trouble));
    w.end_object();
  }
  w.end_array().key("figures").array();
  for (const FigureRow& r : rows.figures) {
    const auto& c = r.cells[i];
    if (!c) continue;
    w.object().field("metric", r.name).field("title", figure_title(r)).field("unit", unit_of(r)).field("value", c->value);
    w.field("judged", r.metric != nullptr && r.metric->judged != Judged::no);
    if (r.count > 0) w.field("median", r.median).field("of_gpus", static_cast<std::uint64_t>(r.count));
    if (c->percentile) w.field("percentile", std::round(*c->percentile * 100) / 100);
    if (c->of_median) w.field("share_of_median", *c->of_median);
    if (c->of_sheet) w.field("share_of_data_sheet", *c->of_sheet);
    w.end_object();
  }
  w.end_array().key("counters").array();
  for (const CounterRow& r : rows.counters) {
    const accepting::Counter* c = r.cells[i];
    if (c == nullptr) continue;
    w.object().field("name", c->name);
    for (const auto& [key, v] : {std::pair("before", c->before), std::pair("after", c->after)})
      v < 0 ? w.key(key).null() : w.field(key, v);
    c->before < 0 || c->after < 0 ? w.key("grew").null() : w.field("grew", c->after - c->before);
    w.end_object();
  }
  w.end_array().end_object();
}

void head_json(JsonWriter& w, const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  w.object()
      .field("node", a.host.name)
      .field("verdict", name_of(node.judgement.verdict))
      .field("sentence", accept_sentence(node));
  w.field("provisional", node.judgement.provisional).field("empty", is_empty(a)).field("took_s", length_s(a));
  w.field("complete", !a.end.empty()).field("stopped", !a.end.empty() && a.end.front().stopped).field("recording", a.file);
  w.key("suite")
      .object()
      .field("version", a.suite.version)
      .field("hash", a.suite.hash)
      .field("profile", name_of(a.suite.profile));
  w.field("muster", a.suite.muster).field("seed", a.suite.seed).key("tests").array();
  for (const AcceptTest t : a.suite.tests) w.value(name_of(t));
  w.end_array().end_object().key("host").object();
  a.host.begun.ns == 0 ? w.key("begun_utc").null() : w.field("begun_utc", render_utc(a.host.begun));
  w.field("kernel", a.host.kernel).field("driver", a.host.driver).field("cuda", a.host.cuda).field("cublas", a.host.cublas);
  w.field("cooling", a.host.cooling).end_object();
}

}  // namespace

std::string render_accept(const AcceptedNode& node, bool colour, bool wide) {
  const Acceptance& a = node.recording;
  const AcceptRows rows = rows_of(node);
  std::string out = paint(accept_sentence(node), tone_of(node.judgement.verdict), colour) + "\n";
  if (is_empty(a)) out += std::string(kNothing) + "\n";
  if (const std::string gpus = gpus_text(node, rows, colour); !gpus.empty()) out += "\n" + gpus;
  if (rows.gpus_left_out > 0) out += fmt::format("{} more GPUs are left out\n", rows.gpus_left_out);
  const std::vector<TroubleGroup> troubles = grouped(node.judgement);
  for (std::size_t i = 0; i < std::min(kListed, troubles.size()); ++i) add_trouble(out, a, troubles[i], colour);
  if (troubles.size() > kListed) out += fmt::format("\n{} more troubles are left out (-o json)\n", troubles.size() - kListed);
  if (wide) out += figures_text(rows, colour);
  out += tests_text(rows, wide, colour) + growth_lines(node, rows) + kernel_lines(a);
  if (!is_empty(a)) out += about(a);
  for (std::size_t i = 0; i < std::min(kListed, node.judgement.notes.size()); ++i)
    out += "note: " + wrap(said(node.judgement.notes[i]), kWidth, 6) + "\n";
  return out;
}

std::string accept_json(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  const AcceptRows rows = rows_of(node);
  JsonWriter w;
  head_json(w, node);
  w.key("gpus").array();
  for (std::size_t i = 0; i < rows.gpus.size(); ++i) gpu_json(w, node, rows, i);
  w.end_array().key("troubles").array();
  for (const accept::Trouble* t : node.judgement.troubles()) trouble_json(w, *t);
  w.end_array().key("wrong").array();
  for (const accepting::Wrong& x : a.wrong) {
    w.object().field("gpu", x.gpu).field("test", name_of(x.test)).field("turn", x.turn).field("place", x.place);
    w.field("count", x.count).field("detail", x.detail).end_object();
  }
  w.end_array().key("kernel").array();
  for (const accepting::KernelWord& k : a.kernel) {
    w.object();
    k.gpu < 0 ? w.key("gpu").null() : w.field("gpu", k.gpu);
    k.code == 0 ? w.key("xid").null() : w.field("xid", k.code);
    w.field("at_s", k.at_s).field("text", k.text).end_object();
  }
  w.end_array();
  if (!a.end.empty()) w.field("processes_left", a.end.front().left).field("memory_left_mib", a.end.front().memory_left_mib);
  w.key("notes").array();
  for (const std::string& n : node.judgement.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
