// A file of targets: what is accepted is a sorted list of distinct URLs that nothing can be smuggled into.
#include <algorithm>

#include "check.h"
#include "ingest/file_sd.h"
#include "ingest/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto targets = parse_file_sd(text, "sd.json");
  if (!targets) {
    fuzz::expect(targets.error().what.rfind("sd.json: ", 0) == 0, "an error names its file");
    return 0;
  }
  fuzz::expect(parse_json(text).has_value(), "only JSON is accepted");
  fuzz::expect(targets->size() <= kTargetsMax, "bounded");
  for (std::size_t i = 0; i < targets->size(); ++i) {
    const ScrapeTarget& t = (*targets)[i];
    fuzz::expect(t.url.rfind("http://", 0) == 0 || t.url.rfind("https://", 0) == 0, "http or https");
    fuzz::expect(t.url.find(t.address) != std::string::npos && !t.address.empty(), "to the address written");
    fuzz::expect(t.url.find_first_of(" \t\r\n@#\"\\<>") == std::string::npos, "nothing that ends a URL or names a user");
    fuzz::expect(i == 0 || (*targets)[i - 1].url < t.url, "sorted, each once");
  }
  return 0;
}
