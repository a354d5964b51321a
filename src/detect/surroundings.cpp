#include "detect/surroundings.h"

#include <fmt/core.h>

namespace muster::detect {
namespace {

constexpr std::uint32_t kOrders = 3;         // that did not arrive, and
constexpr Duration kPatience = seconds(60);  // nothing at all from the engine for so long: it is away
constexpr Duration kAccepted = hours(1);     // a clock that has kept its pace for so long is taken to be right

// The engine itself speaks.
bool from_engine(const Body& b) {
  if (const auto* o = std::get_if<OrderEnded>(&b)) return o->status != Status::not_received;
  return std::holds_alternative<JobSubmitted>(b) || std::holds_alternative<JobAmended>(b) ||
         std::holds_alternative<JobStarted>(b) || std::holds_alternative<JobProgressed>(b) ||
         std::holds_alternative<JobEnded>(b) ||
         std::holds_alternative<JobRequeued>(b) || std::holds_alternative<JobGone>(b) || std::holds_alternative<NodeChanged>(b) ||
         std::holds_alternative<NodeHeld>(b);
}

Sign sign_of(std::string_view subject, Time utc, Witness w, std::string text) {
  Sign x;
  x.kind = FindingKind::common_cause;
  x.severity = Severity::critical;
  x.code = 99;
  x.evidence = {w, utc, {}, std::move(text)};
  x.subject = subject;
  return x;
}

Relief relief_of(std::string_view subject, const char* why) {
  Relief x;
  x.kind = FindingKind::common_cause;
  x.why = why;
  x.subject = subject;
  return x;
}

}  // namespace

void Surroundings::on_event(const Body& b, Time mono) {
  const auto* o = std::get_if<OrderEnded>(&b);
  if (o != nullptr && o->status == Status::not_received) {
    if (unheard_++ == 0) first_ = mono;
  } else if (from_engine(b)) {
    unheard_ = 0;
    engine_said_ = true;
  }
}

void Surroundings::on_turn(const State& s, Time utc, Time mono, Signs& out) {
  if (engine_said_ && s.engine_away.some()) {
    out.gone.push_back(relief_of(kEngineSubject, "the engine answers again"));
  }
  engine_said_ = false;
  if (unheard_ >= kOrders && mono - first_ >= kPatience && !s.engine_away.some()) {
    out.seen.push_back(sign_of(kEngineSubject, utc, Witness::engine,
                               fmt::format("{} orders in a row did not arrive, and nothing was heard of it for {}", unheard_,
                                           render_duration(mono - first_))));
  }
  if (s.utc_jump != jump_) {
    const Duration by = s.utc_jump - jump_;
    jump_ = s.utc_jump;
    jumped_ = mono;
    if (jump_.ns == 0) {
      jumped_ = kNever;
      out.gone.push_back(relief_of(kClockSubject, "the clock is back where it was"));
    } else {
      out.seen.push_back(sign_of(kClockSubject, utc, Witness::scrape,
                                 fmt::format("it was set {} by {}", by.ns > 0 ? "forward" : "back",
                                             render_duration(Duration{std::abs(by.ns)}))));
    }
  }
  if (jumped_ != kNever && mono - jumped_ >= kAccepted) {
    jumped_ = kNever;
    out.gone.push_back(relief_of(kClockSubject, "it has kept its pace for an hour and is taken to be right"));
  }
}

Time Surroundings::next() const { return jumped_ == kNever ? kNever : jumped_ + kAccepted; }

}  // namespace muster::detect
