// muster diagnose job ID [FILE...]: what the controller knows of a job that runs and what its files say of it so far, and which
// ranks to take a profile of.
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

// What the controller holds against a node of the job, or the job itself.
struct Known {
  std::string where, kind, words;
  bool explains = false;  // a slow or silent job by itself: no profile is needed to see why
};

struct JobView {
  std::string id, name, phase, note;
  std::vector<std::string> nodes;
  std::vector<Known> known;
  std::vector<Suspect> suspects;
  std::string control;  // a node that nothing is said of

  bool explained() const {
    return std::any_of(known.begin(), known.end(), [](const Known& k) { return k.explains; });
  }
};

// Of these the reason is still to be found.
bool only_suspicion(std::string_view kind) {
  return kind == "slow_gpu" || kind == "nccl_hang" || kind == "app_error" || kind == "job_failed" || kind == "hearsay" ||
         kind == "version_drift" || kind == "failure_predicted" || kind == "xid_other";
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

void take_findings(const Value& findings, const std::vector<Lead>& leads, JobView& v) {
  const std::set<std::string> mine(v.nodes.begin(), v.nodes.end());
  std::set<std::string> named;
  for (const Lead& l : leads) {
    const auto it =
        std::find_if(v.nodes.begin(), v.nodes.end(), [&](const std::string& n) { return short_name(n) == short_name(l.host); });
    if (it == v.nodes.end() || !named.insert(*it).second || v.suspects.size() >= kSuspectsMost) continue;
    v.suspects.push_back({*it, l.why});
  }
  for (const Value& f : report::list_of(findings, "items")) {
    const std::string node = text_of(f, "node"), kind = text_of(f, "kind");
    const bool about_job = text_of(f, "job") == v.id || text_of(f, "subject") == "job " + v.id;
    if (!about_job && !mine.contains(node)) continue;
    const Value* slot = f.find("slot");
    const std::string gpu = slot != nullptr && slot->integer() != nullptr && *slot->integer() >= 0
                                ? fmt::format(" GPU {}", *slot->integer())
                                : std::string();
    Known k{node.empty() ? "the job" : node + gpu, kind, {}, !only_suspicion(kind)};
    for (const Value& e : report::list_of(f, "evidence")) {
      if (k.words.empty()) k.words = text_of(e, "text");
    }
    v.known.push_back(std::move(k));
    if (!mine.contains(node) || !named.insert(node).second) continue;
    if (v.suspects.size() < kSuspectsMost) v.suspects.push_back({node, kind});
  }
  const auto clean = std::find_if(v.nodes.begin(), v.nodes.end(), [&](const std::string& n) { return !named.contains(n); });
  if (clean != v.nodes.end()) v.control = *clean;
  if (v.suspects.empty()) v.suspects.push_back({v.nodes.front(), "nothing is known against any node: it stands for all"});
  if (v.control == v.suspects.front().node) v.control = v.nodes.size() > 1 ? v.nodes[v.nodes.size() / 2] : std::string();
}

Result<JobView> ask(const Client& client, const std::string& id, const std::vector<Lead>& leads) {
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
  if (v.id.empty())
    return fail(Code::bad_input, "that server's answer is none of Muster's", "the address of the controller: --server");
  if (v.nodes.empty() || v.phase != "running")
    return fail(Code::conflict, fmt::format("job {} is {}: it runs on no node now", v.id, v.phase),
                fmt::format("`muster describe job {}`", v.id));
  const auto findings = client.get("/api/v1/findings", {{"open", "1"}});
  if (!findings) return tl::unexpected(findings.error());
  take_findings(*findings, leads, v);
  return v;
}

// dynolog's own client, which asks the profiler inside the job; it must run on the nodes with KINETO_USE_DAEMON=1 in the job.
std::string command_for(const std::string& node, const JobView& v) {
  return fmt::format(
      "dyno --hostname {} gputrace --job-id {} --process-limit 16 --iterations 3 --log-file /tmp/muster_{}_{}.json", node, v.id,
      v.id, node);
}

}  // namespace

int diagnose_job(const DiagnoseOptions& o, const std::string& id, const report::Diagnosis* told, const std::vector<Lead>& leads,
                 bool alarming) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto v = ask(*client, id, leads);
  if (!v) return say_error(v.error());
  const auto finish = [&] {
    const int written = finish_output();
    return written != 0 ? written : alarming || !v->known.empty() ? kFindingsPresent : 0;
  };
  std::vector<Suspect> all = v->suspects;
  if (!v->control.empty()) all.push_back({v->control, "to compare with"});
  if (o.format == DiagnoseFormat::json) {
    JsonWriter w;
    w.object().field("job", v->id).field("phase", v->phase).field("note", v->note).field("explained", v->explained());
    w.key("known").array();
    for (const Known& k : v->known)
      w.object().field("where", k.where).field("kind", k.kind).field("evidence", k.words).end_object();
    w.end_array().key("traces").array();
    for (const Suspect& s : all)
      w.object().field("node", s.node).field("why", s.why).field("command", command_for(s.node, *v)).end_object();
    w.end_array().field("then", fmt::format("muster diagnose muster_{}_*.json", v->id));
    if (told != nullptr) w.key("diagnosis").raw(report::diagnosis_json(*told));
    w.end_object();
    put(w.take() + "\n");
    return finish();
  }
  put(fmt::format("job {} {} on {} nodes: {}{}\n", v->id, v->name, v->nodes.size(), v->phase,
                  v->note.empty() ? "" : ", " + v->note));
  for (const Known& k : v->known) put(fmt::format("  {}: {}{}\n", k.where, k.kind, k.words.empty() ? "" : ", " + k.words));
  if (told != nullptr) {
    put("\nits files:\n");
    for (const std::string& line : report::say_diagnosis(*told)) put(line + "\n");
    put("\n");
  }
  put(v->explained() ? "that may be all there is to it; if not, profiles of three steps tell more:\n"
                     : "what bounds it, profiles of three steps tell:\n");
  for (const Suspect& s : all) put(fmt::format("  {}   # {}\n", command_for(s.node, *v), s.why));
  put("(dynolog on the nodes, and KINETO_USE_DAEMON=1 in the job's environment)\n");
  put(fmt::format("then bring the files together: muster diagnose muster_{}_*.json\n", v->id));
  return finish();
}

}  // namespace muster::cmd
