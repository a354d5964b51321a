#include "weekly_gather.h"

#include <fmt/core.h>

#include <algorithm>

#include "adapters/sqlite/chain.h"
#include "base/json_writer.h"
#include "report/units.h"

namespace muster::cmd {
namespace {

constexpr std::int64_t kPiecesMax = 35;

std::string stretch(Time from, Time to) {
  JsonWriter w;
  w.object().field("from", render_utc(from)).field("to", render_utc(to)).end_object();
  return w.take();
}

// Moments travel as milliseconds: those of two pieces that touch must be the same one.
Time to_ms(Time t) { return {t.ns / 1'000'000 * 1'000'000}; }

struct Bounds {
  Time record_from, from, to;
  Duration asked;
};

Result<Bounds> bounds_of(const ReportOptions& o, const Value& whole) {
  const auto first = report::time_of(whole, "from_utc"), last = report::time_of(whole, "to_utc");
  if (!first || !last) return fail(Code::internal, "the answer about goodput has no times");
  Bounds b{*first, {}, to_ms(*last), {}};
  if (!o.until.empty()) b.to = std::min(b.to, to_ms(report::parse_utc(o.until).value_or(b.to)));
  const auto since = o.since_utc.empty() ? std::nullopt : report::parse_utc(o.since_utc);
  b.from = since ? to_ms(*since) : b.to - from_seconds(o.since_s);
  b.asked = b.to - b.from;
  if (b.asked.ns <= 0)
    return fail(Code::bad_input, fmt::format("--since {} is not before the end, {}", render_utc(b.from), render_utc(b.to)),
                fmt::format("the record reaches from {} to {}", render_utc(*first), render_utc(*last)));
  b.from = std::max(b.from, to_ms(*first));
  if (b.to <= b.from)
    return fail(Code::not_found, fmt::format("nothing is recorded up to {}", render_utc(b.to)),
                fmt::format("the record reaches from {} to {}", render_utc(*first), render_utc(*last)));
  return b;
}

// Asks one after the other, and tells how far it is.
class Questions {
 public:
  Questions(const AskTool& ask, const std::function<void(double)>& progress, std::size_t all)
      : ask_(ask), progress_(progress), all_(all) {}
  Result<Value> put(const std::string& tool, const std::string& input) {
    auto answer = ask_(tool, input);
    ++done_;
    if (progress_) progress_(static_cast<double>(done_) / static_cast<double>(all_));
    return answer;
  }

 private:
  const AskTool& ask_;
  const std::function<void(double)>& progress_;
  std::size_t all_, done_ = 0;
};

}  // namespace

bool is_twin(const Value& chain) { return report::text_of(chain, "journal") == kTwinJournalId; }

std::vector<Cut> cut_stretch(Time from, Time to) {
  const Duration all = to - from;
  Duration each = days(1);
  if (all < days(2)) each = hours(6);
  if (all < hours(12)) each = hours(1);
  if (all < hours(2)) each = all;
  if (each * kPiecesMax < all) each = days(7);
  if (each * kPiecesMax < all) each = Duration{(all.ns + kPiecesMax - 1) / kPiecesMax};
  std::vector<Cut> out;
  for (Time end = to; end > from && each.ns > 0; end = end - each) out.push_back({std::max(from, to_ms(end - each)), to_ms(end)});
  std::reverse(out.begin(), out.end());
  for (std::size_t i = 0; i + 1 < out.size(); ++i) out[i].to = out[i + 1].from;
  return out;
}

Result<report::Weekly> gather_weekly(const ReportOptions& o, const AskTool& ask, const std::string& simulation,
                                     const std::function<void(double)>& progress) {
  const auto whole = ask("goodput", "{}");
  if (!whole) return tl::unexpected(whole.error());
  const auto b = bounds_of(o, *whole);
  if (!b) return tl::unexpected(b.error());
  const std::vector<Cut> cuts = cut_stretch(b->from, b->to);
  const Time before = b->from - (b->to - b->from);
  const bool has_before = before >= to_ms(b->record_from) && b->from == b->to - b->asked;
  Questions q(ask, progress, cuts.size() + (has_before ? 5 : 3));
  report::WeeklyAnswers a;
  a.asked = b->asked;
  a.record_from = b->record_from;
  a.simulation = simulation;
  a.price = o.price;
  for (const Cut& c : cuts) {
    auto piece = q.put("goodput", stretch(c.from, c.to));
    if (!piece) return tl::unexpected(piece.error());
    a.pieces.push_back(std::move(*piece));
  }
  const auto fill = [&](const char* tool, Time from, Time to, auto& into) -> Result<void> {
    auto answer = q.put(tool, std::string_view(tool) == "audit" ? "{}" : stretch(from, to));
    if (!answer) return tl::unexpected(answer.error());
    into = std::move(*answer);
    return {};
  };
  if (auto r = fill("goodput", b->from, b->to, a.goodput); !r) return tl::unexpected(r.error());
  if (auto r = fill("week", b->from, b->to, a.story); !r) return tl::unexpected(r.error());
  if (has_before) {
    if (auto r = fill("goodput", before, b->from, a.before); !r) return tl::unexpected(r.error());
    if (auto r = fill("week", before, b->from, a.story_before); !r) return tl::unexpected(r.error());
  }
  if (auto r = fill("audit", {}, {}, a.audit); !r) return tl::unexpected(r.error());
  if (a.simulation.empty()) a.simulation = report::text_of(a.audit, "simulation");
  const Value* chain = a.audit.find("chain");
  if (a.simulation.empty() && chain != nullptr && is_twin(*chain)) a.simulation = "a run of the twin";
  return report::weekly_of(a);
}

}  // namespace muster::cmd
