// YAML: bounded depth, unique keys, lines within the text, errors with file and line.
#include "check.h"
#include "ingest/json.h"
#include "ingest/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto v = parse_yaml(text, "f.yaml");
  if (!v) {
    fuzz::expect_file_error(v.error(), "f.yaml");
    return 0;
  }
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r'));
  fuzz::expect_tree(*v, static_cast<int>(kYamlDepthMax), lines + 2);
  fuzz::expect(parse_json(fuzz::render(*v)).has_value(), "a tree can be written as JSON");
  return 0;
}
