// muster diagnose job ID [FILE...]: what the controller knows of a job and what its files say of it so far, and, while it runs,
// which ranks to take a profile of.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "diagnose_parts.h"
#include "report/document.h"
#include "report/job_diagnosis.h"
#include "report/job_ranks.h"
#include "report/job_steps.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<report::JobCase> ask(const Client& client, const std::string& id, const std::vector<Lead>& leads) {
  const auto job = client.get("/api/v1/jobs" + piece(id));
  if (!job) return tl::unexpected(job.error());
  const auto findings = client.get("/api/v1/findings");  // of an attempt that is over, those that are over count too
  if (!findings) return tl::unexpected(findings.error());
  report::JobCase c = report::case_of(*job, *findings);
  if (c.id.empty())
    return fail(Code::bad_input, "that server's answer is none of Muster's", "the address of the controller: --server");
  std::vector<report::JobLead> files;
  for (const Lead& l : leads) files.push_back({l.host, l.why});
  report::choose_traces(c, files);
  return c;
}

// What a tool of the server says of the job; null where it has none of that name.
Value tell(const Client& client, const std::string& tool, const std::string& kind, const report::JobCase& c,
           const std::string& at) {
  JsonWriter w;
  w.object().field("job", c.id);
  if (!at.empty()) w.field("to", at);
  w.end_object();
  auto answer = client.post("/api/v1/tools/" + tool, w.take());
  return answer && report::text_of(*answer, "kind") == kind ? std::move(*answer) : Value();
}

std::string in_json(const report::JobCase& c, const Value& steps, const Value& ranks, const report::Diagnosis* told) {
  JsonWriter w;
  w.object();
  report::write_case(w, c);
  if (!steps.is_null()) w.key("steps"), report::write_value(w, steps);
  if (!ranks.is_null()) w.key("ranks"), report::write_value(w, ranks);
  if (told != nullptr) w.key("diagnosis").raw(report::diagnosis_json(*told));
  w.end_object();
  return w.take() + "\n";
}

// Each of its lines two blanks in.
void put_lines(std::string_view text) {
  if (text.empty()) return;
  for (const std::string_view line : split(text, '\n')) put(fmt::format("  {}\n", line));
}

}  // namespace

int diagnose_job(const DiagnoseOptions& o, const std::string& id, const report::Diagnosis* told, const std::vector<Lead>& leads,
                 bool alarming) {
  const auto client = Client::open(o.connection);
  if (!client) return say_error(client.error());
  const auto c = ask(*client, id, leads);
  if (!c) return say_error(c.error());
  const Value steps = tell(*client, "job_steps", "JobSteps", *c, o.connection.at);
  const Value ranks = tell(*client, "job_ranks", "JobRanks", *c, o.connection.at);
  const auto finish = [&] {
    const int written = finish_output();
    return written != 0 ? written : alarming || !c->known.empty() ? kFindingsPresent : 0;
  };
  if (o.format == DiagnoseFormat::json) {
    put(in_json(*c, steps, ranks, told));
    return finish();
  }
  const bool has_nodes = c->runs() || c->phase == "starting";
  put(fmt::format("job {} {}{}: {}{}\n", c->id, c->name,
                  c->nodes.empty() ? "" : fmt::format(", {} {} nodes", has_nodes ? "on" : "last on", c->nodes.size()), c->phase,
                  c->note.empty() ? "" : ", " + c->note));
  for (const report::JobTrouble& t : c->known) {
    const std::string gpu = t.slot >= 0 ? fmt::format(" GPU {}", t.slot) : std::string();
    put(fmt::format("  {}: {}{}\n", t.node.empty() ? "the job" : t.node + gpu, t.kind,
                    t.evidence.empty() ? "" : ", " + t.evidence));
  }
  put_lines(report::say_job_steps(steps));
  put_lines(report::say_job_ranks(ranks));
  if (told != nullptr) {
    put("\nits files:\n");
    for (const std::string& line : report::say_diagnosis(*told)) put(line + "\n");
    put("\n");
  }
  if (!c->runs()) {
    put(c->known.empty() ? "nothing is held against it or the nodes it had; it does not run, so there is nothing to profile\n"
        : c->explained() ? "what was found there may be why it ended; it does not run, so there is nothing to profile\n"
                         : "no fault was found that explains it; it does not run, so there is nothing to profile\n");
    return finish();
  }
  put(c->explained() ? "that may be all there is to it; if not, profiles of three steps tell more:\n"
                     : "what bounds it, profiles of three steps tell:\n");
  for (const report::JobSuspect& s : c->traces) put(fmt::format("  {}   # {}\n", report::trace_command(*c, s.node), s.why));
  put(fmt::format("({})\n", report::kTraceNeeds));
  put(fmt::format("then bring the files together: muster diagnose muster_{}_*.json\n", c->id));
  return finish();
}

}  // namespace muster::cmd
