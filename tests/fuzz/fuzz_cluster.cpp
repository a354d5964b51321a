// Cluster files: what is accepted is a whole site, what is not has file and line.
#include "check.h"
#include "ingest/cluster_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto s = parse_cluster({reinterpret_cast<const char*>(data), size}, "c.yaml");
  if (s) {
    fuzz::expect_site(*s);
  } else {
    fuzz::expect_file_error(s.error(), "c.yaml");
  }
  return 0;
}
