// Asks agents that run for what they know of their nodes (GET /facts), a bounded number at a time, each for a bounded time. One
// that does not answer holds nobody up.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "adapters/facts/gather.h"
#include "ingest/agent_list.h"

namespace muster::facts {

// `told` is called once for each agent, with its place in the list, in the order in which they end. No token is sent, redirects
// are not followed, and https is trusted as the system trusts it.
void ask_agents(const std::vector<AgentAddress>& agents, const GatherOptions& options,
                const std::function<void(std::size_t, Answer)>& told);

}  // namespace muster::facts
