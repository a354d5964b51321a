// `muster report month`: one page about a month, from a journal, a running Muster or a site's files.
#include <fmt/core.h>
#include <unistd.h>

#include "commands.h"
#include "files.h"
#include "ingest/json.h"
#include "month_gather.h"
#include "progress.h"
#include "report/document.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<report::Month> gather(const MonthOptions& o) {
  Result<GatheredMonth> g;
  {
    Progress progress("read", stderr_is_terminal() ? ProgressMode::automatic : ProgressMode::never);
    const auto told = [&](double done) { progress.update(done); };
    g = !o.files.sacct.empty() ? gather_month_files(o)
        : !o.journal.empty()   ? gather_month_journal(o, told)
                               : gather_month_server(o, told);
  }
  if (!g) return tl::unexpected(g.error());
  report::Month& m = g->month;
  m.target = o.target_pct / 100;
  if (auto ok = add_month_cost(m, o); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_month_charges(*g, o); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_month_quotas(*g, o); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_month_energy(m, o); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_month_capacity(m, o); !ok) return tl::unexpected(ok.error());
  add_month_commands(m, o);
  return std::move(m);
}

// As one word of a shell's line.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

std::string energy_numbers(const EnergyOptions& o) {
  std::string out;
  if (o.pue) out += fmt::format(" --pue {}", *o.pue);
  if (o.gap_s > 0) out += fmt::format(" --gap {}s", o.gap_s);
  return out;
}

std::string rendered(const report::Month& m, MonthFormat format) {
  switch (format) {
    case MonthFormat::json: return report::render_json(parse_json(report::month_json(m)).value());
    case MonthFormat::csv: return report::month_csv(m);
    case MonthFormat::html: break;
  }
  return report::month_page(m);
}

}  // namespace

report::MonthBounds month_asked(const MonthOptions& o, const ZoneOffsets& zone, Time first, Time last) {
  // Its middle is in that month on every clock.
  if (!o.month.empty()) return report::month_of(report::parse_utc(o.month + "-15T12:00:00Z").value_or(last), zone);
  const report::MonthBounds now = report::month_of(last, zone);
  if (last >= now.end) return now;
  const report::MonthBounds before = report::month_of(now.begin - nanoseconds(1), zone);
  return first <= before.begin ? before : now;
}

void add_month_commands(report::Month& m, const MonthOptions& o) {
  std::string from;
  const auto flag = [](std::string& to, const char* name, const std::string& value) {
    if (!value.empty()) to += fmt::format(" {} {}", name, shell_word(value));
  };
  flag(from, "--journal", o.journal);
  for (const std::string& f : o.files.sacct) flag(from, "--sacct", f);
  flag(from, "--nodes", o.files.nodes);
  flag(from, "--events", o.files.events);
  flag(from, "--activity", o.files.activity);
  flag(from, "--prometheus", o.files.prometheus);
  if (o.files.zone != "UTC") flag(from, "--zone", o.files.zone);
  const std::string stretch = fmt::format(" --from {} --to {}", render_utc(m.begin), render_utc(m.end));
  const auto add = [&](const char* part, std::string command) { m.commands.push_back({part, std::move(command)}); };
  add("from owned to useful", "muster account" + from + stretch);
  if (o.zone == "UTC") add("day by day", "muster account" + from + stretch + " --by day");
  for (const report::MonthTable& t : m.tables)
    m.commands.push_back(
        {t.by == "gpu_type" ? "by GPU type" : "by " + t.by, fmt::format("muster account{}{} --by {}", from, stretch, t.by)});
  if (!o.site.empty()) add("what it cost", "muster cost --site " + shell_word(o.site));
  if (m.failures_known) add("what failures cost", "muster account" + from + stretch + " --by fault");
  if (m.energy) {
    std::string files;
    for (const std::string& f : o.energy.power) flag(files, "--power", f);
    for (const std::string& f : o.files.sacct) flag(files, "--sacct", f);
    flag(files, "--tariff", o.energy.rates.tariff);
    flag(files, "--carbon", o.energy.rates.carbon);
    flag(files, "--gpu", o.energy.gpu);
    if (o.files.zone != "UTC") flag(files, "--zone", o.files.zone);
    files += energy_numbers(o.energy);
    add("energy and carbon", "muster energy" + files + stretch + " --by account");
  }
  std::string more;
  if (o.zone != "UTC") flag(more, "--tz", o.zone);
  for (const auto& [name, value] : {std::pair{"--site", &o.site},
                                    {"--currency", &o.currency},
                                    {"--rates", &o.rates},
                                    {"--ledger", &o.ledger},
                                    {"--allocations", &o.allocations},
                                    {"--capacity", &o.capacity},
                                    {"--tariff", &o.energy.rates.tariff},
                                    {"--carbon", &o.energy.rates.carbon},
                                    {"--gpu", &o.energy.gpu}})
    flag(more, name, *value);
  for (const std::string& f : o.energy.power) flag(more, "--power", f);
  if (o.price) more += fmt::format(" --price {}", *o.price);
  if (o.cost_per_year) more += fmt::format(" --cost-per-year {}", *o.cost_per_year);
  more += energy_numbers(o.energy);
  if (m.target != account::kEfficiencyTarget) more += fmt::format(" --target {}", o.target_pct);
  add("this report",
      fmt::format("muster report month{} --month {}{} -o csv", from, render_utc(m.wall(m.begin)).substr(0, 7), more));
}

int run_report_month(const MonthOptions& o) {
  if (!o.file.empty() && o.file != "-") {
    if (const auto ok = check_writable(o.file); !ok) return say_error(ok.error());
  }
  const auto m = gather(o);
  if (!m) return say_error(m.error());
  const std::string text = rendered(*m, o.format);
  const std::string usual =
      fmt::format("muster-report-{}-{}.html", report::file_word(m->cluster), render_utc(m->wall(m->begin)).substr(0, 7));
  const std::string file = !o.file.empty() ? o.file : o.format == MonthFormat::html ? usual : "-";
  if (file == "-") {
    put(text);
  } else {
    const bool there = ::access(file.c_str(), F_OK) == 0;
    if (const auto ok = write_file(file, text); !ok) return say_error(ok.error());
    say(fmt::format("{} {}: {}", there ? "replaced" : "wrote", file, report::month_name(m->wall(m->begin))));
  }
  if (!m->is_whole())
    say(fmt::format("not the whole of {}: it is known from {} to {}", report::month_name(m->wall(m->begin)),
                    render_utc(m->all.from), render_utc(m->all.to)));
  return finish_output();
}

}  // namespace muster::cmd
