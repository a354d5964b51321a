// Versions as vendors write them, compared: "580.159.04", "535.129.03-1ubuntu1", "R580", "28.43.2566", "6.8.0-45-generic",
// "13.0".
#pragma once
#include <compare>
#include <optional>
#include <string_view>

namespace muster::fleet {

// The version in a text: "13.0" of "release 13.0" and "cuda-13.0", "24.11.5-1" of "slurm-wlm 24.11.5-1", "4.5.2" of "1:4.5.2".
// Only words that are known to stand before versions may do so: "git-3fa9", "latest" and "N/A" hold none.
std::optional<std::string_view> version_in(std::string_view text);
// What programs write where they have no answer, such as "unknown" and "N/A".
bool no_answer(std::string_view text);
// Of two versions. Unordered where a word stands against a number ("1.master" and "1.17"). What packages put behind, "-1ubuntu1"
// or "+cuda12.9", counts only where both have it and the rest is the same; "-rc1" and "-0rc1" are before the release.
std::partial_ordering order_versions(std::string_view a, std::string_view b);

// Whether there is any letter or number in it to compare.
bool has_parts(std::string_view text);
// Number by number; what is missing at the end counts as 0, letters after numbers decide last. 580.9 is before 580.65.
std::strong_ordering compare_versions(std::string_view a, std::string_view b);
// Whether `version` is in the branch: "580.159.04" is in "580", "28.43.2566" in "28.43", "13" in "13.0"; "5801" is not in "580".
bool in_branch(std::string_view version, std::string_view branch);

}  // namespace muster::fleet
