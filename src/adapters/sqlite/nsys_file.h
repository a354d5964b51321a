// Profiles of Nsight Systems as `nsys export --type sqlite` writes them, of any version of its schema.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace muster::sqlite {

// The 16 bytes that every SQLite database begins with.
bool looks_like_sqlite(std::string_view bytes);

// One trace for each process that used a GPU, in the order of their ids; for a process that used several, one for each GPU. Rows
// are read one by one: memory is that of the events that are kept. Nothing is written, neither to the file nor beside it.
//
// Steps are NVTX ranges of one thread: those named "ProfilerStep..." (PyTorch's); else those whose name says step, iteration or
// iter and of which there are two or more, the family that covers most; else the outermost ranges of the thread that calls CUDA
// most, where three or more have the same name but for numbers and begin at regular intervals.
Result<std::vector<Trace>> read_nsys_file(const std::string& path);

}  // namespace muster::sqlite
