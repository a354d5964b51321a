#include "adapters/state/state_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster_state_XXXXXX";
    dir_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string dir_;
};

TEST_F(Folder, IsMadeForItsOwnerAloneWithItsParents) {
  const auto s = open_state_dir(dir_ + "/a/b/");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->journal(), dir_ + "/a/b/journal.db");
  struct stat st;
  ASSERT_EQ(::stat((dir_ + "/a/b").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST_F(Folder, HasOneHolderAtATime) {
  {
    const auto first = open_state_dir(dir_);
    ASSERT_TRUE(first) << first.error().what;
    const auto second = open_state_dir(dir_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::conflict);
    EXPECT_NE(second.error().what.find(std::to_string(::getpid())), std::string::npos) << second.error().what;
  }
  EXPECT_TRUE(open_state_dir(dir_));
}

TEST_F(Folder, IsRefusedWhereOthersMayWrite) {
  fs::create_directory(dir_ + "/open");
  ASSERT_EQ(::chmod((dir_ + "/open").c_str(), 0777), 0);
  const auto s = open_state_dir(dir_ + "/open");
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, Code::not_allowed);
}

TEST_F(Folder, SaysClearlyWhyItCannotBeMade) {
  std::ofstream(dir_ + "/file") << "x";
  for (const std::string& path : {dir_ + "/file", dir_ + "/file/below", std::string("/proc/muster/state"), std::string()}) {
    const auto s = open_state_dir(path);
    ASSERT_FALSE(s) << path;
    EXPECT_FALSE(s.error().what.empty());
  }
}

}  // namespace
}  // namespace muster
