#include "record_reading.h"

#include <fmt/core.h>

#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/verify.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"
#include "report/shadow_report.h"
#include "report/units.h"
#include "report/why.h"
#include "tool_sheets.h"

namespace muster::cmd {
namespace {

constexpr std::uint64_t kProgressEvery = 4096;

// Opening looks at the end of the chain first, and so may name an event after the one that was changed: the whole is walked from
// the first event to name the right one.
Error located(const std::string& path, const Error& e) {
  if (e.code != Code::corrupt) return e;
  const auto report = sqlite::verify(path);
  if (!report || report->ok()) return e;
  const std::string what =
      report->first_bad ? fmt::format("{}: the chain breaks at event {}: {}", printable(path), *report->first_bad, report->what)
                        : fmt::format("{}: the file is damaged: {}", printable(path), report->structure);
  return {Code::corrupt, what,
          fmt::format("nothing is told from a record that was changed. {} events before it are sound: `muster journal export {} "
                      "--to {}` saves them",
                      report->events, printable(path), report->events)};
}

// Hands every event of the journal to `take`, each hash checked.
Result<report::Provenance> read_all(const std::string& path, const std::function<void(const Event&)>& take,
                                    const std::function<void(double)>& progress) {
  auto journal = sqlite::open({.path = path, .read_only = true});
  if (!journal) return tl::unexpected(located(path, journal.error()));
  report::Provenance source{(*journal)->id(), 0, {}};
  const double last = static_cast<double>((*journal)->last_seq());
  Digest digest{};
  std::optional<Error> unreadable;
  const auto read = (*journal)->read_bytes(1, [&](const sqlite::StoredEvent& stored) {
    const auto value = parse_json(stored.bytes);
    const auto event = value ? decode_event(*value) : Result<Event>(tl::unexpected(value.error()));
    if (!event) {
      unreadable = Error{event.error().code,
                         fmt::format("{}: event {} cannot be understood: {}", printable(path), stored.seq, event.error().what),
                         event.error().next};
      return false;
    }
    take(*event);
    source.events = stored.seq;
    digest = stored.hash;
    if (progress && stored.seq % kProgressEvery == 0 && last > 0) progress(static_cast<double>(stored.seq) / last);
    return true;
  });
  if (unreadable) return tl::unexpected(*unreadable);
  if (!read) return tl::unexpected(located(path, read.error()));
  source.digest = render_hex(digest);
  return source;
}

using Answer = Result<std::string> (report::Inquiry::*)(const report::Provenance&) const;

Result<std::string> ask(const std::string& path, std::string_view what, Answer answer,
                        const std::function<void(double)>& progress, const State* newest = nullptr) {
  report::Inquiry inquiry(what, newest);
  const auto source = read_all(
      path, [&](const Event& e) { inquiry.take(e); }, progress);
  if (!source) return tl::unexpected(source.error());
  return (inquiry.*answer)(*source);
}

}  // namespace

Result<std::string> why_from_journal(const std::string& path, const std::string& what,
                                     const std::function<void(double)>& progress, const State* newest) {
  return ask(path, what, &report::Inquiry::why, progress, newest);
}

Result<std::string> incident_from_journal(const std::string& path, const std::string& id,
                                          const std::function<void(double)>& progress) {
  return ask(path, "incident " + id, &report::Inquiry::incident_report, progress);
}

Result<std::string> shadow_from_journal(const std::string& path, const std::function<void(double)>& progress) {
  report::ShadowStory story;
  const auto source = read_all(
      path, [&](const Event& e) { story.take(e); }, progress);
  if (!source) return tl::unexpected(source.error());
  return story.json(*source);
}

Result<std::string> ShadowReportTool::call(const Value& input) {
  if (const auto ok = check_question(input, "shadow_report"); !ok) return tl::unexpected(ok.error());
  return shadow_from_journal(journal_);
}

Result<std::string> IncidentReportTool::call(const Value& input) {
  if (const auto ok = check_question(input, "incident_report"); !ok) return tl::unexpected(ok.error());
  const Value* id = input.find("id");
  if (id == nullptr || id->string() == nullptr || !parse_uint(*id->string())) {
    return fail(Code::bad_input, "an incident is named by its number", "{\"id\": \"7\"}");
  }
  return incident_from_journal(journal_, *id->string());
}

}  // namespace muster::cmd
