// muster fleet emit: files for the programs around a cluster. They ship inside the binary, so that they always speak of the
// series this version has.
#include "base/check.h"
#include "commands.h"
#include "files.h"
#include "ingest/embedded.h"
#include "say.h"

namespace muster::cmd {

int run_fleet_emit(const FleetEmitOptions& o) {
  const char* path = o.what == EmittedFile::prometheus ? "emit/prometheus_rules.yaml"
                     : o.what == EmittedFile::grafana  ? "emit/grafana.json"
                                                       : "emit/dcgm_counters.csv";
  const auto text = embedded_file(path);
  MUSTER_CHECK(text.has_value());
  if (o.out.empty()) {
    put(*text);
    return 0;
  }
  if (auto ok = write_file(o.out, *text); !ok) return say_error(ok.error());
  return 0;
}

}  // namespace muster::cmd
