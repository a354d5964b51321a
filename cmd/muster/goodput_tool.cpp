#include "goodput_tool.h"

#include <fmt/core.h>

#include <algorithm>

#include "adapters/sqlite/journal.h"
#include "api/render.h"
#include "base/text.h"
#include "report/units.h"
#include "tool_sheets.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kKeptMax = 16;
constexpr std::size_t kAskedMax = 8;

// The clocks at a turn or a run that begins here; none: the event belongs to the turn before it.
const Now* begins(const Event& e) {
  if (const auto* b = std::get_if<TurnBegan>(&e.body)) return &b->now;
  if (const auto* b = std::get_if<RunStarted>(&e.body)) return &b->now;
  return nullptr;
}

Result<Time> read_time(const Value& input, std::string_view key, Time otherwise) {
  const Value* v = input.find(key);
  if (v == nullptr || v->is_null() || (v->string() != nullptr && v->string()->empty())) return otherwise;
  const auto utc = v->string() == nullptr ? std::nullopt : report::parse_utc(*v->string());
  if (!utc)
    return fail(Code::bad_input, fmt::format("{} is '{}'", key, v->string() == nullptr ? v->kind() : printable(*v->string())),
                "it must be a time in UTC, e.g. 2026-11-15T02:03:04Z");
  return *utc;
}

// The place of a word in a list; `otherwise` where nothing is said.
Result<std::size_t> read_word(const Value& input, std::string_view key, std::span<const std::string_view> words,
                              std::size_t otherwise) {
  const Value* v = input.find(key);
  if (v == nullptr || v->is_null()) return otherwise;
  const std::string word = v->string() == nullptr ? std::string(v->kind()) : *v->string();
  const auto it = std::find(words.begin(), words.end(), word);
  if (it == words.end())
    return fail(Code::bad_input, fmt::format("{} is '{}'", key, printable(word)),
                fmt::format("one of {}", join({words.begin(), words.end()}, ", ")));
  return static_cast<std::size_t>(it - words.begin());
}

// None where nothing is said.
Result<JobId> read_job(const Value& input) {
  const Value* v = input.find("job");
  if (v == nullptr || v->is_null()) return JobId{};
  if (v->string() == nullptr) return fail(Code::bad_input, "job is no text", "{\"job\": \"17\"}, or leave it out");
  return api::parse_job_id(*v->string());
}

}  // namespace

void GoodputTool::keep(const Position& p) {
  if (!kept_.empty() && p.state.seq < kept_.back()->state.seq + stride_) return;
  kept_.push_back(std::make_unique<Position>(p));
  if (kept_.size() <= kKeptMax) return;
  stride_ *= 2;
  std::vector<std::unique_ptr<Position>> fewer;
  for (std::size_t i = 1; i < kept_.size(); i += 2) fewer.push_back(std::move(kept_[i]));
  kept_ = std::move(fewer);
}

Result<GoodputTool::Closed> GoodputTool::read_until(Position& p, Time utc) {
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  std::optional<Now> next;  // what comes after the moment
  bool stopped = false;     // by the end of a run: nobody counted until the next one
  const auto read = (*journal)->read(p.state.seq + 1, [&](const Event& e) {
    if (const Now* now = begins(e); now != nullptr && now->utc > utc) {
      next = *now;
      stopped = std::holds_alternative<RunStarted>(e.body);
      return false;
    }
    fold(p.state, e);
    p.books.take(e, p.state);
    keep(p);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  // Between two events time passes too, as far as it is known to have passed.
  const State& s = p.state;
  Time known = s.mono();
  if (next && !stopped) known = next->steady + s.mono_offset;
  const auto now = !next && view_ != nullptr ? view_->latest() : nullptr;
  if (now) known = now->state.mono();
  const Duration past_known = std::max(Duration{}, known - s.mono());
  const Duration past = std::clamp(utc - s.now.utc, Duration{}, past_known);
  auto out = std::make_shared<Moment>();
  out->utc = s.now.utc + past;
  out->sums = p.books.close(s, s.mono() + past);
  out->cluster = s.site.name;
  out->gpu_hour_price = s.policy.gpu_hour_price;
  out->currency = s.policy.currency;
  out->price_assumed = s.policy.price_assumed;
  out->seq = s.seq;
  if (next) {
    asked_.emplace_front(utc, out);
    if (asked_.size() > kAskedMax) asked_.pop_back();
  }
  return out;
}

Result<GoodputTool::Closed> GoodputTool::at(Time utc) {
  const auto known = std::find_if(asked_.begin(), asked_.end(), [&](const auto& x) { return x.first == utc; });
  if (known != asked_.end()) {
    std::rotate(asked_.begin(), known, known + 1);  // what is asked for again and again stays
    return asked_.front().second;
  }
  if (newest_.state.now.utc <= utc) return read_until(newest_, utc);
  const Position* nearest = nullptr;
  for (const auto& k : kept_) {
    if (k->state.now.utc <= utc) nearest = k.get();
  }
  Position p;
  if (nearest != nullptr) p = *nearest;
  return read_until(p, utc);
}

Result<void> GoodputTool::narrow(report::Goodput& g, const account::JobSums& from, const account::JobSums& to, JobId job) const {
  const account::JobSums mine = account::only(to, job);
  // One that had no GPU yet is known to the newest state all the same.
  if (mine.live.empty() && find_job(newest_.state, job) == nullptr) {
    const bool array = !members_of(newest_.state, job).empty();
    return fail(Code::not_found, fmt::format("job {} {}", render(job), array ? "is an array" : "is not in the books"),
                array ? fmt::format("name one of its members, as {}_0", job.number) : "`muster get jobs` lists those there are");
  }
  g.job = render(job);
  g.stretch = account::difference(account::only(from, job), mine);
  return {};
}

Result<std::string> GoodputTool::call(const Value& input) {
  if (const auto ok = check_question(input, "goodput"); !ok) return tl::unexpected(ok.error());
  const auto from = read_time(input, "from", Time{});
  if (!from) return tl::unexpected(from.error());
  const auto to = read_time(input, "to", kNever);
  if (!to) return tl::unexpected(to.error());
  const auto by = read_word(input, "by", names(report::GoodputBy{}), 0);
  if (!by) return tl::unexpected(by.error());
  const auto most = read_word(input, "most", names(Waste{}), kWasteClasses);
  if (!most) return tl::unexpected(most.error());
  const auto job = read_job(input);
  if (!job) return tl::unexpected(job.error());
  if (*from >= *to)
    return fail(Code::bad_input, fmt::format("from {} is not before to {}", render_utc(*from), render_utc(*to)),
                "a stretch begins before it ends");

  const std::lock_guard hold(lock_);
  const auto end = at(*to);
  if (!end) return tl::unexpected(end.error());
  const account::JobSums& books = (*end)->sums;
  if (books.began.ns == 0) {
    const auto whole = at(kNever);
    if (!whole) return tl::unexpected(whole.error());
    const Time began = (*whole)->sums.began;
    return fail(Code::not_found, fmt::format("nothing is known of the time before {}", render_utc(*to)),
                began.ns == 0 ? "the record is empty" : fmt::format("the record begins at {}", render_utc(began)));
  }
  report::Goodput g;
  g.cluster = (*end)->cluster;
  g.from = books.began;
  g.to = (*end)->utc;
  g.gpu_hour_price = (*end)->gpu_hour_price;
  g.currency = (*end)->currency;
  g.price_assumed = (*end)->price_assumed;
  g.events = (*end)->seq;
  Closed begin = std::make_shared<Moment>();
  if (*from >= g.to && *from > books.began) {
    return fail(Code::bad_input, fmt::format("from {} is not before the end, {}", render_utc(*from), render_utc(g.to)),
                fmt::format("the record reaches from {} to {}", render_utc(books.began), render_utc(g.to)));
  }
  if (*from > books.began) {
    const auto start = at(*from);
    if (!start) return tl::unexpected(start.error());
    begin = *start;
    g.from = begin->utc;
  }
  if (job->some()) {
    if (const auto known = narrow(g, begin->sums, books, *job); !known) return tl::unexpected(known.error());
  } else {
    g.stretch = account::difference(begin->sums, books);
  }
  const auto waste = *most < kWasteClasses ? std::optional(static_cast<Waste>(*most)) : std::nullopt;
  return report::goodput_json(g, static_cast<report::GoodputBy>(*by), waste);
}

}  // namespace muster::cmd
