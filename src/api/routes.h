// Every route there is, as data: dispatch, access control, input checks and the OpenAPI document all read this one table.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/tool.h"

namespace muster::api {

enum class RouteId {
  page, asset, login, healthz, metrics, openapi, summary, map, map_values, nodes, node, gpus, jobs, job, queues, queue, forecast,
  findings, incidents, incident, incident_report, actions, guard, policy, upgrade, explain, events, session, new_login, commands,
  command, fabric, intake, tools, tool,
};

struct Parameter {
  std::string_view name;
  std::string_view about;
};

struct Route {
  RouteId id;
  std::string_view method;   // "GET" (which answers HEAD too) or "POST"
  std::string_view pattern;  // "/api/v1/nodes/{name}"
  Role role;                 // least one that may; for tools the tool's own role is asked as well
  std::size_t body_max;      // bytes; 0: none
  std::string_view media;    // of a good answer
  std::string_view about;
  std::span<const Parameter> query;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::map<std::string, std::string> pieces;  // {name} -> what stood there
};

// not_found: no such path. bad_input with `allow` in Error::next: the path exists, the method does not.
Result<Match> match(std::string_view method, std::string_view path);
// Query parameters a route does not know are refused rather than ignored: a typing error must not widen an answer.
Result<void> check_query(const Route& route, const std::map<std::string, std::string>& query);

std::string_view name_of(Role role);

}  // namespace muster::api
