#include "adapters/agent/readings.h"

#include <algorithm>

#include "base/text.h"

namespace muster::agent {
namespace {

constexpr std::size_t kWordMax = 256;
constexpr std::size_t kEntriesMax = 4096;  // of one kind

// The words of a line: the first `count` - 1 by blanks, the last is the rest.
std::vector<std::string_view> words_of(std::string_view line, std::size_t count) {
  std::vector<std::string_view> out;
  while (out.size() + 1 < count) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) break;
    out.push_back(line.substr(0, blank));
    line.remove_prefix(blank + 1);
  }
  out.push_back(line);
  return out;
}

bool metric_name(std::string_view s) { return s.rfind("DCGM_", 0) == 0 || s.rfind("muster_", 0) == 0; }

bool read_gpu(std::string_view line, Readings& out) {
  const auto w = words_of(line, 4);
  const auto index = w.size() == 4 ? parse_uint(w[1]) : std::nullopt;
  if (!index || *index > 63 || w[2].size() > kWordMax || w[3].size() > kWordMax) return false;
  GpuReadings& g = out.gpus[static_cast<int>(*index)];
  if (!metric_name(w[2])) {
    g.facts[std::string(w[2])] = to_valid_utf8(w[3]);
    return true;
  }
  const auto value = parse_double(w[3]);
  if (!value || g.values.size() >= kEntriesMax) return false;
  g.values[std::string(w[2])] = *value;
  return true;
}

bool read_port(std::string_view line, Readings& out) {
  const auto w = words_of(line, 5);
  const auto port = w.size() == 5 ? parse_uint(w[2]) : std::nullopt;
  const auto value = w.size() == 5 ? parse_double(w[4]) : std::nullopt;
  if (!port || !value || *port > 255 || w[1].size() > kWordMax || w[3].size() > kWordMax || out.ports.size() >= kEntriesMax)
    return false;
  out.ports[{std::string(w[1]), static_cast<int>(*port)}][std::string(w[3])] = *value;
  return true;
}

bool read_line(std::string_view line, Readings& out) {
  const auto w = words_of(line, 4);
  if (w[0] == "gpu") return read_gpu(line, out);
  if (w[0] == "ib") return read_port(line, out);
  if (w[0] == "node" && w.size() >= 3) {
    const auto n = words_of(line, 3);
    if (n[1].size() > kWordMax || out.node.size() >= kEntriesMax) return false;
    out.node[std::string(n[1])] = to_valid_utf8(n[2].substr(0, kWordMax));
    return true;
  }
  if (w[0] == "pci" && w.size() == 4) {
    const auto value = parse_double(w[3]);
    if (!value || w[1].size() > kWordMax || w[2].size() > kWordMax || out.pci.size() >= kEntriesMax) return false;
    out.pci[std::string(w[1])][std::string(w[2])] = *value;
    return true;
  }
  if (w[0] == "xid" && w.size() >= 3) {
    const auto gpu = parse_uint(w[1]);
    const auto code = parse_uint(w[2]);
    if (!gpu || !code || *gpu > 63 || *code > 999 || out.xids.size() >= kEntriesMax) return false;
    const bool placed = w.size() == 4 && w[3] != "-" && w[3].size() < 32;
    out.xids.push_back({static_cast<int>(*gpu), static_cast<int>(*code), placed ? std::string(w[3]) : std::string()});
    return true;
  }
  return false;
}

}  // namespace

Readings parse_readings(std::string_view text) {
  Readings out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !read_line(line, out)) ++out.unread;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void merge_readings(Readings& into, Readings newer) {
  if (!newer.gpus.empty()) into.gpus = std::move(newer.gpus);
  for (auto& [name, fact] : newer.node) into.node[name] = std::move(fact);
  if (!newer.ports.empty()) into.ports = std::move(newer.ports);
  if (!newer.pci.empty()) into.pci = std::move(newer.pci);
  into.xids.insert(into.xids.end(), newer.xids.begin(), newer.xids.end());
  into.unread += newer.unread;
}

}  // namespace muster::agent
