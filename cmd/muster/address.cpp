#include "address.h"

#include <cstdio>

#include "base/text.h"
#include "flag_values.h"

namespace muster::cmd {

void leave_address(const std::string& state, const std::string& url) {
  std::FILE* f = std::fopen((state + "/url").c_str(), "we");
  if (!f) return;
  std::fputs((url + "\n").c_str(), f);
  std::fclose(f);
}

std::string find_address(const std::string& state) {
  std::FILE* f = std::fopen((state + "/url").c_str(), "re");
  if (!f) return "";
  char line[256] = {};
  const bool read = std::fgets(line, sizeof line, f) != nullptr;
  std::fclose(f);
  const auto url = parse_server("url", trim(line), false);
  return read && url ? *url : "";
}

}  // namespace muster::cmd
