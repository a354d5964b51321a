#include "account_tool.h"

#include <fmt/core.h>

#include <algorithm>

#include "adapters/sqlite/journal.h"
#include "tool_input.h"

namespace muster::cmd {
namespace {

// Reads a journal once, and keeps what is asked for of it.
class FlowReader {
 public:
  FlowReader(Time from, Time to, bool faults) : from_(from), to_(to), faults_(faults), flow_(from, to) {}

  void take(const Event& e) {
    if (faults_) mark(e);
    fold(state_, e);
    flow_.take(e, state_);
    if (faults_) books_.take(e, state_);
    if (const auto* run = std::get_if<RunStarted>(&e.body)) simulation_ = run->simulation;
  }
  const State& state() const { return state_; }

  report::FlowAccount close(Time mono, Time utc) {
    report::FlowAccount out;
    out.cluster = state_.site.name;
    out.simulation = simulation_;
    out.flow = flow_.close(state_, mono, utc);
    if (faults_) {
      if (!begun_) before_ = account::JobSums{};
      if (!ended_) stretch_to(mono);
      out.faults = std::move(stretches_);
    }
    return out;
  }

 private:
  // Before an event is folded: the clocks it tells may be past the beginning or the end of what is looked at, or it brings a
  // price.
  void mark(const Event& e) {
    const Now* now = nullptr;
    if (const auto* b = std::get_if<TurnBegan>(&e.body)) now = &b->now;
    if (const auto* b = std::get_if<RunStarted>(&e.body)) now = &b->now;
    const auto at = [&](Time utc) {
      const bool counted = std::holds_alternative<TurnBegan>(e.body);  // between two runs nobody counts
      return state_.mono() + (counted && utc > state_.now.utc ? utc - state_.now.utc : Duration{});
    };
    if (now != nullptr && !begun_ && now->utc > from_) {
      begun_ = true;
      before_ = books_.close(state_, at(from_));
    }
    if (now != nullptr && !ended_ && now->utc > to_) stretch_to(at(to_)), ended_ = true;
    const auto* policy = std::get_if<PolicyApplied>(&e.body);
    if (policy == nullptr || ended_ || state_.site.nodes.empty()) return;
    const Policy &was = state_.policy, &is = policy->policy;
    const bool other =
        was.gpu_hour_price != is.gpu_hour_price || was.currency != is.currency || was.price_assumed != is.price_assumed;
    if (!other || books_.close(state_, state_.mono()).installed == 0) return;
    if (begun_) stretch_to(state_.mono());
    ++tariff_;
  }
  void stretch_to(Time mono) {
    account::JobSums sums = books_.close(state_, mono);
    stretches_.push_back({tariff_, account::difference(before_, sums)});
    before_ = std::move(sums);
  }

  Time from_, to_;
  bool faults_;
  account::Waterfall flow_;
  account::JobBooks books_;
  State state_;
  std::string simulation_;
  account::JobSums before_;
  bool begun_ = false, ended_ = false;
  std::uint32_t tariff_ = 0;  // as the flow numbers them
  std::vector<report::FaultStretch> stretches_;
};

Result<Time> end_of(Journal& journal, const View* view) {
  if (const auto now = view == nullptr ? nullptr : view->latest()) return now->state.now.utc;
  Time last;
  const auto read = journal.read(journal.last_seq(), [&](const Event& e) {
    last = e.utc;
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return last;
}

Error nothing_there(const FlowReader& r, Time from, Time to) {
  if (r.state().site.nodes.empty()) return {Code::not_found, "the record is empty", "is it the right file?"};
  return {Code::not_found,
          fmt::format("nothing is known of {} to {}", from.ns == INT64_MIN ? "the beginning" : render_utc(from),
                      to == kNever ? "the end" : render_utc(to)),
          fmt::format("the record ends at {}", render_utc(r.state().now.utc))};
}

}  // namespace

Result<report::FlowAccount> read_flow(const std::string& path, const View* view, const FlowQuestion& q) {
  auto journal = sqlite::open({.path = path, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  const Time to = q.to.value_or(kNever);
  Time from = q.from.value_or(Time{INT64_MIN});
  if (q.since_s > 0) {
    const auto end = end_of(**journal, view);
    if (!end) return tl::unexpected(end.error());
    from = std::min(*end, to) - from_seconds(q.since_s);
  }
  if (from >= to)
    return fail(Code::bad_input, fmt::format("from {} is not before to {}", render_utc(from), render_utc(to)),
                "a stretch begins before it ends");
  FlowReader reader(from, to, q.faults);
  // To the end of the record, also where less is asked for: what was not settled then may be by now.
  const auto read = (*journal)->read(1, [&](const Event& e) {
    reader.take(e);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  const State& s = reader.state();
  const auto now = view == nullptr ? nullptr : view->latest();
  const Duration past = now ? std::max(Duration{}, now->state.mono() - s.mono()) : Duration{};
  report::FlowAccount out = reader.close(s.mono() + past, s.now.utc + past);
  if (out.flow.sum().installed() == 0) return tl::unexpected(nothing_there(reader, from, to));
  return out;
}

Result<std::string> AccountTool::call(const Value& input) {
  ToolInput in(input, "account");
  FlowQuestion q;
  q.from = in.time("from");
  q.to = in.time("to");
  in.quantity("since_s", q.since_s, 0, 3650.0 * 86'400);
  auto by = report::FlowBy::account;
  in.choice("by", report::FlowBy{}, by);
  double price = 0, year = 0, target_pct = 100 * account::kEfficiencyTarget;
  in.quantity("price", price, 0, 1e6);
  in.quantity("cost_per_year", year, 0, 1e12);
  in.quantity("target_pct", target_pct, 0, 100);
  const std::string currency = in.text("currency");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  q.faults = by == report::FlowBy::fault;
  auto a = read_flow(journal_, view_, q);
  if (!a) return tl::unexpected(a.error());
  constexpr double kHoursOfYear = 365.0 * 24;
  if (year > 0) price = year / kHoursOfYear / (static_cast<double>(a->flow.milli_gpus) / 1000);
  if (price > 0) a->price = price;
  a->currency = currency;
  a->target = target_pct / 100;
  return report::flow_account_json(*a, by);
}

}  // namespace muster::cmd
