// A disk in memory that remembers what has reached the platter and what has not, so that its power can be cut. What a program
// reads is always what it wrote last; what survives a cut is what was synced, plus whatever the cut leaves of the rest.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"

namespace muster::powercut {

// How the device behaves when power fails.
struct Device {
  std::uint32_t sector = 4096;
  bool powersafe = true;  // false: a sector being overwritten may be damaged beyond the bytes written
};

struct Change {  // not yet synced
  std::uint64_t offset = 0;
  std::string data;
  bool truncate = false;  // to `offset`
};

struct Inode {
  std::string now;
  std::string durable;
  std::vector<Change> pending;
};

struct DirectoryChange {
  enum class Kind { create, remove, rename } kind = Kind::create;
  std::string name;
  std::string to;
  std::shared_ptr<Inode> inode;
};

class Disk {
 public:
  explicit Disk(Device device = {}) : device_(device) {}

  std::shared_ptr<Inode> find(const std::string& name) const;
  std::shared_ptr<Inode> create(const std::string& name);
  void remove(const std::string& name);
  void rename(const std::string& from, const std::string& to);
  void write(Inode& file, std::uint64_t offset, std::string_view data);
  void truncate(Inode& file, std::uint64_t size);
  // Makes the file's content durable, and every change of the directory so far, as the logs of ext4 and xfs do.
  void sync(Inode& file);
  void sync_directory();
  // A sync that failed and threw the unwritten pages away: they can still be read, but will never be written.
  void forget_unsynced(Inode& file);
  // Drops the cache: what is read from now on is what the disk holds.
  void drop_cache(Inode& file);

  // What is found after power came back: un-synced sectors independently kept, dropped or torn, creations, removals and renames
  // not yet synced done or undone.
  Disk cut(Prng& rng) const;
  const Device& device() const { return device_; }
  // Flips one bit of a file, on the platter and in memory.
  void flip(const std::string& name, std::uint64_t bit);

 private:
  std::string survivor(const Inode& file, Prng& rng) const;

  Device device_;
  std::map<std::string, std::shared_ptr<Inode>> names_;
  std::map<std::string, std::shared_ptr<Inode>> durable_names_;
  std::vector<DirectoryChange> pending_names_;
};

}  // namespace muster::powercut
