#include "base/ids.h"

namespace muster {
std::string render(JobId id) {
  std::string s = std::to_string(id.number);
  if (id.array_index != 0) s += "_" + std::to_string(id.array_index - 1);
  return s;
}
}  // namespace muster
