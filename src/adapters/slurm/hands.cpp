#include "adapters/slurm/hands.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "adapters/slurm/reasons.h"
#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kReasonMost = 200;
constexpr std::size_t kCommentMost = 500;
constexpr int kGateAgain_s = 3600;  // as long as the gate itself holds
constexpr auto kRequeueWait = std::chrono::seconds(9);
constexpr auto kProgramMost = std::chrono::minutes(60);

Outcome outcome_of(const Error& e) {
  if (e.code == Code::unreachable) return {Status::not_received, e.what};
  if (e.code == Code::internal) return {Status::unknown, e.what};
  return {Status::refused, e.what};
}

std::string cut(std::string s, std::size_t most) {
  // One line of plain text: it is shown by squeue and sinfo.
  for (char& c : s) {
    if (c == '\n' || c == '"' || c == '\'') c = ' ';
  }
  if (s.size() > most) s.resize(most);
  return to_valid_utf8(s);
}

// Somebody's work is on it, whatever Muster knows. What is only ending is no reason to wait: it may hang for ever.
bool at_work(const NodeRow& n) { return n.state.front() == "ALLOCATED" || n.state.front() == "MIXED"; }

// A value of a line of `scontrol show job`, up to its first space.
std::string_view first_of(std::string_view line, std::string_view key) {
  const std::string_view text = value_of(line, key);
  return text.substr(0, text.find(' '));
}
bool completing(std::string_view line) {
  const std::string_view state = first_of(line, "JobState");
  return state == "COMPLETING" || state == "REQUEUED";
}

std::string replaced(std::string word, const Order& o, const Site& site) {
  const Action& a = o.action;
  const std::pair<std::string_view, std::string> all[] = {
      {"{node}", a.node.some() ? site.nodes[a.node.v].name : std::string()},
      {"{slot}", std::to_string(a.slot)},
      {"{key}", o.key},
      {"{version}", a.version},
  };
  for (const auto& [mark, value] : all) {
    for (auto at = word.find(mark); at != std::string::npos; at = word.find(mark, at + value.size()))
      word.replace(at, mark.size(), value);
  }
  return word;
}

// Is done to empty nodes only.
bool disturbs(Verb v) {
  return v == Verb::test_node || v == Verb::reset_gpu || v == Verb::reboot_node || v == Verb::power_cycle_node ||
         v == Verb::reload_driver || v == Verb::bounce_link || v == Verb::install;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  while (trim(line).empty() && std::getline(file, line)) {}
  return printable(trim(line).substr(0, kCommentMost));
}

// A slurmd refuses whatever is started in the second in which it was told to end the job ("Job credential revoked"), and Slurm
// then takes the job for failed: it is why Slurm itself lets two minutes pass.
void wait_until_it_may_start_again() { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); }

}  // namespace

std::string reason_text(IncidentId incident, std::string_view sentence) {
  const std::string what = incident.some() ? fmt::format("incident {}: ", incident.v) : std::string();
  return cut(fmt::format("{}{}{}", kOwnReason, what, sentence), kReasonMost);
}

// Reasons down before it is sent: a look may find it before this call has come back.
std::string Hands::write_reason(const Order& o) {
  std::string text = reason_text(o.reason.incident, o.reason.sentence);
  reasons_.wrote(o.action.node, text);
  return "Reason=" + text;
}

std::string Hands::nodes_of(const Action& a) const {
  std::vector<std::string> names;
  for (const NodeId n : a.nodes) names.push_back(site_.nodes[n.v].name);
  return compress_names(std::move(names));
}

Result<NodeRow> Hands::read_node(NodeId n) {
  auto rows = tools_.node(site_.nodes[n.v].name);
  if (!rows) return tl::unexpected(rows.error());
  if (rows->size() != 1) return fail(Code::refused, fmt::format("Slurm does not know node {}", site_.nodes[n.v].name));
  return std::move(rows->front());
}

Outcome Hands::drain(const Order& o) {
  const std::string& name = site_.nodes[o.action.node.v].name;
  const auto before = read_node(o.action.node);
  if (!before) return outcome_of(before.error());
  const bool takes_over = reasons_.has(o.action.node, before->reason) || reasons_.slurms(*before);
  if (taken_out(*before) && !takes_over) return {Status::done, fmt::format("it is drained already: {}", before->reason)};
  if (auto ok = tools_.scontrol({"update", "NodeName=" + name, "State=DRAIN", write_reason(o)}); !ok)
    return outcome_of(ok.error());
  const auto after = read_node(o.action.node);
  if (!after) return {Status::unknown, after.error().what};
  if (!drained(*after)) return {Status::failed, fmt::format("Slurm took the drain and shows {}", join(after->state, "+"))};
  return {Status::done, {}};
}

Outcome Hands::undrain(const Order& o) {
  const std::string& name = site_.nodes[o.action.node.v].name;
  const auto before = read_node(o.action.node);
  if (!before) return outcome_of(before.error());
  const bool own = reasons_.has(o.action.node, before->reason) || reasons_.slurms(*before);
  const bool persons = taken_out(*before) && !own;
  if (persons && o.reason.wish.empty())
    return {Status::refused, fmt::format("somebody else drained it: {}", before->reason)};
  if (!drained(*before) && !down(*before)) return {Status::done, "it is in service already"};
  if (auto ok = tools_.scontrol({"update", "NodeName=" + name, "State=RESUME"}); !ok) return outcome_of(ok.error());
  const auto after = read_node(o.action.node);
  if (!after) return {Status::unknown, after.error().what};
  if (drained(*after)) return {Status::failed, fmt::format("Slurm took the return and shows {}", join(after->state, "+"))};
  return {Status::done, {}};
}

Outcome Hands::reboot(const Order& o) {
  if (settings_.hands.count(Verb::reboot_node) != 0) return program(o);
  const std::string& name = site_.nodes[o.action.node.v].name;
  // Down afterwards, not idle: it comes back into service by its test and nothing else.
  if (auto ok = tools_.scontrol({"reboot", "ASAP", "nextstate=DOWN", write_reason(o), name}); !ok)
    return outcome_of(ok.error());
  return {Status::pending, {}};
}

// Nodes that its owner rules out are not in squeue's list, and may be named while the job waits.
Outcome Hands::start_waiting(const Order& o) {
  const auto line = tools_.job(render(o.action.job));
  const std::string_view out = line ? first_of(*line, "ExcNodeList") : std::string_view();
  if (out.empty() || out == "(null)") return start(o);
  const std::string why = "it rules out nodes";
  if (auto ok = hand_over(o.action.job, why); !ok) return outcome_of(ok.error());
  return {Status::refused, "Slurm places it: " + why};
}

Outcome Hands::start(const Order& o) {
  if (o.action.attempt > 1) wait_until_it_may_start_again();
  const std::string comment = cut(fmt::format("{}: {}", kPlace, o.reason.sentence), kCommentMost);
  auto ok = tools_.scontrol(
      {"update", "JobId=" + render(o.action.job), "NodeList=" + nodes_of(o.action), "StartTime=now", "AdminComment=" + comment});
  if (!ok) return outcome_of(ok.error());
  return {Status::pending, {}};
}

Outcome Hands::restart(const Order& o) {
  const std::string id = render(o.action.job);
  const auto line = tools_.job(id);
  if (!line) return outcome_of(line.error());
  if (line->empty()) return {Status::refused, "Slurm no longer knows the job"};
  if (first_of(*line, "JobState") != "PENDING") {
    if (auto ok = tools_.scontrol({"requeue", id}); !ok) return outcome_of(ok.error());
  }
  const auto until = std::chrono::steady_clock::now() + kRequeueWait;
  wait_until_gone(id, until);
  for (;;) {
    const Outcome x = start(o);
    const bool again = x.status == Status::refused || (x.status == Status::pending && put_off(id));
    if (!again || std::chrono::steady_clock::now() > until) return x;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
}

// Until the processes of a requeued job are gone it cannot be given nodes.
void Hands::wait_until_gone(const std::string& id, std::chrono::steady_clock::time_point until) {
  while (std::chrono::steady_clock::now() < until) {
    const auto line = tools_.job(id);
    if (!line || !completing(*line)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Once the last process of a requeued job is gone, Slurm sets its start two minutes ahead, whatever it took before that.
bool Hands::put_off(const std::string& id) {
  constexpr std::int64_t kNoLonger_s = 5;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto line = tools_.job(id);
  if (!line || line->empty()) return false;
  if (completing(*line)) return true;
  const auto start = parse_int(first_of(*line, "StartTime"));
  return first_of(*line, "JobState") == "PENDING" && start && *start > std::time(nullptr) + kNoLonger_s;
}

Result<void> Hands::gate_again(JobId id) {
  // A word that was never there before: the start that goes with it is no wish of the job's owner.
  const auto now_ns = std::chrono::system_clock::now().time_since_epoch().count();
  return tools_.scontrol({"update", "JobId=" + render(id), "NodeList=", fmt::format("StartTime=now+{}seconds", kGateAgain_s),
                          fmt::format("AdminComment={}, again ({:x})", kGate, now_ns)});
}

Result<void> Hands::hand_over(JobId id, const std::string& why) {
  return tools_.scontrol(
      {"update", "JobId=" + render(id), "StartTime=now", "AdminComment=" + cut(std::string(kLeft) + why, kCommentMost)});
}

Result<void> Hands::leave_start(JobId id, const std::string& why) {
  return tools_.scontrol({"update", "JobId=" + render(id), "AdminComment=" + cut(std::string(kLeft) + why, kCommentMost)});
}

Outcome Hands::requeue(const Order& o, bool gated) {
  const std::string id = render(o.action.job);
  if (auto ok = tools_.scontrol({"requeue", id}); !ok) return outcome_of(ok.error());
  const auto until = std::chrono::steady_clock::now() + kRequeueWait;
  wait_until_gone(id, until);
  wait_until_it_may_start_again();
  for (;;) {
    // Slurm would let it wait for two minutes; and where Muster places, it is not to start before it has nodes.
    const auto ok = gated ? gate_again(o.action.job) : tools_.scontrol({"update", "JobId=" + id, "StartTime=now"});
    const bool again = !ok || (!gated && put_off(id));
    if (!again || std::chrono::steady_clock::now() > until) return {Status::done, {}};
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
}

Outcome Hands::result_of(const std::string& key) const {
  const std::string base = settings_.spool + "/" + key;
  if (!std::ifstream(base + ".out")) return {Status::not_received, {}};
  std::ifstream code(base + ".exit");
  int status = -1;
  if (!(code >> status)) return {Status::pending, {}};
  // What it prints is the reason; how it gets on, which goes to stderr, only where it prints nothing.
  std::string line = first_line(base + ".out");
  if (line.empty()) line = first_line(base + ".err");
  return {status == 0 ? Status::done : Status::failed, line.empty() && status != 0 ? fmt::format("exit code {}", status) : line};
}

// Through a shell that leaves what came of it in the spool: the program goes on when Muster is killed, and is not run twice.
Outcome Hands::program(const Order& o) {
  const auto it = settings_.hands.find(o.action.verb);
  if (it == settings_.hands.end() || it->second.empty()) {
    return {Status::refused,
            fmt::format("no program for {} is named: add to the Slurm file  hands: {{{}: [/path/to/program, \"{{node}}\"]}}",
                        name_of(o.action.verb), name_of(o.action.verb))};
  }
  const std::string base = settings_.spool + "/" + o.key;
  Command c;
  c.argv = {"setsid",
            "-w",
            "sh",
            "-c",
            R"(out=$1; shift; "$@" > "$out.out" 2> "$out.err" < /dev/null; echo $? > "$out.part"; mv "$out.part" "$out.exit")",
            "sh",
            base};
  for (const std::string& word : it->second) c.argv.push_back(replaced(word, o, site_));
  c.timeout = kProgramMost;
  const auto r = run(c);
  if (!r)
    return r.error().code == Code::not_found ? Outcome{Status::refused, r.error().what}
                                             : Outcome{Status::unknown, r.error().what};
  Outcome x = result_of(o.key);
  if (x.status == Status::pending || x.status == Status::not_received) return {Status::unknown, "its result was not written"};
  return x;
}

Outcome Hands::act(const Order& o, bool gated) {
  if (disturbs(o.action.verb) && o.action.node.some()) {
    const auto n = read_node(o.action.node);
    if (!n) return outcome_of(n.error());
    if (at_work(*n)) return {Status::refused, fmt::format("Slurm has work on it: {}", join(n->state, "+"))};
  }
  switch (o.action.verb) {
    case Verb::drain_node: return drain(o);
    case Verb::undrain_node: return undrain(o);
    case Verb::reboot_node: return reboot(o);
    case Verb::start_job: return start_waiting(o);
    case Verb::restart_job: return restart(o);
    case Verb::requeue_job: return requeue(o, gated);
    case Verb::fail_job:
    case Verb::cancel_job: {
      auto ok = tools_.scancel(render(o.action.job));
      return ok ? Outcome{Status::done, {}} : outcome_of(ok.error());
    }
    case Verb::submit_job: return {Status::refused, "jobs are submitted to Slurm itself: sbatch"};
    case Verb::pace_job: return {Status::refused, "a job of Slurm is told through the agent on its node"};
    default: return program(o);
  }
}

Outcome Hands::look_back(const Order& o, const std::vector<JobRow>& jobs) {
  const Action& a = o.action;
  switch (a.verb) {
    case Verb::drain_node:
    case Verb::undrain_node: {
      const auto n = read_node(a.node);
      if (!n) return {Status::unknown, n.error().what};
      const bool as_wanted = drained(*n) == (a.verb == Verb::drain_node);
      return {as_wanted ? Status::done : Status::not_received, {}};
    }
    case Verb::start_job:
    case Verb::restart_job: {
      for (const JobRow& r : jobs) {
        if (r.id != a.job) continue;
        const bool pinned =
            !r.required.empty() && compress_names(expand_names(r.required).value_or(std::vector<std::string>{})) == nodes_of(a);
        if (pinned) return {Status::pending, {}};
        return {r.state == "PENDING" ? Status::not_received : Status::done, {}};
      }
      return {Status::done, "Slurm no longer has it: it ran, or was cancelled"};
    }
    case Verb::requeue_job:
    case Verb::fail_job:
    case Verb::cancel_job: {
      for (const JobRow& r : jobs) {
        if (r.id == a.job && r.state == "RUNNING" && r.restarts < a.attempt) return {Status::not_received, {}};
      }
      return {Status::done, {}};
    }
    case Verb::reboot_node:
      if (settings_.hands.count(Verb::reboot_node) == 0) return {Status::pending, {}};
      [[fallthrough]];
    default: return result_of(o.key);
  }
}

}  // namespace muster::slurm
