// The diagnosis as one page that asks nothing of any network: no script, no picture, no font that is not in it. All text in it is
// untrusted and escaped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/fields.h"
#include "report/diagnosis_draw.h"
#include "report/diagnosis_style.h"
#include "report/svg.h"

namespace muster::report {
namespace {

using diagnose::Bound;
using diagnose::Finding;
using diagnose::Profile;

constexpr std::size_t kFindingsMost = 24;  // on the page; the rest is in the JSON
constexpr std::size_t kEvidenceMost = 12;  // lines of one finding
constexpr std::size_t kLinesMost = 400;    // of one part
constexpr std::size_t kStacksMost = 32;    // ranks
constexpr std::size_t kTextBytes = 2000;   // of any one text
constexpr double kDay = 24;

std::string_view words(Bound b) {
  switch (b) {
    case Bound::compute: return "kernels that its arithmetic limits";
    case Bound::memory: return "kernels that its memory limits";
    case Bound::communication: return "exchanges with nothing computed beside them";
    case Bound::input: return "idle: the host fetches a batch";
    case Bound::launch: return "idle: the host issues work too slowly";
    case Bound::sync: return "idle: the host had waited for the GPU";
    case Bound::copy: return "copies with nothing run beside them";
    case Bound::pipeline: return "the pipeline's bubble";
    case Bound::dependency: return "idle: work waited for another stream";
    case Bound::other: break;
  }
  return "idle: the profile does not show why";
}

std::string text(std::string_view s) { return brief(s, kTextBytes); }

std::string sentence(std::string_view s) {
  std::string out = printable(s);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  if (!out.empty() && !out.ends_with('.')) out += '.';
  out = text(out);
  for (auto at = out.find(" %"); at != out.npos; at = out.find(" %", at)) out.replace(at, 1, "&nbsp;");
  return out;
}

std::size_t drawn(const Diagnosis& d) {
  return static_cast<std::size_t>(
      std::count_if(d.profiles.begin(), d.profiles.end(), [](const Profile& p) { return !p.line.events.empty(); }));
}

double mean_step_ms(const Diagnosis& d) {
  double sum = 0;
  for (const Profile& p : d.profiles) sum += p.line.events.empty() ? 0 : static_cast<double>(p.line.step_ns()) / 1e6;
  return drawn(d) > 0 ? sum / static_cast<double>(drawn(d)) : 0;
}

void fact(std::string_view name, const std::string& value, std::string& out) {
  if (!value.empty()) out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
}

std::string facts_of(const Diagnosis& d) {
  const Profile* p = first_drawn(d);
  if (p == nullptr) return {};
  const diagnose::Shares shares = mean_shares(d);
  std::size_t steps = SIZE_MAX;
  for (const Profile& q : d.profiles) steps = q.line.events.empty() ? steps : std::min(steps, q.line.steps.size());
  std::string out;
  const auto device = static_cast<std::size_t>(std::max<int>(0, p->line.device));
  fact("step", fmt::format("{:.4g} ms", mean_step_ms(d)), out);
  fact(
      "GPU in kernels",
      fmt::format("{:.1f} %", shares[static_cast<std::size_t>(Bound::compute)] + shares[static_cast<std::size_t>(Bound::memory)]),
      out);
  fact("steps", std::to_string(steps), out);
  const std::string of = p->trace->ranks && *p->trace->ranks > d.profiles.size() ? fmt::format(" of {}", *p->trace->ranks) : "";
  fact("ranks", std::to_string(d.profiles.size()) + of, out);
  fact("GPU", device < p->trace->gpus.size() ? brief(p->trace->gpus[device], 60) : escape(d.peaks.gpu), out);
  if (d.profiles.size() == 1) fact("file", brief(p->file, 80), out);
  return "<dl class=\"facts\">" + out + "</dl>";
}

std::string verdict_of_page(const Diagnosis& d) {
  const std::size_t n = d.findings.size();
  if (d.verdict.sentence.empty())
    return fmt::format(
        "<header id=\"verdict\"><h1>{}</h1><p class=\"note\">No profile of a GPU is among these files: what bounds a "
        "step is not known.</p></header>\n",
        n > 1   ? fmt::format("{} findings", n)
        : n > 0 ? "1 finding"
                : "Nothing found to change");
  const std::string_view bound = name_of(d.verdict.bound);
  const bool known = d.verdict.bound != Bound::other && !d.verdict.nameless;
  return fmt::format(
      "<header id=\"verdict\" style=\"--bound:var(--{0})\"><div><span class=\"bound\">{1}{2}</span><span "
      "class=\"sure\">confidence: "
      "{3}</span></div><h1>{4}</h1>{5}</header>\n",
      bound, swatch(bound), known ? fmt::format("Bound by {}", bound) : "What bounds it is not known",
      name_of(d.verdict.confidence), sentence(d.verdict.sentence), facts_of(d));
}

std::string low_to_high(double low, double high, std::string_view before = "") {
  const std::string a = render_thousands(low), b = render_thousands(high);
  return a == b ? fmt::format("{}{}", before, a) : fmt::format("{0}{1} – {0}{2}", before, a, b);
}

std::string gain_of(const Finding& f, const Diagnosis& d) {
  std::string out = "<aside>";
  if (f.gain) {
    const double low = f.gain->low_pct, high = f.gain->high_pct;
    const double from = within(low, 100), to = std::max(from, within(high, 100));
    out += fmt::format(
        "<div class=\"gain\">{:.0f} – {:.0f} % <small>of the step saved</small></div><div class=\"track\" "
        "title=\"of the step\"><i style=\"left:{:.1f}%;width:{:.1f}%\"></i></div>",
        low, high, std::min(from, 98.5), to - from);
    out += "<dl>";
    if (d.gpus > 0) {
      const double hours = kDay * d.gpus / 100;
      out += fmt::format("<dt>GPU-hours a day</dt><dd>{}</dd>", low_to_high(low * hours, high * hours));
      if (d.price > 0)
        out += fmt::format("<dt>dollars a day</dt><dd>{}</dd>", low_to_high(low * hours * d.price, high * hours * d.price, "$"));
    }
  } else {
    out += "<dl><dt>gain</dt><dd>cannot be told</dd>";
  }
  return out + fmt::format("<dt>confidence</dt><dd>{}</dd></dl></aside>", name_of(f.confidence));
}

void draw_finding(const Finding& f, std::size_t number, const Diagnosis& d, std::string& out) {
  out += fmt::format("<article class=\"finding\"><h3><b>{}</b>{}</h3><div>", number, text(f.title));
  if (!f.evidence.empty()) {
    out += "<ul>";
    for (std::size_t i = 0; i < std::min(kEvidenceMost, f.evidence.size()); ++i) out += "<li>" + text(f.evidence[i]) + "</li>";
    if (f.evidence.size() > kEvidenceMost)
      out += fmt::format("<li>and {} more lines (-o json)</li>", f.evidence.size() - kEvidenceMost);
    out += "</ul>";
  }
  if (!f.achieved.empty() && !f.expected.empty())
    out += fmt::format("<p class=\"pair\">achieved <b>{}</b>, expected <b>{}</b></p>", text(f.achieved), text(f.expected));
  if (!f.remedy.empty()) {
    out += "<code class=\"do\">";
    bool first = true;
    for (const std::string_view line : split(f.remedy, '\n')) {
      out += (first ? "" : "\n") + text(line);
      first = false;
    }
    out += "</code>";
  }
  if (!f.verify.empty()) out += "<p class=\"then\">Then: " + text(f.verify) + "</p>";
  out += "</div>" + gain_of(f, d) + "</article>\n";
}

std::string draw_findings(const Diagnosis& d) {
  if (d.findings.empty()) return {};
  std::string out = "<section id=\"findings\"><h2>If you did this</h2>\n";
  for (std::size_t i = 0; i < std::min(kFindingsMost, d.findings.size()); ++i) draw_finding(d.findings[i], i + 1, d, out);
  if (d.findings.size() > kFindingsMost)
    out += fmt::format("<p class=\"note\">{} more findings are in the JSON (-o json).</p>", d.findings.size() - kFindingsMost);
  return out + "</section>\n";
}

std::string draw_part(const DiagnosisPart& p) {
  if (p.title.empty() && p.words.empty()) return {};
  std::string out =
      fmt::format("<section class=\"part\"><h2>{}</h2><pre class=\"words\">", text(p.title.empty() ? p.key : p.title));
  for (std::size_t i = 0; i < std::min(kLinesMost, p.words.size()); ++i) out += text(p.words[i]) + "\n";
  out += "</pre>";
  if (p.words.size() > kLinesMost)
    out += fmt::format("<p class=\"note\">{} more lines (-o text)</p>", p.words.size() - kLinesMost);
  return out + "</section>\n";
}

std::string draw_cannot(const Diagnosis& d) {
  if (d.cannot.empty()) return {};
  std::string out = "<section id=\"cannot\"><h2>What these files cannot say</h2><ul class=\"plain\">";
  for (std::size_t i = 0; i < std::min(kLinesMost, d.cannot.size()); ++i) out += "<li>" + text(d.cannot[i]) + "</li>";
  return out + "</ul></section>\n";
}

// Work first, then what is lost, the most first.
std::vector<std::size_t> order_of(const diagnose::Shares& shares) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) {
    if (shares[b] > 0) out.push_back(b);
  }
  const auto work = [](std::size_t b) { return b <= static_cast<std::size_t>(Bound::memory); };
  std::stable_sort(out.begin(), out.end(), [&](std::size_t x, std::size_t y) {
    return work(x) != work(y) ? work(x) : !work(x) && shares[x] > shares[y];
  });
  return out;
}

// One bar for each rank: which of them is not like the others.
std::string draw_stacks(const Diagnosis& d, const std::vector<std::size_t>& order) {
  double most_ms = 0;
  for (const Profile& p : d.profiles) most_ms = std::max(most_ms, static_cast<double>(p.line.step_ns()) / 1e6);
  if (drawn(d) < 2 || most_ms <= 0) return {};
  std::string out = "<div class=\"stacks\">";
  std::size_t n = 0;
  for (const Profile& p : d.profiles) {
    if (p.line.events.empty() || ++n > kStacksMost) continue;
    const double ms = static_cast<double>(p.line.step_ns()) / 1e6;
    out += fmt::format("<span>{}</span><span class=\"track\">", rank_title(p));
    for (const std::size_t b : order) {
      if (p.shares[b] <= 0) continue;
      const double part = p.shares[b] / 100 * ms;
      out += fmt::format("<i class=\"{0}\" style=\"width:{1:.3f}%\" title=\"{0}: {2:.4g} ms, {3:.1f} %\"></i>", names(Bound{})[b],
                         within(100 * part / most_ms, 100), part, p.shares[b]);
    }
    out += fmt::format("</span><span class=\"n\">{:.3f} ms</span>\n", ms);
  }
  out += "</div>";
  if (n > kStacksMost) out += fmt::format("<p class=\"note\">{} more ranks are not drawn.</p>", n - kStacksMost);
  return out;
}

// What the classes alone do not show of exchanges.
std::string exchange_note(const Diagnosis& d) {
  double beside = 0, wait = 0, transfer = 0, n = 0;
  for (const Profile& p : d.profiles) {
    if (p.line.events.empty() || p.line.steps.empty()) continue;
    const diagnose::PartTimes parts = p.line.parts();
    const double a_step = 1e6 * static_cast<double>(p.line.steps.size());
    const auto ms = [&](diagnose::Part x) { return static_cast<double>(parts[static_cast<std::size_t>(x)]) / a_step; };
    beside += ms(diagnose::Part::compute_beside);
    wait += ms(diagnose::Part::wait);
    transfer += ms(diagnose::Part::transfer);
    ++n;
  }
  if (n <= 0 || beside + wait + transfer <= 0) return {};
  std::string out = "<p class=\"note aside\">";
  if (d.waits && wait + transfer > 0)
    out +=
        fmt::format("Of the exchanges alone, {:.3f} ms a step wait for a peer and {:.3f} ms move data. ", wait / n, transfer / n);
  if (beside > 0)
    out += fmt::format("Kernels run with an exchange beside them for {:.3f} ms a step: that much of the exchanges is hidden.",
                       beside / n);
  return out + "</p>";
}

}  // namespace

std::string rank_title(const Profile& p) { return p.trace->rank ? fmt::format("rank {}", *p.trace->rank) : brief(p.file, 40); }

std::string render_length(std::int64_t ns) {
  const auto v = static_cast<double>(ns);
  if (v < 1e3) return fmt::format("{} ns", ns);
  if (v < 1e6) return fmt::format("{:.4g} µs", v / 1e3);
  return v < 1e9 ? fmt::format("{:.4g} ms", v / 1e6) : fmt::format("{:.4g} s", v / 1e9);
}

std::string_view colour_of(diagnose::Part part) {
  using diagnose::Part;
  switch (part) {
    case Part::compute:
    case Part::compute_beside: return "compute";
    case Part::wait:
    case Part::transfer: return "communication";
    case Part::pageable:
    case Part::pinned: return "copy";
    case Part::input:
    case Part::sync:
    case Part::launch:
    case Part::dependency:
    case Part::pipeline:
    case Part::other: break;
  }
  return name_of(part);
}

const Profile* first_drawn(const Diagnosis& d) {
  const auto it = std::find_if(d.profiles.begin(), d.profiles.end(), [](const Profile& p) { return !p.line.events.empty(); });
  return it == d.profiles.end() ? nullptr : &*it;
}

std::string draw_waterfall(const Diagnosis& d) {
  const std::size_t ranks = drawn(d);
  if (ranks == 0) return {};
  const diagnose::Shares shares = mean_shares(d);
  const std::vector<std::size_t> order = order_of(shares);
  const double step_ms = mean_step_ms(d);
  const bool ranged = ranks > 1;
  std::string out = fmt::format(
      "<section id=\"waterfall\"><h2>Where a step's time goes</h2>\n<div class=\"fall{}\"><span></span><span>"
      "</span><span class=\"n head\">%</span><span class=\"n head\">ms a step</span>{}\n",
      ranged ? " ranged" : "", ranged ? "<span class=\"n head range\">% over ranks</span>" : "");
  double before = 0;
  for (const std::size_t b : order) {
    const std::string_view name = names(Bound{})[b];
    out += fmt::format(
        "<span class=\"what\">{0}{1}<small>{2}</small></span><span class=\"track\"><i class=\"{1}\" "
        "style=\"left:{3:.3f}%;width:{4:.3f}%\"></i></span><span class=\"n\">{5}</span><span class=\"n\">{6:.3f}</span>",
        swatch(name), name, words(static_cast<Bound>(b)), within(before, 100), within(shares[b], 100),
        shares[b] < 0.05 ? "&lt; 0.1" : fmt::format("{:.1f}", shares[b]), shares[b] / 100 * step_ms);
    before += shares[b];
    if (ranged) {
      double low = 100, high = 0;
      for (const Profile& p : d.profiles) {
        if (p.line.events.empty()) continue;
        low = std::min(low, p.shares[b]);
        high = std::max(high, p.shares[b]);
      }
      out += fmt::format("<span class=\"n range\">{:.1f} – {:.1f}</span>", low, high);
    }
    out += "\n";
  }
  out += fmt::format(
      "<span class=\"sum\">step</span><span class=\"sum\"></span><span class=\"n sum\">{:.1f}</span><span class=\"n "
      "sum\">{:.3f}</span>{}</div>\n",
      before, step_ms, ranged ? "<span class=\"sum range\"></span>" : "");
  return out + draw_stacks(d, order) + exchange_note(d) + "</section>\n";
}

std::string diagnosis_page(const Diagnosis& d) {
  std::string styles(kDiagnosisStyle);
  const auto colour = [&styles](std::string_view name) {
    styles += fmt::format(".{0} {{ fill: var(--{0}); background: var(--{0}); }}\n", name);
  };
  for (std::size_t b = 0; b < diagnose::kBounds; ++b) colour(names(Bound{})[b]);
  for (std::size_t k = 0; k < names(diagnose::KernelKind{}).size(); ++k) colour(names(diagnose::KernelKind{})[k]);
  std::string title = "muster diagnose";
  if (!d.verdict.sentence.empty()) title += fmt::format(": {}", name_of(d.verdict.bound));
  std::string out = page_begin(title, styles);
  out += verdict_of_page(d) + draw_waterfall(d) + draw_findings(d) + draw_time_line(d) + draw_kernels(d) + draw_waits(d);
  for (const DiagnosisPart& p : d.parts) out += draw_part(p);
  out += draw_cannot(d);
  return out + page_end("muster diagnose");
}

}  // namespace muster::report
