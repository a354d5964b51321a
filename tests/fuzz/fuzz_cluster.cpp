// Cluster files: what is accepted is a whole site, what is not has file and line. What follows a line "%%" is the table of cables
// that the file may name as t.csv.
#include "check.h"
#include "ingest/cluster_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  constexpr std::string_view kMark = "\n%%\n";
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t mark = all.find(kMark);
  const auto read = [&](const std::string& path) -> Result<std::string> {
    if (path != "t.csv" || mark == std::string_view::npos) return fail(Code::not_found, "it is not there");
    return std::string(all.substr(mark + kMark.size()));
  };
  const auto s = parse_cluster(all.substr(0, mark), "c.yaml", read);
  if (s) {
    fuzz::expect_site(*s);
  } else {
    fuzz::expect_file_error(s.error(), s.error().what.starts_with("t.csv:") ? "t.csv" : "c.yaml");
  }
  return 0;
}
