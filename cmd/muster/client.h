// A conversation with a running Muster: over the unix socket in its state directory, or over HTTP with a token.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "options.h"

namespace muster::cmd {

class Client {
 public:
  // Nothing is sent yet; fails where the token cannot be read or would travel in the clear.
  static Result<Client> open(const Connection& connection);

  using Query = std::map<std::string, std::string>;
  Result<Value> get(const std::string& path, const Query& query = {}) const;
  // `body` is JSON.
  Result<Value> post(const std::string& path, const std::string& body) const;

  // The cluster's own time, which in a simulation is not ours; none when it does not say.
  std::optional<Time> cluster_now() const;
  // "http://127.0.0.1:7070"; over the unix socket, what the controller left in its state directory; empty where unknown.
  std::string page() const;

 private:
  Result<Value> send(const std::string& method, const std::string& target, const std::string& body) const;

  std::string server_;
  std::string socket_;
  std::string token_;
  std::string at_;  // in every question
};

// One more piece of a path, encoded: piece("a/b") is "/a%2Fb".
std::string piece(const std::string& text);
// Chosen by us so that a repeat of the same command is the same command.
std::string new_command_id();

}  // namespace muster::cmd
