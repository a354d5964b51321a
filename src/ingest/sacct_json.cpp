#include "ingest/sacct_json.h"

#include <fmt/core.h>

#include <algorithm>

#include "ingest/gres_text.h"
#include "ingest/json.h"
#include "ingest/sacct_words.h"

namespace muster {
namespace {

constexpr std::int64_t kLatest_s = 9'000'000'000;
constexpr const char* kAsk = "write it with: sacct -a -X -D -P (text; many times smaller), or sacct -a -D --json";

// 7, or {"set": true, "infinite": false, "number": 7} of later versions; none where it is not set.
std::optional<std::int64_t> number_of(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (v->integer() != nullptr) return *v->integer();
  const Value* set = v->find("set");
  if (set == nullptr || set->boolean() == nullptr || !*set->boolean()) return std::nullopt;
  const Value* n = v->find("number");
  return n == nullptr || n->integer() == nullptr ? std::nullopt : std::optional(*n->integer());
}

std::string text_of(const Value* v) { return v == nullptr || v->string() == nullptr ? std::string() : *v->string(); }

std::string text_in(const Value& object, std::string_view key) {
  std::string s = text_of(object.find(key));
  return s == "None assigned" || s == "Unknown" || s == "None" || s == "(null)" ? std::string() : s;
}

// ["COMPLETED", "..."] or "COMPLETED".
std::string state_of(const Value& job) {
  const Value* state = job.find("state");
  const Value* now = state == nullptr ? nullptr : state->find("current");
  if (now != nullptr && now->array() != nullptr) return now->array()->empty() ? std::string() : text_of(&now->array()->front());
  return text_of(now);
}

// [{"type": "gres", "name": "gpu:h200", "count": 8}, ...] as "gres/gpu:h200=8,...".
std::string tres_of(const Value& job, std::string_view which) {
  const Value* tres = job.find("tres");
  const Value* all = tres == nullptr ? nullptr : tres->find(which);
  std::string out;
  if (all == nullptr || all->array() == nullptr) return out;
  for (const Value& t : *all->array()) {
    auto count = number_of(t.find("count"));
    if (count && *count < 0) count.reset();
    const std::string type = text_in(t, "type"), name = text_in(t, "name");
    // A count that is none is passed on as such: it must not look as if there were none.
    out += fmt::format("{}{}{}{}={}", out.empty() ? "" : ",", type, name.empty() ? "" : "/", name,
                       count ? std::to_string(*count) : "?");
  }
  return out;
}

Time time_in(const Value* times, std::string_view key, const std::function<void(SacctFault)>& fault) {
  const auto s = times == nullptr ? std::nullopt : number_of(times->find(key));
  if (s && (*s < 0 || *s > kLatest_s)) fault(SacctFault::wrong_time);
  return s && *s > 0 && *s <= kLatest_s ? Time{*s * 1'000'000'000} : Time{};
}

void read_id(const Value& job, RecordId& id) {
  id.number = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(job.find("job_id")).value_or(0)));
  if (const Value* array = job.find("array"); array != nullptr) {
    const std::int64_t of = number_of(array->find("job_id")).value_or(0);
    const auto task = number_of(array->find("task_id"));
    if (of > 0 && task && *task >= 0) {
      id.number = static_cast<std::uint64_t>(of);
      id.array_index = *task;
    } else if (const std::string waiting = text_in(*array, "task"); of > 0 && !waiting.empty()) {
      RecordId members;
      if (parse_record_id(fmt::format("{}_[{}]", of, waiting), members)) id = members;
    }
  }
  if (const Value* het = job.find("het"); het != nullptr) {
    const std::int64_t of = number_of(het->find("job_id")).value_or(0);
    const auto offset = number_of(het->find("job_offset"));
    if (of > 0 && offset && *offset >= 0 && *offset < 1'000'000) {
      id.number = static_cast<std::uint64_t>(of);
      id.het_component = static_cast<std::int32_t>(*offset);
    }
  }
  id.restarts =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(job.find("restart_cnt")).value_or(0), 0, 1'000'000));
  id.text = std::to_string(id.number);
  if (id.array_index >= 0) id.text += fmt::format("_{}", id.array_index);
  if (id.het_component >= 0) id.text += fmt::format("+{}", id.het_component);
}

std::optional<std::int64_t> energy_of(const Value& job) {
  const Value* steps = job.find("steps");
  std::optional<std::int64_t> most;
  if (steps == nullptr || steps->array() == nullptr) return most;
  for (const Value& s : *steps->array()) {
    const Value* statistics = s.find("statistics");
    const Value* energy = statistics == nullptr ? nullptr : statistics->find("energy");
    const auto j = energy == nullptr ? std::nullopt : number_of(energy->find("consumed"));
    if (!j) continue;
    const auto measured = parse_record_energy(std::to_string(*j));
    if (measured && (!most || *measured > *most)) most = measured;
  }
  return most;
}

void read_gpus(const Value& job, JobRecord& r, const std::function<void(SacctFault)>& fault) {
  const std::string given = tres_of(job, "allocated");
  const bool began = r.started.ns != 0;
  if (given.empty() && began) return;
  const GresGpus g = parse_gres(given.empty() ? tres_of(job, "requested") : given);
  if (g.wrong) fault(SacctFault::wrong_gpus);
  if (g.milli == 0 && g.shards > 0) return fault(SacctFault::shards);
  if (g.milli == 0 && g.wrong) return;
  if (began && g.milli == 0 && parse_gres(tres_of(job, "requested")).milli > 0) return;
  r.gpus_milli = g.milli;
  r.gpu_type = g.type;
  r.gpus_requested = given.empty();
}

}  // namespace

Result<void> read_sacct_json(std::string_view text, std::string_view file, const TakeRecord& take, SacctCounts& counts) {
  const auto root = parse_json(text);
  if (!root) return fail(Code::bad_input, fmt::format("{}: {}", file, root.error().what), kAsk);
  const Value* jobs = root->find("jobs");
  if (jobs == nullptr || jobs->array() == nullptr)
    return fail(Code::bad_input, fmt::format("{}: there is no list \"jobs\"", file), kAsk);
  counts.has_eligible = counts.has_tres = counts.has_energy = true;
  JobRecord r;
  for (const Value& job : *jobs->array()) {
    ++counts.rows;
    r = {};
    r.file = file;
    r.line = counts.rows;
    const auto fault = [&](SacctFault f) {
      const auto i = static_cast<std::size_t>(f);
      if (counts.faults[i]++ == 0) counts.first[i] = r.line;
    };
    read_id(job, r.id);
    if (r.id.number == 0) {
      fault(SacctFault::no_job_number);
      continue;
    }
    r.cluster = text_in(job, "cluster");
    r.name = text_in(job, "name");
    const Value* owner = job.find("association");
    r.user = text_in(job, "user").empty() && owner != nullptr ? text_in(*owner, "user") : text_in(job, "user");
    r.account = text_in(job, "account");
    r.partition = text_in(job, "partition");
    r.qos = text_in(job, "qos");
    r.node_list = text_in(job, "nodes");
    r.nodes =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(job.find("allocation_nodes")).value_or(0), 0, 10'000'000));
    r.state = parse_record_state(state_of(job));
    if (r.state == RecordState::unknown) fault(SacctFault::unknown_state);
    const Value* times = job.find("time");
    r.submitted = time_in(times, "submission", fault);
    r.eligible = time_in(times, "eligible", fault);
    r.started = time_in(times, "start", fault);
    r.ended = time_in(times, "end", fault);
    r.suspended =
        seconds(std::clamp<std::int64_t>(times == nullptr ? 0 : number_of(times->find("suspended")).value_or(0), 0, kLatest_s));
    const auto ran_s = times == nullptr ? std::nullopt : number_of(times->find("elapsed"));
    const bool likely = ran_s && *ran_s >= 0 && *ran_s <= kLatest_s;
    if (const auto odd = complete_times(r, likely ? ran_s : std::nullopt)) fault(*odd);
    read_gpus(job, r, fault);
    r.energy_j = energy_of(job);
    ++counts.jobs;
    if (r.gpus_milli.value_or(0) > 0 && r.started.ns != 0) ++counts.with_gpus;
    take(r);
  }
  return {};
}

}  // namespace muster
