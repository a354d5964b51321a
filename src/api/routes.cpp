#include "api/routes.h"

#include <fmt/core.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::size_t kBodyMax = 64 << 10;
constexpr std::size_t kToolBodyMax = 1 << 20;
constexpr std::string_view kJson = "application/json";

constexpr Parameter kAtTime{"at", "as it was then: 2026-11-15T02:03:04Z; readings of GPUs are not remembered"};
constexpr std::array kAt = {kAtTime};
constexpr std::array kMap = {
    Parameter{"since", "a seq: only what changed after it, where that is still known; else all"},
    kAtTime,
};
constexpr std::array kValues = {
    Parameter{"of", "what: job, temp, power, util, peers, risk or money"},
    kAtTime,
};
constexpr std::array kFabric = {
    Parameter{"leaf", "only this leaf, with all its links: its name, its number or a switch of it"},
    Parameter{"job", "only what this job uses, with all its links"},
    kAtTime,
};
constexpr std::array kNodes = {
    Parameter{"state", "only nodes in this state: busy, idle, suspect, repairing, drained, down or booting"},
    Parameter{"rack", "only nodes of this rack, by name"},
    Parameter{"name", "only these nodes: names and ranges, e.g. node[001-004],node017"},
    Parameter{"limit", "at most so many"},
    Parameter{"after", "begin after the node of this name, to read page by page"},
    kAtTime,
};
constexpr std::array kGpus = {
    kNodes[0],
    kNodes[1],
    kNodes[2],
    kNodes[3],
    kNodes[4],
    Parameter{"figures", "1: with the figures of the map: deviation from peers, risk, what is lost in an hour"},
    kAtTime,
};
constexpr std::array kJobs = {
    Parameter{"phase", "only jobs in these phases: queued, starting, running, broken, completed, failed or cancelled"},
    Parameter{"brief", "1: what a list shows, without nodes and settings"},
    Parameter{"limit", "at most so many, the newest"},
    kAtTime,
};
constexpr std::array kOpen = {
    Parameter{"open", "1: only those still open"},
    Parameter{"node", "only of this node"},
    Parameter{"limit", "at most so many, the newest"},
    kAtTime,
};
constexpr std::array kActions = {
    Parameter{"node", "only on this node"},
    Parameter{"limit", "at most so many, the newest"},
    kAtTime,
};
constexpr std::array kExplain = {
    Parameter{"what", "a node, job, queue, incident, action, finding, fault code or log line"},
    Parameter{"record", "1: read the journal, and tell each decision with its evidence, rule, alternatives, budget and outcome"},
    kAtTime,
};
constexpr std::array kEvents = {Parameter{"from", "first seq wanted; the header Last-Event-ID goes before it"}};
constexpr std::array kLogin = {Parameter{"code", "the one-time code"}};

using enum RouteId;
const std::array kRoutes = {
    Route{page, "GET", "/", Role::viewer, 0, "text/html", "the page", {}},
    Route{page, "GET", "/map", Role::viewer, 0, "text/html", "the page, with every GPU", {}},
    Route{page, "GET", "/fabric", Role::viewer, 0, "text/html", "the page, with the network", {}},
    Route{page, "GET", "/jobs", Role::viewer, 0, "text/html", "the page, with the jobs", {}},
    Route{page, "GET", "/jobs/{id}", Role::viewer, 0, "text/html", "the page, with one job", {}},
    Route{page, "GET", "/incidents", Role::viewer, 0, "text/html", "the page, with the incidents", {}},
    Route{page, "GET", "/incidents/{id}", Role::viewer, 0, "text/html", "the page, with one incident", {}},
    Route{page, "GET", "/timeline", Role::viewer, 0, "text/html", "the page, with nodes by time", {}},
    Route{page, "GET", "/goodput", Role::viewer, 0, "text/html", "the page, with where GPU-hours went", {}},
    Route{page, "GET", "/account", Role::viewer, 0, "text/html", "the page, with what GPU-hours cost and whose they were", {}},
    Route{page, "GET", "/plan", Role::viewer, 0, "text/html", "the page, with plans of training runs, designs of clusters", {}},
    Route{page, "GET", "/whatif", Role::viewer, 0, "text/html", "the page, with what another policy or more nodes would do", {}},
    Route{page, "GET", "/policy", Role::viewer, 0, "text/html", "the page, with limits, policy and audit", {}},
    Route{asset, "GET", "/assets/{file}", Role::viewer, 0, "*/*", "a file of the page", {}},
    Route{login, "GET", "/login", Role::viewer, 0, "text/html", "turns a one-time code into a session cookie", kLogin},
    Route{healthz, "GET", "/healthz", Role::viewer, 0, kJson, "200 when there is a state to show", {}},
    Route{metrics, "GET", "/metrics", Role::viewer, 0, "text/plain", "Prometheus metrics, names muster_*", {}},
    Route{openapi, "GET", "/openapi.json", Role::viewer, 0, kJson, "this document", {}},
    Route{summary, "GET", "/api/v1/summary", Role::viewer, 0, kJson, "the cluster in numbers", kAt},
    Route{map, "GET", "/api/v1/map", Role::viewer, 0, kJson, "one letter per GPU, by rack and node", kMap},
    Route{map_values, "GET", "/api/v1/map/values", Role::viewer, 0, kJson, "a value per GPU, a letter of 64", kValues},
    Route{fabric, "GET", "/api/v1/fabric", Role::viewer, 0, kJson, "leaves by rails; bad links, or those asked for", kFabric},
    Route{nodes, "GET", "/api/v1/nodes", Role::viewer, 0, kJson, "nodes, in the site's order", kNodes},
    Route{node, "GET", "/api/v1/nodes/{name}", Role::viewer, 0, kJson, "one node", kAt},
    Route{gpus, "GET", "/api/v1/gpus", Role::viewer, 0, kJson, "GPUs, node by node", kGpus},
    Route{jobs, "GET", "/api/v1/jobs", Role::viewer, 0, kJson, "jobs, oldest first", kJobs},
    Route{job, "GET", "/api/v1/jobs/{id}", Role::viewer, 0, kJson, "one job", kAt},
    Route{queues, "GET", "/api/v1/queues", Role::viewer, 0, kJson, "queues: what each may have, has and waits for", kAt},
    Route{queue, "GET", "/api/v1/queues/{name}", Role::viewer, 0, kJson, "one queue", kAt},
    Route{forecast, "GET", "/api/v1/forecast", Role::viewer, 0, kJson, "when queued jobs should start, and why not yet", kAt},
    Route{findings, "GET", "/api/v1/findings", Role::viewer, 0, kJson, "what is or was wrong, newest first", kOpen},
    Route{incidents, "GET", "/api/v1/incidents", Role::viewer, 0, kJson, "incidents, newest first", kOpen},
    Route{incident, "GET", "/api/v1/incidents/{id}", Role::viewer, 0, kJson, "one incident", kAt},
    Route{incident_report, "GET", "/api/v1/incidents/{id}/report", Role::viewer, 0, kJson,
          "the report of one incident, however old, read from the journal", {}},
    Route{actions, "GET", "/api/v1/actions", Role::viewer, 0, kJson, "what was done or refused, newest first", kActions},
    Route{upgrade, "GET", "/api/v1/upgrade", Role::viewer, 0, kJson, "the rolling upgrade that runs, or the last one", kAt},
    Route{guard, "GET", "/api/v1/guard", Role::viewer, 0, kJson, "limits and how much of them is used, freezes, approvals", kAt},
    Route{policy, "GET", "/api/v1/policy", Role::viewer, 0, kJson, "the policy in force, as recorded, and its hash", kAt},
    Route{explain, "GET", "/api/v1/explain", Role::viewer, 0, kJson, "why, in plain words", kExplain},
    Route{events, "GET", "/api/v1/events", Role::viewer, 0, "text/event-stream", "events as they are stored, resumable", kEvents},
    Route{session, "GET", "/api/v1/session", Role::viewer, 0, kJson, "who you are here and what you may do", {}},
    Route{new_login, "POST", "/api/v1/logins", Role::admin, kBodyMax, kJson, "a new one-time login code", {}},
    Route{commands,
          "POST",
          "/api/v1/commands",
          Role::operator_,
          kBodyMax,
          kJson,
          "drain, undrain, pause, resume, submit, cancel, approve or reject; answered once it is durable",
          {}},
    Route{
        command, "GET", "/api/v1/commands/{id}", Role::viewer, 0, kJson, "what has come of a command, and the jobs it made", {}},
    Route{intake, "POST", "/api/v1/intake", Role::agent, kToolBodyMax, kJson,
          "what the agent on a node saw, or a watch of the network found; answered once it is durable", {}},
    Route{tools, "GET", "/api/v1/tools", Role::viewer, 0, kJson, "names of the tools", {}},
    Route{tool, "POST", "/api/v1/tools/{name}", Role::viewer, kToolBodyMax, kJson, "asks a tool", {}},
};

bool fits(const Route& r, std::string_view path, std::map<std::string, std::string>& pieces) {
  const auto want = split(r.pattern, '/');
  const auto have = split(path, '/');
  if (want.size() != have.size()) return false;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i].starts_with('{')) {
      if (have[i].empty()) return false;
      pieces[std::string(want[i].substr(1, want[i].size() - 2))] = std::string(have[i]);
    } else if (want[i] != have[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::string_view name_of(Role role) {
  switch (role) {
    case Role::viewer: return "viewer";
    case Role::agent: return "agent";
    case Role::operator_: return "operator";
    case Role::admin: return "admin";
  }
  return "viewer";
}

Result<Match> match(std::string_view method, std::string_view path) {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::string allow;
  for (const Route& r : kRoutes) {
    Match m{&r, {}};
    if (!fits(r, path, m.pieces)) continue;
    // An event stream has no head without its body.
    if (r.method == wanted && !(method == "HEAD" && r.id == events)) return m;
    allow = r.method;
  }
  if (!allow.empty()) {
    return fail(Code::bad_input, fmt::format("{} does not answer {}", printable(path), printable(method)), allow);
  }
  return fail(Code::not_found, fmt::format("there is no {}", printable(path)), "GET /openapi.json lists what there is");
}

Result<void> check_query(const Route& route, const std::map<std::string, std::string>& query) {
  for (const auto& [name, value] : query) {
    bool known = false;
    std::vector<std::string> names;
    for (const Parameter& p : route.query) {
      known = known || p.name == name;
      names.emplace_back(p.name);
    }
    if (known) continue;
    const auto close = nearest(name, names);
    return fail(Code::bad_input, fmt::format("{} has no parameter '{}'", route.pattern, printable(name)),
                close           ? fmt::format("did you mean '{}'?", *close)
                : names.empty() ? "it takes none"
                                : fmt::format("it takes: {}", join(names, ", ")));
  }
  return {};
}

}  // namespace muster::api
