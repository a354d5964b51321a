// rpm's database as rpm 4.16 and later lay it out, with headers of our own; tests/live/fleet_inventory has those of rpm itself.
#include "adapters/facts/rpm_packages.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "adapters/facts/packages.h"
#include "adapters/facts/probe.h"
#include "adapters/sqlite/database.h"
#include "ingest/fact_book.h"

namespace muster::facts {
namespace {

namespace fs = std::filesystem;
using sqlite::Access;
using sqlite::Database;

std::string word(std::size_t v) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(v >> shift & 0xff);
  return out;
}

std::string header(const std::string& name, const std::string& version) {
  const std::string store = name + '\0' + version + '\0';
  return word(2) + word(store.size()) + word(1000) + word(6) + word(0) + word(1) + word(1001) + word(6) + word(name.size() + 1) +
         word(1) + store;
}

// A root with rpm's database, or with something in its place.
class Root {
 public:
  Root() {
    char name[] = "/tmp/muster-rpm-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directories(root_ + "/var/lib/rpm");
  }
  ~Root() { fs::remove_all(root_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  std::string file(const std::string& name = "rpmdb.sqlite") const { return root_ + "/var/lib/rpm/" + name; }
  Root& write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
    return *this;
  }
  Database make(const std::string& mode = "wal") const {
    auto db = Database::open({file(), {}}, Access::create);
    EXPECT_TRUE(db);
    EXPECT_TRUE(
        db->exec("PRAGMA journal_mode=" + mode +
                 "; CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL);"
                 "CREATE TABLE 'Name' (key 'TEXT' NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL, FOREIGN KEY (hnum) "
                 "REFERENCES 'Packages'(hnum)); CREATE INDEX 'Name_key_idx' ON 'Name'(key ASC)"));
    return std::move(*db);
  }
  Packages read() const { return read_packages(Host(root_, false)); }
  FactTable probe() const {
    FactTable t;
    ProbeOptions o;
    o.node = "n1";
    o.root = root_;
    o.live = false;
    EXPECT_TRUE(read_host(o, fact_book(), t));
    return t;
  }
  // Names, sizes and times of all that lies beside the database.
  std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> beside() const {
    std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> out;
    for (const auto& e : fs::directory_iterator(root_ + "/var/lib/rpm")) {
      out[e.path().filename()] = {e.file_size(), e.last_write_time()};
    }
    return out;
  }
  // As a copy of the disk would have it at this moment.
  void copy_to(const Root& other) const {
    for (const auto& e : fs::directory_iterator(root_ + "/var/lib/rpm"))
      fs::copy_file(e.path(), other.file(e.path().filename()), fs::copy_options::overwrite_existing);
  }

 private:
  std::string root_;
};

void add(Database& db, const std::string& name, const std::string& blob) {
  auto package = db.prepare("INSERT INTO Packages (blob) VALUES (?1)");
  auto named = db.prepare("INSERT INTO Name VALUES (?1, last_insert_rowid(), 0)");
  ASSERT_TRUE(package && named);
  ASSERT_TRUE(package->bind(1, std::string_view(blob)).run());
  ASSERT_TRUE(named->bind_text(1, name).run());
}

void add_package(Database& db, const std::string& name, const std::string& version) { add(db, name, header(name, version)); }

std::string version_of(const Packages& p, std::string_view name) {
  const Package* x = p.find(name);
  return x == nullptr ? "none" : x->version;
}

std::string value(const FactTable& t, std::string_view key) {
  const std::ptrdiff_t c = t.find_column("", key);
  if (c < 0) return "unknown";
  const FactColumn& column = t.columns()[static_cast<std::size_t>(c)];
  if (const std::string* v = column.value(0)) return *v;
  return column.code(0) == kFactAbsent ? "absent" : column.code(0) == kFactUnreadable ? "unreadable" : "unknown";
}

TEST(RpmDatabase, TellsTheVersionsThatAreAskedForAndLeavesNoTrace) {
  Root r;
  {
    Database db = r.make();
    for (const char* other : {"bash", "munge-libs", "podman-catatonit", "slurm-slurmctld"}) add_package(db, other, "1");
    add_package(db, "munge", "0.5.13");
    add_package(db, "nvidia-fabricmanager", "570.86.15");
    add_package(db, "nvidia-fabricmanager", "580.95.05");
    add_package(db, "libnvidia-nscq-580", "580.95.05");
    add_package(db, "slurm-slurmd", "24.05.3");
    add_package(db, "containerd.io", "1.7.27~rc1");
  }
  const auto before = r.beside();
  const Packages p = r.read();
  EXPECT_EQ(r.beside(), before);
  EXPECT_EQ(p.base, PackageBase::rpm);
  EXPECT_EQ(p.database, "rpm sqlite");
  EXPECT_TRUE(p.read);
  EXPECT_EQ(version_of(p, "munge"), "0.5.13");
  EXPECT_EQ(version_of(p, "nvidia-fabricmanager"), "580.95.05") << "the one that was installed last";
  EXPECT_EQ(version_of(p, "containerd.io"), "1.7.27");
  EXPECT_EQ(p.numbered("libnvidia-nscq")->version, "580.95.05");
  for (const char* other : {"bash", "munge-libs", "podman-catatonit", "slurm-slurmctld"}) EXPECT_EQ(version_of(p, other), "none");
}

TEST(RpmDatabase, MakesFactsOfThem) {
  Root r;
  {
    Database db = r.make();
    add_package(db, "munge", "0.5.13");
    add_package(db, "nvidia-fabricmanager", "580.95.05");
    add_package(db, "slurm-slurmd", "24.05.3");
  }
  r.write("/usr/bin/podman", "x").write("/var/lib/dpkg/status", "");
  const FactTable t = r.probe();
  EXPECT_EQ(value(t, "packages.database"), "rpm sqlite");
  EXPECT_EQ(value(t, "munge.version"), "0.5.13");
  EXPECT_EQ(value(t, "slurm.slurmd"), "24.05.3");
  EXPECT_EQ(value(t, "fabricmanager.version"), "580.95.05");
  EXPECT_EQ(value(t, "fabricmanager.source"), "rpm");
  EXPECT_EQ(value(t, "doca.version"), "absent") << "all could be read, and it is not there";
  EXPECT_EQ(value(t, "podman.version"), "unreadable") << "there, though of no package";
}

TEST(RpmDatabase, IsReadWhereNewerSystemsHaveIt) {
  Root r;
  {
    Database db = r.make();
    add_package(db, "munge", "0.5.15");
  }
  fs::create_directories(fs::path(r.file()).parent_path() / "../../../usr/lib/sysimage/rpm");
  fs::rename(r.file(), r.file("../../../usr/lib/sysimage/rpm/rpmdb.sqlite"));
  EXPECT_EQ(version_of(r.read(), "munge"), "0.5.15");
}

TEST(RpmDatabase, OfAnotherKindIsUnreadableAndSaidToBe) {
  for (const auto& [name, kind] : {std::pair("Packages", "rpm bdb"), {"Packages.db", "rpm ndb"}}) {
    Root r;
    r.write(std::string("/var/lib/rpm/") + name, "x").write("/usr/sbin/munged", "x");
    const FactTable t = r.probe();
    EXPECT_EQ(value(t, "packages.database"), kind);
    EXPECT_EQ(value(t, "munge.version"), "unreadable");
    EXPECT_EQ(value(t, "doca.version"), "unreadable");
    EXPECT_EQ(value(t, "packages.held"), "unreadable");
  }
}

TEST(RpmDatabase, IsUnreadableWhileItsLogHoldsWhatTheFileDoesNot) {
  Root busy, copy;
  Database db = busy.make();
  ASSERT_TRUE(db.checkpoint(true));
  add_package(db, "munge", "0.5.13");
  busy.copy_to(copy);
  ASSERT_GT(fs::file_size(copy.file("rpmdb.sqlite-wal")), 0U);
  const auto before = copy.beside();
  EXPECT_FALSE(copy.read().read);
  EXPECT_EQ(copy.beside(), before);
  ASSERT_TRUE(db.checkpoint(false));
  busy.copy_to(copy);
  ASSERT_GT(fs::file_size(copy.file("rpmdb.sqlite-wal")), 0U) << "copied, and not emptied";
  EXPECT_TRUE(copy.read().read);
  EXPECT_EQ(version_of(copy.read(), "munge"), "0.5.13");
  fs::remove(copy.file("rpmdb.sqlite-shm"));
  EXPECT_FALSE(copy.read().read) << "nothing says that it was copied";
  fs::remove(copy.file("rpmdb.sqlite-wal"));
  EXPECT_TRUE(copy.read().read);
  copy.write("/var/lib/rpm/rpmdb.sqlite-journal", "cut off");
  EXPECT_FALSE(copy.read().read) << "a transaction that was to be undone";
}

TEST(RpmDatabase, WithAHeaderThatIsNoneIsUnreadable) {
  Root r;
  Database db = r.make("delete");
  add_package(db, "munge", "0.5.13");
  add(db, "bash", "no header");
  EXPECT_TRUE(r.read().read) << "nobody asks about that one";
  add(db, "podman", "no header");
  EXPECT_FALSE(r.read().read);
}

TEST(RpmDatabase, ThatIsDamagedIsUnreadableOrSaysWhatItSaid) {
  Root r;
  {
    Database db = r.make("delete");
    ASSERT_TRUE(db.exec("BEGIN"));
    for (int n = 0; n < 300; ++n) add_package(db, "other" + std::to_string(n), "1");
    add_package(db, "munge", "0.5.13");
    ASSERT_TRUE(db.exec("COMMIT"));
  }
  std::ifstream in(r.file(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (const std::size_t keep : {std::size_t{0}, std::size_t{50}, std::size_t{4096}, bytes.size() - 4096}) {
    r.write("/var/lib/rpm/rpmdb.sqlite", bytes.substr(0, keep));
    EXPECT_FALSE(r.read().read) << keep;
  }
  std::size_t unreadable = 0;
  for (std::size_t at = 0; at + 8 < bytes.size(); at += 197) {
    std::string damaged = bytes;
    damaged.replace(at, 8, "\xff\xff\xff\xff\x00\x00\x00\x01", 8);
    r.write("/var/lib/rpm/rpmdb.sqlite", damaged);
    const Packages p = r.read();
    unreadable += p.read ? 0 : 1;
    for (const Package& x : p.found) EXPECT_EQ(x.name, "munge") << at;
  }
  EXPECT_GT(unreadable, 10U);
}

TEST(RpmDatabase, ThatIsMadeToBeEndlessIsGivenUpOn) {
  for (const char* trap :
       {"CREATE VIEW Name AS WITH RECURSIVE n(key, hnum) AS (SELECT 'munge', 1 UNION ALL SELECT key, hnum + 1 FROM n) "
        "SELECT key, hnum, 0 AS idx FROM n WHERE hnum < 0",
        "CREATE TABLE Name (key TEXT AS (zeroblob(900000000)), hnum INTEGER, idx INTEGER)"}) {
    Root r;
    {
      auto db = Database::open({r.file(), {}}, Access::create);
      ASSERT_TRUE(db && db->exec("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB)"));
      ASSERT_TRUE(db->exec(trap));
    }
    if (std::string_view(trap).starts_with("CREATE TABLE")) {
      auto db = Database::open({r.file(), {}}, Access::write);
      ASSERT_TRUE(db && db->exec("INSERT INTO Name (hnum, idx) VALUES (1, 0)"));
    }
    EXPECT_FALSE(r.read().read) << trap;
  }
}

TEST(RpmDatabase, ThatIsNoFileIsNotWaitedFor) {
  Root r;
  ASSERT_EQ(::mkfifo(r.file().c_str(), 0600), 0);
  const Packages p = r.read();
  EXPECT_EQ(p.database, "rpm sqlite");
  EXPECT_FALSE(p.read);
}

}  // namespace
}  // namespace muster::facts
