#include "trial/detect_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "detect/detectors.h"
#include "ingest/job_log.h"
#include "ingest/kernel_log.h"
#include "ingest/prom_text.h"

namespace muster::trial {
namespace {

constexpr Duration kHeartbeat = seconds(30);

struct Found {
  double after_s = 0;  // since the case's first input
  std::string subject;
};

// The state and the detectors of one case.
class Bench {
 public:
  explicit Bench(const Case& c) : case_(c) {
    now_.utc = Time{1'767'225'600'000'000'000};
    now_.steady = Time{5'000'000'000};
    tell(RunStarted{"bench", 1, 1, "b", now_});
    tell(SiteDeclared{corpus_site(c)});
    tell(PolicyApplied{default_policy(), "hash"});
    tell(TurnBegan{1, now_});
    detectors_ = std::make_unique<detect::Detectors>(s_);
    up_.assign(c.nodes, true);
    begin_ = now_;
  }

  // What was found, each with how long after the case's first input.
  std::map<Label, Found> run() {
    std::size_t next = 0;
    Duration t{};
    while (t <= case_.length) {
      while (next < case_.inputs.size() && case_.inputs[next].at <= t) take(case_.inputs[next++]);
      turn(t);
      Duration after = t + kHeartbeat;
      if (next < case_.inputs.size()) after = std::min(after, case_.inputs[next].at);
      const Time timer = detectors_->next(s_);
      if (timer != kNever && timer > s_.mono()) after = std::min(after, timer - (begin_.steady + s_.mono_offset));
      t = std::max(after, t + milliseconds(1));
    }
    return found_;
  }
  std::uint64_t refused() const { return refused_; }

 private:
  void tell(Body body) { fold(s_, next_event(s_, "bench", now_.utc, std::move(body))); }
  void take(const Input& i) {
    const Time at = begin_.utc + i.at;
    switch (i.kind) {
      case Input::Kind::kmsg:
        if (auto r = parse_kmsg(i.text, i.node, 0x9f3c, at, s_.site)) kernel_.push_back(std::move(*r));
        break;
      case Input::Kind::logfile:  // as an agent hands on what it read from a file that users may write to
        if (auto r = parse_kmsg(i.text, i.node, 0x9f3c, at, s_.site)) events_.push_back(KernelHeard{std::move(*r), false});
        break;
      case Input::Kind::scrape: refused_ += parse_scrape(i.text, i.node, at, s_.site, samples_); break;
      case Input::Kind::log: {
        const auto line = parse_train_line(std::string_view(i.text).substr(0, i.text.find('\n')));
        auto r = line ? job_log_record(*line, i.job, at, s_.site) : std::nullopt;
        if (r) logs_.push_back(std::move(*r));
        break;
      }
      case Input::Kind::event: events_.push_back(i.event); break;
      case Input::Kind::step: {
        const Job* j = find_job(s_, i.job);
        steps_.push_back({at, i.job, j == nullptr ? 1 : j->attempt, ++step_, i.step_s});
        break;
      }
      case Input::Kind::up_stops: up_[i.node.v] = false; break;
      case Input::Kind::up_again: up_[i.node.v] = true; break;
    }
  }
  void turn(Duration t) {
    now_ = begin_;
    now_.utc = begin_.utc + t;
    now_.steady = begin_.steady + t;
    for (std::uint32_t n = 0; n < case_.nodes; ++n) {
      if (up_[n]) samples_.push_back({now_.utc, NodeId{n}, -1, Field::up, 1});
    }
    const std::vector<Body> said =
        detectors_->look(samples_, kernel_, steps_, events_, s_, now_.utc, now_.steady + s_.mono_offset, logs_);
    tell(TurnBegan{s_.turn + 1, now_});
    for (const Body& b : events_) tell(b);
    for (const Body& b : said) {
      if (const auto* f = std::get_if<FindingOpened>(&b)) {
        const Finding& x = f->finding;
        const Duration first = case_.inputs.empty() ? Duration{} : case_.inputs.front().at;
        found_.try_emplace(Label{x.kind, x.node, x.slot, x.node.some() ? JobId{} : x.job, {}},
                           Found{(t - first).seconds(), x.subject});
      }
      tell(b);
    }
    samples_.clear();
    kernel_.clear();
    steps_.clear();
    logs_.clear();
    events_.clear();
  }

  const Case& case_;
  State s_;
  Now now_, begin_;
  std::unique_ptr<detect::Detectors> detectors_;
  std::vector<bool> up_;
  std::vector<Sample> samples_;
  std::vector<KernelRecord> kernel_;
  std::vector<StepReport> steps_;
  std::vector<JobLogRecord> logs_;
  std::vector<Body> events_;
  std::map<Label, Found> found_;
  std::uint64_t refused_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace

DetectReport bench_detect(const std::vector<Case>& cases) {
  DetectReport out;
  for (const Case& c : cases) {
    Bench bench(c);
    const std::map<Label, Found> found = bench.run();
    out.refused_lines += bench.refused();
    ++out.cases;
    out.quiet += c.expected.empty() ? 1 : 0;
    const std::string where = fmt::format("{}:{} {}", c.file, c.line, c.name);
    std::set<Label> right;  // expected or allowed, without their subjects
    for (const auto* labels : {&c.expected, &c.allowed}) {
      for (Label l : *labels) {
        l.subject.clear();
        right.insert(l);
      }
    }
    const std::set<Label> expected(c.expected.begin(), c.expected.end());
    for (const Label& l : expected) {
      ClassMarks& marks = out.classes[l.kind];
      ++marks.expected;
      ++out.all.expected;
      Label bare = l;
      bare.subject.clear();
      if (const auto it = found.find(bare); it != found.end() && it->second.subject.substr(0, l.subject.size()) == l.subject) {
        ++marks.found;
        ++out.all.found;
        marks.latency_s_sum += it->second.after_s;
      } else {
        ++marks.missed;
        ++out.all.missed;
        out.misses.push_back(fmt::format("{}: {}", where, render(l)));
      }
    }
    for (const auto& [l, after] : found) {
      if (right.count(l) != 0) continue;
      ++out.classes[l.kind].wrong;
      ++out.all.wrong;
      out.false_alarms.push_back(fmt::format("{}: {}", where, render(l)));
    }
  }
  return out;
}

}  // namespace muster::trial
