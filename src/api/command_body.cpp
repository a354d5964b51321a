#include "api/command_body.h"

#include <fmt/core.h>

#include "api/render.h"
#include "base/node_list.h"
#include "base/text.h"
#include "model/codec.h"
#include "model/job_check.h"
#include "report/job_note.h"

namespace muster::api {
namespace {

constexpr std::size_t kReasonMax = 1000;
constexpr std::size_t kIdMax = 100;
constexpr std::size_t kNameMax = 200;

tl::unexpected<Error> bad(std::string what, std::string next = {}) {
  return fail(Code::bad_input, std::move(what), std::move(next));
}

Result<void> known_keys(const Value& v, std::string_view where, const std::vector<std::string>& keys) {
  if (v.object() == nullptr) return bad(fmt::format("{} must be an object, is {}", where, v.kind()));
  for (const auto& m : *v.object()) {
    if (std::find(keys.begin(), keys.end(), m.key) != keys.end()) continue;
    const auto close = nearest(m.key, keys);
    return bad(fmt::format("{} has no field '{}'", where, printable(m.key)),
               close ? fmt::format("did you mean '{}'?", *close) : fmt::format("it has: {}", join(keys, ", ")));
  }
  return {};
}

Result<std::string> text_of(const Value& body, std::string_view key, std::size_t max) {
  const Value* v = body.find(key);
  if (v == nullptr || v->is_null()) return std::string();
  if (v->string() == nullptr) return bad(fmt::format("{} must be text, is {}", key, v->kind()));
  if (v->string()->size() > max) return bad(fmt::format("{} is longer than {} bytes", key, max));
  return *v->string();
}

Result<JobSpec> spec_of(const Value& body, const State& s) {
  const Value* v = body.find("spec");
  if (v == nullptr) return bad("submit needs a spec", R"(e.g. {"verb":"submit","spec":{"name":"train","nodes":4,"steps":1000}})");
  static const std::vector<std::string> keys = {"name",          "user",
                                                "account",       "nodes",
                                                "gpus_per_node", "gpu_milli",
                                                "segment",       "within",
                                                "prefer",        "prefer_wait_s",
                                                "gpu_model",     "queue",
                                                "priority",      "time_limit_s",
                                                "deadline",      "deadline_in_s",
                                                "deferrable",    "value_per_gpu_h",
                                                "after",         "array",
                                                "init_s",        "step_s",
                                                "steps",         "checkpoint_every_s",
                                                "checkpoint_gb", "checkpoint_stall_s",
                                                "no_requeue",    "nodes_min",
                                                "paced"};
  if (auto r = known_keys(*v, "spec", keys); !r) return tl::unexpected(r.error());
  auto spec = decode_spec(*v);
  if (!spec) return bad(fmt::format("spec.{}", spec.error().what));
  if (const Value* in = v->find("deadline_in_s"); in != nullptr && !in->is_null()) {  // by the cluster's clock, not the client's
    double in_s = 0;
    if (!in->number(in_s) || !(in_s > 0 && in_s <= 1e8)) return bad("spec.deadline_in_s must be 1 to 100000000 seconds");
    spec->deadline = s.now.utc + from_seconds(in_s);
  }
  for (const std::string* text : {&spec->name, &spec->user, &spec->account, &spec->queue, &spec->gpu_model}) {
    if (text->size() > kNameMax) return bad(fmt::format("spec: names may have {} bytes each", kNameMax));
  }
  if (const std::string wrong = problem_with(*spec, nullptr); !wrong.empty()) return bad("spec." + wrong);
  if (const std::string wrong = problem_with(*spec, &s.site); !wrong.empty()) {
    const bool of_size = wrong.starts_with("nodes") || wrong.starts_with("gpus_per_node");
    return bad(
        "spec." + wrong,
        of_size ? fmt::format("the cluster has {} nodes of {} GPUs", s.site.nodes.size(), s.site.gpus_per_node) : std::string());
  }
  if (!spec->gpu_model.empty()) spec->gpu_model = model_given(s.site, spec->gpu_model);  // as the site writes it
  const auto& queues = s.policy.queues;
  const auto named = [&](const QueueSpec& q) { return q.name == spec->queue; };
  if (!spec->queue.empty() && !queues.empty() && std::none_of(queues.begin(), queues.end(), named)) {
    std::vector<std::string> known;
    for (const QueueSpec& q : queues) known.push_back(q.name);
    const auto meant = nearest(spec->queue, known);
    return fail(Code::not_found, fmt::format("spec.queue: there is no queue '{}'", printable(spec->queue)),
                meant ? fmt::format("did you mean '{}'?", printable(*meant)) : "`muster get queues` lists them; or leave it out");
  }
  if (auto ok = report::may_ever_start(s, *spec); !ok) return tl::unexpected(ok.error());
  for (const JobId id : spec->after) {
    if (!members_of(s, id).empty()) continue;
    Error e = unknown_job(s, id).value();
    e.what = "spec.after: " + e.what;
    if (e.what.find("any more") != std::string::npos) {
      e.next = "if it has completed, leave it out: there is nothing to wait for; `muster journal export --type job_ended` tells";
    }
    return tl::unexpected(e);
  }
  return spec;
}

Result<JobId> job_of(const Value& body, const State& s) {
  const Value* v = body.find("job");
  std::string text;
  if (v != nullptr && v->string() != nullptr) text = *v->string();
  if (v != nullptr && v->integer() != nullptr) text = std::to_string(*v->integer());
  if (text.empty()) return bad("cancel needs a job", R"(e.g. {"verb":"cancel","job":"17"})");
  auto id = parse_job_id(text);
  if (!id) return id;
  const auto members = members_of(s, *id);
  if (members.empty()) return unknown_job(s, *id);
  if (std::any_of(members.begin(), members.end(), [&](JobId m) { return !ended(s.jobs.at(m).phase); })) return id;
  const bool array = find_job(s, *id) == nullptr;
  return fail(Code::conflict, fmt::format("job {} has ended{}: there is nothing to cancel", render(*id),
                                          array ? ", every member of it" : fmt::format(" as {}", name_of(s.jobs.at(*id).phase))));
}

Result<std::uint64_t> approval_of(const Value& body, const State& s) {
  const Value* v = body.find("approval");
  if (v == nullptr || v->integer() == nullptr || *v->integer() < 1)
    return bad("approve and reject need the number of an approval", R"(e.g. {"verb":"approve","approval":3})");
  const auto id = static_cast<std::uint64_t>(*v->integer());
  const auto it = s.approvals.find(id);
  if (it == s.approvals.end())
    return fail(Code::not_found, fmt::format("there is no approval {}", id), "`muster guard status` lists what waits");
  const Approval& a = it->second;
  if (a.granted || a.rejected)
    return fail(Code::conflict, fmt::format("approval {} was {} by {}", id, a.granted ? "granted" : "rejected", printable(a.by)));
  if (a.until <= s.mono())
    return fail(Code::conflict, fmt::format("approval {} has expired: what it was about is asked anew", id),
                "`muster guard status` lists what waits");
  return id;
}

// The version that most nodes have, by their agents' word; empty: nobody said.
std::string version_of_most(const State& s, const std::string& what) {
  std::map<std::string, std::size_t> count;
  for (const NodeState& n : s.nodes) {
    for (const auto& [name, value] : n.known.sheet().facts) {
      if (name == (what == "driver" ? "driver_version" : what)) ++count[value];
    }
  }
  const auto most =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() || 2 * most->second <= s.nodes.size() ? std::string() : most->first;
}

Result<void> known_nodes(const std::string& list, std::string_view key, const State& s) {
  if (list.empty()) return {};
  auto named = expand_node_list(list, s.nodes.size());
  if (!named) return bad(fmt::format("upgrade.{}: {}", key, named.error().what));
  for (const std::string& name : *named) {
    if (auto node = find_node_named(s.site, name); !node) return tl::unexpected(node.error());
  }
  return {};
}

Result<void> plain_version(const std::string& version) {
  const auto odd = [](char c) {
    return !(std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._+:~-").find(c) != std::string_view::npos);
  };
  if (std::none_of(version.begin(), version.end(), odd)) return {};
  return bad(fmt::format("'{}' is no version", printable(version)), "letters, digits and . _ + : ~ - are allowed");
}

// Several things in one turn: each has to say what it is, what is wanted and what to go back to.
Result<void> parts_of(const Value& v, UpgradeSpec& u) {
  constexpr std::size_t kPartsMax = 20;
  const Value* parts = v.find("parts");
  if (parts == nullptr || parts->is_null()) return {};
  if (parts->array() == nullptr || parts->array()->size() > kPartsMax)
    return bad(fmt::format("upgrade.parts must be a list of at most {}", kPartsMax));
  for (const Value& x : *parts->array()) {
    if (auto r = known_keys(x, "a part of an upgrade", {"what", "version", "before"}); !r) return r;
    UpgradePart p;
    for (auto [key, to] : {std::pair("what", &p.what), std::pair("version", &p.version), std::pair("before", &p.before)}) {
      auto text = text_of(x, key, 100);
      if (!text) return tl::unexpected(text.error());
      if (auto ok = plain_version(*text); !ok) return ok;
      *to = std::move(*text);
    }
    if (p.what.empty() || p.version.empty() || p.before.empty())
      return bad("each of upgrade.parts needs what, version and before",
                 R"(e.g. {"what":"driver","version":"590.44.01","before":"580.159.04"})");
    u.parts.push_back(std::move(p));
  }
  return {};
}

Result<UpgradeSpec> upgrade_of(const Value& body, const State& s) {
  const Value* v = body.find("upgrade");
  const char* example = R"(e.g. {"verb":"upgrade","upgrade":{"what":"driver","version":"590.44.01","before":"580.159.04"}})";
  if (v == nullptr) return bad("upgrade needs to know what and which version", example);
  const std::vector<std::string> keys = {"what",    "version",      "before",        "nodes",   "canaries",
                                         "watch_s", "at_once_pct",  "finish_in_s",   "parts",   "canary_nodes",
                                         "apart",   "apart_within", "wait_for_jobs", "measured"};
  if (auto r = known_keys(*v, "upgrade", keys); !r) return tl::unexpected(r.error());
  UpgradeSpec u;
  for (auto [key, to] : {std::pair("what", &u.what), std::pair("version", &u.version), std::pair("before", &u.before)}) {
    auto text = text_of(*v, key, 100);
    if (!text) return tl::unexpected(text.error());
    if (!text->empty()) *to = std::move(*text);
  }
  for (auto [key, to] :
       {std::pair("nodes", &u.nodes), std::pair("canary_nodes", &u.canary_nodes), std::pair("apart", &u.apart)}) {
    auto text = text_of(*v, key, 10'000);
    if (!text) return tl::unexpected(text.error());
    *to = std::move(*text);
  }
  if (auto ok = parts_of(*v, u); !ok) return tl::unexpected(ok.error());
  const auto within = text_of(*v, "apart_within", 100);
  if (!within) return tl::unexpected(within.error());
  if (!within->empty() && !parse_name(*within, u.apart_within))
    return bad(fmt::format("upgrade.apart_within is '{}'", printable(*within)), "it must be job or domain");
  for (auto [key, to] : {std::pair("wait_for_jobs", &u.wait_for_jobs), std::pair("measured", &u.measured)}) {
    const Value* x = v->find(key);
    if (x == nullptr || x->is_null()) continue;
    if (x->boolean() == nullptr) return bad(fmt::format("upgrade.{} must be true or false", key));
    *to = *x->boolean();
  }
  const auto number = [&](const char* key, double& to, double least, double most) -> Result<void> {
    const Value* x = v->find(key);
    if (x == nullptr || x->is_null()) return {};
    if (!x->number(to) || !(to >= least && to <= most))
      return bad(fmt::format("upgrade.{} must be {:g} to {:g}", key, least, most));
    return {};
  };
  double canaries = u.canaries, watch_s = u.watch.seconds(), finish_s = u.finish_in.seconds();
  for (const auto& ok : {number("canaries", canaries, 0, 10'000), number("watch_s", watch_s, 0, 7 * 86'400.0),
                         number("at_once_pct", u.at_once_pct, 0, 100), number("finish_in_s", finish_s, 60, 90 * 86'400.0)}) {
    if (!ok) return tl::unexpected(ok.error());
  }
  u.canaries = static_cast<std::uint32_t>(canaries);
  u.watch = from_seconds(watch_s);
  u.finish_in = from_seconds(finish_s);
  if (u.parts.empty() && u.what != "driver" && u.what != "firmware" && u.what != "os")
    return bad(fmt::format("upgrade.what is '{}'", printable(u.what)), "it must be driver, firmware or os");
  if (u.version.empty()) return bad("upgrade.version is missing", example);
  for (const std::string* version : {&u.version, &u.before}) {
    if (auto ok = plain_version(*version); !ok) return tl::unexpected(ok.error());
  }
  for (const std::string* list : {&u.nodes, &u.canary_nodes}) {
    if (auto ok = known_nodes(*list, list == &u.nodes ? "nodes" : "canary_nodes", s); !ok) return tl::unexpected(ok.error());
  }
  if (!u.parts.empty()) return u;  // what each goes back to is said
  const std::string most = version_of_most(s, u.what);
  if (!u.before.empty() && !most.empty() && u.before != most && u.version != most)
    return bad(fmt::format("most nodes have {} {}, by their agents' word, not {}", u.what, printable(most), printable(u.before)),
               "leave before out, or name that");
  if (u.before.empty()) u.before = most;
  if (u.before.empty())
    return bad(fmt::format("nobody knows which {} the nodes have: it could not be taken back", u.what),
               "say it: --before VERSION, or upgrade.before");
  if (u.before == u.version) return bad(fmt::format("{} is what the nodes have already", printable(u.version)));
  return u;
}

// Whether there is an upgrade to stop or to take back.
Result<void> about_upgrade(CommandVerb verb, const State& s) {
  const Upgrade& u = s.upgrade;
  const std::string named = fmt::format("{} {}", u.spec.what, printable(u.spec.version));
  if (verb == CommandVerb::upgrade) {
    if (s.policy.shadow)
      return fail(Code::refused, "the policy is in shadow mode: nothing reaches the engine, whoever asks for it",
                  "begin with another policy to act");
    if (!at_work(u.phase)) return {};
    return fail(Code::conflict, fmt::format("the upgrade to {} is at work ({})", named, name_of(u.phase)),
                "`muster upgrade status` tells how far; `muster upgrade stop` stops it");
  }
  if (u.id == 0) return fail(Code::conflict, "there is no upgrade", "`muster upgrade start` begins one");
  if (verb == CommandVerb::upgrade_stop && !at_work(u.phase))
    return fail(Code::conflict, fmt::format("the upgrade to {} is {} already", named, name_of(u.phase)));
  if (verb == CommandVerb::upgrade_back && (u.phase == UpgradePhase::rolling_back || u.phase == UpgradePhase::rolled_back))
    return fail(Code::conflict, fmt::format("the upgrade to {} is {} already", named, name_of(u.phase)));
  return {};
}

}  // namespace

Result<CommandGiven> parse_command(const Value& body, const State& s) {
  if (auto r = known_keys(body, "the body", {"verb", "node", "job", "spec", "reason", "id", "approval", "upgrade"}); !r) {
    return tl::unexpected(r.error());
  }
  auto verb = text_of(body, "verb", 20);
  if (!verb) return tl::unexpected(verb.error());
  CommandGiven c;
  if (!parse_name(*verb, c.verb)) {
    return bad(
        fmt::format("verb is '{}'", printable(*verb)),
        "it must be drain, undrain, pause, resume, submit, cancel, approve, reject, upgrade, upgrade_stop or upgrade_back");
  }
  auto reason = text_of(body, "reason", kReasonMax);
  if (!reason) return tl::unexpected(reason.error());
  auto id = text_of(body, "id", kIdMax);
  if (!id) return tl::unexpected(id.error());
  c.reason = std::move(*reason);
  c.id = std::move(*id);
  if (c.verb == CommandVerb::drain || c.verb == CommandVerb::undrain) {
    auto name = text_of(body, "node", kNameMax);
    if (!name) return tl::unexpected(name.error());
    if (name->empty()) {
      return bad(fmt::format("{} needs a node", *verb), R"(e.g. {"verb":"drain","node":"node001","reason":"fans"})");
    }
    auto node = find_node_named(s.site, *name);
    if (!node) return tl::unexpected(node.error());
    c.node = *node;
  }
  if (c.verb == CommandVerb::submit) {
    auto spec = spec_of(body, s);
    if (!spec) return tl::unexpected(spec.error());
    c.spec = std::move(*spec);
  }
  if (c.verb == CommandVerb::approve || c.verb == CommandVerb::reject) {
    auto approval = approval_of(body, s);
    if (!approval) return tl::unexpected(approval.error());
    c.approval = *approval;
  }
  if (c.verb >= CommandVerb::upgrade) {
    if (auto ok = about_upgrade(c.verb, s); !ok) return tl::unexpected(ok.error());
  }
  if (c.verb == CommandVerb::upgrade) {
    auto upgrade = upgrade_of(body, s);
    if (!upgrade) return tl::unexpected(upgrade.error());
    c.upgrade = std::move(*upgrade);
  }
  if (c.verb == CommandVerb::cancel) {
    auto job = job_of(body, s);
    if (!job) return tl::unexpected(job.error());
    c.job = *job;
  }
  return c;
}

}  // namespace muster::api
