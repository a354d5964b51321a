// Commands that are declared and parsed but do nothing yet. Each leaves this file when its own file appears.
#include "commands.h"
#include "say.h"

namespace muster::cmd {
namespace {

int not_built(std::string command) {
  return say_error({Code::internal, "`muster " + command + "` is not built yet", ""});
}

}  // namespace

int run_up(const UpOptions&) { return not_built("up"); }
int run_twin_serve(const TwinServeOptions&) { return not_built("twin serve"); }

}  // namespace muster::cmd
