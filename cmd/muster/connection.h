// Where a running Muster is reached.
#pragma once
#include <string>

namespace muster::cmd {

struct Connection {
  std::string server;      // "http://127.0.0.1:7070"; empty: the unix socket in the state directory
  std::string state;       // state directory; empty: the default
  std::string token_file;  // with --server; empty: $MUSTER_TOKEN
  std::string at;          // the moment that is asked about, in UTC; empty: now
};

}  // namespace muster::cmd
