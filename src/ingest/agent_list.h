// Where agents are asked, as people write it: "gpu[001-064]", "gpu001:9500,10.0.0.7", "https://gpu[001-064]:9443",
// "http://[::1]:9400/facts", and Prometheus' files of targets.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr int kAgentPort = 9400;

struct AgentAddress {
  std::string url;   // "http://gpu001:9400/facts"
  std::string node;  // the name that was asked for; empty: an address, and whoever answers there is meant
  // What it is called before it has answered.
  const std::string& shown() const { return node.empty() ? url : node; }
  bool operator==(const AgentAddress&) const = default;
};

// In the order written, each URL once. A host that is an IP address or localhost, and a URL with a path of its own, name no node.
Result<std::vector<AgentAddress>> parse_agent_list(std::string_view text, std::size_t most = 100'000);
// A file: Prometheus' file_sd in JSON (the label `node`, else `instance`, else the target names the node, and a path of /metrics
// becomes /facts), or such lists, a line each, with comments behind #. Errors begin with the file's name.
Result<std::vector<AgentAddress>> parse_agent_file(std::string_view text, std::string_view file, std::size_t most = 100'000);

}  // namespace muster
