// Tuner tables: the plugin's loader and the program's take the same bytes, and every lookup stays within them. Since hardly any
// input has the right hash by chance, each is tried as it is and with its hash set right.
#include <cstring>
#include <memory>

#include "../../plugins/nccl_tuner/table.h"
#include "check.h"
#include "report/tuner_table.h"

namespace {

using namespace muster;

void look_up(const struct table& t, const report::TunerTable& same) {
  for (const report::TunerEntry& e : same.entries) {
    for (const std::uint32_t domain : {0U, e.key.nvlink_domain}) {
      report::TunerKey key = e.key;
      key.nvlink_domain = domain;
      struct table_slot slot;
      const bool found = table_find(&t, key.collective, key.registered, key.nodes, key.ranks_per_node, domain, &slot) != 0;
      for (const std::uint64_t bytes :
           {std::uint64_t{0}, e.spans.front().from_bytes, e.spans.back().from_bytes, ~std::uint64_t{0}}) {
        const struct table_span* s = found ? table_choose(&t, &slot, bytes) : nullptr;
        report::TunerChoice said;
        if (s != nullptr) said = {s->algorithm, s->protocol, s->channels, s->chunk_bytes};
        fuzz::expect(said == report::tuner_choice(same, key, bytes), "the plugin and the program choose the same");
      }
    }
  }
}

void open(std::string_view bytes) {
  // As the plugin holds them: aligned, and not a byte more.
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  struct table t;
  const bool taken = table_open(copy.get(), bytes.size(), &t) == nullptr;
  const auto same = report::decode_tuner_table(bytes, "t");
  fuzz::expect(taken == same.has_value(), "both take it, or neither does");
  if (!taken) {
    fuzz::expect(!same.error().what.empty(), "an error says why");
    return;
  }
  const auto again = report::encode_tuner_table(*same);
  fuzz::expect(again && *again == bytes, "a table has one form in bytes");
  if (same->entries.size() <= 64) look_up(t, *same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  open(bytes);
  if (size >= sizeof(table_header)) {
    const std::uint64_t length = size;
    std::memcpy(bytes.data() + offsetof(table_header, file_bytes), &length, sizeof length);
    const std::uint64_t hash = table_hash(reinterpret_cast<const std::uint8_t*>(bytes.data()), size);
    std::memcpy(bytes.data() + TABLE_HASH_AT, &hash, sizeof hash);
    open(bytes);
  }
  return 0;
}
