#include "adapters/agent/accept_word.h"

#include "adapters/agent/word_file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster::agent {
namespace {

constexpr const char* kName = "accept-words";
constexpr std::size_t kBytesMost = 1 << 20;                               // that may wait for an agent that does not run
constexpr std::size_t kPartMost = 120, kTextMost = 300, kFaultsMost = 8;  // of one GPU, the worst first

void write_faults(JsonWriter& w, const std::vector<AcceptanceWord::Fault>& faults) {
  w.key("faults").array();
  for (std::size_t i = 0; i < faults.size() && i < kFaultsMost; ++i) {
    const AcceptanceWord::Fault& f = faults[i];
    w.object().field("kind", name_of(f.kind)).field("failed", f.failed).field("part", clipped(printable(f.part), kPartMost));
    w.field("text", clipped(printable(f.text), kTextMost)).end_object();
  }
  w.end_array();
}

}  // namespace

std::string render_accept_word(const AcceptanceWord& word) {
  JsonWriter w;
  w.object().key("acceptance").object().field("profile", word.profile).key("gpus").array();
  for (const AcceptanceWord::Gpu& g : word.gpus) {
    w.object().field("index", static_cast<std::int64_t>(g.gpu)).field("pci", g.pci).field("uuid", g.uuid);
    w.field("passed", g.passed);
    write_faults(w, g.faults);
    w.end_object();
  }
  w.end_array();
  write_faults(w, word.faults);
  w.end_object().end_object();
  return w.take_members();
}

Result<void> save_accept_word(const std::string& folder, const AcceptanceWord& word) {
  return leave_word(folder, kName, render_accept_word(word), kBytesMost);
}

void take_accept_words(const std::string& folder, const std::function<bool(const std::string& members)>& take) {
  take_words(folder, kName, [&](std::string_view line) {
    // It is put into a batch as it is: anything else would spoil what it is sent with, for ever.
    const auto v = parse_json("{" + std::string(line) + "}");
    const bool sound = v && v->object() != nullptr && v->object()->size() == 1 && v->find("acceptance") != nullptr &&
                       line.find('\t') == std::string_view::npos;
    return !sound || take(std::string(line));
  });
}

}  // namespace muster::agent
