#include "audit_tool.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "adapters/sqlite/journal.h"
#include "adapters/sqlite/verify.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"
#include "model/codec.h"
#include "tool_input.h"

namespace muster::cmd {
namespace {

constexpr Duration kWholeEvery = minutes(1);  // at the earliest
constexpr std::int64_t kWholeRest = 20;       // and so many times as long as it took

template <class Clock>
Time read_clock() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count()};
}
Time utc_now() { return read_clock<std::chrono::system_clock>(); }
Time steady_now() { return read_clock<std::chrono::steady_clock>(); }

}  // namespace

Result<void> AuditTool::read_on(Reading& reading, std::optional<Time> until) {
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  report::Chain& chain = reading.chain;
  bool same = chain.events == 0 || chain.journal == (*journal)->id();
  bool known_event = chain.events != 0;  // the one that is read first
  bool over = false;
  std::optional<Error> unreadable;
  const auto visit = [&](const sqlite::StoredEvent& stored) {
    if (known_event) {
      known_event = false;
      same = stored.hash == reading.digest;
      return same;
    }
    const auto value = parse_json(stored.bytes);
    const auto event = value ? decode_event(*value) : Result<Event>(tl::unexpected(value.error()));
    if (!event) {
      unreadable = Error{event.error().code, fmt::format("event {} cannot be understood: {}", stored.seq, event.error().what),
                         event.error().next};
      return false;
    }
    over = over || (until && event->utc > *until);
    if (!over) reading.story.take(*event);
    chain.events = stored.seq;
    chain.last = event->utc;
    reading.digest = stored.hash;
    return true;
  };
  if (same) {
    if (const auto read = (*journal)->read_bytes(std::max<std::uint64_t>(1, chain.events), visit); !read)
      return tl::unexpected(read.error());
  }
  if (unreadable) return tl::unexpected(*unreadable);
  if (!same || known_event) {  // another journal, or a shorter one: nothing that was read counts any more
    reading = {};
    return read_on(reading, until);
  }
  chain.journal = (*journal)->id();
  chain.digest = render_hex(reading.digest);
  chain.verified = utc_now();
  return {};
}

Result<std::string> AuditTool::broken(const Error& e) const {
  if (e.code != Code::corrupt) return tl::unexpected(e);
  // Opening looks at the end of the chain first: the whole is walked to name the first event that was changed.
  const auto report = sqlite::verify(journal_);
  const bool known = report && !report->ok();
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Audit").key("chain").object().field("ok", false).key("event");
  if (known && report->first_bad)
    w.value(*report->first_bad);
  else
    w.null();
  w.key("events");
  if (known)
    w.value(report->events);
  else
    w.null();
  w.field("what", !known ? e.what
                  : report->first_bad
                      ? fmt::format("the chain breaks at event {}: {}", *report->first_bad, printable(report->what))
                      : "the file is damaged: " + printable(report->structure));
  w.field("next", known ? fmt::format("nothing is told from a record that was changed. {} events before it are sound: `muster "
                                      "journal export --to {}` saves them",
                                      report->events, report->events)
                        : e.next);
  w.field("verified_utc", render_utc(utc_now())).end_object().key("items").array().end_array().field("older", 0).end_object();
  return w.take();
}

Result<std::string> AuditTool::call(const Value& input) {
  ToolInput in(input, "audit");
  const std::optional<Time> until = in.time("at");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  if (until) {
    Reading then;
    const auto read = read_on(then, until);
    then.chain.whole = then.chain.verified;
    return read ? Result<std::string>(then.story.json(then.chain)) : broken(read.error());
  }
  const std::lock_guard hold(lock_);
  const Time began = steady_now();
  if (began >= whole_again_) reading_ = {};
  const bool whole = reading_.chain.events == 0;
  if (const auto read = read_on(reading_, std::nullopt); !read) {
    reading_ = {};
    return broken(read.error());
  }
  if (whole || reading_.chain.whole.ns == 0) {
    reading_.chain.whole = reading_.chain.verified;
    const Time now = steady_now();
    whole_again_ = now + std::max(kWholeEvery, (now - began) * kWholeRest);
  }
  return reading_.story.json(reading_.chain);
}

}  // namespace muster::cmd
