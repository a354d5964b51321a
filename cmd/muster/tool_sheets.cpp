#include "tool_sheets.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "model/fields.h"

namespace muster::cmd {
namespace {

using Kind = ToolField::Kind;

constexpr ToolField kFrom{"from", Kind::time, "its begin, in UTC; left out: that of the record"};
constexpr ToolField kTo{"to", Kind::time, "its end, in UTC; left out: that of the record"};
constexpr ToolField kJob{"job", Kind::text, "its number; \"17_3\" is member 3 of an array", true};
constexpr ToolField kMoment{"to", Kind::time, "as it was then; left out: now"};

constexpr std::array kExplain = {
    ToolField{"what", Kind::text, "a node, job, queue, incident, action, finding, fault code or log line", true},
    ToolField{"record", Kind::text, "\"1\": from the journal, with each decision's evidence, rule, alternatives and outcome"},
};
constexpr std::array kIncident = {ToolField{"id", Kind::text, "number of the incident", true}};
constexpr std::array kGoodput = {
    kFrom,
    kTo,
    ToolField{"by", Kind::text, "cause, account, queue or job"},
    ToolField{"most", Kind::text, "a class of GPU-hours: rows with most of it come first; left out: with most waste"},
    ToolField{"job", Kind::text, "of this job alone"},
};
constexpr std::array kAccount = {
    kFrom,
    kTo,
    ToolField{"since_s", Kind::number, "instead of from: so many seconds back from the end"},
    ToolField{"by", Kind::text, "account, partition, user, gpu_type, job, day or fault"},
    ToolField{"price", Kind::number, "of a GPU-hour, for times in which the policy names none"},
    ToolField{"cost_per_year", Kind::number, "instead of price: what all of it costs in a year of 365 days"},
    ToolField{"currency", Kind::text, "of that money"},
    ToolField{"target_pct", Kind::number, "efficiency to reach; left out: 94"},
    ToolField{"account", Kind::text, "rows of this account alone; \"(none)\": of jobs without one"},
    ToolField{"partition", Kind::text, "rows of this partition or queue alone"},
    ToolField{"user", Kind::text, "rows of this user alone"},
    ToolField{"csv", Kind::yes, "true: the rows as CSV, in {\"csv\": ...}"},
    ToolField{"uses", Kind::yes, "true: instead of all that, what each account had, day by day, as quotas take it"},
};
constexpr std::array kTimeline = {
    ToolField{"from", Kind::time, "its begin, in UTC; left out: six hours before the end"},
    kTo,
    ToolField{"max_bars", Kind::whole, "at most so many bars; what is too short for one is drawn together"},
    ToolField{"job", Kind::text, "the story of this job instead, up to its end or \"to\""},
};
constexpr std::array kJobSteps = {kJob, kFrom, kMoment};
constexpr std::array kOneJob = {kJob, kMoment};
constexpr std::array kEnvironment = {
    ToolField{"job", Kind::text, "its number; \"17_3\" is member 3 of an array, \"17.2\" its second attempt", true},
    ToolField{"against", Kind::text, "another run: answers with what differs"},
    ToolField{"all", Kind::yes, "true: also what is the same"},
};
constexpr std::array kAudit = {ToolField{"at", Kind::time, "as it was known then; left out: now"}};
constexpr std::array kWeek = {kFrom, kTo};
constexpr std::array kPlan = {
    ToolField{"list", Kind::yes, "true: what there is to choose from, and nothing else"},
    ToolField{"here", Kind::yes, "true: on this cluster"},
    ToolField{"model", Kind::text, "a transformer that {\"list\":true} names"},
    ToolField{"gpu", Kind::text, "kind of GPU, instead of this cluster's"},
    ToolField{"gpus", Kind::whole, "how many"},
    ToolField{"batch", Kind::whole, "sequences of a step"},
    ToolField{"seq", Kind::whole, "tokens of a sequence"},
    ToolField{"dtype", Kind::text, "number format"},
    ToolField{"optimizer", Kind::text, "what keeps the state of training"},
    ToolField{"tokens", Kind::text, "tokens of the whole run, as 15T"},
    ToolField{"price", Kind::number, "USD of a GPU-hour"},
    ToolField{"by", Kind::text, "a day it must be done by, as 2027-01-31"},
    ToolField{"budget", Kind::number, "USD; with a price"},
    ToolField{"keep", Kind::whole, "how many plans"},
    ToolField{"tp", Kind::whole, "tensor parallel ranks"},
    ToolField{"cp", Kind::whole, "context parallel ranks"},
    ToolField{"pp", Kind::whole, "stages of the pipeline"},
    ToolField{"vp", Kind::whole, "pieces of a stage"},
    ToolField{"ep", Kind::whole, "expert parallel ranks"},
    ToolField{"micro", Kind::whole, "sequences of a micro-batch"},
    ToolField{"recompute", Kind::text, "what is computed again instead of kept"},
    ToolField{"schedule", Kind::text, "order of the pipeline's passes"},
    ToolField{"shard", Kind::text, "what data parallel ranks divide among them"},
    ToolField{"launch", Kind::text, "framework to write the start of the best plan for"},
};
constexpr std::array kDesign = {
    ToolField{"model", Kind::text, "a transformer that the tool \"plan\" names"},
    ToolField{"tokens", Kind::text, "tokens of the run, as 15T"},
    ToolField{"days", Kind::number, "in which it must be done"},
    ToolField{"gpus", Kind::whole, "so many, instead of a run that must be done in time"},
    ToolField{"grow_to", Kind::whole, "GPUs that the network must have room for"},
    ToolField{"batch", Kind::whole, "sequences of a step"},
    ToolField{"seq", Kind::whole, "tokens of a sequence"},
    ToolField{"dtype", Kind::text, "number format"},
    ToolField{"gpu", Kind::text, "kinds of GPU, with commas between; left out: all that have a price"},
    ToolField{"radix", Kind::whole, "ports of a switch"},
    ToolField{"cooling", Kind::text, "air or liquid, as {\"list\":true} of \"plan\" names them"},
    ToolField{"store", Kind::text, "kind of storage"},
    ToolField{"feed", Kind::number, "GB/s that a GPU reads"},
    ToolField{"checkpoint", Kind::number, "seconds in which one must be written"},
    ToolField{"years", Kind::number, "over which costs are counted"},
    ToolField{"show", Kind::whole, "that design alone, with its cluster file"},
};
constexpr std::array kWhatIf = {
    ToolField{"id", Kind::text, "a trial that was begun: how it stands, or what came of it; alone"},
    ToolField{"cancel", Kind::text, "a trial to stop; alone. {} lists all trials"},
    ToolField{"policy", Kind::object, "settings of the policy in force to change, by name"},
    ToolField{"policy_name", Kind::text, "another policy that ships, by its name"},
    ToolField{"policy_yaml", Kind::text, "another policy: the text of its file"},
    ToolField{"policy_file", Kind::text, "what that file is called, for the command that is told"},
    ToolField{"add_nodes", Kind::whole, "so many more nodes"},
    ToolField{"remove_nodes", Kind::whole, "so many fewer nodes"},
    ToolField{"remove", Kind::list, "these nodes fewer, by name"},
    ToolField{"spares", Kind::whole, "nodes kept free for repairs"},
    ToolField{"days", Kind::number, "simulated days"},
    ToolField{"seeds", Kind::whole, "how many futures"},
    ToolField{"weather", Kind::number, "times the published fault rates"},
    ToolField{"load", Kind::number, "work offered over what the cluster can do"},
    ToolField{"mix", Kind::text, "the work that is assumed, where it is not known"},
};
constexpr std::array kInject = {
    ToolField{"fault", Kind::text, "a fault that the twin knows; {} lists them"},
    ToolField{"node", Kind::text, "name of the node, for faults of one"},
    ToolField{"slot", Kind::whole, "GPU of the node"},
    ToolField{"share", Kind::number, "part of the nodes that a bad push reaches"},
    ToolField{"lasts_s", Kind::number, "seconds, for what ends by itself"},
};

struct Named {
  std::string_view tool;
  ToolSheet sheet;
  bool open = false;  // takes more than is listed, and checks that itself
};
const std::array kSheets = {
    Named{"account", {"GPU-hours from installed to useful with their cost, by account, user, day or fault", kAccount}},
    Named{"audit", {"who did what and what came of it, newest first, and whether the record is whole", kAudit}},
    Named{"design", {"clusters to buy for a need, by what they cost and how fast they are", kDesign}},
    Named{"diagnose_job", {"what is held against a job, and which profiles to take", kOneJob}},
    Named{"explain", {"why something is as it is, in plain words", kExplain}},
    Named{"goodput", {"where GPU-hours went, from installed to useful, by cause, account, queue or job", kGoodput}},
    Named{"incident_report", {"the report of one incident, however old, from the journal", kIncident}},
    Named{"inject", {"breaks something in a simulated cluster; answers with the number of the fault", kInject}, true},
    Named{"job_environment", {"what a job ran in, by its nodes' word, and what changed between two runs", kEnvironment}},
    Named{"job_ranks", {"the ranks of a job against each other", kOneJob}},
    Named{"job_steps", {"how long the steps of a job take, and when that changed", kJobSteps}},
    Named{"plan", {"the fastest ways to spread a training run over a cluster", kPlan}},
    Named{"shadow_report", {"what was held back in shadow mode, and what became of it", {}}},
    Named{"timeline", {"nodes by time: jobs, incidents, drains, upgrades, prices; or the life of one job", kTimeline}},
    Named{"week", {"incidents, acts, refusals and waiting times of a stretch of time", kWeek}},
    Named{"whatif", {"what another policy, more or fewer nodes, or spares would do, tried on a twin", kWhatIf}, true},
};

const Named* find(std::string_view tool) {
  const auto it = std::find_if(kSheets.begin(), kSheets.end(), [&](const Named& n) { return n.tool == tool; });
  return it == kSheets.end() ? nullptr : &*it;
}

// What a form sends is text: numbers may come as such.
bool fits(const Value& v, Kind kind) {
  if (v.is_null()) return true;
  if (v.string() != nullptr) return kind != Kind::yes && kind != Kind::object && kind != Kind::list;
  double d = 0;
  switch (kind) {
    case Kind::yes: return v.boolean() != nullptr;
    case Kind::object: return v.object() != nullptr;
    case Kind::list: return v.array() != nullptr;
    case Kind::whole: return v.integer() != nullptr;
    case Kind::number: return v.number(d);
    case Kind::text: return v.number(d);
    case Kind::time: return false;
  }
  return false;
}

}  // namespace

ToolSheet sheet_of(std::string_view tool) {
  const Named* n = find(tool);
  return n == nullptr ? ToolSheet{} : n->sheet;
}

Result<void> check_question(const Value& input, std::string_view tool) {
  const Named* n = find(tool);
  if (n == nullptr || n->open) return {};
  if (input.object() == nullptr)
    return fail(Code::bad_input, fmt::format("a question must be an object, is {}", input.kind()),
                "GET /openapi.json says what each tool may be asked");
  std::vector<std::string> all;
  for (const ToolField& f : n->sheet.fields) all.emplace_back(f.name);
  for (const Value::Member& m : *input.object()) {
    const auto field =
        std::find_if(n->sheet.fields.begin(), n->sheet.fields.end(), [&](const ToolField& f) { return f.name == m.key; });
    if (field == n->sheet.fields.end()) {
      const auto meant = nearest(m.key, all);
      return fail(Code::bad_input, fmt::format("{} has no field \"{}\"", tool, printable(m.key.substr(0, 100))),
                  meant         ? fmt::format("did you mean \"{}\"?", *meant)
                  : all.empty() ? "it takes none"
                                : "one of " + join(all, ", "));
    }
    if (!fits(m.value, field->kind))
      return fail(Code::bad_input, fmt::format("{} is {}", field->name, m.value.kind()),
                  fmt::format("{}: {}", name_of(field->kind), field->about));
  }
  return {};
}

}  // namespace muster::cmd
