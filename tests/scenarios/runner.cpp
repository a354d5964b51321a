// scenarios FILE...: plays each scenario with the controller over a twin, and says what did not come as expected.
#include <fmt/core.h>

#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <iterator>

#include "scenario.h"
#include "trial/checker.h"
#include "trial/controlled.h"

namespace muster::scenarios {
namespace {

// The twin, and a person who types commands.
class Desk final : public Observatory {
 public:
  explicit Desk(twin::Twin& twin) : twin_(twin) {}
  void poll(Inbox& out) override {
    twin_.poll(out);
    for (CommandGiven& c : typed) out.events.push_back({{{}, "operator", 0}, twin_.now().utc, std::move(c), {}});
    typed.clear();
  }
  void wait(Time until) override { twin_.wait(until); }
  std::vector<CommandGiven> typed;

 private:
  twin::Twin& twin_;
};

struct Play {
  const Scenario& s;
  bool verbose;
  std::vector<std::string> problems;
  std::vector<std::uint32_t> met = std::vector<std::uint32_t>(s.expect.size(), 0);
  Time began;  // steady: the wall clock may jump
  std::size_t drained = 0;  // nodes out at one moment, at most
  std::uint32_t findings = 0;
  std::string figures;
  std::clock_t clock_before = std::clock();

  static twin::Config config(const Scenario& s) {
    twin::Config c;
    c.site = s.site;
    c.workload = s.workload;
    c.seed = s.seed;
    return c;
  }

  bool matches(const Match& m, const Event& e, const State& state) const {
    const Time at{(state.now.steady - began).ns};
    if (at < m.after || at > m.until) return false;
    const auto says = [&](const std::string& text) { return m.because.empty() || text.find(m.because) != std::string::npos; };
    const auto here = [&](NodeId n) { return !m.node.some() || n == m.node; };
    if (const auto* o = std::get_if<OrderIntended>(&e.body)) {
      const Action& a = o->order.action;
      return m.action == a.verb && here(a.node) && says(o->order.reason.sentence);
    }
    if (const auto* r = std::get_if<OrderRefused>(&e.body))
      return m.refused == r->action.verb && here(r->action.node) && says(r->limit);
    if (const auto* f = std::get_if<FindingOpened>(&e.body)) {
      return m.finding == f->finding.kind && here(f->finding.node) && says(f->finding.evidence.front().text);
    }
    if (const auto* c = std::get_if<IncidentClosed>(&e.body)) {
      const Incident* i = find_incident(state, c->id);
      return m.incident_closed && i != nullptr && here(i->node) && says(c->resolution);
    }
    if (const auto* j = std::get_if<JobStarted>(&e.body)) {
      const Job* job = find_job(state, j->job);
      if (m.started.empty() || job == nullptr || job->spec.name != m.started) return false;
      return !m.node.some() || std::find(j->nodes.begin(), j->nodes.end(), m.node) != j->nodes.end();
    }
    if (const auto* o = std::get_if<IncidentOpened>(&e.body)) {
      const Finding* f = find_finding(state, o->finding);
      return f != nullptr && m.incident == f->kind && here(f->node) && says(f->subject + " " + f->evidence.front().text);
    }
    if (const auto* z = std::get_if<CauseFrozen>(&e.body)) {
      const bool over = z->until <= state.mono();
      return (over ? m.thawed : m.frozen) == name_of(z->cause) && says(z->why);
    }
    return false;
  }

  void on_event(const Event& e, const State& state) {
    if (verbose) show(e, state);
    drained = std::max(drained, state.out_nodes.size());
    findings += std::holds_alternative<FindingOpened>(e.body) ? 1 : 0;
    for (std::size_t i = 0; i < s.expect.size(); ++i) met[i] += matches(s.expect[i], e, state) ? 1 : 0;
    for (const Match& m : s.never) {
      if (matches(m, e, state)) {
        problems.push_back(fmt::format("must never be, but was at {}: {}", render_duration(state.now.steady - began), m.text));
      }
    }
  }
  void show(const Event& e, const State& state) const {
    if (std::holds_alternative<TurnBegan>(e.body) || std::holds_alternative<JobProgressed>(e.body)) return;
    fmt::print("  {:>10}  {} {}\n", render_duration(state.now.steady - began), type_of(e), encode_body(e.body).substr(0, 400));
  }

  void check_bounds(const State& state) {
    const Bounds& b = s.bounds;
    const auto at_most = [&](const char* what, double is, std::optional<std::uint32_t> limit) {
      if (limit && is > *limit) problems.push_back(fmt::format("{}: {:.1f}, at most {} are allowed", what, is, *limit));
    };
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const double cpu_s = static_cast<double>(std::clock() - clock_before) / CLOCKS_PER_SEC;
    const double memory_mb = static_cast<double>(use.ru_maxrss) / 1024;
    at_most("nodes out of service at one moment", static_cast<double>(drained), b.drained_at_most);
    at_most("incidents", static_cast<double>(state.totals.incidents), b.incidents_at_most);
    at_most("CPU seconds", cpu_s, b.cpu_s_at_most);
    at_most("MB of memory", memory_mb, b.memory_mb_at_most);
    if (b.findings_at_least && findings < *b.findings_at_least) problems.push_back(fmt::format("only {} findings", findings));
    figures = fmt::format("{} nodes out at most, {} findings, {} incidents, {} orders, {:.1f} CPU s, {:.0f} MB", drained,
                          findings, state.totals.incidents, state.totals.orders, cpu_s, memory_mb);
    if (!b.all_well) return;
    for (std::size_t n = 0; n < state.nodes.size(); ++n) {
      const NodeState& x = state.nodes[n];
      if (x.condition != NodeCondition::up || x.hold != Hold::none || x.incident.some()) {
        problems.push_back(fmt::format("not well at the end: {} is {}, held by {}", s.site.nodes[n].name, name_of(x.condition),
                                       name_of(x.hold)));
      }
    }
    for (const auto& [id, i] : state.incidents) {
      if (i.closed.ns == 0) problems.push_back(fmt::format("open at the end: incident {} of {}", id.v, name_of(i.cause)));
    }
    if (!state.frozen.empty()) problems.push_back("acts on a cause are frozen at the end");
  }

  Result<void> run() {
    twin::Twin twin(config(s));
    Desk desk(twin);
    trial::KeptJournal journal;
    trial::Checker checker(s.site, s.policy);
    control::LoopConfig lc;
    lc.site = s.site;
    lc.policy = s.policy;
    lc.journal_id = "scenario";
    auto loop = control::Loop::start(twin, desk, twin, journal, lc);
    if (!loop) return tl::unexpected(loop.error());
    control::Loop& l = **loop;
    l.on_event = [&](const Event& e) {
      checker.on_event(e, l.state());
      on_event(e, l.state());
    };
    began = twin.now().steady;
    auto faults = s.inject.begin();
    auto commands = s.commands.begin();
    for (;;) {
      const Duration now = twin.now().steady - began;
      if (now >= s.run) break;
      for (; faults != s.inject.end() && faults->at <= now; ++faults) {
        if (auto r = twin.inject(faults->stroke); !r) return tl::unexpected(r.error());
      }
      for (; commands != s.commands.end() && commands->at <= now; ++commands) desk.typed.push_back(commands->given);
      auto turn = l.turn();
      if (!turn) return tl::unexpected(turn.error());
      Duration next = s.run;
      if (faults != s.inject.end()) next = std::min(next, faults->at);
      if (commands != s.commands.end()) next = std::min(next, commands->at);
      twin.wait(std::min(turn->wake_at, turn->now.steady + (next - now)));
    }
    checker.on_books(l.accounts(), l.state());
    check_bounds(l.state());
    for (const std::string& v : checker.violations()) problems.push_back("invariant broken: " + v);
    for (std::size_t i = 0; i < s.expect.size(); ++i) {
      if (met[i] == 0) problems.push_back("did not come: " + s.expect[i].text);
      const std::uint32_t times = s.expect[i].times;
      if (met[i] > 0 && times > 0 && met[i] != times) {
        problems.push_back(fmt::format("came {} times, not {}: {}", met[i], times, s.expect[i].text));
      }
    }
    return {};
  }
};

bool play(const std::string& path, bool verbose) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  Result<Scenario> s = fail(Code::not_found, "cannot read " + path);
  if (in) s = parse_scenario(text, name);
  if (!s) {
    fmt::print("not ok - {}\n  {}\n", name, s.error().what);
    return false;
  }
  std::stable_sort(s->inject.begin(), s->inject.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  bool good = true;
  const std::uint64_t first = s->seed;
  for (std::uint32_t k = 0; k < s->seeds; ++k) {
    s->seed = first + k;
    Play p{*s, verbose, {}};
    if (auto r = p.run(); !r) p.problems.push_back(r.error().what);
    good = good && p.problems.empty();
    const std::string which = s->seeds == 1 ? std::string() : fmt::format(", seed {}", s->seed);
    if (k == 0 || !p.problems.empty()) fmt::print("{} - {}{}: {}\n", p.problems.empty() ? "ok" : "not ok", name, which, s->about);
    if (s->bounds.drained_at_most && (k == 0 || !p.problems.empty())) fmt::print("  {}{}\n", p.figures, which);
    for (std::size_t i = 0; i < p.problems.size() && i < 10; ++i) fmt::print("  {}\n", p.problems[i]);
  }
  return good;
}

}  // namespace
}  // namespace muster::scenarios

int main(int argc, char** argv) {
  bool good = argc > 1;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-v") {
      verbose = true;
    } else {
      good = muster::scenarios::play(argv[i], verbose) && good;
    }
  }
  return good ? 0 : 1;
}
