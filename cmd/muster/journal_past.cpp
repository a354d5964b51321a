#include "journal_past.h"

#include <fmt/core.h>

#include "account/accountant.h"
#include "adapters/sqlite/journal.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kKeptMax = 24;

}  // namespace

void JournalPast::keep(Time utc, const control::Books& books) {
  if (!kept_.empty() && books.state.seq < kept_.back().seq + stride_) return;
  kept_.push_back({utc, books.state.seq, std::make_shared<control::Books>(books)});
  if (kept_.size() <= kKeptMax) return;
  stride_ *= 2;
  std::vector<Kept> fewer;
  for (std::size_t i = 1; i < kept_.size(); i += 2) fewer.push_back(std::move(kept_[i]));
  kept_ = std::move(fewer);
}

Result<std::shared_ptr<const Snapshot>> JournalPast::at(Time utc) {
  const std::lock_guard hold(lock_);
  auto journal = sqlite::open({.path = journal_, .read_only = true});
  if (!journal) return tl::unexpected(journal.error());
  control::Books books;
  for (const Kept& k : kept_) {
    if (k.utc <= utc) books = *k.books;
  }
  Time first{};
  const auto read = (*journal)->read(books.state.seq + 1, [&](const Event& e) {
    if (first.ns == 0) first = e.utc;
    if (e.utc > utc) return false;
    control::fold_event(books, e);
    keep(e.utc, books);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  if (books.state.seq == 0)
    return fail(Code::not_found, fmt::format("nothing is known of {}", render_utc(utc)),
                first.ns == 0 ? "the record is empty" : fmt::format("the record begins at {}", render_utc(first)));
  auto s = std::make_shared<Snapshot>();
  s->gpu_hours = account::balance(books.accounts, books.state, books.state.mono());
  s->state = std::move(books.state);
  if (const auto now = view_.latest()) s->simulation = now->simulation;
  s->wall = s->state.now.utc;
  return std::shared_ptr<const Snapshot>(std::move(s));
}

}  // namespace muster::cmd
