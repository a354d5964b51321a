#include "ingest/agent_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/node_list.h"
#include "base/text.h"
#include "ingest/file_sd.h"

namespace muster {
namespace {

constexpr std::string_view kFacts = "/facts", kMetrics = "/metrics";
constexpr std::size_t kAddressMax = 500;

tl::unexpected<Error> bad(std::string_view piece, const std::string& why) {
  return fail(Code::bad_input, fmt::format("agent \"{}\": {}", printable(clipped(piece, 100)), why),
              "write gpu[001-064], gpu001:9400, https://gpu001:9443 or @FILE");
}

bool all_of(std::string_view s, std::string_view more) {
  return std::all_of(s.begin(), s.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

// "gpu001:9500" is "gpu001" and "9500", "[::1]" is "[::1]" and "".
std::pair<std::string_view, std::string_view> host_and_port(std::string_view address) {
  const std::size_t behind = address.starts_with('[') ? std::min(address.find(']'), address.size()) : 0;
  const std::size_t colon = address.find(':', behind);
  if (colon == std::string_view::npos) return {address, {}};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

// What the host says of whom is meant: an address says nothing.
std::string name_in(std::string_view host) {
  const bool address = host.starts_with('[') || host == "localhost" || host.find_first_not_of("0123456789.") == std::string::npos;
  return address ? std::string() : std::string(host);
}

// One that holds no ranges any more: "gpu001", "gpu001:9500/facts".
Result<AgentAddress> address_of(std::string_view scheme, std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  std::string path(rest.substr(authority.size()));
  const auto [host, port] = host_and_port(authority);
  const bool literal = host.starts_with('[');
  if (rest.size() > kAddressMax) return bad(rest, "too long");
  const std::string_view plain = literal && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
  if (plain.empty() || plain.front() == '-' || !all_of(plain, literal ? ".:" : ".-_")) return bad(rest, "no name of a host");
  const auto number = port.empty() ? std::nullopt : parse_uint(port);
  const bool has_port = authority.size() > host.size();
  if (has_port && (!number || *number == 0 || *number > 65535)) return bad(rest, "no port behind the colon");
  if (!all_of(path, "/._-~%?=&:,+")) return bad(rest, "a path that is none");
  const bool usual = path.empty() || path == "/" || path == kFacts;
  if (usual) path = kFacts;
  AgentAddress out;
  out.url = fmt::format("{}{}{}{}", scheme, host, has_port ? fmt::format(":{}", *number) : "", path);
  if (usual) out.node = name_in(host);
  return out;
}

Result<std::vector<AgentAddress>> addresses_of(std::string_view piece, std::size_t most) {
  std::string_view scheme = "http://", rest = piece;
  bool url = false;
  for (const std::string_view s : {std::string_view("http://"), std::string_view("https://")}) {
    if (!piece.starts_with(s)) continue;
    scheme = s;
    rest = piece.substr(s.size());
    url = true;
  }
  if (rest.find("://") != std::string_view::npos) return bad(piece, "neither http:// nor https://");
  // Not said again: it may be a password.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos)
    return bad(rest.substr(at), "no user and no password can be given");
  std::vector<std::string> words{std::string(rest)};
  if (!rest.starts_with('[')) {
    auto names = expand_node_list(rest, most);
    if (!names) return tl::unexpected(names.error());
    words = std::move(*names);
  }
  std::vector<AgentAddress> out;
  for (std::string& word : words) {
    if (!url && word.find('/') != std::string::npos) return bad(word, "a path needs http:// in front");
    if (!url && host_and_port(word).first.size() == word.size()) word += fmt::format(":{}", kAgentPort);
    auto one = address_of(scheme, word);
    if (!one) return tl::unexpected(one.error());
    out.push_back(std::move(*one));
  }
  return out;
}

// At commas outside brackets.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (i < text.size() && (c != ',' || depth > 0)) continue;
    out.push_back(trim(text.substr(from, i - from)));
    from = i + 1;
  }
  return out;
}

void keep_first(std::vector<AgentAddress>& list) {
  std::set<std::string> seen;
  std::erase_if(list, [&](const AgentAddress& a) { return !seen.insert(a.url).second; });
}

Result<std::vector<AgentAddress>> targets_of(std::string_view text, std::string_view file) {
  const auto targets = parse_file_sd(text, file);
  if (!targets) return tl::unexpected(targets.error());
  std::vector<AgentAddress> out;
  for (const ScrapeTarget& t : *targets) {
    AgentAddress a{t.url, {}};
    if (a.url.ends_with(kMetrics)) a.url.replace(a.url.size() - kMetrics.size(), kMetrics.size(), kFacts);
    const std::string& said = !t.node.empty() ? t.node : !t.instance.empty() ? t.instance : t.address;
    a.node = t.node.empty() ? name_in(host_and_port(said).first) : t.node;
    out.push_back(std::move(a));
  }
  return out;
}

}  // namespace

Result<std::vector<AgentAddress>> parse_agent_list(std::string_view text, std::size_t most) {
  std::vector<AgentAddress> out;
  for (const std::string_view piece : pieces_of(text)) {
    if (piece.empty()) return bad(text, "an empty name");
    auto some = addresses_of(piece, most - out.size());
    if (!some) return tl::unexpected(some.error());
    if (some->size() > most - out.size()) return bad(piece, fmt::format("more than {} agents", most));
    std::move(some->begin(), some->end(), std::back_inserter(out));
  }
  keep_first(out);
  return out;
}

Result<std::vector<AgentAddress>> parse_agent_file(std::string_view text, std::string_view file, std::size_t most) {
  const std::string_view all = trim(text);
  const auto first = all.substr(0, 1) == "[" ? all.find_first_not_of(" \t\r\n", 1) : std::string_view::npos;
  std::vector<AgentAddress> out;
  if (first != std::string_view::npos && (all[first] == '{' || all[first] == ']')) {
    auto targets = targets_of(text, file);
    if (!targets) return tl::unexpected(targets.error());
    out = std::move(*targets);
  } else {
    std::size_t number = 0;
    for (std::string_view line : split(text, '\n')) {
      ++number;
      line = trim(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      auto some = parse_agent_list(line, most - out.size());
      if (!some) return fail(some.error().code, fmt::format("{}:{}: {}", file, number, some.error().what), some.error().next);
      std::move(some->begin(), some->end(), std::back_inserter(out));
    }
    keep_first(out);
  }
  if (out.size() > most) return fail(Code::bad_input, fmt::format("{}: more than {} agents", file, most), "name fewer");
  if (out.empty()) return fail(Code::bad_input, fmt::format("{}: no agents", file), "name one a line, or as Prometheus' file_sd");
  return out;
}

}  // namespace muster
