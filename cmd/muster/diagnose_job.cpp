// muster diagnose job ID: what the controller knows of a job that runs, and which ranks to take a profile of.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "diagnose_parts.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kSuspectsMost = 4;

std::string text_of(const Value& v, const char* key) {
  const Value* t = v.find(key);
  return t != nullptr && t->string() != nullptr ? printable(*t->string()) : std::string();
}

struct Suspect {
  std::string node, why;
};

struct JobView {
  std::string id, name, phase, note;
  std::vector<std::string> nodes;
  std::vector<Suspect> suspects;
  std::string control;  // a node that nothing is said of
};

Result<JobView> ask(const Client& client, const std::string& id) {
  const auto job = client.get("/api/v1/jobs" + piece(id));
  if (!job) return tl::unexpected(job.error());
  JobView v;
  v.id = text_of(*job, "id");
  v.name = text_of(*job, "name");
  v.phase = text_of(*job, "phase");
  v.note = text_of(*job, "note");
  for (const Value& n : report::list_of(*job, "nodes")) {
    if (n.string() != nullptr) v.nodes.push_back(printable(*n.string()));
  }
  if (v.nodes.empty())
    return fail(Code::conflict, fmt::format("job {} is {}: it runs on no node now", v.id, v.phase),
                fmt::format("`muster describe job {}`", v.id));
  const auto findings = client.get("/api/v1/findings", {{"open", "1"}});
  if (!findings) return tl::unexpected(findings.error());
  const std::set<std::string> mine(v.nodes.begin(), v.nodes.end());
  std::set<std::string> named;
  for (const Value& f : report::list_of(*findings, "items")) {
    const std::string node = text_of(f, "node");
    if (!mine.contains(node) || !named.insert(node).second) continue;
    if (v.suspects.size() < kSuspectsMost) v.suspects.push_back({node, text_of(f, "kind")});
  }
  for (const std::string& n : v.nodes) {
    if (!named.contains(n)) {
      v.control = n;
      break;
    }
  }
  if (v.suspects.empty()) v.suspects.push_back({v.nodes.front(), "nothing is known against any node: the first stands for all"});
  if (v.control == v.suspects.front().node) v.control = v.nodes.size() > 1 ? v.nodes[v.nodes.size() / 2] : std::string();
  return v;
}

// dynolog's own client, which asks the profiler inside the job; it must run on the nodes with KINETO_USE_DAEMON=1 in the job.
std::string command_for(const std::string& node, const JobView& v) {
  return fmt::format("dyno --hostname {} gputrace --job-id {} --iterations 3 --log-file /tmp/muster_{}_{}.json", node, v.id, v.id,
                     node);
}

}  // namespace

int diagnose_job(const DiagnoseOptions& o, const std::string& id) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto v = ask(*client, id);
  if (!v) return say_error(v.error());
  std::vector<Suspect> all = v->suspects;
  if (!v->control.empty()) all.push_back({v->control, "to compare with"});
  if (o.format == DiagnoseFormat::json) {
    JsonWriter w;
    w.object().field("job", v->id).field("phase", v->phase).field("note", v->note).key("traces").array();
    for (const Suspect& s : all)
      w.object().field("node", s.node).field("why", s.why).field("command", command_for(s.node, *v)).end_object();
    w.end_array().field("then", "muster diagnose FILE...").end_object();
    put(w.take() + "\n");
    return finish_output();
  }
  put(fmt::format("job {} {} on {} nodes: {}{}\n", v->id, v->name, v->nodes.size(), v->phase,
                  v->note.empty() ? "" : ", " + v->note));
  put("what bounds it, a profile of three steps tells; of these ranks (dynolog on the nodes, KINETO_USE_DAEMON=1 in the job):\n");
  for (const Suspect& s : all) put(fmt::format("  {}   # {}\n", command_for(s.node, *v), s.why));
  put(fmt::format("then bring the files together: muster diagnose muster_{}_*.json\n", v->id));
  return finish_output();
}

}  // namespace muster::cmd
