#include "account_tool.h"

#include <fmt/core.h>

#include <algorithm>

#include "account/quota.h"
#include "adapters/sqlite/journal.h"
#include "base/json_writer.h"
#include "ingest/json.h"
#include "tool_input.h"

namespace muster::cmd {

// Reads along a journal, and keeps what is asked for of it.
class FlowReader {
 public:
  FlowReader(Time from, Time to, bool faults) : from_(from), to_(to), faults_(faults), flow_(from, to) {}

  bool answers(Time from, Time to, bool faults) const { return from == from_ && to == to_ && (faults_ || !faults); }

  void take(const Event& e) {
    if (faults_) mark(e);
    fold(state_, e);
    flow_.take(e, state_);
    if (faults_) books_.take(e, state_);
    if (const auto* run = std::get_if<RunStarted>(&e.body)) simulation_ = run->simulation;
  }
  const State& state() const { return state_; }

  report::FlowAccount close(Time mono, Time utc) const {
    report::FlowAccount out;
    out.cluster = state_.site.name;
    out.simulation = simulation_;
    out.flow = flow_.close(state_, mono, utc);
    if (!faults_) return out;
    out.faults = stretches_;
    if (!ended_)
      out.faults.push_back({tariff_, account::difference(begun_ ? before_ : account::JobSums{}, books_.close(state_, mono))});
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

namespace {

constexpr std::size_t kKeptMax = 4;

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

// A name as it is shown: "(none)" is that of those without one.
void only_of(ToolInput& in, std::string_view key, std::optional<std::string>& to) {
  const std::string name = in.text(key);
  if (!name.empty()) to = name == "(none)" ? std::string() : name;
}

std::string uses_json(const account::Flow& f) {
  JsonWriter w;
  w.object().field("to_ns", f.to.ns).key("uses").array();
  for (const account::Use& u : account::use_of(f)) {
    w.object().field("account", u.account).field("from_ns", u.from.ns).field("to_ns", u.to.ns);
    w.field("milli_gpu_ms", u.milli_ms).field("money_micro", u.money_micro).field("currency", u.currency).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

}  // namespace

AccountTool::AccountTool(std::string journal, const View* view) : journal_(std::move(journal)), view_(view) {}
AccountTool::~AccountTool() = default;

FlowReader& AccountTool::reader_of(Time from, Time to, bool faults) {
  const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const auto& r) { return r->answers(from, to, faults); });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
  } else {
    kept_.push_front(std::make_unique<FlowReader>(from, to, faults));
    if (kept_.size() > kKeptMax) kept_.pop_back();
  }
  return *kept_.front();
}

Result<report::FlowAccount> AccountTool::read(const FlowQuestion& q) {
  const std::lock_guard hold(lock_);
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  const Time to = q.to.value_or(kNever);
  Time from = q.from.value_or(Time{INT64_MIN});
  if (q.since_s > 0) {
    const auto end = end_of(**journal, view_);
    if (!end) return tl::unexpected(end.error());
    from = std::min(*end, to) - from_seconds(q.since_s);
  }
  if (from >= to)
    return fail(Code::bad_input, fmt::format("from {} is not before to {}", render_utc(from), render_utc(to)),
                "a stretch begins before it ends");
  // Back from an end that moves is another stretch each time, and would drive out those that are asked for again.
  std::unique_ptr<FlowReader> once;
  if (q.since_s > 0) once = std::make_unique<FlowReader>(from, to, q.faults);
  FlowReader& reader = once ? *once : reader_of(from, to, q.faults);
  // To the end of the record, also where less is asked for: what was not settled then may be by now.
  const auto read = (*journal)->read(reader.state().seq + 1, [&](const Event& e) {
    reader.take(e);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  const State& s = reader.state();
  const auto now = view_ == nullptr ? nullptr : view_->latest();
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
  report::FlowOnly only;
  only_of(in, "account", only.account);
  only_of(in, "partition", only.partition);
  only_of(in, "user", only.user);
  const bool csv = in.yes("csv"), uses = in.yes("uses");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  q.faults = by == report::FlowBy::fault;
  if (q.faults && only.any())
    return fail(Code::bad_input, "what faults cost is told of the whole cluster", "leave out account, partition and user");
  auto a = read(q);
  if (!a) return tl::unexpected(a.error());
  if (uses) return uses_json(a->flow);
  constexpr double kHoursOfYear = 365.0 * 24;
  if (year > 0) price = year / kHoursOfYear / (static_cast<double>(a->flow.milli_gpus) / 1000);
  if (price > 0) a->price = price;
  a->currency = currency;
  a->target = target_pct / 100;
  a->only = std::move(only);
  std::string json = report::flow_account_json(*a, by);
  if (!csv) return json;
  const auto read = parse_json(json);
  if (!read) return tl::unexpected(read.error());
  JsonWriter w;
  w.object().field("csv", report::render_flow_account_csv(*read)).end_object();
  return w.take();
}

}  // namespace muster::cmd
