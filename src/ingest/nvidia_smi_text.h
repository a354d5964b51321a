// `nvidia-smi -q` without -x: the same figures as its XML, for people. What they are called differs, and where they stand is said
// by indentation alone.
#pragma once
#include <string>
#include <string_view>

#include "ingest/nvidia_smi.h"

namespace muster {

constexpr std::size_t kSmiLineMax = 512;            // bytes; a longer line is cut
constexpr std::size_t kSmiTextBytesMax = 4U << 20;  // a thousand GPUs; the rest is not read

// Reads as much of it as the XML's reader does of the XML, without processes and MIG devices. Never fails as a whole either.
NvidiaSmi parse_nvidia_smi_text(std::string_view text);

}  // namespace muster
