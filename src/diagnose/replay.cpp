#include "diagnose/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace muster::diagnose {
namespace {

constexpr std::int64_t kSlack = 3'000;         // that no reason is looked for
constexpr std::int64_t kFollows = 12'000;      // one of another stream that ended so shortly before is what it waited for
constexpr std::size_t kQueue = 1'024;          // launches that may be under way; the next one waits
constexpr std::int64_t kGraphGap = 600;        // between two kernels of a graph
constexpr std::int64_t kGraphLaunch = 10'000;  // the call, and until its first kernel begins
constexpr std::int64_t kSilent = 500'000;      // a host that says nothing for so long does something else than launching
constexpr std::int64_t kBriefCall = 6'000;     // of a call that would have waited

// Below which so many percent lie.
std::int64_t percentile(std::vector<std::int64_t>& all, std::size_t percent, std::int64_t otherwise) {
  if (all.empty()) return otherwise;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() * percent / 100);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}
std::int64_t median(std::vector<std::int64_t>& all, std::int64_t otherwise) { return percentile(all, 50, otherwise); }

}  // namespace

Replay::Replay(const Trace& trace, const Timeline& line) : line_(line) {
  gather(trace);
  learn_latencies();
  learn_dependencies();
  learn_start();
  learn_waits(trace);
  count_events(trace);
}

// The calls of all threads that launch anything, as one sequence: of several, usually one works while the others wait for it.
void Replay::gather(const Trace& t) {
  std::set<std::uint32_t> launching;
  for (const RuntimeCall* c : line_.calls) {
    if (c != nullptr) launching.insert(c->thread);
  }
  const bool within = line_.lockstep;
  const std::int64_t from = within ? line_.steps.front().span.start_ns : INT64_MIN;
  const std::int64_t to = within ? line_.steps.back().span.end_ns : INT64_MAX;
  for (const RuntimeCall& c : t.calls) {
    if (launching.contains(c.thread) && c.span.start_ns >= from && c.span.start_ns < to) order_.push_back(&c);
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [](const RuntimeCall* x, const RuntimeCall* y) { return x->span.start_ns < y->span.start_ns; });
  std::vector<std::uint32_t> index(t.calls.size(), kNone);  // by call of the trace
  for (std::uint32_t i = 0; i < order_.size(); ++i) index[static_cast<std::size_t>(order_[i] - t.calls.data())] = i;
  by_.assign(line_.events.size(), kNone);
  calls_.resize(order_.size());
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    if (line_.calls[e] != nullptr) by_[e] = index[static_cast<std::size_t>(line_.calls[e] - t.calls.data())];
    if (by_[e] == kNone) {
      orphans_.push_back(e);
    } else {
      ++calls_[by_[e]].count;
    }
  }
  for (std::size_t i = 0, step = 0; i < order_.size(); ++i) {
    while (step < t.steps.size() && t.steps[step].span.start_ns <= order_[i]->span.start_ns) ++step;
    calls_[i].step = static_cast<std::int64_t>(step) - 1;
  }
  std::uint32_t at = 0;
  for (Call& c : calls_) {
    c.first = at;
    at += c.count;
    c.count = 0;
  }
  launched_.resize(at);
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    if (by_[e] == kNone) continue;
    Call& c = calls_[by_[e]];
    launched_[c.first + c.count++] = e;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> streams;
  std::vector<std::uint32_t> last;  // by stream
  before_.assign(line_.events.size(), kNone);
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    const auto [it, fresh] = streams.try_emplace(line_.events[e]->stream, static_cast<std::uint32_t>(streams.size()));
    if (fresh) last.push_back(kNone);
    stream_.push_back(it->second);
    before_[e] = std::exchange(last[it->second], e);
  }
  streams_ = last.size();
  std::int64_t end = order_.empty() ? 0 : within ? from : order_.front()->span.start_ns;
  if (!order_.empty() && t.steps.size() == 1) end = std::min(end, t.steps.front().span.start_ns);
  origin_ = end;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Span& s = order_[i]->span;
    calls_[i].think_ns = std::max<std::int64_t>(0, s.start_ns - end);
    calls_[i].cost_ns = std::max<std::int64_t>(0, s.end_ns - std::max(end, s.start_ns));
    end = std::max(end, s.end_ns);
  }
  tail_ns_ = within ? std::max<std::int64_t>(0, to - end) : 0;
}

void Replay::learn_latencies() {
  std::vector<std::int64_t> kernels, copies, gaps;
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    if (line_.calls[e] == nullptr) continue;
    const Span& s = line_.events[e]->span;
    const std::int64_t issued = line_.calls[e]->span.start_ns;
    const std::int64_t free = before_[e] == kNone ? INT64_MIN : line_.events[before_[e]]->span.end_ns;
    if (issued > free && s.start_ns - issued < 100'000)
      (line_.events[e]->work == GpuWork::copy ? copies : kernels).push_back(s.start_ns - issued);
    if (issued + 5'000 < free && s.start_ns - free < 10'000 && s.start_ns >= free) gaps.push_back(s.start_ns - free);
  }
  kernel_latency_ns_ = median(kernels, kernel_latency_ns_);
  copy_latency_ns_ = median(copies, copy_latency_ns_);
  gap_ns_ = median(gaps, gap_ns_);
}

// What began later than its launch and its own stream explain waited for what ended just then on another.
void Replay::learn_dependencies() {
  needs_.assign(line_.events.size(), kNone);
  std::vector<std::uint32_t> by_end(line_.events.size());
  for (std::uint32_t e = 0; e < by_end.size(); ++e) by_end[e] = e;
  std::sort(by_end.begin(), by_end.end(),
            [&](std::uint32_t x, std::uint32_t y) { return line_.events[x]->span.end_ns < line_.events[y]->span.end_ns; });
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    const GpuEvent& event = *line_.events[e];
    std::int64_t ready = before_[e] == kNone ? INT64_MIN : line_.events[before_[e]]->span.end_ns;
    if (line_.calls[e] != nullptr) ready = std::max(ready, line_.calls[e]->span.start_ns + kernel_latency_ns_);
    if (event.span.start_ns - ready <= kSlack) continue;
    auto it = std::upper_bound(by_end.begin(), by_end.end(), event.span.start_ns,
                               [&](std::int64_t at, std::uint32_t x) { return at < line_.events[x]->span.end_ns; });
    for (int looked = 0; it != by_end.begin() && looked < 16; ++looked) {
      --it;
      const GpuEvent& other = *line_.events[*it];
      if (other.span.end_ns < event.span.start_ns - kFollows) break;
      if (other.stream == event.stream) continue;
      if (by_[*it] != kNone && by_[e] != kNone && by_[*it] > by_[e]) continue;
      needs_[e] = *it;
      break;
    }
  }
}

// The GPU may still have been at work on what was launched before the profile began.
void Replay::learn_start() {
  std::set<std::uint32_t> seen;
  earlier_.assign(line_.events.size(), false);
  first_and_last_ = {INT64_MAX, INT64_MIN};
  for (std::uint32_t e = 0; e < line_.events.size(); ++e) {
    if (const std::int64_t step = line_.launch_steps[e]; step >= 0)
      first_and_last_ = {std::min(first_and_last_.first, step), std::max(first_and_last_.second, step)};
    // What nobody is known to have launched was launched before the profile began, if it comes first.
    if (by_[e] == kNone || !seen.insert(line_.events[e]->stream).second) continue;
    for (std::uint32_t b = before_[e]; b != kNone; b = before_[b]) earlier_[b] = true;
    if (needs_[e] == kNone && line_.events[e]->span.start_ns - line_.calls[e]->span.start_ns > 20 * kSlack) late_.push_back(e);
  }
}

void Replay::learn_waits(const Trace& t) {
  // By call, the last of what was launched before it to end before it did.
  std::vector<std::uint32_t> by_end(line_.events.size());
  for (std::uint32_t e = 0; e < by_end.size(); ++e) by_end[e] = e;
  std::sort(by_end.begin(), by_end.end(),
            [&](std::uint32_t x, std::uint32_t y) { return line_.events[x]->span.end_ns < line_.events[y]->span.end_ns; });
  std::map<std::uint32_t, std::vector<std::int64_t>> costs;  // by name
  for (std::size_t i = 0; i < order_.size(); ++i) costs[order_[i]->name].push_back(calls_[i].cost_ns);
  std::unordered_map<std::uint32_t, std::int64_t> usual;
  for (auto& [name, all] : costs) usual[name] = percentile(all, 10, 0);
  auto launched = static_cast<std::size_t>(std::count(earlier_.begin(), earlier_.end(), true));
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    Call& c = calls_[i];
    const HostCall kind = host_call(t.names[order_[i]->name]);
    c.launches = kind == HostCall::launch || kind == HostCall::graph || (kind == HostCall::copy && c.count > 0);
    launched += c.count;
    if (kind == HostCall::launch) {  // one that waits for room in a full queue does not work all that time
      const auto done = std::upper_bound(by_end.begin(), by_end.end(), order_[i]->span.start_ns,
                                         [&](std::int64_t at, std::uint32_t x) { return at < line_.events[x]->span.end_ns; });
      if (launched > static_cast<std::size_t>(done - by_end.begin()) + kQueue / 2)
        c.cost_ns = std::min(c.cost_ns, usual[order_[i]->name]);
    }
    if (kind != HostCall::sync && kind != HostCall::copy) continue;
    const std::int64_t ended = order_[i]->span.end_ns;
    // Memory that is not pinned is staged by the call: it is there for as long as the copy, give or take the last piece.
    if (kind == HostCall::copy && c.count > 0) {
      const std::uint32_t e = launched_[c.first];
      if (line_.events[e]->bytes >= 65'536 && 2 * order_[i]->span.length() >= line_.events[e]->span.length() &&
          order_[i]->span.length() > kFollows) {
        c.waits_for = e;
        c.after_ns = ended - line_.events[e]->span.end_ns;
        c.copies = true;
        c.cost_ns = std::min(c.cost_ns, kBriefCall);
        continue;
      }
    }
    auto it = std::upper_bound(by_end.begin(), by_end.end(), ended,
                               [&](std::int64_t at, std::uint32_t x) { return at < line_.events[x]->span.end_ns; });
    for (int looked = 0; it != by_end.begin() && looked < 16; ++looked) {
      --it;
      const Span& s = line_.events[*it]->span;
      if (s.end_ns <= order_[i]->span.start_ns) break;
      if (by_[*it] == kNone || by_[*it] > i) continue;
      c.waits_for = *it;
      c.after_ns = ended - s.end_ns;
      c.cost_ns = std::min(c.cost_ns, kBriefCall);
      break;
    }
  }
}

void Replay::count_events(const Trace& t) {
  std::vector<std::int64_t> starts;
  starts.reserve(t.ops.size() + order_.size());
  for (const HostOp& op : t.ops) starts.push_back(op.span.start_ns);
  for (const RuntimeCall* c : order_) starts.push_back(c->span.start_ns);
  std::sort(starts.begin(), starts.end());
  std::vector<Span> inputs;
  for (const Mark& m : t.marks) {
    if (fetches_input(t.names[m.name])) inputs.push_back(m.span);
  }
  std::sort(inputs.begin(), inputs.end(), [](const Span& x, const Span& y) { return x.start_ns < y.start_ns; });
  // Views and wrappers are not kept, but were written down as well.
  const double kept = static_cast<double>(t.ops.size() + t.marks.size() + t.steps.size() + t.calls.size());
  const double each = kept > 0 && t.host_events > 0 ? std::max(1.0, static_cast<double>(t.host_events) / kept) : 1;
  std::size_t at = 0, input = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int64_t start = order_[i]->span.start_ns;
    for (; at < starts.size() && starts[at] <= start; ++at) ++calls_[i].events;
    calls_[i].events *= each;
    const std::int64_t from = start - calls_[i].think_ns;
    while (input < inputs.size() && inputs[input].end_ns <= from) ++input;
    for (std::size_t k = input; k < inputs.size() && inputs[k].start_ns < start; ++k) {
      const std::int64_t a = std::max(from, inputs[k].start_ns), b = std::min(start, inputs[k].end_ns);
      calls_[i].input_ns += std::max<std::int64_t>(0, b - a);
    }
    calls_[i].input_ns = std::min(calls_[i].input_ns, calls_[i].think_ns);
    const std::int64_t rest = calls_[i].think_ns - calls_[i].input_ns;
    if (rest > kSilent && calls_[i].events * static_cast<double>(kSilent) < static_cast<double>(rest)) calls_[i].silent_ns = rest;
  }
}

// One replay.
class Replay::Run {
 public:
  Run(const Replay& r, const Change& change) : r_(r), change_(change), line_(r.line_) {
    end_.assign(line_.events.size(), INT64_MIN);
    start_ = end_;
    origin_ = r.order_.empty() && !line_.events.empty() ? line_.events.front()->span.start_ns : r.origin_;
    free_.assign(r.streams_, INT64_MIN);
    for (const std::uint32_t e : r.late_) free_[r.stream_[e]] = line_.events[e]->span.start_ns - origin_ - r.gap_ns_;
  }

  std::int64_t step_ns() {
    for (const Call& c : r_.calls_) issue(c);
    for (const std::uint32_t e : r_.orphans_) {
      if (!r_.earlier_[e] && start_[e] == INT64_MIN) run_one(e, line_.events[e]->span.start_ns - origin_, 0);
    }
    return measure();
  }

 private:
  bool gone(std::uint32_t e) const { return !change_.lengths_ns.empty() && change_.lengths_ns[e] < 0; }
  std::int64_t length(std::uint32_t e) const {
    return change_.lengths_ns.empty() ? line_.events[e]->span.length() : std::max<std::int64_t>(0, change_.lengths_ns[e]);
  }
  void spend(std::int64_t ns) {
    if (change_.host_slower != 1) ns = static_cast<std::int64_t>(static_cast<double>(ns) * change_.host_slower);
    host_ += ns;
    work_ += ns;
  }

  void run_one(std::uint32_t e, std::int64_t ready, std::int64_t gap) {
    std::int64_t& free = free_[r_.stream_[e]];
    std::int64_t at = ready;
    if (free != INT64_MIN) at = std::max(at, free + (gone(e) ? 0 : gap));
    if (const std::uint32_t other = r_.needs_[e]; other != kNone && end_[other] != INT64_MIN)
      at = std::max(at, end_[other] + gap);
    start_[e] = at;
    end_[e] = at + length(e);
    free = end_[e];
    flying_.push_back(e);
  }

  // What nobody is known to have launched goes before what follows it on its stream.
  void run(std::uint32_t e, std::int64_t ready, std::int64_t gap) {
    chain_.clear();
    const auto unlaunched = [&](std::uint32_t b) { return r_.by_[b] == kNone && !r_.earlier_[b] && start_[b] == INT64_MIN; };
    for (std::uint32_t b = r_.before_[e]; b != kNone && unlaunched(b); b = r_.before_[b]) chain_.push_back(b);
    for (auto it = chain_.rbegin(); it != chain_.rend(); ++it) run_one(*it, 0, gap);
    run_one(e, ready, gap);
  }

  void issue(const Call& c) {
    const auto first = r_.launched_.begin() + c.first;
    const bool dropped = c.count > 0 && std::all_of(first, first + c.count, [&](std::uint32_t e) { return gone(e); });
    const auto own = static_cast<std::int64_t>(static_cast<double>(change_.host_event_ns) * c.events);
    std::int64_t think = c.think_ns - (change_.no_input ? c.input_ns : 0);
    think -= std::min(own, (c.think_ns - c.input_ns) * 3 / 4);
    if (c.silent_ns > 0 || (c.input_ns > 0 && !change_.no_input))
      graphed_ = INT64_MIN;  // no graph spans what the host does itself
    const bool in_graph = change_.graph && c.step >= 0 && c.step == graphed_;
    if (!in_graph && !dropped) spend(think);
    if (c.count > 0 && c.step == r_.first_and_last_.first) work_low_ = std::min(work_low_, work_);
    if (c.count > 0 && c.step == r_.first_and_last_.second) work_high_ = std::min(work_high_, work_);
    const std::int64_t issued = host_;
    for (auto it = first; it != first + c.count; ++it) {
      const std::int64_t latency = line_.events[*it]->work == GpuWork::copy ? r_.copy_latency_ns_ : r_.kernel_latency_ns_;
      run(*it, issued + (gone(*it) ? 0 : latency), change_.graph ? kGraphGap : r_.gap_ns_);
    }
    if (change_.graph && c.count > 0 && !in_graph && c.step >= 0) {
      graphed_ = c.step;
      spend(kGraphLaunch);
    }
    if (!in_graph && !dropped) spend(c.cost_ns);
    if (c.waits_for != kNone && end_[c.waits_for] != INT64_MIN && (c.copies ? !change_.free_copies : !change_.no_waits)) {
      host_ = std::max(host_, end_[c.waits_for] + c.after_ns);
      graphed_ = INT64_MIN;
    }
    if (flying_.size() > kQueue) host_ = std::max(host_, end_[flying_[flying_.size() - kQueue]]);
  }

  std::int64_t measure() const {
    const std::size_t n = line_.events.size();
    const auto [low, high] = r_.first_and_last_;
    if (n == 0) return 0;
    const Span whole{line_.steps.front().span.start_ns, line_.steps.back().span.end_ns};
    // What begins after the steps is none of theirs; what ends a little later than they do did so when it was measured.
    std::int64_t any = INT64_MAX, first = INT64_MAX, last = INT64_MAX, ended = INT64_MIN, beyond = 0;
    for (std::uint32_t e = 0; e < n; ++e) {
      if (start_[e] == INT64_MIN) continue;
      any = std::min(any, start_[e]);
      if (line_.launch_steps[e] == low) first = std::min(first, start_[e]);
      if (line_.launch_steps[e] == high) last = std::min(last, start_[e]);
      if (line_.events[e]->span.start_ns >= whole.end_ns) continue;
      ended = std::max(ended, end_[e]);
      beyond = std::max(beyond, line_.events[e]->span.end_ns - whole.end_ns);
    }
    if (line_.lockstep) return std::max(host_ + r_.tail_ns_, ended - beyond) / static_cast<std::int64_t>(line_.steps.size());
    if (any == INT64_MAX) return 0;
    // Without marks, or of one mark: all of it.
    if (low >= high || line_.steps.front().name == kNone) return ended - std::min(any, whole.start_ns - origin_);
    // From the first thing of each step to the first of the next, as the timeline has it. A queue that was full when the profile
    // began must not hide that the host would not keep up.
    return std::max(last - first, work_high_ - work_low_) / (high - low);
  }

  const Replay& r_;
  const Change& change_;
  const Timeline& line_;
  std::vector<std::int64_t> start_, end_;  // by event; INT64_MIN: it did not run
  std::int64_t origin_ = 0;
  std::int64_t host_ = 0;
  // What the host itself had to do: so far, until it began with the first step, and with the last.
  std::int64_t work_ = 0, work_low_ = INT64_MAX, work_high_ = INT64_MAX;
  std::int64_t graphed_ = INT64_MIN;   // the step that was issued last
  std::vector<std::uint32_t> flying_;  // events in the order of their launches
  std::vector<std::int64_t> free_;     // by stream: when it has nothing left; INT64_MIN: nothing yet
  std::vector<std::uint32_t> chain_;
};

std::int64_t Replay::step_ns(const Change& change) const { return Run(*this, change).step_ns(); }

double Replay::error() const {
  const auto measured = static_cast<double>(line_.step_ns());
  return measured > 0 ? std::abs(static_cast<double>(step_ns()) / measured - 1) : 1;
}

}  // namespace muster::diagnose
