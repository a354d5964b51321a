// muster bench detect: the detectors over a labelled corpus of kernel records, scrapes and job events.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/json_writer.h"
#include "commands.h"
#include "files.h"
#include "say.h"
#include "trial/decay.h"
#include "trial/detect_bench.h"

namespace muster::cmd {
namespace {

double round3(double v) { return static_cast<double>(static_cast<std::int64_t>(v * 1000 + 0.5)) / 1000; }

void write(JsonWriter& w, const trial::ClassMarks& m) {
  w.field("expected", m.expected).field("found", m.found).field("missed", m.missed).field("false_alarms", m.wrong);
  w.field("precision", round3(m.precision())).field("recall", round3(m.recall()));
}

void write(JsonWriter& w, std::string_view name, const std::vector<std::string>& lines) {
  w.key(name).array();
  for (const std::string& l : lines) w.value(l);
  w.end_array();
}

void write(JsonWriter& w, const trial::DecayReport& d) {
  w.key("prediction").object().field("parts", d.parts).field("days", d.days).field("failures", d.failures);
  w.field("announced", d.announced).field("warned", d.warned).field("warnings", d.warnings).field("came", d.came);
  w.field("precision", round3(d.precision())).field("recall", round3(d.recall()));
  w.field("lead_h_p50", round3(d.lead_h_p50))
      .field("lead_h_p10", round3(d.lead_h_p10))
      .field("said_pct", d.said_pct())
      .end_object();
}

std::string render_text(const trial::DecayReport& d) {
  return fmt::format(
      "\nWarnings before failures, on {} simulated parts over {} days that nothing was tuned on:\n"
      "{} failed, {} of them after errors that multiplied; {} of these were warned of (recall {:.3f})\n"
      "{} warnings, {} came true within a week (precision {:.3f}, said: {} %)\n"
      "lead before the failure: median {:.1f} h, nine in ten at least {:.1f} h\n",
      d.parts, d.days, d.failures, d.announced, d.warned, d.recall(), d.warnings, d.came, d.precision(), d.said_pct(),
      d.lead_h_p50, d.lead_h_p10);
}

std::string render_json(const trial::DetectReport& r, const trial::DecayReport& d) {
  JsonWriter w;
  w.object().field("cases", r.cases).field("quiet_cases", r.quiet).field("refused_lines", r.refused_lines);
  write(w, r.all);
  w.key("classes").object();
  for (const auto& [kind, m] : r.classes) {
    w.key(name_of(kind)).object();
    write(w, m);
    w.field("latency_s", round3(m.found == 0 ? 0 : m.latency_s_sum / static_cast<double>(m.found))).end_object();
  }
  w.end_object();
  write(w, d);
  write(w, "misses", r.misses);
  write(w, "false_alarm_list", r.false_alarms);
  w.end_object();
  return w.take() + "\n";
}

std::string render_text(const trial::DetectReport& r) {
  std::string s =
      fmt::format("{} cases, in {} of them nothing is wrong; {} lines of scrapes refused\n\n", r.cases, r.quiet, r.refused_lines);
  s += fmt::format("{:<20} {:>8} {:>6} {:>7} {:>6} {:>10} {:>7} {:>9}\n", "CLASS", "EXPECTED", "FOUND", "MISSED", "FALSE",
                   "PRECISION", "RECALL", "AFTER_S");
  const auto row = [&](std::string_view name, const trial::ClassMarks& m, std::string after) {
    s += fmt::format("{:<20} {:>8} {:>6} {:>7} {:>6} {:>10.3f} {:>7.3f} {:>9}\n", name, m.expected, m.found, m.missed, m.wrong,
                     m.precision(), m.recall(), after);
  };
  for (const auto& [kind, m] : r.classes)
    row(name_of(kind), m, m.found == 0 ? "-" : fmt::format("{:.0f}", m.latency_s_sum / static_cast<double>(m.found)));
  row("all", r.all, "");
  for (const std::string& l : r.misses) s += "missed       " + l + "\n";
  for (const std::string& l : r.false_alarms) s += "false alarm  " + l + "\n";
  return s;
}

Result<std::vector<trial::Case>> load(const std::string& folder) {
  std::error_code ec;
  std::vector<std::string> files;
  for (const auto& e : std::filesystem::directory_iterator(folder, ec)) {
    if (e.path().extension() == ".cases") files.push_back(e.path().string());
  }
  if (ec) return tl::unexpected(file_error("read", folder, ec.value()));
  if (files.empty())
    return fail(Code::not_found, fmt::format("no *.cases files in '{}'", folder), "name the corpus with --corpus DIR");
  std::sort(files.begin(), files.end());
  std::vector<trial::Case> out;
  for (const std::string& f : files) {
    auto text = read_file(f);
    if (!text) return tl::unexpected(text.error());
    auto cases = trial::parse_corpus(*text, std::filesystem::path(f).filename().string());
    if (!cases) return tl::unexpected(cases.error());
    out.insert(out.end(), std::make_move_iterator(cases->begin()), std::make_move_iterator(cases->end()));
  }
  return out;
}

}  // namespace

int run_bench_detect(const BenchDetectOptions& o) {
  const auto cases = load(o.corpus);
  if (!cases) return say_error(cases.error());
  const trial::DetectReport report = trial::bench_detect(*cases);
  constexpr std::uint64_t kUnseen = 101;  // a seed that no threshold was chosen on
  const trial::DecayReport decay = trial::bench_decay(kUnseen, 200);
  put(o.format == report::Format::json ? render_json(report, decay) : render_text(report) + render_text(decay));
  return 0;
}

}  // namespace muster::cmd
