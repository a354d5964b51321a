// Public keys: what is accepted is one line of plain text each, and is accepted again as it is.
#include <algorithm>

#include "check.h"
#include "ingest/ssh_key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const auto keys = parse_ssh_keys(std::string_view(reinterpret_cast<const char*>(data), size), "k.pub");
  if (!keys) {
    expect(keys.error().what.starts_with("k.pub"), "an error names the file");
    return 0;
  }
  expect(!keys->empty(), "at least one");
  for (const std::string& key : *keys) {
    expect(std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }), "plain");
    const auto again = parse_ssh_keys(key, "k.pub");
    expect(again && again->size() == 1 && again->front() == key, "read again as it is");
  }
  return 0;
}
