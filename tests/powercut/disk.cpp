#include "disk.h"

#include <algorithm>

#include "base/check.h"

namespace muster::powercut {
namespace {

// One cut is gentle, another merciless: the odds of a sector are drawn once per cut and file.
struct Odds {
  double keep = 0.5;
  double tear = 0.1;
};

Odds draw_odds(Prng& rng) {
  static constexpr double kKeep[] = {0.0, 0.1, 0.5, 0.9, 1.0};
  static constexpr double kTear[] = {0.0, 0.05, 0.3};
  return {kKeep[rng.below(5)], kTear[rng.below(3)]};
}

void grow(std::string& s, std::uint64_t size) {
  if (s.size() < size) s.resize(size);
}

void put(std::string& s, std::uint64_t offset, std::string_view data) {
  grow(s, offset + data.size());
  std::copy(data.begin(), data.end(), s.begin() + static_cast<std::ptrdiff_t>(offset));
}

void scribble(std::string& s, std::uint64_t from, std::uint64_t to, Prng& rng) {
  for (std::uint64_t i = from; i < std::min<std::uint64_t>(to, s.size()); ++i) s[i] = static_cast<char>(rng.next());
}

}  // namespace

std::shared_ptr<Inode> Disk::find(const std::string& name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? nullptr : it->second;
}

std::shared_ptr<Inode> Disk::create(const std::string& name) {
  auto inode = std::make_shared<Inode>();
  names_[name] = inode;
  pending_names_.push_back({DirectoryChange::Kind::create, name, {}, inode});
  return inode;
}

void Disk::remove(const std::string& name) {
  names_.erase(name);
  pending_names_.push_back({DirectoryChange::Kind::remove, name, {}, nullptr});
}

void Disk::rename(const std::string& from, const std::string& to) {
  const auto inode = find(from);
  MUSTER_CHECK(inode != nullptr);
  names_.erase(from);
  names_[to] = inode;
  pending_names_.push_back({DirectoryChange::Kind::rename, from, to, inode});
}

void Disk::write(Inode& file, std::uint64_t offset, std::string_view data) {
  put(file.now, offset, data);
  file.pending.push_back({offset, std::string(data), false});
}

void Disk::truncate(Inode& file, std::uint64_t size) {
  file.now.resize(size);
  file.pending.push_back({size, {}, true});
}

void Disk::sync(Inode& file) {
  for (const Change& c : file.pending) {
    if (c.truncate) {
      file.durable.resize(c.offset);
    } else {
      put(file.durable, c.offset, c.data);
    }
  }
  file.pending.clear();
  sync_directory();
}

void Disk::sync_directory() {
  durable_names_ = names_;
  pending_names_.clear();
}

void Disk::forget_unsynced(Inode& file) { file.pending.clear(); }

void Disk::drop_cache(Inode& file) {
  if (file.pending.empty()) file.now = file.durable;
}

std::string Disk::survivor(const Inode& file, Prng& rng) const {
  std::string s = file.durable;
  const Odds odds = draw_odds(rng);
  const std::uint64_t unit = device_.sector;
  for (const Change& c : file.pending) {
    if (c.truncate) {
      if (rng.chance(odds.keep)) s.resize(c.offset);
      continue;
    }
    const std::uint64_t end = c.offset + c.data.size();
    for (std::uint64_t at = c.offset; at < end;) {
      const std::uint64_t sector = at / unit * unit;
      const std::uint64_t stop = std::min(end, sector + unit);
      std::string_view part = std::string_view(c.data).substr(at - c.offset, stop - at);
      if (rng.chance(odds.tear)) {
        part = part.substr(0, rng.below(part.size() + 1));
        put(s, at, part);
        if (!device_.powersafe) {
          scribble(s, at + part.size(), sector + unit, rng);
          if (rng.chance(0.5)) scribble(s, sector, at, rng);
        }
      } else if (rng.chance(odds.keep)) {
        put(s, at, part);
      } else if (rng.chance(0.3)) {
        grow(s, stop);  // the file's new length survived, its bytes did not
      }
      at = stop;
    }
  }
  return s;
}

Disk Disk::cut(Prng& rng) const {
  auto names = durable_names_;
  // The directory's log is written in order, so a prefix of the changes survives; removals may be undone on their own.
  const std::uint64_t kept = rng.below(pending_names_.size() + 1);
  for (std::uint64_t i = 0; i < kept; ++i) {
    const DirectoryChange& c = pending_names_[i];
    switch (c.kind) {
      case DirectoryChange::Kind::create: names[c.name] = c.inode; break;
      case DirectoryChange::Kind::remove:
        if (!rng.chance(0.25)) names.erase(c.name);
        break;
      case DirectoryChange::Kind::rename:
        names.erase(c.name);
        names[c.to] = c.inode;
        break;
    }
  }
  Disk after(device_);
  for (const auto& [name, inode] : names) {
    auto fresh = std::make_shared<Inode>();
    fresh->durable = inode->pending.empty() ? inode->durable : survivor(*inode, rng);
    fresh->now = fresh->durable;
    after.names_[name] = fresh;
  }
  after.durable_names_ = after.names_;
  return after;
}

void Disk::flip(const std::string& name, std::uint64_t bit) {
  const auto file = find(name);
  MUSTER_CHECK(file != nullptr && bit / 8 < file->now.size());
  file->now[bit / 8] = static_cast<char>(file->now[bit / 8] ^ (1 << (bit % 8)));
  file->durable = file->now;
}

}  // namespace muster::powercut
