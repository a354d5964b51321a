// Scrapes: every sample is finite, within its field's range and about a slot the node has; one line gives at most one; nodes that
// are not the scraped one are never spoken of; lines are independent of each other.
#include <cmath>

#include "check.h"
#include "ingest/cluster_file.h"
#include "ingest/prom_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static const Site site = *plain_cluster(16);
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<Sample> out;
  const std::size_t refused = parse_scrape(text, NodeId{1}, Time{7}, site, out);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  fuzz::expect(refused <= lines, "at most one refusal a line");
  // Beside the lines' own: which GPUs there are, and the driver's version from their labels.
  fuzz::expect(out.size() + refused <= lines + 2, "a line gives a sample or a refusal");
  for (const Sample& s : out) {
    fuzz::expect(s.node == NodeId{1} && s.at == Time{7}, "node and time are the scraper's word");
    fuzz::expect(std::isfinite(s.value), "values are finite");
    const bool of_node = s.field == Field::boot_time_s || s.field == Field::gpus_visible || s.field == Field::inlet_temp_c ||
                         s.field == Field::driver_version || s.field == Field::driver_answers;
    fuzz::expect(of_node ? s.slot == -1 : s.slot >= 0 && s.slot < 8, "the slot exists");
    fuzz::expect(s.field != Field::up, "no node says of itself that it is up");
    const bool temperature = s.field == Field::gpu_temp_c || s.field == Field::memory_temp_c || s.field == Field::inlet_temp_c;
    fuzz::expect(temperature ? s.value >= -50 && s.value <= 250 : s.value >= 0, "in range");
  }
  // A line more, of a field that is not added up, gives one sample more.
  std::vector<Sample> more;
  parse_scrape(text + "\nnode_boot_time_seconds 5\n", NodeId{1}, Time{7}, site, more);
  fuzz::expect(more.size() == out.size() + 1, "lines do not disturb each other");
  return 0;
}
