#include "vfs.h"

#include <sqlite3.h>

#include <cstring>
#include <list>
#include <map>
#include <set>

#include "base/check.h"

namespace muster::powercut {
namespace {

Session* g_session = nullptr;

// Shared memory and locks of one database: they live in RAM, so they vanish with the session.
struct Shared {
  std::vector<std::unique_ptr<char[]>> regions;
  struct Slot {
    std::set<const void*> readers;
    const void* writer = nullptr;
  };
  Slot slots[SQLITE_SHM_NLOCK];
  std::map<const void*, int> locks;  // of the main file, by connection
};
std::map<std::string, Shared> g_shared;

struct File {
  sqlite3_file base;
  Session* session;
  std::shared_ptr<Inode>* inode;
  std::string* name;
  bool powersafe;
};

File& file_of(sqlite3_file* f) { return *reinterpret_cast<File*>(f); }

// Counts an operation; true: it is the one to fail.
bool next_operation(Session& s, bool is_sync, bool grows) {
  if (s.before) s.before();
  const std::uint64_t index = s.operations++;
  const bool sync_fault = s.fault == Fault::sync_error || s.fault == Fault::sync_error_dropped;
  if (s.fault == Fault::none || index < s.fault_at || sync_fault != is_sync) return false;
  if (s.fault == Fault::disk_full && !grows) return false;
  if (s.faulted && s.fault != Fault::disk_full) return false;
  if (!s.faulted) s.faulted_at = index;
  s.faulted = true;
  return true;
}

int close_file(sqlite3_file* f) {
  File& self = file_of(f);
  g_shared[*self.name].locks.erase(f);
  delete self.inode;
  delete self.name;
  return SQLITE_OK;
}

int read_file(sqlite3_file* f, void* out, int n, sqlite3_int64 offset) {
  const std::string& now = (*file_of(f).inode)->now;
  const auto at = static_cast<std::size_t>(offset);
  const std::size_t got = at < now.size() ? std::min(static_cast<std::size_t>(n), now.size() - at) : 0;
  std::memcpy(out, now.data() + std::min(at, now.size()), got);
  if (got == static_cast<std::size_t>(n)) return SQLITE_OK;
  std::memset(static_cast<char*>(out) + got, 0, static_cast<std::size_t>(n) - got);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* f, const void* data, int n, sqlite3_int64 offset) {
  Session& s = *file_of(f).session;
  Inode& inode = **file_of(f).inode;
  const std::string_view bytes(static_cast<const char*>(data), static_cast<std::size_t>(n));
  const auto at = static_cast<std::uint64_t>(offset);
  if (next_operation(s, false, at + bytes.size() > inode.now.size())) {
    if (s.fault == Fault::short_write) s.disk.write(inode, at, bytes.substr(0, bytes.size() / 2));
    return s.fault == Fault::disk_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  s.disk.write(inode, at, bytes);
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  Session& s = *file_of(f).session;
  if (next_operation(s, false, false)) return SQLITE_IOERR_TRUNCATE;
  s.disk.truncate(**file_of(f).inode, static_cast<std::uint64_t>(size));
  return SQLITE_OK;
}

int sync_file(sqlite3_file* f, int) {
  Session& s = *file_of(f).session;
  Inode& inode = **file_of(f).inode;
  if (next_operation(s, true, false)) {
    if (s.fault == Fault::sync_error_dropped) s.disk.forget_unsynced(inode);
    return SQLITE_IOERR_FSYNC;
  }
  s.disk.sync(inode);
  return SQLITE_OK;
}

int file_size(sqlite3_file* f, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>((*file_of(f).inode)->now.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file* f, int level) {
  auto& locks = g_shared[*file_of(f).name].locks;
  for (const auto& [who, held] : locks) {
    if (who == f) continue;
    if (held == SQLITE_LOCK_EXCLUSIVE || (level == SQLITE_LOCK_EXCLUSIVE && held > SQLITE_LOCK_NONE) ||
        (level >= SQLITE_LOCK_RESERVED && held >= SQLITE_LOCK_RESERVED)) {
      return SQLITE_BUSY;
    }
  }
  locks[f] = std::max(locks[f], level);
  return SQLITE_OK;
}

int unlock_file(sqlite3_file* f, int level) {
  int& held = g_shared[*file_of(f).name].locks[f];
  held = std::min(held, level);
  return SQLITE_OK;
}

int check_reserved(sqlite3_file* f, int* out) {
  *out = 0;
  for (const auto& [who, held] : g_shared[*file_of(f).name].locks) {
    if (who != f && held >= SQLITE_LOCK_RESERVED) *out = 1;
  }
  return SQLITE_OK;
}

int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* f) { return static_cast<int>(file_of(f).session->disk.device().sector); }
int device_characteristics(sqlite3_file* f) { return file_of(f).powersafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0; }

int shm_map(sqlite3_file* f, int region, int size, int extend, void volatile** out) {
  auto& regions = g_shared[*file_of(f).name].regions;
  *out = nullptr;
  if (static_cast<std::size_t>(region) >= regions.size() && extend == 0) return SQLITE_OK;
  while (regions.size() <= static_cast<std::size_t>(region)) {
    regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
  }
  *out = regions[static_cast<std::size_t>(region)].get();
  return SQLITE_OK;
}

int shm_lock(sqlite3_file* f, int first, int n, int flags) {
  Shared& shared = g_shared[*file_of(f).name];
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  for (int i = first; i < first + n; ++i) {
    Shared::Slot& slot = shared.slots[i];
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      if (slot.writer == f) slot.writer = nullptr;
      slot.readers.erase(f);
      continue;
    }
    const bool read_by_others = !slot.readers.empty() && (slot.readers.size() > 1 || *slot.readers.begin() != f);
    if ((slot.writer != nullptr && slot.writer != f) || (exclusive && read_by_others)) return SQLITE_BUSY;
  }
  for (int i = first; i < first + n && (flags & SQLITE_SHM_LOCK) != 0; ++i) {
    if (exclusive) {
      shared.slots[i].writer = f;
    } else {
      shared.slots[i].readers.insert(f);
    }
  }
  return SQLITE_OK;
}

void shm_barrier(sqlite3_file*) {}

int shm_unmap(sqlite3_file* f, int destroy) {
  if (destroy != 0) g_shared[*file_of(f).name].regions.clear();
  return SQLITE_OK;
}

const sqlite3_io_methods kMethods = {2, close_file, read_file, write_file, truncate_file, sync_file, file_size, lock_file,
                                     unlock_file, check_reserved, file_control, sector_size, device_characteristics, shm_map,
                                     shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out_flags) {
  MUSTER_CHECK(g_session != nullptr && name != nullptr);
  File& self = file_of(f);
  self.base.pMethods = nullptr;
  Session& s = *g_session;
  auto inode = s.disk.find(name);
  if (inode == nullptr) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (next_operation(s, false, true)) return s.fault == Fault::disk_full ? SQLITE_FULL : SQLITE_CANTOPEN;
    inode = s.disk.create(name);
  }
  self.session = &s;
  self.inode = new std::shared_ptr<Inode>(inode);
  self.name = new std::string(name);
  const bool has_query = (flags & SQLITE_OPEN_URI) != 0 && (flags & SQLITE_OPEN_MAIN_DB) != 0;
  self.powersafe = s.claim_powersafe || !has_query || sqlite3_uri_boolean(name, "psow", 1) != 0;
  if ((flags & SQLITE_OPEN_WAL) != 0) self.powersafe = s.claim_powersafe;  // SQLite asks the main file, not the log
  self.base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs*, const char* name, int sync_directory) {
  Session& s = *g_session;
  if (s.disk.find(name) == nullptr) return SQLITE_IOERR_DELETE_NOENT;
  if (next_operation(s, false, false)) return SQLITE_IOERR_DELETE;
  s.disk.remove(name);
  if (sync_directory != 0) s.disk.sync_directory();
  return SQLITE_OK;
}

int access_file(sqlite3_vfs*, const char* name, int question, int* out) {
  const auto inode = g_session->disk.find(name);
  *out = inode != nullptr && (question != SQLITE_ACCESS_EXISTS || !inode->now.empty()) ? 1 : 0;
  return SQLITE_OK;
}

int full_pathname(sqlite3_vfs*, const char* name, int n, char* out) {
  sqlite3_snprintf(n, out, "%s", name);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int n, char* out) {
  static Prng rng(1, "powercut/salt");
  for (int i = 0; i < n; ++i) out[i] = static_cast<char>(rng.next());
  return n;
}

int sleep_us(sqlite3_vfs*, int us) { return us; }
int current_time(sqlite3_vfs*, double* out) {
  *out = 2461000.5;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) { return 0; }
int current_time_ms(sqlite3_vfs*, sqlite3_int64* out) {
  *out = 212630443200000;
  return SQLITE_OK;
}

sqlite3_vfs g_vfs = {2, sizeof(File), 512, nullptr, kVfs, nullptr, open_file, delete_file, access_file, full_pathname,
                     nullptr, nullptr, nullptr, nullptr, randomness, sleep_us, current_time, last_error, current_time_ms,
                     nullptr, nullptr, nullptr};

}  // namespace

void use(Session& session) {
  static const bool registered = sqlite3_vfs_register(&g_vfs, 0) == SQLITE_OK;
  MUSTER_CHECK(registered);
  g_session = &session;
  g_shared.clear();
}

bool distrust(const std::string& name) {
  Session& s = *g_session;
  const auto inode = s.disk.find(name);
  if (inode == nullptr) return true;
  if (next_operation(s, true, false)) return false;
  s.disk.sync(*inode);
  s.disk.drop_cache(*inode);
  return true;
}

bool publish(const std::string& from, const std::string& to) {
  Session& s = *g_session;
  if (s.disk.find(to) != nullptr || s.disk.find(from) == nullptr) return false;
  if (next_operation(s, false, false)) return false;
  s.disk.rename(from, to);
  if (next_operation(s, true, false)) return false;
  s.disk.sync_directory();
  return true;
}

}  // namespace muster::powercut
