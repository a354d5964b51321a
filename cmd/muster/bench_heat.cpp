// muster bench heat: a cooling fault in one row.
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_bench_heat(const BenchHeatOptions&) { return say_error({Code::internal, "not there yet", ""}); }

}  // namespace muster::cmd
