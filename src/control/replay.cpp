#include "control/replay.h"

#include "control/judge.h"
#include "model/codec.h"

namespace muster::control {
namespace {

class Replayer {
 public:
  Replayer(const std::optional<Policy>& other, std::uint64_t stop_before) : other_(other), stop_before_(stop_before) {}

  // False when there is nothing more to learn.
  bool take(const Event& e) {
    ++out_.events;
    if (e.source.stream == "muster" && decided(e.body)) {
      recorded_.push_back(e);
      return true;
    }
    const bool begins = std::holds_alternative<TurnBegan>(e.body);
    const bool restarted = std::holds_alternative<RunStarted>(e.body);
    if ((begins || restarted) && in_turn_ && !finish(restarted)) return false;
    in_turn_ = begins || (in_turn_ && !restarted);
    out_.turns += begins ? 1 : 0;
    Event copy = e;
    if (auto* p = std::get_if<PolicyApplied>(&copy.body); p != nullptr && other_) {
      p->policy = *other_;
      p->hash = render_hex(sha256(encode_policy(*other_)));
    }
    // With another policy the numbers may run apart; the fold only needs them to rise.
    fold_event(out_.books, copy);
    return true;
  }

  // The turn that is over: decide again and compare. A controller that died in the middle of a turn left no decisions.
  bool finish(bool cut_off) {
    in_turn_ = false;
    if (cut_off && recorded_.empty()) return true;
    if (out_.books.state.turn == stop_before_) return false;
    const std::vector<Event> again = judge_.decide(out_.books);
    const std::size_t n = std::max(again.size(), recorded_.size());
    for (std::size_t i = 0; i < n; ++i) {
      ++out_.decisions;
      std::string was = describe(recorded_, i);
      std::string is = describe(again, i);
      if (was == is) continue;
      out_.difference = Difference{out_.books.state.turn, out_.books.state.now.utc, std::move(was), std::move(is)};
      return false;
    }
    recorded_.clear();
    return true;
  }

  ReplayResult result() {
    if (in_turn_ && !out_.difference) finish(true);
    return std::move(out_);
  }

 private:
  // Under another policy the same act may have another budget left: that alone is no difference.
  std::string describe(const std::vector<Event>& events, std::size_t i) const {
    if (i >= events.size()) return {};
    const auto* intent = std::get_if<OrderIntended>(&events[i].body);
    if (intent != nullptr && other_) {
      OrderIntended plain = *intent;
      plain.order.reason.budget.clear();
      return "{\"type\":\"order_intended\",\"body\":" + encode_body(plain) + "}";
    }
    return "{\"type\":\"" + std::string(type_of(events[i])) + "\",\"body\":" + encode_body(events[i].body) + "}";
  }

  const std::optional<Policy>& other_;
  Judge judge_;
  ReplayResult out_;
  std::vector<Event> recorded_;
  std::uint64_t stop_before_;
  bool in_turn_ = false;
};

}  // namespace

Result<ReplayResult> replay(Journal& journal, const std::optional<Policy>& other) {
  const auto run = [&](std::uint64_t stop_before) -> Result<ReplayResult> {
    Replayer r(other, stop_before);
    auto read = journal.read(1, [&](const Event& e) { return r.take(e); });
    if (!read) return tl::unexpected(read.error());
    return r.result();
  };
  auto first = run(0);
  if (!first || !first->difference) return first;
  // Once more, to stop just before the decision that differs: cheaper than keeping a copy of the state at every turn.
  auto second = run(first->difference->turn);
  if (!second) return second;
  first->books = std::move(second->books);
  return first;
}

}  // namespace muster::control
