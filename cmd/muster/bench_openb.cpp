// muster bench openb: packing of shared GPUs.
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_bench_openb(const BenchOpenbOptions&) { return say_error({Code::internal, "not there yet", ""}); }

}  // namespace muster::cmd
