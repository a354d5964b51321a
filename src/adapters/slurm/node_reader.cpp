#include "adapters/slurm/node_reader.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster::slurm {
namespace {

constexpr std::int64_t kFirstPause_s = 5;
constexpr std::int64_t kPauseMost_s = 20;

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

Result<NodeLook> NodeReader::by_rest() {
  auto nodes = rest_.nodes();
  if (!nodes) return tl::unexpected(nodes.error());
  // Taken at its word it would mean that every node was taken out of the configuration.
  if (nodes->empty()) return fail(Code::unreachable, "slurmrestd lists no nodes at all");
  auto reservations = rest_.reservations();
  if (!reservations) return tl::unexpected(reservations.error());
  return NodeLook{std::move(*nodes), std::move(*reservations)};
}

Result<NodeLook> NodeReader::by_tools() {
  auto nodes = tools_.nodes();
  if (!nodes) return tl::unexpected(nodes.error());
  auto reservations = tools_.reservations();
  if (!reservations) return tl::unexpected(reservations.error());
  return NodeLook{std::move(*nodes), std::move(*reservations)};
}

Result<NodeLook> NodeReader::look(Time steady) {
  if (!rest_.configured() || steady < again_) return by_tools();
  auto found = by_rest();
  if (found) {
    failed_ = 0;
    say({});
    return found;
  }
  again_ = steady + seconds(std::min(kFirstPause_s << std::min(failed_, 8U), kPauseMost_s));
  ++failed_;
  auto other = by_tools();
  // Where scontrol has no answer either, slurmctld is silent, and that is told elsewhere.
  if (other) {
    const Error& e = found.error();
    say(fmt::format("{}{}{}; nodes are read with scontrol meanwhile", e.what, e.next.empty() ? "" : ": ", e.next));
  }
  return other;
}

void NodeReader::say(std::string wrong) {
  const std::lock_guard hold(lock_);
  // "after 2 ms" and "after 3 ms" are the same trouble, to be told once.
  if (without_digits(wrong) == without_digits(wrong_)) return;
  wrong_ = std::move(wrong);
}

std::string NodeReader::trouble() const {
  const std::lock_guard hold(lock_);
  return wrong_;
}

}  // namespace muster::slurm
