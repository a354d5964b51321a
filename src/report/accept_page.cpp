// A page that asks nothing of any network: no script, no picture, no font that is not in it. All text in it is untrusted and
// escaped.
#include "report/accept_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "report/accept_draw.h"
#include "report/accept_strips.h"
#include "report/accept_style.h"
#include "report/page.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::Verdict;

constexpr std::size_t kListed = 200;      // troubles, wrong results, words of the kernel, notes
constexpr std::size_t kRawMost = 40'000;  // readings, and as many figures: a burn of a week has millions
constexpr std::size_t kNameBytes = 120;

std::string gpu_heads(const AcceptRows& rows) {
  std::string out;
  for (const std::int32_t g : rows.gpus)
    out += g < 0 ? "<th scope=\"col\" class=\"n\">node</th>" : fmt::format("<th scope=\"col\" class=\"n\">GPU {}</th>", g);
  return out;
}

// Of one or two GPUs the figures stand near their names.
std::string_view width_of(const AcceptRows& rows) { return rows.gpus.size() > 3 ? "wide" : "fits"; }

std::string draw_head(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  const Verdict v = node.judgement.verdict;
  const std::string sentence = accept_sentence(node);
  // The verdict stands above it in large letters already.
  const std::string rest = sentence.substr(std::min(sentence.size(), name_of(v).size() + 1));
  std::string out =
      fmt::format("<header id=\"verdict\" style=\"--verdict:var(--{})\"><span class=\"v big {}\">{} {}</span><h1>{}</h1>\n",
                  verdict_class(v), verdict_class(v), mark_of(v), name_of(v), accept_text(rest));
  if (is_empty(a)) out += fmt::format("<p>{}</p>", kNothing);
  if (!a.end.empty() && a.end.front().stopped) out += "<p>A person stopped the tests before they were through.</p>";
  if (a.end.empty() && !is_empty(a)) out += "<p>The recording was cut off: it has no end.</p>";
  const std::size_t unjudged = node.judgement.unjudged.size();
  if (unjudged > 0)
    out += fmt::format("<p>Speed{} was not judged: too few GPUs of {} kind are recorded to say how fast they should be.</p>",
                       unjudged < a.gpus.size() ? fmt::format(" of {} of {} GPUs", unjudged, a.gpus.size()) : "",
                       unjudged < a.gpus.size() ? "their" : "this");
  else if (node.judgement.provisional)
    out += "<p>The limits of speed are provisional: see the notes.</p>";
  out += "<dl class=\"facts\">";
  fact(out, "begun", a.host.begun.ns == 0 ? "not recorded" : minute_of(a.host.begun));
  fact(out, "took", length_text(length_s(a)));
  fact(out, "profile", name_of(a.suite.profile));
  fact(out, "GPUs", std::to_string(a.gpus.size()));
  if (!a.gpus.empty()) fact(out, "model", a.gpus.front().model);
  fact(out, "driver", a.host.driver);
  fact(out, "CUDA", a.host.cuda);
  fact(out, "cuBLASLt", a.host.cublas);
  fact(out, "kernel", a.host.kernel);
  fact(out, "cooling", a.host.cooling);
  fact(out, "suite", a.suite.version + (a.suite.hash.empty() ? "" : ", hash " + a.suite.hash));
  fact(out, "seed", std::to_string(a.suite.seed));
  fact(out, "muster", a.suite.muster);
  return out + "</dl></header>\n";
}

std::string draw_troubles(const AcceptedNode& node) {
  const std::vector<TroubleGroup> all = grouped(node.judgement);
  if (all.empty()) return {};
  std::string out = "<section id=\"troubles\"><h2>What is wrong, and what to do</h2>\n";
  for (std::size_t i = 0; i < std::min(kListed, all.size()); ++i)
    draw_trouble(out, all[i].trouble, group_title(node.recording, all[i]));
  if (all.size() > kListed) out += fmt::format("<p class=\"note\">{} more are in the JSON.</p>", all.size() - kListed);
  return out + "</section>\n";
}

std::string or_dash(double v, std::string_view unit) { return v < 0 ? "-" : fmt::format("{} {}", figure_text(v), unit); }

std::string draw_gpus(const AcceptedNode& node, const AcceptRows& rows) {
  if (node.recording.gpus.empty()) return {};
  std::string out =
      "<section id=\"gpus\"><h2>The GPUs</h2>\n" + scroll_begin("GPUs", "wide") +
      "<thead><tr><th class=\"lead\" scope=\"col\">GPU</th><th scope=\"col\">verdict</th><th scope=\"col\">serial</th>"
      "<th scope=\"col\">model</th><th scope=\"col\">PCI</th><th scope=\"col\">VBIOS</th><th scope=\"col\">part</th>"
      "<th scope=\"col\" class=\"n\">SMs</th><th scope=\"col\" class=\"n\">memory</th><th scope=\"col\" class=\"n\">power "
      "limit</th><th scope=\"col\">UUID</th></tr></thead><tbody>\n";
  for (const std::int32_t gpu : rows.gpus) {
    const accepting::Gpu* g = gpu_of(node.recording, gpu);
    if (g == nullptr) continue;
    const accept::GpuVerdict* v = verdict_of(node.judgement, gpu);
    out += fmt::format("<tr><td class=\"lead\">{}</td><td>{}</td>", gpu, v == nullptr ? "not judged" : verdict_tag(worst_of(*v)));
    for (const std::string* s : {&g->serial, &g->model, &g->pci, &g->vbios, &g->part})
      out += fmt::format("<td class=\"id\">{}</td>", s->empty() ? "-" : brief(*s, kNameBytes));
    out += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"id\">{}</td></tr>\n",
                       g->sms < 0 ? "-" : figure_text(g->sms), or_dash(g->memory_mib, "MiB"), or_dash(g->power_limit_w, "W"),
                       g->uuid.empty() ? "-" : brief(g->uuid, kNameBytes));
  }
  out += "</tbody></table></div>";
  if (rows.gpus_left_out > 0) out += fmt::format("<p class=\"note\">{} more GPUs are in the JSON.</p>", rows.gpus_left_out);
  return out + "</section>\n";
}

std::string test_cell(const TestCell& c) {
  const std::string why = c.why.empty() ? "" : fmt::format("<small>{}</small>", brief(c.why, kNameBytes));
  const bool done = c.state == TestState::done;
  std::string word = state_words(c);
  if (!c.state && !c.asked) return "<td class=\"n\">-</td>";
  if (c.state == TestState::not_applicable) return fmt::format("<td class=\"n\">n/a{}</td>", why);
  if (done) word = length_text(c.took_s) + (c.repeated ? ", repeated" : c.rounds > 1 ? fmt::format(", {} rounds", c.rounds) : "");
  const std::string wrong =
      c.wrong > 0 ? fmt::format("<small>{} wrong</small>", render_count(static_cast<std::int64_t>(c.wrong))) : "";
  if (c.trouble)
    return fmt::format("<td class=\"n\"><span class=\"v {}\" title=\"{}\">{} {}</span>{}{}</td>", verdict_class(*c.trouble),
                       name_of(*c.trouble), mark_of(*c.trouble), word, wrong, why);
  if (!done) return fmt::format("<td class=\"n\"><span class=\"v could_not_run\">? {}</span>{}</td>", word, why);
  if (c.wrong > 0) return fmt::format("<td class=\"n\"><span class=\"v fail\">✗ {}</span>{}</td>", word, wrong);
  return fmt::format("<td class=\"n\">✓ {}</td>", word);
}

std::string draw_tests(const AcceptRows& rows) {
  if (rows.tests.empty()) return {};
  std::string out = "<section id=\"tests\"><h2>Tests that ran</h2>\n" + scroll_begin("Tests", width_of(rows)) +
                    "<thead><tr><th class=\"lead\" scope=\"col\">test</th>" + gpu_heads(rows) + "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < rows.tests.size(); ++i) {
    const TestRow& r = rows.tests[i];
    out += fmt::format("<tr><td class=\"lead test\">{} {}<small>{}</small></td>", i + 1, name_of(r.test), test_words(r.test));
    for (const TestCell& c : r.cells) out += test_cell(c);
    out += "</tr>\n";
  }
  return out +
         "</tbody></table></div><p class=\"note\">✓ the test ran to its end, and nothing in it is wrong or short. n/a: there is "
         "nothing here to test. What has neither mark is not passed.</p></section>\n";
}

std::string figure_cell(const std::optional<FigureCell>& c, const accept::Trouble* short_of, std::string_view name) {
  if (!c) return "<td class=\"n\">-</td>";
  if (name.ends_with("_algorithm")) return fmt::format("<td class=\"n\">{:.0f}</td>", c->value);  // a name, not a figure
  std::string out = short_of == nullptr ? fmt::format("<td class=\"n\">{}", figure_text(c->value))
                                        : fmt::format("<td class=\"n\"><span class=\"short\">{} {}</span>",
                                                      mark_of(short_of->verdict), figure_text(c->value));
  if (c->percentile || c->of_median)
    out += fmt::format("<small>{}{}{}</small>", c->percentile ? percentile_text(*c->percentile) : "",
                       c->percentile && c->of_median ? " · " : "", c->of_median ? share_text(*c->of_median) : "");
  if (c->of_sheet) out += fmt::format("<small>sheet {}</small>", share_text(*c->of_sheet));
  return out + "</td>";
}

const accept::Trouble* short_of(const AcceptedNode& node, std::int32_t gpu, std::string_view metric) {
  const accept::GpuVerdict* v = verdict_of(node.judgement, gpu);
  if (v == nullptr) return nullptr;
  const auto it = std::find_if(v->troubles.begin(), v->troubles.end(), [&](const auto& t) { return t.metric == metric; });
  return it == v->troubles.end() ? nullptr : &*it;
}

void figure_row(std::string& out, const AcceptedNode& node, const AcceptRows& rows, const FigureRow& r) {
  const std::string_view unit = unit_of(r);
  std::string under(unit);
  if (r.metric != nullptr && r.metric->better == accept::Better::lower)
    under += under.empty() ? "less is better" : ", less is better";
  out += fmt::format("<tr><td class=\"lead\">{}<small>{}</small></td>", brief(figure_title(r), kNameBytes), under);
  if (r.count > 0)
    out += fmt::format("<td class=\"n\">{}<small>{} GPUs</small></td>", figure_text(r.median),
                       render_count(static_cast<std::int64_t>(r.count)));
  else
    out += "<td class=\"n\">-</td>";
  const double sheet = r.metric == nullptr ? 0 : sheet_figure(node.sheet, r.metric->peak);
  out += sheet > 0 ? fmt::format("<td class=\"n\">{}</td>", figure_text(sheet)) : "<td class=\"n\">-</td>";
  for (std::size_t i = 0; i < r.cells.size(); ++i) out += figure_cell(r.cells[i], short_of(node, rows.gpus[i], r.name), r.name);
  out += "</tr>\n";
}

std::string figures_begin(const AcceptRows& rows) {
  return scroll_begin("Figures", width_of(rows)) +
         "<thead><tr><th class=\"lead\" scope=\"col\">figure</th><th scope=\"col\" class=\"n\">median of its kind</th>"
         "<th scope=\"col\" class=\"n\">data sheet</th>" +
         gpu_heads(rows) + "</tr></thead><tbody>\n";
}

// What is not in the table of metrics is for who looks closer.
std::string draw_other_figures(const AcceptedNode& node, const AcceptRows& rows) {
  std::string out;
  std::size_t n = 0;
  for (const FigureRow& r : rows.figures) {
    if (r.metric != nullptr) continue;
    figure_row(out, node, rows, r);
    ++n;
  }
  if (n == 0) return {};
  return fmt::format("<details><summary>Recorded, and never judged ({})</summary>{}{}</tbody></table></div></details>\n", n,
                     figures_begin(rows), out);
}

std::string figures_note(const AcceptedNode& node, const AcceptRows& rows) {
  const bool placed = std::any_of(rows.figures.begin(), rows.figures.end(), [](const FigureRow& r) {
    return std::any_of(r.cells.begin(), r.cells.end(), [](const auto& c) { return c && (c->percentile || c->of_median); });
  });
  return fmt::format(
      "<p class=\"note\">{}{}</p>",
      placed ? "p43: 43 % of the GPUs of its kind in the fleet are not better; p50 is the middle, a low one is bad. The "
               "share beside it is of the median of its kind, that of the sheet of what the data sheet promises. "
      : node.fleet == nullptr ? "No fleet was given to compare with. "
                              : "Too few GPUs of its kind are recorded to say where it stands among them. ",
      node.sheet == nullptr ? "No data sheet is known of this model."
                            : fmt::format("Data sheet: {}.", accept_text(node.sheet->source)));
}

std::string draw_figures(const AcceptedNode& node, const AcceptRows& rows) {
  if (rows.figures.empty()) return {};
  std::string out = "<section id=\"figures\"><h2>Figures, and where each GPU stands among its kind</h2>\n" + figures_begin(rows);
  std::optional<AcceptTest> group;
  for (const FigureRow& r : rows.figures) {
    if (r.metric == nullptr) continue;
    if (group != r.metric->test) {
      group = r.metric->test;
      out += fmt::format("<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}: {}</th></tr>\n", rows.gpus.size() + 3,
                         name_of(*group), test_words(*group));
    }
    figure_row(out, node, rows, r);
  }
  return out + "</tbody></table></div>" + figures_note(node, rows) + draw_other_figures(node, rows) + "</section>\n";
}

std::string draw_time(const AcceptedNode& node, const AcceptRows& rows) {
  const std::string strips = draw_strips(node, rows);
  return fmt::format("<section id=\"time\"><h2>Power, clock and heat over time</h2>\n{}</section>\n",
                     strips.empty() ? "<p>No power, clock or temperature was recorded.</p>"
                                    : "<p class=\"note\">Bands are the tests, with the numbers that they have in the table of "
                                      "tests. A line is the mean; the "
                                      "pale span around it goes from the least to the most that was read.</p>" +
                                          strips);
}

std::string draw_counters(const AcceptRows& rows) {
  if (rows.counters.empty())
    return "<section id=\"counters\"><h2>Counters</h2><p>No counter of the driver was read.</p></section>\n";
  std::string out = "<section id=\"counters\"><h2>What counters did during the tests</h2>\n" +
                    scroll_begin("Counters", width_of(rows)) + "<thead><tr><th class=\"lead\" scope=\"col\">counter</th>" +
                    gpu_heads(rows) + "</tr></thead><tbody>\n";
  for (const CounterRow& r : rows.counters) {
    out += fmt::format("<tr><td class=\"lead\">{}<small>{}</small></td>", brief(counter_title(r.name), kNameBytes),
                       brief(r.name, kNameBytes));
    for (const accepting::Counter* c : r.cells) {
      if (c == nullptr)
        out += "<td class=\"n\">-</td>";
      else if (grew(*c) && !is_meter(r.name))
        out += fmt::format("<td class=\"n\"><span class=\"short\">{}</span></td>", growth_text(*c));
      else
        out += fmt::format("<td class=\"n\">{}</td>", growth_text(*c));
    }
    out += "</tr>\n";
  }
  return out +
         "</tbody></table></div><p class=\"note\">One number: it stood still. \"Not told\": the driver does not "
         "say.</p></section>\n";
}

std::string draw_wrong(const Acceptance& a) {
  if (a.wrong.empty()) return {};
  std::string out =
      "<section id=\"wrong\"><h2>Wrong results</h2>\n" + scroll_begin("Wrong results", "wide") +
      "<thead><tr><th scope=\"col\">GPU</th><th scope=\"col\">test</th><th scope=\"col\">place</th><th scope=\"col\" "
      "class=\"n\">results</th><th scope=\"col\">detail</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(kListed, a.wrong.size()); ++i) {
    const accepting::Wrong& w = a.wrong[i];
    out += fmt::format(
        "<tr><td>{}</td><td>{}{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"words\"><code>{}</code></td></tr>\n",
        w.gpu < 0 ? "node" : std::to_string(w.gpu), name_of(w.test), w.turn > 0 ? ", again" : "", brief(w.place, kNameBytes),
        render_count(static_cast<std::int64_t>(w.count)), accept_text(w.detail));
  }
  out += "</tbody></table></div>";
  if (a.wrong.size() > kListed) out += fmt::format("<p class=\"note\">{} more are in the JSON.</p>", a.wrong.size() - kListed);
  return out + "</section>\n";
}

std::string draw_kernel(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  std::string out = "<section id=\"kernel\"><h2>What the kernel said</h2>\n";
  if (a.kernel.empty()) return out + "<p>No record of a fault was seen in the kernel's log during the tests.</p></section>\n";
  out += scroll_begin("The kernel's log", "wide") +
         "<thead><tr><th scope=\"col\">at</th><th scope=\"col\">GPU</th><th scope=\"col\">Xid</th><th "
         "scope=\"col\">record</th></tr></thead>"
         "<tbody>\n";
  for (std::size_t i = 0; i < std::min(kListed, a.kernel.size()); ++i) {
    const accepting::KernelWord& w = a.kernel[i];
    out += fmt::format(
        "<tr><td class=\"id\">{:.1f} s</td><td>{}</td><td>{}</td><td class=\"words\"><pre class=\"said\">{}</pre></td></tr>\n",
        w.at_s, w.gpu < 0 ? "-" : std::to_string(w.gpu), w.code == 0 ? "-" : std::to_string(w.code), accept_text(w.text));
  }
  out += "</tbody></table></div>";
  if (a.kernel.size() > kListed) out += fmt::format("<p class=\"note\">{} more are in the JSON.</p>", a.kernel.size() - kListed);
  return out + "</section>\n";
}

std::string draw_notes(const AcceptedNode& node) {
  const std::vector<std::string>& notes = node.judgement.notes;
  if (notes.empty()) return {};
  std::string out = "<section id=\"notes\"><h2>Notes</h2><ul class=\"plain\">";
  for (std::size_t i = 0; i < std::min(kListed, notes.size()); ++i) out += fmt::format("<li>{}</li>", accept_text(notes[i]));
  return out + "</ul></section>\n";
}

// Every so many-th, where there are more than a page should hold.
std::size_t thinned(std::size_t n) { return (n + kRawMost - 1) / kRawMost; }

std::string raw_title(std::string_view what, std::size_t n, std::size_t every) {
  return fmt::format("{} ({}, CSV{})", what, render_count(static_cast<std::int64_t>(n)),
                     every > 1 ? fmt::format("; one of {} is here, all are in the recording", every) : "");
}

std::string raw_readings(const Acceptance& a) {
  if (a.readings.empty()) return {};
  const std::size_t every = std::max<std::size_t>(1, thinned(a.readings.size()));
  // GPUs take turns in a recording: runs of each are thinned, not the whole, so that none is lost.
  std::map<std::int32_t, std::size_t> seen;
  std::string csv = "gpu,at_s,power_w,sm_mhz,gpu_c,memory_c,reasons\n";
  for (const accepting::Reading& r : a.readings) {
    if (seen[r.gpu]++ % every != 0) continue;
    fmt::format_to(std::back_inserter(csv), "{},{:.3f}", r.gpu, r.at_s);
    for (const double v : {r.power_w, r.mhz, r.gpu_c, r.memory_c}) {
      if (v < 0)
        csv += ',';
      else
        fmt::format_to(std::back_inserter(csv), ",{:.5g}", v);
    }
    fmt::format_to(std::back_inserter(csv), ",{:#x}\n", r.reasons);
  }
  return folded(raw_title("Power, clock and temperatures as they were read", a.readings.size(), every), csv);
}

std::string raw_measured(const Acceptance& a) {
  if (a.measured.empty()) return {};
  const std::size_t every = std::max<std::size_t>(1, thinned(a.measured.size()));
  Table t;
  t.columns = {{"GPU"}, {"TEST"}, {"TURN"}, {"METRIC"}, {"VALUE"}, {"BEGUN_S"}, {"TOOK_S"}, {"MHZ"}};
  for (std::size_t i = 0; i < a.measured.size(); i += every) {
    const accepting::Measured& m = a.measured[i];
    const auto told = [](double v) { return v < 0 ? Cell("") : Cell(fmt::format("{:.6g}", v)); };
    t.rows.push_back({Cell(std::to_string(m.gpu)), Cell(std::string(name_of(m.test))), Cell(std::to_string(m.turn)),
                      Cell(std::string(clipped(m.metric, kNameBytes))), Cell(render_number(m.value)),
                      m.took_s > 0 ? told(m.begun_s) : Cell(""), m.took_s > 0 ? told(m.took_s) : Cell(""), told(m.mhz)});
  }
  return folded(raw_title("Every figure, with its repetitions", a.measured.size(), every), render_csv(t, true));
}

std::string draw_raw(const Acceptance& a) {
  const std::string all = raw_measured(a) + raw_readings(a);
  std::string out = "<section id=\"raw\"><h2>Raw samples</h2>\n";
  if (!a.file.empty()) out += fmt::format("<p class=\"note\">The recording: <code>{}</code></p>", accept_text(a.file));
  return out + (all.empty() ? "<p>None were recorded.</p>" : all) + "</section>\n";
}

}  // namespace

std::string accept_page(const AcceptedNode& node) {
  const Acceptance& a = node.recording;
  const AcceptRows rows = rows_of(node);
  std::string out = page_begin(fmt::format("{}: {}", name_of(node.judgement.verdict), node_name(a)), kAcceptStyle);
  out += draw_head(node) + draw_troubles(node) + draw_gpus(node, rows) + draw_tests(rows) + draw_wrong(a);
  out += draw_figures(node, rows) + draw_time(node, rows) + draw_counters(rows) + draw_kernel(node) + draw_notes(node);
  return out + draw_raw(a) + page_end("muster accept");
}

}  // namespace muster::report
