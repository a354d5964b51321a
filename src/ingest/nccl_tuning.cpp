#include "ingest/nccl_tuning.h"

#include "base/text.h"
#include "ingest/nccl_words.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr std::size_t kThreadsMax = 4096;
constexpr double kMost = 1e9;  // of a start or a rate: what is beyond is no figure of a tuner

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : lower(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

template <class E>
std::optional<E> named(std::string_view name) {
  const std::string plain = letters_of(name);
  const auto all = names(E{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (letters_of(all[i]) == plain) return static_cast<E>(i);
  }
  return {};
}

}  // namespace

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name) { return named<NcclAlgorithm>(name); }
std::optional<NcclProtocol> nccl_protocol(std::string_view name) { return named<NcclProtocol>(name); }

bool NcclTuningReader::message(const std::string& thread, std::string_view text) {
  std::vector<std::string_view> cells = split(text, '|');
  const std::string_view head = trim(cells.front());
  cells.erase(cells.begin());
  while (!cells.empty() && trim(cells.back()).empty()) cells.pop_back();
  if (head == "Algorithm") {
    std::vector<NcclAlgorithm> columns;
    for (const std::string_view cell : cells) {
      // A name that is not known would shift all behind it.
      const auto a = nccl_algorithm(trim(cell));
      if (!a) break;
      columns.push_back(*a);
    }
    if (columns_.size() < kThreadsMax || columns_.count(thread) != 0) columns_[thread] = std::move(columns);
    return true;
  }
  if (head == "Protocol" || head == "Max NThreads") return true;
  const auto at = columns_.find(thread);
  const auto op = at == columns_.end() ? std::nullopt : collective_of(head);
  if (!op) return false;
  row(at->second, *op, cells);
  return true;
}

// "26.8/   0.1" each, three to an algorithm.
void NcclTuningReader::row(const std::vector<NcclAlgorithm>& columns, Collective op, const std::vector<std::string_view>& cells) {
  constexpr std::size_t kProtocols = names(NcclProtocol{}).size();
  for (std::size_t i = 0; i < cells.size() && i / kProtocols < columns.size(); ++i) {
    const std::size_t slash = cells[i].find('/');
    if (slash == std::string_view::npos) continue;
    const auto latency = parse_double(trim(cells[i].substr(0, slash)));
    const auto rate = parse_double(trim(cells[i].substr(slash + 1)));
    const bool sound = latency && rate && *latency >= 0 && *latency < kMost && *rate >= 0 && *rate < kMost;
    if (!sound) continue;
    const auto protocol = static_cast<NcclProtocol>(i % kProtocols);
    all_.try_emplace({op, columns[i / kProtocols], protocol}, NcclBelief{op, columns[i / kProtocols], protocol, *latency, *rate});
  }
}

std::vector<NcclBelief> NcclTuningReader::finish() const {
  std::vector<NcclBelief> out;
  for (const auto& [key, belief] : all_) out.push_back(belief);
  return out;
}

}  // namespace muster
