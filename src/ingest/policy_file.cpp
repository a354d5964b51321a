#include "ingest/policy_file.h"

#include <fmt/core.h>

#include "base/node_list.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/fault_catalog.h"
#include "ingest/form.h"
#include "ingest/runbook_file.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::uint32_t kCountMax = 1'000'000;

void read_limits(Form& outer, const Value& v, std::string_view file, Limits& l) {
  Form f(v, file, "limits.");
  f.number("out_cluster_pct", l.out_cluster_pct, 0, 100);
  f.whole("out_cluster_floor", l.out_cluster_floor, 0, kCountMax);
  f.number("out_rack_pct", l.out_rack_pct, 0, 100);
  f.whole("out_rack_floor", l.out_rack_floor, 0, kCountMax);
  f.number("out_domain_pct", l.out_domain_pct, 0, 100);
  f.whole("out_domain_floor", l.out_domain_floor, 0, kCountMax);
  f.number("harm_per_hour_pct", l.harm_per_hour_pct, 0, 100);
  f.whole("harm_per_hour_floor", l.harm_per_hour_floor, 0, kCountMax);
  f.whole("job_requeues_per_day", l.job_requeues_per_day, 0, kCountMax);
  f.duration("cause_window", l.cause_window, seconds(1), days(7));
  f.number("cause_pct", l.cause_pct, 0, 100);
  f.whole("cause_floor", l.cause_floor, 1, kCountMax);
  f.duration("cause_freeze", l.cause_freeze, seconds(0), days(30));
  f.duration("evidence_max_age", l.evidence_max_age, seconds(10), days(7));
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
}

void read_lemons(Form& outer, const Value& v, std::string_view file, Lemons& l) {
  Form f(v, file, "lemons.");
  f.number("score", l.score, 0, 1000);
  f.flag("quarantine", l.quarantine);
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
}

void read_approvals(Form& outer, const Value& v, std::string_view file, Approvals& a) {
  Form f(v, file, "approvals.");
  f.whole("gpus", a.gpus, 0, kCountMax);
  f.flag("unknown_checkpoint", a.unknown_checkpoint);
  f.duration("patience", a.patience, minutes(1), days(30));
  if (const auto* verbs = f.list("verbs", names(Verb{}).size())) {
    a.verbs.clear();
    for (const Value& item : *verbs) {
      const std::string word = item.string() != nullptr ? *item.string() : std::string(item.kind());
      Verb verb{};
      if (!parse_name(word, verb) || !harmful(verb)) {
        f.error(item, fmt::format("approvals.verbs: {} is no act that takes capacity or work away", quoted(word)));
        break;
      }
      a.verbs.push_back(verb);
    }
  }
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
}

// "22:30" in minutes; below 0: not a time of day.
int minutes_of_day(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return -1;
  const auto h = parse_uint(text.substr(0, colon));
  const auto m = parse_uint(text.substr(colon + 1));
  if (!h || !m || *h > 24 || *m > 59 || *h * 60 + *m > 1440) return -1;
  return static_cast<int>(*h * 60 + *m);
}

void read_window(Form& outer, const Value& v, std::string_view file, Policy& p) {
  constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  Form f(v, file, "windows[].");
  Window w;
  std::string from = "00:00";
  std::string to = "24:00";
  f.text("from", from);
  f.text("to", to);
  f.text("zone", w.zone);
  if (const auto* days = f.list("days", 7)) {
    w.days = 0;
    for (const Value& item : *days) {
      const auto at = std::find(kDays.begin(), kDays.end(), item.string() != nullptr ? *item.string() : std::string());
      if (at == kDays.end()) {
        f.error(item, "windows[].days are mon, tue, wed, thu, fri, sat, sun");
        break;
      }
      w.days |= 1U << (at - kDays.begin());
    }
  }
  if (f.ok() && w.days == 0) f.error(v, "windows[]: no day is given");
  if (f.ok() && (minutes_of_day(from) < 0 || minutes_of_day(to) < 0))
    f.error(v, fmt::format("windows[]: from {} to {}: times of day are written like 22:30", quoted(from), quoted(to)));
  if (f.ok() && from == to) f.error(v, "windows[]: from and to are the same");
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  w.from_min = static_cast<std::uint32_t>(minutes_of_day(from));
  w.to_min = static_cast<std::uint32_t>(minutes_of_day(to));
  p.windows.push_back(std::move(w));
}

// Runbooks of a group change those of the policy, which therefore are read before.
void read_group(Form& outer, const Value& v, std::string_view file, const std::vector<RunbookText>& base, Policy& p) {
  Form f(v, file, "groups[].");
  NodeGroup g;
  f.need("name");
  f.need("nodes");
  f.text("name", g.name, 63);
  constexpr std::size_t kListMax = 100'000;
  f.text("nodes", g.nodes, kListMax);
  f.flag("shadow", g.shadow);
  std::vector<RunbookText> own = base;
  if (const Value* books = f.object("runbooks")) read_runbooks(f, *books, file, own);
  if (const auto names = expand_node_list(g.nodes); f.ok() && !names)
    f.error(v, fmt::format("groups[].nodes: {}", names.error().what));
  const auto same = [&](const NodeGroup& x) { return x.name == g.name; };
  if (f.ok() && std::any_of(p.groups.begin(), p.groups.end(), same))
    f.error(v, fmt::format("two groups are called {}", quoted(g.name)));
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  if (f.any("runbooks") != nullptr) g.runbooks = without_words(own);
  p.groups.push_back(std::move(g));
}

void read_scheduling(Form& outer, const Value& v, std::string_view file, Scheduling& s) {
  Form f(v, file, "scheduling.");
  f.flag("backfill", s.backfill);
  f.flag("in_order", s.in_order);
  f.duration("wait_limit", s.wait_limit, minutes(1), days(365));
  f.whole("reserve", s.reserve, 1, 64);
  f.number("compact_runs", s.compact_runs, 0, 1000);
  f.duration("compact_wait", s.compact_wait, seconds(0), days(30));
  f.duration("half_life", s.half_life, seconds(0), days(3650));
  f.flag("preempt", s.preempt);
  f.duration("preempt_protects", s.preempt_protects, seconds(0), days(30));
  f.duration("preempt_after", s.preempt_after, seconds(0), days(30));
  f.number("preempt_loss", s.preempt_loss, 0, 1000);
  f.whole("stops_per_day", s.stops_per_day, 0, kCountMax);
  f.flag("pause", s.pause);
  f.flag("repair", s.repair);
  f.number("spare_confidence", s.spare_confidence, 0, 0.999);
  f.flag("defrag", s.defrag);
  f.number("gpu_kw", s.gpu_kw, 0.01, 100);
  f.number("carbon_per_tonne", s.carbon_per_tonne, 0, 1e6);
  if (const auto r = f.finish(); !r) outer.adopt(r.error());
}

// Queues form a tree: names are unique, parents are there and come first.
void check_parents(Form& f, const Value& at, const std::vector<QueueSpec>& queues) {
  std::vector<std::string> seen;
  for (const QueueSpec& q : queues) {
    if (std::find(seen.begin(), seen.end(), q.name) != seen.end())
      return f.error(at, fmt::format("two queues are called {}", quoted(q.name)));
    if (!q.parent.empty() && std::find(seen.begin(), seen.end(), q.parent) == seen.end())
      return f.error(at, fmt::format("the parent of queue {}, {}, must be listed before it", quoted(q.name), quoted(q.parent)));
    seen.push_back(q.name);
  }
}

constexpr std::size_t kModelsMax = 2;  // that are told apart, in all queues together

void read_model(Form& outer, const Value& v, std::string_view file, QueueSpec& q) {
  Form f(v, file, "queues[].models[].");
  ModelQuota m;
  f.need("model");
  f.text("model", m.model);
  f.whole("guaranteed_gpus", m.guaranteed_gpus, 0, kCountMax);
  f.whole("limit_gpus", m.limit_gpus, 0, kCountMax);
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  q.models.push_back(std::move(m));
}

// Guarantees and limits of queues themselves are checked where the whole tree is known.
void check_models(Form& f, const Value& at, const std::vector<QueueSpec>& queues) {
  std::vector<std::string> seen;
  for (const QueueSpec& q : queues) {
    for (const ModelQuota& m : q.models) {
      if (std::find(seen.begin(), seen.end(), m.model) == seen.end()) seen.push_back(m.model);
    }
  }
  if (seen.size() > kModelsMax) {
    f.error(at, fmt::format("queues name {} GPU models ({}): at most {} can be counted apart", seen.size(),
                            printable(join(seen, ", ")), kModelsMax));
  }
}

void read_queue(Form& outer, const Value& v, std::string_view file, Policy& policy) {
  Form f(v, file, "queues[].");
  QueueSpec q;
  f.need("name");
  f.text("name", q.name);
  f.text("parent", q.parent);
  f.number("weight", q.weight, 0.001, 1000);
  f.whole("guaranteed_gpus", q.guaranteed_gpus, 0, kCountMax);
  f.whole("limit_gpus", q.limit_gpus, 0, kCountMax);
  f.number("limit_kw", q.limit_kw, 0, 1e6);
  f.flag("borrow", q.borrow);
  f.flag("lend", q.lend);
  if (const auto* models = f.list("models", kModelsMax)) {
    for (const Value& m : *models) {
      if (f.ok()) read_model(f, m, file, q);
    }
  }
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  // So are jobs without a queue called where queues are listed.
  if (q.name == "(none)") return outer.error(v, "queue \"(none)\": that names the jobs of no queue; choose another name");
  if (q.limit_gpus > 0 && q.limit_gpus < q.guaranteed_gpus) {
    return outer.error(
        v, fmt::format("queue {}: limit_gpus {} is below guaranteed_gpus {}", quoted(q.name), q.limit_gpus, q.guaranteed_gpus));
  }
  policy.queues.push_back(std::move(q));
}

// Codes are kept as the catalogue spells them, whatever the file calls them. One that is in no catalogue cannot be overridden: it
// would be a misspelling more often than a new code.
void read_fault(Form& outer, const Value& v, std::string_view file, Policy& policy) {
  Form f(v, file, "faults[].");
  FaultOverride o;
  constexpr std::size_t kTextMax = 1000;
  f.need("code");
  f.text("code", o.code, 100);
  f.text("severity", o.severity);
  f.text("action", o.action, kTextMax);
  f.text("meaning", o.meaning, kTextMax);
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  const Fault* known = find_fault(o.code);
  if (known == nullptr) {
    const auto near = similar_faults(o.code);
    return outer.error(v, fmt::format("faults: {} is no code of the fault catalogue{}", quoted(o.code),
                                      near.empty() ? std::string() : "; did you mean " + near[0] + "?"));
  }
  o.code = known->code;
  const std::vector<std::string> severities = {"info", "warning", "error", "fatal"};
  if (!o.severity.empty() && std::find(severities.begin(), severities.end(), o.severity) == severities.end()) {
    return outer.error(v, fmt::format("faults: the severity of {} must be one of {}, is {}", o.code, join(severities, ", "),
                                      quoted(o.severity)));
  }
  if (o.severity.empty() && o.action.empty() && o.meaning.empty())
    return outer.error(v, fmt::format("faults: {} changes nothing: give severity, action or meaning", o.code));
  const auto same = [&](const FaultOverride& x) { return x.code == o.code; };
  if (std::any_of(policy.faults.begin(), policy.faults.end(), same))
    return outer.error(v, fmt::format("faults: {} is there twice", o.code));
  policy.faults.push_back(std::move(o));
}

// As ISO 4217 writes them; which of them exist is the site's to know.
bool is_currency(std::string_view word) {
  return word.size() == 3 && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, std::string_view file) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected<Error>(std::move(root.error()));
  Form f(*root, file);
  Policy p = default_policy();
  f.text("name", p.name, 63);
  f.whole("job_restarts_max", p.job_restarts_max, 0, kCountMax);
  f.duration("requeue_after", p.requeue_after, seconds(0), days(7));
  f.duration("silent_after", p.silent_after, seconds(10), days(1));
  f.number("temp_throttle_c", p.temp_throttle_c, 40, 120);
  f.number("slow_step_pct", p.slow_step_pct, 1, 1000);
  f.number("gpu_hour_price", p.gpu_hour_price, 0, 1e6);
  if (f.text("currency", p.currency, 20) && !is_currency(p.currency))
    f.error(*f.any("currency"), fmt::format("currency must be three capital letters, as USD or EUR, is {}", quoted(p.currency)));
  const Value* assumed = f.any("price_assumed");
  const bool own = assumed == nullptr || assumed->is_null() || (assumed->string() != nullptr && assumed->string()->empty());
  if (!own) f.text("price_assumed", p.price_assumed);
  f.flag("heat_aware", p.heat_aware);
  if (const Value* v = f.object("scheduling")) read_scheduling(f, *v, file, p.scheduling);
  constexpr std::size_t kQueuesMax = 1000;
  if (const auto* queues = f.list("queues", kQueuesMax)) {
    p.queues.clear();
    for (const Value& v : *queues) {
      if (f.ok()) read_queue(f, v, file, p);
    }
    check_parents(f, *f.any("queues"), p.queues);
    check_models(f, *f.any("queues"), p.queues);
  }
  constexpr std::size_t kFaultsMax = 1000;
  if (const auto* faults = f.list("faults", kFaultsMax)) {
    p.faults.clear();
    for (const Value& v : *faults) {
      if (f.ok()) read_fault(f, v, file, p);
    }
  }
  if (const Value* v = f.object("limits")) read_limits(f, *v, file, p.limits);
  f.flag("shadow", p.shadow);
  if (const Value* v = f.object("lemons")) read_lemons(f, *v, file, p.lemons);
  if (const Value* v = f.object("approvals")) read_approvals(f, *v, file, p.approvals);
  std::vector<RunbookText> books = shipped_runbooks();
  if (const Value* v = f.object("runbooks")) read_runbooks(f, *v, file, books);
  p.runbooks = without_words(books);
  if (const Value* v = f.any("ladders")) f.error(*v, "ladders are called runbooks now, and their rungs steps");
  constexpr std::size_t kWindowsMax = 64;
  if (const auto* windows = f.list("windows", kWindowsMax)) {
    p.windows.clear();
    for (const Value& v : *windows) {
      if (f.ok()) read_window(f, v, file, p);
    }
  }
  constexpr std::size_t kGroupsMax = 1000;
  if (const auto* groups = f.list("groups", kGroupsMax)) {
    p.groups.clear();
    for (const Value& v : *groups) {
      if (f.ok()) read_group(f, v, file, books, p);
    }
  }
  if (const auto r = f.finish(); !r) return tl::unexpected<Error>(r.error());
  return p;
}

std::vector<std::string> preset_policy_names() {
  constexpr std::string_view kFolder = "policies/", kEnding = ".yaml";
  std::vector<std::string> all;
  for (const std::string_view path : embedded_files()) {
    if (path.substr(0, kFolder.size()) != kFolder) continue;
    all.emplace_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnding.size()));
  }
  return all;
}

Result<Policy> preset_policy(std::string_view name) {
  const auto text = embedded_file("policies/" + std::string(name) + ".yaml");
  if (!text) {
    return fail(Code::not_found, fmt::format("no policy is called {}", quoted(name)),
                fmt::format("known: {}; or give a file (docs/formats/policy.md)", join(preset_policy_names(), ", ")));
  }
  return parse_policy(*text, fmt::format("policies/{}.yaml", name));
}

}  // namespace muster
