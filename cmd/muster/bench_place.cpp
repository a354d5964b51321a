// muster bench place: speed and quality of gang placement.
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_bench_place(const BenchPlaceOptions&) { return say_error({Code::internal, "not there yet", ""}); }

}  // namespace muster::cmd
