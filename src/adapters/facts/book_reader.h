// The rows of data/fleet/facts.csv that say themselves how they are read: "line:/proc/sys/vm/swappiness", "arg:iommu".
#pragma once
#include <string>
#include <string_view>

#include "adapters/facts/host.h"
#include "adapters/facts/sheet.h"
#include "model/fact_table.h"

namespace muster::facts {

// All rows about the node itself. What needs code of its own ("probe"), NVML or a person is passed over.
void read_by_book(const Host& host, const FactBook& book, Sheet& sheet);
// The rows about parts of one kind, below the folder of one of them: "nic", "mlx5_0", "/sys/class/infiniband/mlx5_0/".
void read_part_by_book(const Host& host, const FactBook& book, Sheet& sheet, std::string_view of, const std::string& part,
                       const std::string& folder);

// The value of an argument of the kernel's command line; several of one name with commas; "set": it has none.
Reading command_line_argument(std::string_view command_line, std::string_view name);
// "always [madvise] never" is madvise; text without brackets is itself.
std::string selected(std::string_view text);
// Where the version of a library is read: the target of its link in one of the usual folders, behind ".so.".
Reading library_version(const Host& host, const std::string& name);
// The file that the linker would most likely take; empty: none.
std::string library_path(const Host& host, const std::string& name);
// Of a systemd unit: active, inactive, masked; absent: there is none.
Reading unit_state(const Host& host, const std::string& unit);
// "/etc/slurm/NAME", or where else a site may have it.
std::string slurm_file(const Host& host, const std::string& path);
// The first process of a unit; empty: it does not run.
std::string first_process(const Host& host, const std::string& unit);
std::string short_hash(std::string_view bytes);

}  // namespace muster::facts
