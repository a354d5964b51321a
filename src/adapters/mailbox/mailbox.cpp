#include "adapters/mailbox/mailbox.h"

namespace muster {
namespace {
constexpr std::size_t kLettersMax = 10'000;  // more commands than people and scripts can mean
constexpr std::size_t kParcelRecordsMax = 100'000;
}  // namespace

void Mailbox::submit(CommandGiven command, std::function<void(Result<std::uint64_t>)> done) {
  {
    const std::lock_guard hold(lock_);
    if (!closed_ && letters_.size() < kLettersMax) {
      letters_.push_back({std::move(command), std::move(done)});
      bell_.notify_one();
      return;
    }
  }
  if (!done) return;
  done(closed_ ? Result<std::uint64_t>(tl::unexpected(*closed_))
               : fail(Code::refused, "too many commands are waiting", "try again in a moment"));
}

void Mailbox::post(std::function<void()> work) {
  const std::lock_guard hold(lock_);
  works_.push_back(std::move(work));
  bell_.notify_one();
}

bool Mailbox::deliver(Parcel parcel) {
  const std::lock_guard hold(lock_);
  if (closed_ || parcel_records_ + parcel.records > kParcelRecordsMax) return false;
  parcel_records_ += parcel.records;
  parcels_.push_back(std::move(parcel));
  bell_.notify_one();
  return true;
}

void Mailbox::wake() {
  const std::lock_guard hold(lock_);
  woken_ = true;
  bell_.notify_one();
}

void Mailbox::close(const Error& why) {
  std::vector<Letter> left;
  std::vector<Parcel> parcels;
  {
    const std::lock_guard hold(lock_);
    closed_ = why;
    left.swap(letters_);
    parcels.swap(parcels_);
  }
  for (Letter& l : left) {
    if (l.done) l.done(tl::unexpected(why));
  }
  for (Parcel& p : parcels) p.turn_away(why);
}

void Mailbox::collect(Time utc, Inbox& out) {
  std::vector<Letter> letters;
  std::vector<std::function<void()>> works;
  std::vector<Parcel> parcels;
  {
    const std::lock_guard hold(lock_);
    letters.swap(letters_);
    works.swap(works_);
    parcels.swap(parcels_);
    parcel_records_ = 0;
    woken_ = false;
  }
  for (auto& work : works) work();
  for (Letter& l : letters) out.events.push_back({{{}, "operator", 0}, utc, Body(std::move(l.command)), std::move(l.done)});
  for (Parcel& p : parcels) p.open(utc, out);
}

bool Mailbox::wait_for(std::chrono::nanoseconds most) {
  std::unique_lock hold(lock_);
  const auto something = [&] { return woken_ || !letters_.empty() || !works_.empty() || !parcels_.empty(); };
  return bell_.wait_for(hold, most, something);
}

}  // namespace muster
