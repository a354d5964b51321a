// What the files that bring nodes to what they should be have in common: names of groups, comments, quoting.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "fleet/repair.h"

namespace muster::report {

// "change_03", "cohort_01", "wave_2_1_pct": what Ansible allows as the name of a group.
std::string change_name(const fleet::Repair& r, std::size_t set);
std::string cohort_name(std::size_t cohort);
std::string wave_name(const fleet::Repair& r, std::size_t wave);
// As indices into waves.
std::size_t wave_of(const fleet::Repair& r, std::uint32_t node);
// Lines that begin with "# ", broken at blanks; untrusted text is made printable.
std::string comment(std::string_view text);
// What a person has to do, or what is left out since it would harm, and why. Untrusted.
std::string told(const fleet::Repair& r, const fleet::ByHand& b);
// What it is, where from, what a person has to do and what was left out.
std::string headline(const fleet::Repair& r, std::string_view tool, std::string_view whence);
// The last two of these.
std::string not_done(const fleet::Repair& r);
// The same of one change set: its nodes, its kind, why each change.
std::string about_set(const fleet::Repair& r, std::size_t set);
// An extended regular expression for the version of a package: with an epoch and a revision of whoever packed it, or without; and
// no other version. Holds no quote and no backslash.
std::string version_pattern(std::string_view version);
// The release of the module that this package brings at the next boot: "580.95.05"; empty: it is no driver.
std::string loaded_driver(const fleet::Change& c);
// Characters that mean something in a pattern of Python or of Go, taken for themselves.
std::string in_pattern(std::string_view plain);
// In double quotes. Of values that fleet::plain_value let pass.
std::string quoted(std::string_view plain);
// The two halves of "unit setting", "file key", "place option".
std::pair<std::string, std::string> halves(std::string_view name);
// "gpu[001-004]": of those among the nodes.
std::string node_list(const fleet::Repair& r, const std::vector<std::uint32_t>& nodes);

// A file that a change consists of, for tools that know files alone; with an empty path the change is none.
struct ChangeFile {
  std::string path, text;
};
ChangeFile file_of(const fleet::Change& c);

}  // namespace muster::report
