// Where a controller keeps its journal, socket and token.
#pragma once
#include <string>

namespace muster::cmd {

// `flag` where given, else $MUSTER_STATE, else $XDG_STATE_HOME/muster, else ~/.local/state/muster. Not created here.
std::string state_dir(const std::string& flag);

std::string journal_path(const std::string& dir);  // DIR/journal.db
std::string socket_path(const std::string& dir);   // DIR/muster.sock
std::string token_path(const std::string& dir);    // DIR/token, mode 0600
std::string lock_path(const std::string& dir);     // DIR/lock

}  // namespace muster::cmd
