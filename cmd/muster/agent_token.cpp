#include "agent_token.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "files.h"

namespace muster::cmd {

bool crosses_network_in_clear(std::string_view url) {
  constexpr std::string_view kClear = "http://";
  if (!url.starts_with(kClear)) return false;
  std::string host(url.substr(kClear.size()));
  host.resize(std::min(host.find_first_of("/?#"), host.size()));
  const std::size_t colon = host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
  if (colon != std::string::npos) {
    if (!parse_uint(std::string_view(host).substr(colon + 1))) return true;  // "127.0.0.1:secret@HOST"
    host.resize(colon);
  }
  in_addr address{};
  const bool loopback = ::inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
  return !loopback && host != "localhost" && host != "[::1]";
}

Result<std::string> agent_token_for(const std::string& controller, const std::string& token_file) {
  if (crosses_network_in_clear(controller)) {
    return fail(Code::bad_input, "the token would cross the network in the clear", "use https://, or a tunnel to 127.0.0.1");
  }
  if (token_file.empty()) {
    const char* from_environment = std::getenv("MUSTER_TOKEN");
    return std::string(from_environment == nullptr ? "" : from_environment);
  }
  auto text = read_file(token_file);
  if (!text) return tl::unexpected(text.error());
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  if (text->empty() || text->find_first_of(" \t\r\n") != std::string::npos) {
    return fail(Code::bad_input, fmt::format("{} holds no token", token_file), "it should be one word on one line");
  }
  return *text;
}

}  // namespace muster::cmd
