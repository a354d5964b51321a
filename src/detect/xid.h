// Kernel records that name a GPU fault: Xid lines and "fallen off the bus".
#pragma once
#include "detect/sign.h"

namespace muster::detect {

void on_kernel_record(const KernelRecord& r, Signs& out);

}  // namespace muster::detect
