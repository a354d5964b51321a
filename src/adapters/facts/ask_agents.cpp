#include "adapters/facts/ask_agents.h"

#include <fmt/core.h>

#include <chrono>

#include "adapters/http/fan.h"
#include "base/text.h"

namespace muster::facts {
namespace {

constexpr std::size_t kAnswerMax = 4U << 20;  // bytes: facts are a hundredth of it
constexpr std::size_t kWordsMax = 120;

std::string trouble_of(const AgentAddress& agent, const Result<http::Response>& r) {
  if (!r) {
    std::string_view what = r.error().what;
    const std::string where = printable(agent.url) + ": ";
    if (what.starts_with(where)) what.remove_prefix(where.size());
    return std::string(what);
  }
  if (r->status == 200) return {};
  std::string out = fmt::format("status {}", r->status);
  if (r->status == 404) return out + ": no facts there; is it an agent of Muster?";
  // What the agent itself says while it starts.
  const std::string_view words = trim(std::string_view(r->body).substr(0, r->body.find('\n')));
  return words.empty() ? out : out + ": " + std::string(clipped(words, kWordsMax));
}

}  // namespace

void ask_agents(const std::vector<AgentAddress>& agents, const GatherOptions& options,
                const std::function<void(std::size_t, Answer)>& told) {
  constexpr auto kLook = std::chrono::milliseconds(500);
  http::Fan fan(options.at_once);
  std::size_t next = 0;
  while (next < agents.size() || fan.in_flight() > 0) {
    while (next < agents.size() && fan.in_flight() < options.at_once) {
      const std::size_t i = next++;
      http::Request q;
      q.url = agents[i].url;
      q.timeout_ms = static_cast<std::int64_t>(options.deadline_s * 1e3);
      fan.send(q, kAnswerMax, false, [&agents, &told, i](Result<http::Response> r) {
        std::string trouble = trouble_of(agents[i], r);
        told(i, {agents[i].shown(), trouble.empty() ? std::move(r->body) : std::string(), std::move(trouble)});
      });
    }
    fan.poll(kLook);
  }
}

}  // namespace muster::facts
