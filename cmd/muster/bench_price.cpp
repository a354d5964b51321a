// muster bench price: the energy bill of deferrable work.
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_bench_price(const BenchPriceOptions&) { return say_error({Code::internal, "not there yet", ""}); }

}  // namespace muster::cmd
