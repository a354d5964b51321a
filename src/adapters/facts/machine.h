// Processors, memory, what the machine runs in, kernels that run and are installed, and settings that one line does not say.
#pragma once
#include "adapters/facts/host.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

void probe_cpu(const Host& host, Sheet& sheet);
void probe_memory(const Host& host, Sheet& sheet);
void probe_virtualisation(const Host& host, Sheet& sheet);
void probe_kernel(const Host& host, Sheet& sheet);
void probe_system(const Host& host, Sheet& sheet);  // image, limits, environment, time
// "0-3,8,10-11" is 7.
std::size_t cpus_in(std::string_view list);
// Of a command line, without what differs from node to node.
std::string common_command_line(std::string_view command_line);

}  // namespace muster::facts
