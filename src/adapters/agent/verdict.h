// Verdict: whether this node is fit for the next job, in one line of a file that the agent renews, for hooks that must not wait
// for anything. And the hooks themselves: when a job's prolog or epilog may say no.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/agent/exposition.h"
#include "base/result.h"

namespace muster::agent {

enum class Fitness : std::uint8_t {
  fit,
  trouble,  // something is wrong that one witness tells of, or that a job can live with
  broken,   // two witnesses, neither of which a user can forge, agree that a GPU is out of service
};

struct Verdict {
  Fitness fitness = Fitness::fit;
  std::string boot;           // of the machine: a file from before a reboot says nothing
  std::int64_t uptime_s = 0;  // when it was written
  // How many more nodes the controller would let go out of service; empty: no controller has said so lately.
  std::optional<std::uint32_t> left;
  std::string text;  // what is wrong, in plain words

  bool operator==(const Verdict&) const = default;
};

// Without boot, time and budget: those are the caller's.
Verdict judge_node(const Picture& p);
// "broken 9f3c... 86400 2 GPU 3 ...": words of fixed places first, so that a shell reads them without any program.
std::string render_verdict(const Verdict& v);
std::optional<Verdict> parse_verdict(std::string_view line);

constexpr std::int64_t kVerdictStale_s = 30;    // the agent writes at least every five
constexpr std::int64_t kRefusalEvery_s = 3600;  // a node says no to one job in this time

struct HookMoment {
  std::string boot;
  std::int64_t uptime_s = 0;
  std::optional<std::int64_t> refused_s;  // uptime at the last refusal of this boot
};

struct HookAnswer {
  bool pass = true;
  std::string says;     // one line for whoever reads Slurm's log
  std::string finding;  // for the controller; empty: nothing to tell
};
// A non-zero exit of a prolog makes Slurm drain the node past every limit of the controller: only a broken node may say so, once
// an hour, and not when the controller's own limit is used up. What is not known passes.
HookAnswer answer_hook(const std::optional<Verdict>& v, const HookMoment& now);

// The files in the agent's folder.
Result<void> save_verdict(const std::string& folder, const Verdict& v);
std::optional<Verdict> load_verdict(const std::string& folder);
std::int64_t uptime_s();
// Answers for `hook` ("prolog", "epilog") of a job: reads the verdict, keeps the budget, leaves the finding for the agent. Never
// waits for longer than it takes to read a file.
HookAnswer run_hook(const std::string& folder, const std::string& hook, const std::string& job);

// What hooks left for the controller since the last call.
struct HookWord {
  std::string hook;
  std::string text;
};
std::vector<HookWord> take_hook_words(const std::string& folder);

}  // namespace muster::agent
