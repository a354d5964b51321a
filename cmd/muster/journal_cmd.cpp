// `muster journal`: checks and prints the record of everything that happened. Both only read, also beside a running
// controller.
#include <fmt/format.h>

#include "adapters/sqlite/verify.h"
#include "adapters/state/state_dir.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "commands.h"
#include "model/event.h"
#include "progress.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

std::string journal_at(const std::string& file, const std::string& state) {
  return file.empty() ? state_path(state) + "/journal.db" : file;
}

void put_json(const std::string& path, const sqlite::VerifyReport& r) {
  JsonWriter w;
  w.object().field("file", path).field("ok", r.ok()).field("journal_id", r.journal_id).field("events", r.events);
  w.field("digest", render_hex(r.head));
  w.key("first_bad");
  if (r.first_bad) w.value(*r.first_bad);
  else w.null();
  w.field("what", r.what).field("structure", r.structure).key("bad_snapshots").array();
  for (const auto seq : r.bad_snapshots) w.value(seq);
  w.end_array().end_object();
  put(w.take() + "\n");
}

void put_words(const std::string& path, const sqlite::VerifyReport& r) {
  put(fmt::format("file      {}\njournal   {}\nevents    {} sound\ndigest    {}\n", printable(path),
                  printable(r.journal_id), report::render_count(static_cast<std::int64_t>(r.events)),
                  render_hex(r.head)));
  if (!r.bad_snapshots.empty()) {
    put(fmt::format("snapshots {} not sound; they are passed over and do no harm\n", r.bad_snapshots.size()));
  }
  put(fmt::format("verdict   {}\n", r.ok() ? "every event is what was written, and the chain is whole" : "DAMAGED"));
}

}  // namespace

int run_journal_verify(const JournalVerifyOptions& o) {
  const auto path = journal_at(o.file, o.state);
  Result<sqlite::VerifyReport> report;
  {
    Progress progress("verify", o.progress);
    sqlite::VerifyOptions options;
    options.progress = [&](std::uint64_t seq, std::uint64_t last) {
      progress.update(last == 0 ? 1 : static_cast<double>(seq) / static_cast<double>(last));
    };
    report = sqlite::verify(path, options);
  }
  if (!report) return say_error(report.error());
  if (o.format == report::Format::json) put_json(path, *report);
  else put_words(path, *report);
  if (report->ok()) return 0;
  const std::string what = report->first_bad
                               ? fmt::format("event {} is not what was written: {}", *report->first_bad, report->what)
                               : fmt::format("the file is damaged: {}", report->structure);
  return say_error({Code::corrupt, what,
                    fmt::format("keep the file as it is; `muster journal export {} --to {}` saves what is sound", path,
                                report->events)});
}

int run_journal_export(const JournalExportOptions& o) {
  if (!o.type.empty() && std::find(kBodyNames.begin(), kBodyNames.end(), o.type) == kBodyNames.end()) {
    const std::vector<std::string> types(kBodyNames.begin(), kBodyNames.end());
    const auto meant = nearest(o.type, types);
    return say_error({Code::bad_input, fmt::format("there is no event type \"{}\"", o.type),
                      (meant ? "did you mean " + *meant + "? " : std::string()) + "types: " + join(types, ", ")});
  }
  if (o.to != 0 && o.to < o.from) return say_error({Code::bad_input, "--to is before --from", ""});
  const std::string mark = "\"type\":\"" + o.type + "\"";
  const auto done = sqlite::export_jsonl(journal_at(o.file, o.state), o.from, o.to, [&](std::string_view line) {
    // The envelope comes before the body, so the first "type" is the event's.
    const auto at = line.find("\"type\":\"");
    if (o.type.empty() || (at != std::string_view::npos && line.substr(at).starts_with(mark))) {
      put(line);
      put("\n");
    }
    return true;
  });
  return done ? 0 : say_error(done.error());
}

}  // namespace muster::cmd
