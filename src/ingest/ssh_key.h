// Public keys as OpenSSH writes them (sshd(8), AUTHORIZED_KEYS FILE FORMAT), for files that let somebody log in. A private key is
// refused, and no word of it is repeated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr std::size_t kSshKeyFileMax = 1U << 20;

// "ssh-ed25519 AAAA... ann@desk", one for each line that holds one; blank lines and those that begin with # are passed over. At
// least one. What is returned is one line of printable ASCII without quotes or backslashes. Errors are "file:line: reason".
Result<std::vector<std::string>> parse_ssh_keys(std::string_view text, std::string_view file);

}  // namespace muster
