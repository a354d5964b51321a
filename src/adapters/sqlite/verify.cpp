#include "adapters/sqlite/verify.h"

#include <fmt/core.h>

#include "adapters/sqlite/chain.h"
#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/layout.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"

namespace muster::sqlite {
namespace {

constexpr std::uint64_t kProgressEvery = 10'000;

// Empty when the bytes are the one canonical form of the event they hold.
std::string misread(std::string_view bytes) {
  const auto value = parse_json(bytes);
  if (!value) return "is not JSON: " + value.error().what;
  const auto event = decode_event(*value);
  if (!event) return "cannot be understood: " + event.error().what;
  if (encode_event(*event) != bytes) return "is not in canonical form";
  return {};
}

void check_events(Database& db, const VerifyOptions& o, std::uint64_t last, VerifyReport& report) {
  std::string problem;
  const Walk w = walk(db, 1, kToTheEnd, genesis(report.journal_id), [&](const StoredEvent& e) {
    if (o.progress && e.seq % kProgressEvery == 0) o.progress(e.seq, last);
    if (o.decode) problem = misread(e.bytes);
    return problem.empty();
  });
  report.events = w.next - 1;
  report.head = w.hash;
  report.what = w.stopped ? problem : w.what;
  if (!report.what.empty()) report.first_bad = w.next;
}

void check_head(const Result<Head>& head, VerifyReport& report) {
  if (report.first_bad) return;
  if (!head) {
    report.structure = head.error().what;
  } else if (head->seq > report.events) {
    report.first_bad = report.events + 1;
    report.what = fmt::format("is missing: the head names event {}", head->seq);
  } else if (head->seq < report.events) {
    report.structure = fmt::format("the head names event {}, but the chain goes on to {}", head->seq, report.events);
  } else if (head->hash != report.head) {
    report.structure = "the head's hash is not that of the last event";
  }
}

void check_pages(Database& db, VerifyReport& report) {
  const auto said = db.text("PRAGMA quick_check(1)");
  const std::string problem = said ? (*said == "ok" ? "" : *said) : said.error().what;
  if (!problem.empty() && report.structure.empty()) report.structure = problem;
}

void check_snapshots(Database& db, VerifyReport& report) {
  auto list = db.prepare("SELECT seq, fold_version, bytes, hash FROM snapshot ORDER BY seq");
  if (!list) return;
  for (auto row = list->step(); row && *row; row = list->step()) {
    const std::uint64_t seq = list->integer(0);
    const auto at = load_hash(db, seq, report.journal_id);
    const auto version = static_cast<std::uint32_t>(list->integer(1));
    if (!at || list->bytes(3) != as_text(seal_snapshot(*at, version, list->bytes(2)))) report.bad_snapshots.push_back(seq);
  }
}

Result<Database> open_known(const Location& at) {
  const auto there = file_exists(at);
  if (!there) return tl::unexpected(there.error());
  if (!*there) return fail(Code::not_found, fmt::format("there is no journal {}", printable(at.path)));
  if (auto r = check_file(at); !r) return tl::unexpected(r.error());
  return open_for_reading(at);
}

}  // namespace

Result<VerifyReport> verify(const std::string& path, const VerifyOptions& options) {
  auto db = open_known({path, options.vfs});
  if (!db) return tl::unexpected(db.error());
  const auto id = check_identity(*db, path);
  if (!id) return tl::unexpected(id.error());
  VerifyReport report;
  report.journal_id = *id;
  // One read transaction: the writer may go on meanwhile.
  if (auto r = db->exec("BEGIN"); !r) return tl::unexpected(r.error());
  const auto head = load_head(*db);
  check_events(*db, options, head ? head->seq : 0, report);
  check_head(head, report);
  check_pages(*db, report);
  check_snapshots(*db, report);
  return report;
}

Result<void> export_jsonl(const std::string& path, std::uint64_t from, std::uint64_t to,
                          const std::function<bool(std::string_view line)>& sink, const std::string& vfs) {
  auto db = open_known({path, vfs});
  if (!db) return tl::unexpected(db.error());
  const auto id = check_identity(*db, path);
  if (!id) return tl::unexpected(id.error());
  if (auto r = db->exec("BEGIN"); !r) return tl::unexpected(r.error());
  const auto head = load_head(*db);
  if (!head) return tl::unexpected(head.error());
  const std::uint64_t first = std::max<std::uint64_t>(from, 1);
  const std::uint64_t last = to == 0 ? head->seq : std::min(to, head->seq);
  if (first > last) return {};
  const auto before = load_hash(*db, first - 1, *id);
  if (!before) return tl::unexpected(before.error());
  const Walk w = walk(*db, first, last, *before, [&](const StoredEvent& e) { return sink(e.bytes); });
  if (!w.what.empty()) return fail(Code::corrupt, fmt::format("{}: event {} {}", printable(path), w.next, w.what));
  return {};
}

}  // namespace muster::sqlite
