#include "ingest/workload_file.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/form.h"
#include "ingest/yaml.h"
#include "model/job_check.h"

namespace muster {
namespace {

enum class Mix : std::uint8_t { llm, research, mixed, shared, none };
constexpr std::array<std::string_view, 5> names(Mix) { return {"llm", "research", "mixed", "shared", "none"}; }

std::string mix_name(Mix m) { return m == Mix::none ? std::string() : std::string(name_of(m)); }

constexpr std::string_view kMixFlag = "mix:";
constexpr double kLoadMax = 5;  // beyond that nothing changes but the length of the queue

// What it wants beside nodes and steps.
void read_wishes(Form& f, TimedJob& j) {
  JobSpec& s = j.spec;
  f.whole("gpus_per_node", s.gpus_per_node, 0, 16);
  f.whole("gpu_milli", s.gpu_milli, 0, 999);
  f.whole("segment", s.segment, 0, 131'072);
  f.name("within", s.within);
  f.name("prefer", s.prefer);
  Duration d = from_seconds(s.prefer_wait_s);
  if (f.duration("prefer_wait", d, seconds(0), days(365))) s.prefer_wait_s = d.seconds();
  f.text("gpu_model", s.gpu_model);
  f.text("queue", s.queue);
  double priority = s.priority;
  if (f.number("priority", priority, -1e6, 1e6)) s.priority = static_cast<std::int32_t>(priority);
  if (f.duration("time_limit", d, seconds(1), days(365))) s.time_limit_s = d.seconds();
  f.duration("deadline_in", j.deadline_in, seconds(1), days(365));
  f.flag("deferrable", s.deferrable);
  f.number("value_per_gpu_h", s.value_per_gpu_h, 0, 1e9);
  f.whole("array", s.array, 0, static_cast<std::uint32_t>(kArrayMax));
  if (f.duration("init", d, seconds(0), days(1))) s.init_s = d.seconds();
  if (const auto* after = f.list("after", kAfterMax)) {
    for (const Value& x : *after) {
      const std::int64_t* id = x.integer();
      if (id == nullptr || *id < 1 || *id > UINT32_MAX)
        return f.error(x, "after must list job numbers: the first job of the file is 1");
      s.after.push_back(JobId{static_cast<std::uint32_t>(*id), 0});
    }
  }
}

// `total`: jobs so far, the members of arrays each for itself.
void read_job(Form& outer, const Value& v, std::string_view file, Workload& w, std::uint64_t& total) {
  Form f(v, file, "jobs[].");
  TimedJob j;
  j.spec.name = fmt::format("job-{}", w.jobs.size() + 1);
  j.spec.user = "user";
  j.spec.account = "default";
  Duration every = hours(1);
  Duration checkpoint = from_seconds(j.spec.checkpoint_every_s);
  std::uint32_t count = 1;
  f.duration("at", j.at, seconds(0), days(3650));
  f.text("name", j.spec.name);
  f.text("user", j.spec.user);
  f.text("account", j.spec.account);
  f.need("nodes");
  f.whole("nodes", j.spec.nodes, 1, 131'072);
  f.whole("nodes_min", j.spec.nodes_min, 1, 131'072);
  f.number("step_s", j.spec.step_s, 0.001, 86'400);
  f.need("steps");
  f.whole("steps", j.spec.steps, std::uint64_t{1}, std::uint64_t{1'000'000'000'000});
  if (f.duration("checkpoint_every", checkpoint, seconds(0), days(30))) j.spec.checkpoint_every_s = checkpoint.seconds();
  f.number("checkpoint_gb", j.spec.checkpoint_gb, 0, 1e7);
  Duration stall;
  f.flag("no_requeue", j.spec.no_requeue);
  f.flag("paced", j.spec.paced);
  if (f.duration("checkpoint_stall", stall, seconds(0), days(1))) j.spec.checkpoint_stall_s = stall.seconds();
  read_wishes(f, j);
  f.whole("count", count, 1, static_cast<std::uint32_t>(kWorkloadJobsMax));
  f.duration("every", every, seconds(0), days(365));
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  JobSpec whole = j.spec;
  if (j.deadline_in.ns > 0) whole.deadline = Time{1};  // it will have one
  if (const std::string wrong = problem_with(whole, nullptr); !wrong.empty()) return outer.error(v, "jobs[]." + wrong);
  const std::uint64_t here = std::uint64_t{count} * std::max(1U, j.spec.array);
  total += here;
  if (total > kWorkloadJobsMax) {
    return outer.error(
        v, fmt::format("jobs[] {} makes {} jobs (count {}{}): with those before it {} in all, at most {} are allowed",
                       quoted(j.spec.name), here, count, j.spec.array > 0 ? fmt::format(" x array {}", j.spec.array) : "", total,
                       kWorkloadJobsMax));
  }
  const std::string name = j.spec.name;
  const Time first{j.at.ns};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (count > 1) j.spec.name = fmt::format("{}-{}", name, i + 1);
    const std::int64_t later = every.ns > 0 ? static_cast<std::int64_t>(i) : 0;
    if (later > 0 && (INT64_MAX - first.ns) / later < every.ns) return outer.error(v, "the last of these jobs is centuries away");
    j.at = Duration{first.ns + every.ns * later};
    w.jobs.push_back(j);
  }
}

// Sorts the jobs by their time; an engine numbers them in that order, and what follows another is told its number there.
Result<void> in_order_of_arrival(Workload& w, std::string_view file) {
  std::vector<std::size_t> order(w.jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return w.jobs[a].at < w.jobs[b].at; });
  std::vector<std::uint32_t> number(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) number[order[k]] = static_cast<std::uint32_t>(k + 1);
  std::vector<TimedJob> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) {
    TimedJob j = std::move(w.jobs[i]);
    for (JobId& id : j.spec.after) {
      const std::string who = fmt::format("{}: job {} ({})", file, i + 1, quoted(j.spec.name));
      if (!w.mix.empty()) return fail(Code::bad_input, who + ": after needs a file without a mix, whose jobs have numbers too");
      if (id.number > number.size())
        return fail(Code::bad_input, fmt::format("{} follows job {}, and the file has {} jobs", who, id.number, number.size()));
      if (number[id.number - 1] >= number[i])
        return fail(Code::bad_input, fmt::format("{} follows job {}, which does not come before it", who, id.number));
      id.number = number[id.number - 1];
    }
    sorted.push_back(std::move(j));
  }
  w.jobs = std::move(sorted);
  return {};
}

}  // namespace

bool is_mix_flag(std::string_view flag) { return flag.substr(0, kMixFlag.size()) == kMixFlag; }

Result<Workload> parse_workload(std::string_view text, std::string_view file) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected<Error>(std::move(root.error()));
  Form f(*root, file);
  Workload w;
  Mix mix = root->find("jobs") != nullptr ? Mix::none : Mix::mixed;
  f.name("mix", mix);
  w.mix = mix_name(mix);
  f.number("load", w.load, 0.01, kLoadMax);
  if (const auto* jobs = f.list("jobs", kWorkloadJobsMax)) {
    std::uint64_t total = 0;
    for (const Value& v : *jobs) {
      if (f.ok()) read_job(f, v, file, w, total);
    }
  }
  if (const auto r = f.finish(); !r) return tl::unexpected<Error>(r.error());
  if (auto r = in_order_of_arrival(w, file); !r) return tl::unexpected<Error>(r.error());
  return w;
}

Result<Workload> workload_from_flag(std::string_view flag, std::string_view content) {
  if (!is_mix_flag(flag)) return parse_workload(content, flag);
  Mix mix{};
  const std::string word(flag.substr(kMixFlag.size()));
  if (!parse_name(word, mix)) {
    const auto all = names(Mix{});
    const std::vector<std::string> known(all.begin(), all.end());
    const auto near = nearest(word, known);
    return fail(Code::bad_input, fmt::format("no mix of jobs is called {}", quoted(word)),
                fmt::format("{}known: mix:{}; or give a file (docs/formats/workload.md)",
                            near ? "did you mean mix:" + *near + "? " : "", join(known, ", mix:")));
  }
  Workload w;
  w.mix = mix_name(mix);
  return w;
}

}  // namespace muster
