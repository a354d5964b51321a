// Makes what CLI11 prints fit for reading.
#pragma once
#include <cstddef>
#include <string>

namespace muster::cmd {

constexpr std::size_t kHelpColumn = 32;  // where the explanations begin
constexpr std::size_t kHelpWidth = 110;

// Breaks long lines under the column of explanations and removes double gaps.
std::string tidy_help(const std::string& help);
// "--gpus excludes --cluster" becomes "--gpus and --cluster cannot be used together".
std::string plain_refusal(std::string what);

}  // namespace muster::cmd
