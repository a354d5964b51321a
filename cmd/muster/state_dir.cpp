#include "state_dir.h"

#include <cstdlib>

namespace muster::cmd {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string state_dir(const std::string& flag) {
  if (!flag.empty()) return flag;
  if (auto dir = variable("MUSTER_STATE"); !dir.empty()) return dir;
  if (auto dir = variable("XDG_STATE_HOME"); !dir.empty()) return dir + "/muster";
  const auto home = variable("HOME");
  return (home.empty() ? "/var/lib" : home + "/.local/state") + "/muster";
}

std::string journal_path(const std::string& dir) { return dir + "/journal.db"; }
std::string socket_path(const std::string& dir) { return dir + "/muster.sock"; }
std::string token_path(const std::string& dir) { return dir + "/token"; }
std::string lock_path(const std::string& dir) { return dir + "/lock"; }

}  // namespace muster::cmd
