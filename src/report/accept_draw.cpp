#include "report/accept_draw.h"

#include <fmt/format.h>

#include "report/page.h"
#include "report/svg.h"

namespace muster::report {

namespace {

constexpr std::size_t kTextBytes = 900;

}  // namespace

std::string_view verdict_class(accept::Verdict v) {
  switch (v) {
    case accept::Verdict::pass: return "pass";
    case accept::Verdict::degraded: return "degraded";
    case accept::Verdict::could_not_run: return "could_not_run";
    case accept::Verdict::fail: break;
  }
  return "fail";
}

std::string verdict_tag(accept::Verdict v) {
  return fmt::format("<span class=\"v {}\">{} {}</span>", verdict_class(v), mark_of(v), name_of(v));
}

std::string accept_text(std::string_view s) { return brief(s, kTextBytes); }

std::string scroll_begin(std::string_view label, std::string_view table_class) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"{}\">", escape(label),
                     table_class);
}

void fact(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, accept_text(value));
}

void draw_trouble(std::string& out, const accept::Trouble& t, const std::string& who) {
  out += fmt::format("<article class=\"trouble\" style=\"--verdict:var(--{})\"><h3>{} {}: {}</h3><dl><dt>part</dt><dd>{}</dd>",
                     verdict_class(t.verdict), verdict_tag(t.verdict), accept_text(who), accept_text(t.what), name_of(t.part));
  out += fmt::format("<dt>test</dt><dd>{}: {}</dd>", name_of(t.test), test_words(t.test));
  if (!t.evidence.empty()) out += fmt::format("<dt>evidence</dt><dd>{}</dd>", accept_text(t.evidence));
  if (!t.next.empty()) out += fmt::format("<dt>next step</dt><dd>{}</dd>", accept_text(t.next));
  out += "</dl></article>\n";
}

std::string folded(std::string_view title, std::string_view text) {
  std::string out = fmt::format("<details><summary>{}</summary><pre class=\"raw\">", escape(title));
  // Its lines stay lines: only what stands in them is made printable.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += escape(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out + "</pre></details>\n";
}

}  // namespace muster::report
