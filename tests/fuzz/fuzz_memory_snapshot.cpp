// Snapshots of PyTorch's allocator: pickles and JSON from anybody give bounded data or an error, and never anything else.
#include "base/text.h"
#include "check.h"
#include "ingest/memory_snapshot.h"
#include "ingest/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  looks_like_memory_snapshot(bytes);
  if (const auto p = read_pickle(bytes)) {
    expect(p->bytes_held() <= 100 * size + 4096, "what is held is not much more than what was read");
    p->root().find("segments");
  }
  const auto s = parse_memory_snapshot(bytes, "x");
  if (!s) {
    expect(s.error().what.starts_with("x: "), "errors begin with the file");
    return 0;
  }
  std::uint64_t total = 0;
  for (const MemorySegment& g : s->segments) {
    std::uint64_t sum = 0;
    for (const MemoryBlock& b : g.blocks) {
      expect(b.requested <= b.size, "no more is asked for than is given");
      expect(b.stack < s->stack_ends.size(), "a stack is one of the stacks");
      sum += b.size;
    }
    expect(sum <= g.size, "blocks fit into their segment");
    total += g.size;
  }
  expect(total <= kMemoryBytesMax, "segments fit into a GPU");
  for (const auto& trace : s->traces) {
    for (const MemoryEvent& e : trace) {
      expect(e.size <= kMemoryBytesMax && e.time_us >= 0, "sizes and times are in range");
      for (const std::uint32_t f : s->stack(e.stack)) expect(f < s->frames.size(), "a frame is one of the frames");
    }
  }
  for (const CallFrame& f : s->frames) expect(printable(f.file) == f.file && printable(f.name) == f.name, "texts are printable");
  expect(printable(s->settings.text) == s->settings.text, "so are settings");
  return 0;
}
