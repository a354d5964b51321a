#include "adapters/agent/job_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace muster::agent {
namespace {

constexpr Time kNow{1'000'000'000'000};
bool has(const std::string& s, std::string_view part) { return s.find(part) != std::string::npos; }

TEST(JobOfCgroups, IsSlurmsAndNobodyElses) {
  EXPECT_EQ(job_of_cgroups("0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n"), "17");
  EXPECT_EQ(job_of_cgroups("4:memory:/slurm/uid_1000/job_4711/step_batch\n0::/\n"), "4711");
  EXPECT_EQ(job_of_cgroups("0::/user.slice/user-1000.slice/job_17/x\n"), "") << "anybody may call a group so";
  EXPECT_EQ(job_of_cgroups("0::/slurm/job_17x/step_0"), "");
  EXPECT_EQ(job_of_cgroups("0::/kubepods.slice/pod1"), "");
  EXPECT_EQ(job_of_cgroups(""), "");
}

TEST(JobDesk, AReportIsHandedOnAndAnsweredWithThePace) {
  JobDesk d;
  EXPECT_EQ(d.hear(R"({"job":"17","step":5})", 1000, "", kNow), R"({"ok":true})");
  auto got = d.take(kNow);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0], R"("job":"17","report":{"step":5})");
  EXPECT_TRUE(d.take(kNow).empty()) << "once";
  d.advise({{"17", {1920, 1'800'000'000.5}}});
  const std::string told = d.hear(R"({"job":"17","step":6})", 1000, "", kNow);
  EXPECT_TRUE(has(told, R"("checkpoint_every_s":1920)") && has(told, R"("next_checkpoint_at":1800000000.5)")) << told;
}

TEST(JobDesk, StepsGoOnNowAndThenAndCheckpointsAtOnce) {
  JobDesk d;
  d.hear(R"({"job":"17","step":5})", 1000, "", kNow);
  EXPECT_EQ(d.take(kNow).size(), 1U);
  d.hear(R"({"job":"17","step":6,"step_s":2})", 1000, "", kNow);
  EXPECT_TRUE(d.take(kNow + seconds(1)).empty());
  d.hear(R"({"job":"17","step":7,"saved_step":7,"saving_s":3})", 1000, "", kNow);
  d.hear(R"({"job":"17","step":8})", 1000, "", kNow);
  const auto got = d.take(kNow + seconds(2));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0], R"("job":"17","report":{"step":8,"saved_step":7,"step_s":2,"saving_s":3})") << "joined, nothing forgotten";
  d.hear(R"({"job":"17","step":9})", 1000, "", kNow);
  EXPECT_TRUE(d.take(kNow + seconds(11)).empty());
  EXPECT_EQ(d.take(kNow + seconds(12)).size(), 1U);
}

TEST(JobDesk, NobodySpeaksForAnothersJob) {
  JobDesk d;
  EXPECT_TRUE(has(d.hear(R"({"job":"17","step":5})", 1000, "", kNow), "true"));
  EXPECT_TRUE(has(d.hear(R"({"job":"17","step":900})", 1001, "", kNow), "another user speaks for job 17"));
  EXPECT_TRUE(has(d.hear(R"({"job":"17","step":6})", 0, "", kNow), "true")) << "root may";
  EXPECT_TRUE(has(d.hear(R"({"job":"18","step":5})", 1001, "19", kNow), "you are part of job 19"));
  EXPECT_TRUE(has(d.hear(R"({"step":5})", 1001, "19", kNow), "true")) << "the cgroup names it";
  EXPECT_TRUE(has(d.hear(R"({"step":5})", 1001, "", kNow), "names no job"));
  EXPECT_EQ(d.refused(), 3U);
  std::string all;
  for (const std::string& m : d.take(kNow)) all += m;
  EXPECT_FALSE(has(all, "900")) << all;
  EXPECT_TRUE(has(all, R"("job":"19")")) << all;
}

TEST(JobDesk, AFloodIsBounded) {
  JobDesk d;
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = R"({"job":")" + std::to_string(i) + R"(","step":1})";
    taken += has(d.hear(line, 1000, "", kNow + milliseconds(i)), "true") ? 1 : 0;
  }
  EXPECT_LE(taken, 64) << "jobs of one user";
  EXPECT_TRUE(has(d.hear(R"({"job":"x","step":1})", 1001, "", kNow), "true")) << "others are heard";
  taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += has(d.hear(R"({"job":"x","step":1})", 1001, "", kNow), "true") ? 1 : 0;
  EXPECT_LE(taken, 64);
}

class JobSocketTest : public ::testing::Test {
 protected:
  JobSocketTest() {
    char name[] = "/tmp/job_socket.XXXXXX";
    dir = mkdtemp(name);
    path = dir + "/jobs.sock";
  }
  ~JobSocketTest() override { std::filesystem::remove_all(dir); }
  int connect_to() const {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval patience{10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 ? fd : -1;
  }
  static std::string ask(int fd, const std::string& text) {
    EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return hear(fd);
  }
  static std::string hear(int fd) {
    std::string out;
    char c = 0;
    while (recv(fd, &c, 1, 0) == 1 && c != '\n') out += c;
    return out;
  }
  std::string dir, path;
};

TEST_F(JobSocketTest, AnybodyMayWriteAndIsAnswered) {
  auto s = JobSocket::start(path);
  ASSERT_TRUE(s) << s.error().what;
  struct stat st {};
  ASSERT_EQ(stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0666U);
  const int fd = connect_to();
  ASSERT_GE(fd, 0);
  EXPECT_EQ(ask(fd, "{\"job\":\"17\",\"step\":1}\n"), R"({"ok":true})");
  EXPECT_EQ(ask(fd, "{\"job\":\"17\",\"step\":2}\n"), R"({"ok":true})") << "the connection stays";
  EXPECT_TRUE(has(ask(fd, "nonsense\n"), R"("ok":false)"));
  close(fd);
  EXPECT_EQ((*s)->take(kNow).size(), 1U);
  EXPECT_EQ((*s)->heard(), 2U);
  EXPECT_EQ((*s)->refused(), 1U);
}

TEST_F(JobSocketTest, ALineWithoutEndIsSentAway) {
  auto s = JobSocket::start(path);
  ASSERT_TRUE(s);
  const int fd = connect_to();
  EXPECT_TRUE(has(ask(fd, std::string(5000, 'x')), "at most 1024 bytes"));
  char c = 0;
  EXPECT_LE(recv(fd, &c, 1, 0), 0) << "and the connection is closed";
  close(fd);
  const int other = connect_to();
  EXPECT_TRUE(has(ask(other, "{\"job\":\"17\",\"step\":1}\n"), "true")) << "others go on";
  close(other);
}

TEST_F(JobSocketTest, OneUserCannotTakeAllConnections) {
  auto s = JobSocket::start(path);
  ASSERT_TRUE(s);
  std::vector<int> fds;
  for (int i = 0; i < 64; ++i) fds.push_back(connect_to());
  EXPECT_TRUE(has(ask(fds.back(), "{\"job\":\"1\",\"step\":1}\n"), "true"));
  const int more = connect_to();
  EXPECT_TRUE(has(hear(more), "too many connections")) << "it is told so and closed, whatever it would say";
  close(more);
  for (const int fd : fds) close(fd);
}

TEST_F(JobSocketTest, WhatAnAgentLeftBehindIsReplacedAndNothingElse) {
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
    close(fd);  // as a killed agent leaves it
  }
  {
    auto s = JobSocket::start(path);
    ASSERT_TRUE(s) << s.error().what;
    EXPECT_FALSE(JobSocket::start(path)) << "somebody listens";
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "it is removed at the end";
  std::ofstream(path) << "mine";
  EXPECT_FALSE(JobSocket::start(path)) << "a file is not ours to remove";
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace muster::agent
