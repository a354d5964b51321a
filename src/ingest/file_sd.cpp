#include "ingest/file_sd.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::size_t kAddressMax = 300;
constexpr std::size_t kPathMax = 500;
constexpr const char* kShape = "it is a list of groups: [{\"targets\": [\"node0001:9400\"], \"labels\": {}}]";

// What may go into a URL as it is.
bool plain(std::string_view s, std::string_view more) {
  return std::all_of(s.begin(), s.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

std::string label(const Value* labels, std::string_view name, std::string_view otherwise = {}) {
  const Value* v = labels == nullptr ? nullptr : labels->find(name);
  return std::string(v == nullptr || v->string() == nullptr ? otherwise : std::string_view(*v->string()));
}

}  // namespace

Result<std::vector<ScrapeTarget>> parse_file_sd(std::string_view text, std::string_view file) {
  const auto wrong = [&](const std::string& what) { return fail(Code::bad_input, fmt::format("{}: {}", file, what), kShape); };
  const auto json = parse_json(text, 8);
  if (!json) return wrong(json.error().what);
  if (json->array() == nullptr) return wrong(fmt::format("must be a list, is of type {}", json->kind()));
  std::vector<ScrapeTarget> out;
  std::size_t group = 0;
  for (const Value& g : *json->array()) {
    ++group;
    const Value* targets = g.find("targets");
    const Value* labels = g.find("labels");
    if (targets == nullptr || targets->array() == nullptr) return wrong(fmt::format("group {} has no list of targets", group));
    if (labels != nullptr && labels->object() == nullptr)
      return wrong(fmt::format("labels of group {} must be an object", group));
    const std::string scheme = label(labels, "__scheme__", "http");
    std::string path = label(labels, "__metrics_path__", "/metrics");
    if (scheme != "http" && scheme != "https") return wrong(fmt::format("group {}: __scheme__ must be http or https", group));
    if (path.empty() || path.front() != '/') path.insert(0, "/");
    if (path.size() > kPathMax || !plain(path, "/._-~%?=&[]:,"))
      return wrong(fmt::format("group {}: bad __metrics_path__", group));
    for (const Value& t : *targets->array()) {
      const std::string* address = t.string();
      if (address == nullptr || address->empty() || address->size() > kAddressMax || !plain(*address, ".:-_[]")) {
        return wrong(fmt::format("group {}: a target must be HOST:PORT, is {}", group,
                                 address == nullptr ? std::string(t.kind()) : "\"" + printable(*address).substr(0, 80) + "\""));
      }
      if (out.size() >= kTargetsMax) return wrong(fmt::format("more than {} targets", kTargetsMax));
      out.push_back({scheme + "://" + *address + path, *address, label(labels, "node"), label(labels, "instance")});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const ScrapeTarget& a, const ScrapeTarget& b) { return a.url < b.url; });
  out.erase(std::unique(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.url == b.url; }), out.end());
  return out;
}

}  // namespace muster
