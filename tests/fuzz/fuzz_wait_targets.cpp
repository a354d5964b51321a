// Files of wait targets: sizes grow, every share is one, and every wait is an amount of time.
#include "check.h"
#include "ingest/wait_targets_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto t = parse_wait_targets({reinterpret_cast<const char*>(data), size}, "t.yaml");
  if (!t) {
    fuzz::expect_file_error(t.error(), "t.yaml");
    return 0;
  }
  fuzz::expect(!t->classes.empty() && t->classes.size() <= kWaitTargetsMax, "there are some");
  std::uint32_t before = 0;
  for (const WaitTarget& c : t->classes) {
    fuzz::expect(c.gpus_max > before, "sizes grow");
    before = c.gpus_max;
    fuzz::expect(c.share >= 0.01 && c.share <= 1, "a share is one");
    fuzz::expect(c.wait >= seconds(1) && c.wait <= kTargetWaitMax, "a wait is an amount of time");
  }
  return 0;
}
