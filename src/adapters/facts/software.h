// CUDA, NCCL and libcuda as jobs have them in memory, HPC-X, containers and their images, mounts, Slurm.
#pragma once
#include <string>
#include <string_view>

#include "adapters/facts/host.h"
#include "adapters/facts/packages.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

void probe_cuda(const Host& host, Sheet& sheet);
void probe_libraries(const Host& host, Sheet& sheet);
void probe_containers(const Host& host, Sheet& sheet);
void probe_mounts(const Host& host, Sheet& sheet);
void probe_image(const Host& host, const Packages& packages, Sheet& sheet);
// NCCL and the driver's libcuda: goes through the memory maps of processes, those of jobs first, until the sweep has used
// `until_cpu_ms`. What it did not come to may have another: then it is unreadable, unless some was found.
void probe_mapped_libraries(const Host& host, double until_cpu_ms, Sheet& sheet);

// CPU that this process has used, milliseconds.
double cpu_ms();
// "2.28.9" of "#define NCCL_MAJOR 2" and the like; empty: not in there.
std::string nccl_of_header(std::string_view header);

}  // namespace muster::facts
