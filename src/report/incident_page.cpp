// The incident report for people: plain text for a terminal, Markdown for a ticket or a mail.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "report/incident_report.h"
#include "report/table.h"
#include "report/units.h"
#include "report/why.h"

namespace muster::report {
namespace {

class Sheet {
 public:
  Sheet(bool markdown, const Page& page) : markdown_(markdown), page_(page) {}

  void title(const std::string& text) {
    out_ += markdown_ ? "# " + escape_markdown(text) + "\n" : wrap(printable(text), page_.width, 0) + "\n";
  }
  void heading(std::string_view text) {
    out_ += markdown_ ? fmt::format("\n## {}\n\n", text) : fmt::format("\n{}\n", paint(text, Tone::dim, page_.colour));
  }
  void paragraph(const std::string& text) {
    out_ += markdown_ ? "\n" + escape_markdown(text) + "\n" : wrap(printable(text), page_.width, 0) + "\n";
  }
  void bullet(const std::string& text) {
    out_ += markdown_ ? "- " + escape_markdown(text) + "\n" : "  - " + wrap(printable(text), page_.width, 4) + "\n";
  }
  // As it was seen: in Markdown a block of code, which no text of one line can end.
  void verbatim(const std::string& text) {
    out_ += markdown_ ? "    " + printable(text) + "\n" : "  - " + wrap(printable(text), page_.width, 4) + "\n";
  }
  void table(const Table& t) {
    if (!markdown_) {
      const std::string text = render_table(t, {true, false, page_.colour});
      for (const auto line : split(trim_end(text), '\n')) out_ += fmt::format("  {}\n", line);
      return;
    }
    out_ += render_markdown(t);
  }
  bool markdown() const { return markdown_; }
  const Page& page() const { return page_; }
  void raw(const std::string& text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  static std::string_view trim_end(std::string_view s) {
    while (!s.empty() && s.back() == '\n') s.remove_suffix(1);
    return s;
  }
  bool markdown_;
  Page page_;
  std::string out_;
};

std::string span_of(const Value& v, std::string_view key) {
  const auto s = number_of(v, key);
  return s ? render_duration(from_seconds(*s)) : std::string("-");
}

std::string hours_of(const Value& v, std::string_view key) {
  const double h = number_of(v, key).value_or(0);
  return fmt::format("{:.{}f}", h, h < 10 ? 2 : 0);
}

void add_affected(Sheet& s, const Value& report) {
  const Value* a = report.find("affected");
  if (a == nullptr) return;
  s.heading("What was affected");
  s.bullet(text_of(*a, "where"));
  const std::string uuid = text_of(*a, "uuid");
  const auto slot = number_of(*a, "gpu_slot");
  if (slot && *slot >= 0 && uuid.empty()) s.bullet("UUID and serial number of the GPU are not known: no agent has told them");
  for (const auto& r : list_of(*a, "replaced")) s.bullet("replaced: " + (r.string() ? *r.string() : ""));
  const std::string money = text_of(*a, "money");
  const auto some = [&](std::string_view key, std::string_view words) {
    return number_of(*a, key).value_or(0) > 0 ? fmt::format(", {} {}", hours_of(*a, key), words) : std::string();
  };
  s.bullet(fmt::format("{} GPU-hours in all: {} of work lost since checkpoints{}{}, {} out of service{}",
                       hours_of(*a, "total_gpu_hours"), hours_of(*a, "lost_gpu_hours"),
                       some("starting_gpu_hours", "of starts in vain"), some("slow_gpu_hours", "of gangs that were slow"),
                       hours_of(*a, "out_of_service_gpu_hours"),
                       money.empty() ? "" : "; " + render_money(number_of(*a, "money").value_or(0), text_of(*a, "currency"))));
  if (const std::string assumed = text_of(*a, "price_assumed"); !money.empty() && !assumed.empty())
    s.bullet("the price of a GPU-hour is assumed: " + assumed);
  const auto& jobs = list_of(*a, "jobs");
  for (const auto& id : list_of(*a, "jobs_present")) {
    const auto same = [&](const Value& j) { return id.string() != nullptr && text_of(j, "job") == *id.string(); };
    if (id.string() != nullptr && std::none_of(jobs.begin(), jobs.end(), same))
      s.bullet(fmt::format("job {} had the node when it began, and lost no attempt by it", *id.string()));
  }
  if (jobs.empty()) return s.bullet("no job lost an attempt");
  Table t;
  t.columns = {{"JOB"},
               {"NAME"},
               {"USER"},
               {"GPUS", true},
               {"END"},
               {"STOPPED"},
               {"RAN AGAIN AFTER", true},
               {"STEPS LOST", true},
               {"GPU-HOURS LOST", true}};
  for (const auto& j : jobs) {
    const bool again = !text_of(j, "restarted_utc").empty();
    t.rows.push_back({Cell(text_of(j, "job")), Cell(text_of(j, "name")), Cell(text_of(j, "user")), Cell(text_of(j, "gpus")),
                      Cell(text_of(j, "end")), Cell(text_of(j, "stopped_utc")),
                      Cell(again                              ? span_of(j, "waited_s")
                           : text_of(j, "given_up") == "true" ? "given up"
                                                              : "not yet"),
                      Cell(text_of(j, "lost_steps")), Cell(hours_of(j, "lost_gpu_hours"))});
  }
  if (s.markdown()) s.raw("\n");
  s.table(t);
}

void add_times(Sheet& s, const Value& report) {
  s.heading("Where the time went");
  Table t;
  t.columns = {{"PHASE"}, {"TIME", true}, {"SHARE", true}};
  for (const auto& p : list_of(report, "phases")) {
    t.rows.push_back({Cell(text_of(p, "words")), Cell(span_of(p, "seconds")), Cell(render_percent(number_of(p, "share")))});
  }
  t.rows.push_back({Cell("in all"), Cell(span_of(report, "total_s")), Cell("")});
  s.table(t);
  s.heading("Timeline (UTC)");
  Table rows;
  rows.columns = {{"TIME"}, {"AFTER", true}, {"WHAT"}};
  for (const auto& m : list_of(report, "timeline")) {
    rows.rows.push_back({Cell(text_of(m, "at_utc")), Cell(span_of(m, "after_s")), Cell(text_of(m, "what"))});
  }
  s.table(rows);
  if (const auto n = number_of(report, "timeline_left_out"); n && *n > 0)
    s.bullet(fmt::format("{} moments in the middle left out", *n));
}

std::string quoted(const Value& x) {
  const std::string ref = text_of(x, "ref");
  return fmt::format("{} {} finding {} ({}): {}{}", text_of(x, "at_utc"), text_of(x, "witness"), text_of(x, "finding"),
                     text_of(x, "kind"), text_of(x, "text"), ref.empty() ? "" : " [" + ref + "]");
}

void add_evidence(Sheet& s, const Value& report) {
  s.heading("Evidence, as it was seen");
  for (const auto& x : list_of(report, "evidence")) s.verbatim(quoted(x));
  if (const auto n = number_of(report, "evidence_left_out"); n && *n > 0) {
    if (s.markdown()) s.raw("\n");
    s.bullet(fmt::format("{} later lines left out", *n));
  }
}

// One code block a decision: the same lines as in the terminal.
void add_decisions(Sheet& s, const Value& report) {
  s.heading("What was done, and why");
  if (list_of(report, "decisions").empty()) return s.bullet("nothing");
  Page page = s.page();
  if (s.markdown()) page = {false, 110, {}};
  const std::string text = render_decision_list(report, page, true);
  if (!s.markdown()) return s.raw(text.substr(text.starts_with('\n') ? 1 : 0));
  for (const auto line : split(text, '\n')) s.raw(line.empty() ? "\n" : fmt::format("    {}\n", line));
}

void add_limits(Sheet& s, const Value& report) {
  s.heading("What limits held back");
  for (const auto& h : list_of(report, "held_back")) {
    const auto times = number_of(h, "times");
    s.bullet(fmt::format("{} {}: {}{}", text_of(h, "at_utc"), text_of(h, "verb"), text_of(h, "limit"),
                         times && *times > 1 ? fmt::format(" ({} times, last {})", *times, text_of(h, "last_utc")) : ""));
  }
  for (const auto& f : list_of(report, "frozen")) s.bullet("frozen: " + (f.string() ? *f.string() : ""));
  if (list_of(report, "held_back").empty() && list_of(report, "frozen").empty()) s.bullet("nothing");
}

std::string render_page(const Value& report, Sheet s) {
  s.title(text_of(report, "title"));
  s.paragraph(text_of(report, "summary"));
  const std::string now = text_of(report, "what_now");
  s.heading(now.empty() ? "How it ended" : "What to do now");
  s.bullet(now.empty() ? text_of(report, "resolution") : now);
  add_affected(s, report);
  add_times(s, report);
  add_evidence(s, report);
  add_decisions(s, report);
  add_limits(s, report);
  if (const std::string dossier = text_of(report, "dossier"); !dossier.empty()) {
    s.heading("Dossier for whoever replaces the part");
    for (const auto line : split(dossier, '\n')) {
      if (!line.empty()) s.verbatim(std::string(line));
    }
  }
  s.heading("Where this comes from");
  if (const Value* r = report.find("record")) {
    s.bullet(fmt::format("cluster {}, journal {}, events {} to {} of {}, each hash checked; digest {}; as of {}",
                         text_of(report, "cluster"), text_of(*r, "journal"), text_of(*r, "first_event"),
                         text_of(*r, "last_event"), text_of(*r, "events"), text_of(*r, "digest"), text_of(*r, "as_of_utc")));
  }
  return s.take();
}

}  // namespace

std::string render_incident_text(const Value& report, const Page& page) { return render_page(report, Sheet(false, page)); }
std::string render_incident_markdown(const Value& report) { return render_page(report, Sheet(true, {})); }

}  // namespace muster::report
