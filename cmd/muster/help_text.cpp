#include "help_text.h"

#include "base/text.h"

namespace muster::cmd {

std::string tidy_help(const std::string& help) {
  std::string out;
  bool gap = false;
  for (const auto text : split(trim(help), '\n')) {
    if (text.empty() && gap) continue;
    gap = text.empty();
    std::string line(text);
    const bool explained = line.size() > kHelpColumn && line.starts_with("  ");
    while (explained && line.size() > kHelpWidth) {
      const auto cut = line.rfind(' ', kHelpWidth);
      if (cut == std::string::npos || cut <= kHelpColumn) break;
      out.append(line, 0, cut).append("\n");
      line = std::string(kHelpColumn, ' ') + line.substr(cut + 1);
    }
    out.append(line).append("\n");
  }
  return out;
}

std::string plain_refusal(std::string what) {
  const std::string name = what.substr(0, what.find(':'));
  if (const auto at = what.find(" excludes "); at != std::string::npos) {
    return what.substr(0, at) + " and " + what.substr(at + 10) + " cannot be used together";
  }
  if (what.ends_with(" missing")) return name + " needs a value";
  if (what.find("At Most 1 required") != std::string::npos) return name + " is given more than once";
  return what;
}

}  // namespace muster::cmd
