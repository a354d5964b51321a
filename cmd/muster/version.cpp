#include "base/json_writer.h"
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_version(const VersionOptions& options) {
  if (options.format == report::Format::json) {
    JsonWriter w;
    w.object().field("name", "muster").field("version", MUSTER_VERSION).end_object();
    put(w.take() + "\n");
  } else {
    put("muster " MUSTER_VERSION "\n");
  }
  return 0;
}

}  // namespace muster::cmd
