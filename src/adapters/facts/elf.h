// A section of an ELF file, without reading the rest of it: what a kernel module says of itself, which versions a library has.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "adapters/facts/host.h"

namespace muster::facts {

// At most `most` bytes. Nothing: no such file, no 64-bit little-endian ELF, no such section.
std::optional<std::string> elf_section(const Host& host, const std::string& path, std::string_view name, std::size_t most);
// "version" in a module's .modinfo, whose entries are "key=value" with a zero byte behind each; empty: not there.
std::string module_info(std::string_view modinfo, std::string_view key);

}  // namespace muster::facts
