#include "fleet_jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/node_list.h"
#include "base/text.h"
#include "files.h"
#include "ingest/slurm_json.h"
#include "report/units.h"

namespace muster::cmd {
namespace {

// Pieces of a few GPUs share nodes.
std::uint32_t nodes_needed(std::uint32_t pieces, std::uint32_t gpus_each, const Site& site) {
  if (gpus_each == 0 || gpus_each >= site.gpus_per_node) return pieces;
  const std::uint32_t on_node = site.gpus_per_node / gpus_each;
  return pieces / on_node + (pieces % on_node > 0 ? 1 : 0);
}

// States of Slurm's jobs; all others are over.
constexpr std::array<std::string_view, 5> kWaiting = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"};
constexpr std::array<std::string_view, 8> kOnNodes = {"RUNNING",  "COMPLETING", "SUSPENDED", "CONFIGURING",
                                                      "RESIZING", "STAGE_OUT",  "SIGNALING", "STOPPED"};

template <std::size_t N>
bool any_of(const std::array<std::string_view, N>& states, std::string_view state) {
  return std::find(states.begin(), states.end(), state) != states.end();
}

Result<JobsNow> jobs_of_slurm(const std::string& text, const std::string& file) {
  const auto rows = slurm::parse_jobs_json(text);
  if (!rows)
    return fail(Code::bad_input, fmt::format("{} is no whole answer of squeue --json", printable(file)), "write it anew");
  JobsNow out;
  for (const slurm::JobRow& row : *rows) {
    fleet::JobNow job;
    if (any_of(kWaiting, row.state)) {
      job.wants = row.nodes;
      // Members of an array that have no record of their own: "3-9,12", and "%2" where so many may run at once.
      const auto members = slurm::expand_names("a[" + row.pending.substr(0, row.pending.find('%')) + "]");
      out.jobs.insert(out.jobs.end(), row.pending.empty() || !members ? 1 : members->size(), job);
      continue;
    }
    if (!any_of(kOnNodes, row.state)) continue;
    auto names = slurm::expand_names(row.node_list);
    if (!names)
      return fail(Code::bad_input, fmt::format("{}: job {}: {}", printable(file), row.id.number, names.error().what), "");
    if (names->empty()) continue;
    job.nodes = std::move(*names);
    out.jobs.push_back(std::move(job));
  }
  return out;
}

}  // namespace

Result<std::vector<JobLine>> read_job_lines(const std::string& text, const std::string& file) {
  std::vector<JobLine> out;
  int line = 0;
  for (std::string_view row : split(text, '\n')) {
    ++line;
    row = trim(row);
    if (row.empty() || row.front() == '#') continue;
    const auto colon = row.find(':');
    if (colon != std::string_view::npos) row = trim(row.substr(colon + 1));
    auto names = expand_node_list(row);
    if (!names) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, names.error().what), names.error().next);
    out.push_back({line, std::move(*names)});
  }
  return out;
}

Result<JobsNow> jobs_of_file(const std::string& file, const Site& site) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  if (trim(*text).empty())
    return fail(Code::bad_input, fmt::format("{} is empty", printable(file)), "where no job runs, let a line say so: # none");
  if (const std::string_view begin = trim(*text); !begin.empty() && begin.front() == '{') return jobs_of_slurm(*text, file);
  const auto lines = read_job_lines(*text, file);
  if (!lines) return tl::unexpected(lines.error());
  std::set<std::string_view> known;
  for (const NodeSpec& n : site.nodes) known.insert(n.name);
  JobsNow out;
  out.tells_waiting = false;
  for (const JobLine& line : *lines) {
    for (const std::string& name : line.nodes) {
      if (known.count(name) == 0)
        return fail(Code::bad_input, fmt::format("{}:{}: the cluster has no node {}", file, line.line, printable(name)),
                    "name nodes of the cluster file, or give what `squeue --json` prints");
    }
    out.jobs.push_back({line.nodes, 0});
  }
  return out;
}

Result<JobsNow> jobs_of_muster(const Client& client, const Site& site) {
  const auto list = client.get("/api/v1/jobs", {{"phase", "queued,starting,running,broken"}});
  if (!list) return tl::unexpected(list.error());
  JobsNow out;
  for (const Value& v : report::list_of(*list, "items")) {
    fleet::JobNow job;
    for (const Value& n : report::list_of(v, "nodes")) {
      if (n.string() != nullptr) job.nodes.push_back(*n.string());
    }
    const auto number = [&](std::string_view key) {
      const Value* x = v.find(key);
      const std::int64_t* n = x == nullptr ? nullptr : x->integer();
      return n == nullptr ? 0U : static_cast<std::uint32_t>(std::clamp<std::int64_t>(*n, 0, UINT32_MAX));
    };
    const std::string phase = report::text_of(v, "phase");
    if (phase == "queued") {
      job.nodes.clear();
      job.wants = nodes_needed(number("nodes_wanted"), number("gpus_per_node"), site);
    } else if (job.nodes.empty()) {
      continue;
    }
    out.jobs.push_back(std::move(job));
  }
  return out;
}

}  // namespace muster::cmd
