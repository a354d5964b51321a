// Headers of rpm's packages: what is accepted is words, and as long as it says.
#include <algorithm>

#include "check.h"
#include "ingest/rpm_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view blob(reinterpret_cast<const char*>(data), size);
  const auto p = parse_rpm_header(blob);
  if (!p) {
    fuzz::expect(p.error().what.starts_with("header of a package: "), "an error says of what");
    return 0;
  }
  fuzz::expect(!p->name.empty() && !p->version.empty(), "what is accepted has a name and a version");
  for (const std::string* s : {&p->name, &p->version, &p->release, &p->arch}) {
    fuzz::expect(s->size() <= kRpmWordMax, "bounded");
    fuzz::expect(std::all_of(s->begin(), s->end(), [](char c) { return c > ' ' && c < 0x7f; }), "words");
    fuzz::expect(s->empty() || blob.find(*s) != std::string_view::npos, "nothing is made up");
  }
  fuzz::expect(!parse_rpm_header(blob.substr(0, size - 1)), "one byte less is refused");
  return 0;
}
