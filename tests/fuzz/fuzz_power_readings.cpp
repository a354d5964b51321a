// Readings of power: every track rises in time and says something that a meter can mean.
#include "check.h"
#include "ingest/power_readings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PowerBook book;
  const ZoneOffsets berlin = {{Time{0}, 7200}, {Time{1'792'890'000'000'000'000}, 3600}};
  if (const auto ok = book.take_csv(text, "p.csv", "n", berlin); !ok)
    fuzz::expect(ok.error().what.starts_with("p.csv"), "errors name the file");
  std::string body(text);
  if (const auto used = book.take_answer(body, "p.json"); !used)
    fuzz::expect(used.error().what.starts_with("p.json: "), "likewise");
  const PowerReadings r = book.finish();
  std::uint64_t points = 0;
  for (const PowerTrack& t : r.tracks) {
    fuzz::expect(!t.points.empty(), "no empty tracks");
    points += t.points.size();
    for (std::size_t i = 0; i < t.points.size(); ++i) {
      const PowerPoint& p = t.points[i];
      fuzz::expect(i == 0 || t.points[i - 1].at < p.at, "in order of time");
      fuzz::expect(p.power_w > 0 || p.energy_mj >= 0, "it says something");
      fuzz::expect(p.power_w <= 200'000 && p.energy_mj < 9'000'000'000'000'000'000, "as a meter can");
    }
  }
  fuzz::expect(points <= r.points, "none is invented");
  return 0;
}
