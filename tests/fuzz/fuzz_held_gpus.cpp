// Tables of who held which GPUs, and of tokens: what is accepted has a length, places and GPUs.
#include "check.h"
#include "ingest/held_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto held = parse_held(text, "j.csv", {});
  if (!held) {
    fuzz::expect_file_error(held.error(), "j.csv");
  } else {
    for (const GpuHold& h : *held) {
      fuzz::expect(h.ended > h.started && !h.places.empty() && !h.job.empty(), "it is a run");
      fuzz::expect(h.gpus_milli() > 0, "with GPUs");
    }
  }
  const auto tokens = parse_tokens_file(text, "t.csv");
  if (!tokens) {
    fuzz::expect_file_error(tokens.error(), "t.csv");
  } else {
    for (const auto& [job, n] : *tokens) fuzz::expect(n > 0, "above 0");
  }
  return 0;
}
