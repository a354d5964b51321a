#include "ingest/workload_file.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

enum class Mix : std::uint8_t { llm, research, mixed, shared, none };
constexpr std::array<std::string_view, 5> names(Mix) { return {"llm", "research", "mixed", "shared", "none"}; }

std::string mix_name(Mix m) { return m == Mix::none ? std::string() : std::string(name_of(m)); }

constexpr std::string_view kMixFlag = "mix:";

void read_job(Form& outer, const Value& v, std::string_view file, Workload& w) {
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
  f.number("step_s", j.spec.step_s, 0.001, 86'400);
  f.need("steps");
  f.whole("steps", j.spec.steps, std::uint64_t{1}, std::uint64_t{1'000'000'000'000});
  if (f.duration("checkpoint_every", checkpoint, seconds(0), days(30)))
    j.spec.checkpoint_every_s = checkpoint.seconds();
  f.number("checkpoint_gb", j.spec.checkpoint_gb, 0, 1e7);
  f.whole("count", count, 1, static_cast<std::uint32_t>(kWorkloadJobsMax));
  f.duration("every", every, seconds(0), days(365));
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  if (w.jobs.size() + count > kWorkloadJobsMax)
    return outer.error(v, fmt::format("more than {} jobs", kWorkloadJobsMax));
  const std::string name = j.spec.name;
  const Time first{j.at.ns};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (count > 1) j.spec.name = fmt::format("{}-{}", name, i + 1);
    const std::int64_t later = every.ns > 0 ? static_cast<std::int64_t>(i) : 0;
    if (later > 0 && (INT64_MAX - first.ns) / later < every.ns)
      return outer.error(v, "the last of these jobs is centuries away");
    j.at = Duration{first.ns + every.ns * later};
    w.jobs.push_back(j);
  }
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
  f.number("load", w.load, 0.01, 100);
  if (const auto* jobs = f.list("jobs", kWorkloadJobsMax)) {
    for (const Value& v : *jobs) {
      if (f.ok()) read_job(f, v, file, w);
    }
  }
  if (f.ok() && w.mix.empty() && w.jobs.empty()) f.error(*root, "no jobs: give a mix or a list of jobs");
  if (const auto r = f.finish(); !r) return tl::unexpected<Error>(r.error());
  std::stable_sort(w.jobs.begin(), w.jobs.end(), [](const TimedJob& a, const TimedJob& b) { return a.at < b.at; });
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
