// Profiles: whatever comes, in whatever pieces, is read alike, and what is kept is within its bounds.
#include "check.h"
#include "ingest/kineto.h"

namespace {

muster::Result<muster::Trace> read(std::string_view text, std::size_t piece) {
  muster::KinetoReader r;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    if (auto ok = r.feed(text.substr(i, piece)); !ok) return tl::unexpected(ok.error());
  }
  return r.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_kineto(text);
  const auto whole = read(text, size + 1), pieces = read(text, 13);
  expect(whole.has_value() == pieces.has_value(), "pieces change nothing");
  if (!whole) return 0;
  expect(whole->events == pieces->events && whole->gpu.size() == pieces->gpu.size() && whole->damaged == pieces->damaged,
         "pieces give the same events");
  expect(whole->gpu.size() + whole->calls.size() + whole->steps.size() <= whole->events, "an event is one thing at most");
  for (const GpuEvent& e : whole->gpu) expect(e.span.length() >= 0 && e.name < whole->names.size(), "events are in range");
  for (const RuntimeCall& c : whole->calls)
    expect(c.span.length() >= 0 && c.name < whole->names.size() && c.thread < whole->threads.size(), "calls are in range");
  for (std::size_t i = 1; i < whole->steps.size(); ++i)
    expect(whole->steps[i - 1].span.start_ns <= whole->steps[i].span.start_ns, "steps are in their order");
  return 0;
}
