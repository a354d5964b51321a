#include "give.h"

#include "base/json_writer.h"
#include "report/units.h"

namespace muster::cmd {

Result<std::string> give(const Client& client, const GivenWish& wish, const std::string& id) {
  JsonWriter w;
  w.object().field("verb", wish.verb).field("id", id);
  if (!wish.node.empty()) w.field("node", wish.node);
  if (!wish.job.empty()) w.field("job", wish.job);
  if (!wish.reason.empty()) w.field("reason", wish.reason);
  if (wish.approval > 0) w.field("approval", wish.approval);
  if (!wish.spec.empty()) w.key("spec").raw(wish.spec);
  if (!wish.upgrade.empty()) w.key("upgrade").raw(wish.upgrade);
  w.end_object();
  const auto body = w.take();
  auto answer = client.post("/api/v1/commands", body);
  if (!answer && answer.error().code == Code::unreachable) answer = client.post("/api/v1/commands", body);
  if (!answer) return tl::unexpected(answer.error());
  return report::text_of(*answer, "seq");
}

Result<void> check_not_shadow(const Client& client) {
  const auto guard = client.get("/api/v1/guard", {});
  const Value* shadow = guard ? guard->find("shadow") : nullptr;
  if (shadow == nullptr || shadow->boolean() == nullptr || !*shadow->boolean()) return {};
  return fail(Code::refused, "it is on record, but not done: the policy is in shadow mode, and nothing reaches the engine",
              "begin with another policy to act");
}

}  // namespace muster::cmd
