// Files that a flag names: read whole, written whole, and what is said when that fails.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cmd {

// What errno says of a file, with the exit codes of docs/cli.md: 3 not there, 2 a folder, 4 no permission, 1 anything else.
Error file_error(std::string_view doing, const std::string& path, int why);
// At most 64 MiB.
Result<std::string> read_file(const std::string& path);
// What a tool printed of a fabric, perhaps zipped: at most 4 GiB, since forwarding tables have a line for each address at each
// switch.
Result<std::string> read_fabric_file(const std::string& path);
// That it can be written, which leaves it as it was.
Result<void> check_writable(const std::string& path);
Result<void> write_file(const std::string& path, std::string_view text);
// Likewise, but what was there stays until all of the new text is on the disk.
Result<void> replace_file(const std::string& path, std::string_view text);
// Into what is open. False, with errno: not all of it.
bool write_all(int fd, std::string_view text);

}  // namespace muster::cmd
