#include "api/command_body.h"

#include <fmt/core.h>

#include <cmath>

#include "api/render.h"
#include "base/text.h"
#include "model/codec.h"

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

bool within(double x, double low, double high) { return std::isfinite(x) && x >= low && x <= high; }

Result<JobSpec> spec_of(const Value& body, const State& s) {
  const Value* v = body.find("spec");
  if (v == nullptr) return bad("submit needs a spec", R"(e.g. {"verb":"submit","spec":{"name":"train","nodes":4,"steps":1000}})");
  if (auto r = known_keys(*v, "spec",
                          {"name", "user", "account", "nodes", "step_s", "steps", "checkpoint_every_s", "checkpoint_gb"});
      !r) {
    return tl::unexpected(r.error());
  }
  auto spec = decode_spec(*v);
  if (!spec) return bad(fmt::format("spec.{}", spec.error().what));
  if (spec->name.size() > kNameMax || spec->user.size() > kNameMax || spec->account.size() > kNameMax) {
    return bad(fmt::format("spec.name, user and account may have {} bytes each", kNameMax));
  }
  if (spec->nodes == 0 || spec->nodes > s.site.nodes.size()) {
    return bad(fmt::format("spec.nodes is {}", spec->nodes), fmt::format("the cluster has 1 to {}", s.site.nodes.size()));
  }
  if (!within(spec->step_s, 0.001, 86'400)) return bad("spec.step_s must be 0.001 to 86400 seconds");
  if (spec->steps == 0 || spec->steps > 1'000'000'000'000) return bad("spec.steps must be 1 to 1000000000000");
  if (!within(spec->checkpoint_every_s, 0, 30 * 86'400)) return bad("spec.checkpoint_every_s must be 0 to 2592000 seconds");
  if (!within(spec->checkpoint_gb, 0, 1e6)) return bad("spec.checkpoint_gb must be 0 to 1000000");
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
  const Job* j = find_job(s, *id);
  if (j == nullptr) {
    return fail(Code::not_found, fmt::format("there is no job {}", render(*id)), "GET /api/v1/jobs lists them");
  }
  if (ended(j->phase)) return fail(Code::conflict, fmt::format("job {} has already {}", render(*id), name_of(j->phase)));
  return id;
}

}  // namespace

Result<CommandGiven> parse_command(const Value& body, const State& s) {
  if (auto r = known_keys(body, "the body", {"verb", "node", "job", "spec", "reason", "id"}); !r) {
    return tl::unexpected(r.error());
  }
  auto verb = text_of(body, "verb", 20);
  if (!verb) return tl::unexpected(verb.error());
  CommandGiven c;
  if (!parse_name(*verb, c.verb)) {
    return bad(fmt::format("verb is '{}'", printable(*verb)), "it must be drain, undrain, pause, resume, submit or cancel");
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
  if (c.verb == CommandVerb::cancel) {
    auto job = job_of(body, s);
    if (!job) return tl::unexpected(job.error());
    c.job = *job;
  }
  return c;
}

}  // namespace muster::api
