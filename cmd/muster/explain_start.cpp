// `muster explain start JOB`: gathers what Slurm, its logs and the hooks on the nodes say of how a job got going.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "adapters/slurm/tools.h"
#include "base/text.h"
#include "commands.h"
#include "files.h"
#include "ingest/json.h"
#include "ingest/slurm_start.h"
#include "ingest/slurm_text.h"
#include "report/document.h"
#include "report/job_start.h"
#include "say.h"

namespace muster::cmd {
namespace {

using slurm::LogMark;
using slurm::StartMark;

// Logs are written in local time: that of the host whose log it is, which is taken to be this one's.
Time to_utc(Time local) {
  const time_t as_utc = local.ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&as_utc, &parts);
  parts.tm_isdst = -1;
  return Time{static_cast<std::int64_t>(mktime(&parts)) * 1'000'000'000 + local.ns % 1'000'000'000};
}

std::string for_node(std::string pattern, const std::string& node) {
  for (std::size_t at = 0; (at = pattern.find("%n", at)) != std::string::npos; at += node.size()) pattern.replace(at, 2, node);
  return pattern;
}

Result<report::JobStart> ask_slurm(const ExplainOptions& o, const std::string& job) {
  if (auto ok = slurm::check_conf(o.slurm_conf); !ok) return tl::unexpected(ok.error());
  slurm::Tools tools(o.slurm_conf);
  const auto rows = tools.jobs();
  if (!rows) return tl::unexpected(rows.error());
  const auto row = std::find_if(rows->begin(), rows->end(), [&](const slurm::JobRow& r) { return render(r.id) == job; });
  if (row == rows->end()) {
    return fail(Code::not_found, fmt::format("Slurm does not know job {}", printable(job)),
                "it forgets jobs MinJobAge after their end: ask sooner");
  }
  report::JobStart s;
  s.job = job;
  s.submitted = row->submitted;
  s.eligible = row->eligible;
  s.allocated = row->started;
  const auto names = slurm::expand_names(row->node_list);
  if (row->node_list.empty() || row->state == "PENDING") {
    return fail(Code::not_found, fmt::format("job {} has no nodes yet", printable(job)),
                fmt::format("why it waits: muster explain job {}", printable(job)));
  }
  if (!names) return tl::unexpected(names.error());
  s.gpus_per_node = row->gpus_per_node > 0 ? row->gpus_per_node : row->gpus / std::max<std::uint32_t>(row->nodes, 1);
  for (const std::string& n : *names) s.nodes.push_back({n, {}, {}, {}});
  return s;
}

// The last start: an earlier one has been given up.
void add_hooks(const std::string& folder, report::JobStart& s) {
  std::vector<slurm::HookRun> all;
  std::uint32_t last = 0;
  for (const report::NodeStart& n : s.nodes) {
    const auto text = read_file(folder + "/" + n.node);
    if (!text) continue;  // that node wrote nothing: the report counts those that did
    for (slurm::HookRun& h : slurm::parse_hook_runs(*text, s.job, n.node)) {
      if (h.epilog) continue;
      last = std::max(last, h.restart);
      all.push_back(std::move(h));
    }
  }
  for (const slurm::HookRun& h : all) {
    if (h.restart != last) continue;
    const auto it = std::find_if(s.nodes.begin(), s.nodes.end(), [&](const report::NodeStart& n) { return n.node == h.node; });
    it->began = h.began;
    it->ended = h.ended;
  }
}

void earliest(Time& known, Time t) {
  if (known.ns == 0 || t < known) known = t;
}

// Of a start that has nothing to do with this one: a second for whole seconds, and clocks that differ a little.
bool before(const report::JobStart& s, Time t) { return t < s.allocated - seconds(2); }

Result<void> add_logs(const ExplainOptions& o, report::JobStart& s) {
  if (!o.slurmctld_log.empty()) {
    const auto text = read_file(o.slurmctld_log);
    if (!text) return tl::unexpected(text.error());
    for (const LogMark& m : slurm::parse_start_log(*text, s.job)) {
      if (m.mark != StartMark::allocated || before(s, to_utc(m.at))) continue;
      s.allocated = to_utc(m.at);
      s.allocated_exact = true;
      break;
    }
  }
  if (o.slurmd_log.empty()) return {};
  std::size_t read = 0;
  for (report::NodeStart& n : s.nodes) {
    const auto text = read_file(for_node(o.slurmd_log, n.node));
    if (!text) continue;
    ++read;
    for (const LogMark& m : slurm::parse_start_log(*text, s.job)) {
      const Time t = to_utc(m.at);
      if (before(s, t)) continue;
      if (m.mark == StartMark::batch) earliest(s.batch, t);
      if (m.mark == StartMark::step) earliest(n.launched, t);
    }
  }
  if (read == 0) {
    return fail(Code::not_found, fmt::format("{} is there for none of the job's nodes", o.slurmd_log),
                "%n stands for a node's name in --slurmd-log");
  }
  return {};
}

}  // namespace

int explain_start(const ExplainOptions& o) {
  const std::string job = o.what.substr(std::string_view("start ").size());
  if (job.empty() || job.find_first_not_of("0123456789_") != std::string::npos)
    return say_error({Code::bad_input, fmt::format("'{}' is no number of a job", printable(job)), "muster explain start 17"});
  auto s = ask_slurm(o, job);
  if (!s) return say_error(s.error());
  if (!o.starts.empty()) add_hooks(o.starts, *s);
  if (auto ok = add_logs(o, *s); !ok) return say_error(ok.error());
  const report::StartReport r = report::explain_start(std::move(*s));
  if (o.output.format == report::Format::table) {
    put(report::render_start(r));
    return 0;
  }
  const auto document = parse_json(report::render_start_json(r));
  if (!document) return say_error(document.error());
  put(o.output.format == report::Format::json ? report::render_json(*document) : report::render_yaml(*document));
  return 0;
}

}  // namespace muster::cmd
