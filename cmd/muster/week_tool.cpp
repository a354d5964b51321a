#include "week_tool.h"

#include <fmt/core.h>

#include "adapters/sqlite/journal.h"
#include "tool_input.h"

namespace muster::cmd {

Result<void> WeekTool::read_on() {
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  if ((*journal)->id() != id_ || (*journal)->last_seq() < seq_) {  // another one has taken its place
    story_ = {};
    seq_ = 0;
    id_ = (*journal)->id();
  }
  return (*journal)->read(seq_ + 1, [&](const Event& e) {
    story_.take(e);
    seq_ = e.seq;
    return true;
  });
}

Result<std::string> WeekTool::call(const Value& input) {
  ToolInput in(input, "week");
  const auto from = in.time("from"), to = in.time("to");
  if (in.wrong()) return tl::unexpected(*in.wrong());
  const std::lock_guard hold(lock_);
  if (const auto read = read_on(); !read) return tl::unexpected(read.error());
  const Time begin = from.value_or(story_.first()), end = to.value_or(story_.last() + milliseconds(1));
  if (begin >= end)
    return fail(Code::bad_input, fmt::format("from {} is not before to {}", render_utc(begin), render_utc(end)),
                "a stretch begins before it ends");
  return story_.json(begin, end);
}

}  // namespace muster::cmd
