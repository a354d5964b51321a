// How the commands that act, and the keys of `muster top`, hand a person's wish to the server.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "client.h"

namespace muster::cmd {

struct GivenWish {
  std::string verb;
  std::string node{};
  std::string job{};
  std::string spec{};  // JSON
  std::string reason{};
  std::uint64_t approval = 0;
  std::string upgrade{};  // JSON
};

// Sends it, once more where the answer was lost: the id makes both the same command. Returns its place in the journal.
Result<std::string> give(const Client& client, const GivenWish& wish, const std::string& id = new_command_id());

// What is asked for in shadow mode is put on record and not done: who asked must know.
Result<void> check_not_shadow(const Client& client);

}  // namespace muster::cmd
