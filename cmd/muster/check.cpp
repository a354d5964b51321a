// muster check: whether this node is fit for work, from what its agent knows already. For Slurm's HealthCheckProgram and prologs.
#include <fmt/core.h>
#include <sys/stat.h>

#include <cstdlib>

#include "adapters/agent/verdict.h"
#include "adapters/http/client.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "commands.h"
#include "ingest/json.h"
#include "say.h"

namespace muster::cmd {
namespace {

constexpr int kFindings = 6;

// Slurm keeps what a hook prints in slurmd's log.
int answer_for_slurm(const CheckOptions& o) {
  const char* job = std::getenv("SLURM_JOB_ID");
  const agent::HookAnswer a = agent::run_hook(o.spool, o.prolog ? "prolog" : "epilog", job == nullptr ? "" : printable(job));
  if (o.format == report::Format::json) {
    JsonWriter w;
    w.object().field("pass", a.pass).field("says", a.says).field("finding", a.finding).end_object();
    put(w.take() + "\n");
  } else {
    put(a.says + "\n");
  }
  return a.pass ? 0 : kFindings;
}

}  // namespace

int run_check(const CheckOptions& o) {
  if (o.prolog || o.epilog) return answer_for_slurm(o);
  http::Request q;
  q.url = "http://localhost/check";
  q.unix_socket = o.spool + "/agent.sock";
  q.timeout_ms = 1000;
  const auto r = http::request(q);
  if (!r) {
    struct stat st {};
    const bool there = stat(q.unix_socket.c_str(), &st) == 0;
    return say_error(
        {Code::unreachable,
         there ? fmt::format("the agent does not answer within {} ms, so nothing is known of this node", q.timeout_ms)
               : "no agent runs on this node, so nothing is known of it",
         (there ? "look at it, or start it again: muster agent (its folder is " : "start it: muster agent (its folder is ") +
             o.spool + ")"});
  }
  const auto v = parse_json(r->body);
  const Value* list = v ? v->find("problems") : nullptr;
  if (r->status != 200 || list == nullptr || list->array() == nullptr) {
    return say_error({Code::internal, "the agent's answer cannot be read", "look at: muster agent --once"});
  }
  const bool ok = list->array()->empty();
  if (o.format == report::Format::json) {
    put(r->body + "\n");
    return ok ? 0 : kFindings;
  }
  // One line: Slurm keeps it as the reason of a drain.
  std::string line = ok ? "ok" : "";
  for (const Value& p : *list->array()) {
    if (p.string() != nullptr) line += (line.empty() ? "" : "; ") + printable(*p.string());
  }
  put(line.substr(0, 1000) + "\n");
  return ok ? 0 : kFindings;
}

}  // namespace muster::cmd
