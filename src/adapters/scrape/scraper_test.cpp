#include "adapters/scrape/scraper.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "adapters/http/server.h"

namespace muster {
namespace {

constexpr std::uint32_t kTargets = 2000;

double cpu_s() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return s(u.ru_utime) + s(u.ru_stime);
}

std::string page_of(const std::string& node) {
  std::string out;
  for (const char* name :
       {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"}) {
    for (int g = 0; g < 8; ++g) out += fmt::format("{}{{gpu=\"{}\",Hostname=\"{}\"}} 50\n", name, g, node);
  }
  return out;
}

// Each node's exporter is an address of its own on loopback, 127.1.HIGH.LOW, so that each needs a connection of its own.
class ScraperTest : public testing::Test {
 protected:
  ScraperTest() {
    site.gpus_per_node = 8;
    for (std::uint32_t n = 0; n < kTargets; ++n) site.nodes.push_back({fmt::format("node{:04d}", n)});
    file = testing::TempDir() + fmt::format("muster_targets_{}.json", getpid());
  }
  ~ScraperTest() override { std::remove(file.c_str()); }

  void serve(HttpHandler handler) {
    http::Options o;
    o.address = "0.0.0.0";
    o.anywhere = true;
    o.port = 0;
    o.handler = std::move(handler);
    auto s = http::Server::start(std::move(o));
    ASSERT_TRUE(s) << s.error().what;
    server = std::move(*s);
  }
  void write_targets(std::uint32_t count) const {
    std::ofstream out(file);
    out << "[";
    for (std::uint32_t n = 0; n < count; ++n) {
      out << (n == 0 ? "" : ",")
          << fmt::format("{{\"targets\":[\"127.1.{}.{}:{}\"],\"labels\":{{\"node\":\"{}\"}}}}", n / 250, n % 250 + 1,
                         server->port(), site.nodes[n].name);
    }
    out << "]";
  }
  // Nodes that were heard with this value of `up`, until there are `count` or the time is over.
  std::set<std::uint32_t> hear(double up, std::size_t count, int most_s) {
    std::set<std::uint32_t> nodes;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(most_s);
    while (nodes.size() < count && std::chrono::steady_clock::now() < end) {
      Inbox inbox;
      mailbox.wait_for(std::chrono::milliseconds(100));
      mailbox.collect(Time{} + seconds(1000), inbox);
      for (const Sample& s : inbox.samples) {
        samples += 1;
        if (s.field == Field::up && s.value == up) nodes.insert(s.node.v);
        EXPECT_EQ(s.at, Time{} + seconds(1000)) << "the time is the controller's";
      }
    }
    return nodes;
  }

  Site site;
  std::string file;
  std::unique_ptr<http::Server> server;
  Mailbox mailbox;
  std::size_t samples = 0;
};

TEST_F(ScraperTest, TwoThousandTargetsAreAskedFromOneThread) {
  serve([](const std::shared_ptr<HttpExchange>& x) { x->respond({200, "text/plain", {}, page_of("of-nobody")}); });
  write_targets(kTargets);
  ScrapeOptions o;
  o.file = file;
  o.every = seconds(2);
  auto scraper = Scraper::start(mailbox, site, o);
  ASSERT_TRUE(scraper) << scraper.error().what;
  EXPECT_EQ(hear(1, kTargets, 20).size(), kTargets);
  const std::size_t open = server->connections();
  const double cpu = cpu_s();
  samples = 0;
  hear(1, kTargets, 10);  // once more each, over the same connections
  const double spent = cpu_s() - cpu;
  std::printf("scrapes over kept connections, with the server's side: %.0f us each, %zu connections\n",
              1e6 * spent / (static_cast<double>(samples) / 34), open);
  EXPECT_GT(open, kTargets / 2) << "connections stay open";
  EXPECT_LE(server->connections(), kTargets + 300U);
}

TEST_F(ScraperTest, AnExporterThatHangsIsGivenUpAndHoldsUpNobody) {
  std::vector<std::shared_ptr<HttpExchange>> held;
  serve([&held](const std::shared_ptr<HttpExchange>& x) {
    if (x->request().headers.at("host").rfind("127.1.0.1:", 0) == 0) {
      held.push_back(x);  // no answer, ever
    } else {
      x->respond({200, "text/plain", {}, page_of("of-nobody")});
    }
  });
  write_targets(20);
  ScrapeOptions o;
  o.file = file;
  o.every = seconds(1);
  o.timeout = milliseconds(300);
  auto scraper = Scraper::start(mailbox, site, o);
  ASSERT_TRUE(scraper);
  const auto up = hear(1, 19, 10);
  EXPECT_EQ(up.size(), 19U);
  EXPECT_EQ(up.count(0), 0U);
  // The machine may be busy for longer than the time-out, and then others are late too: this one always is.
  std::set<std::uint32_t> late;
  for (int i = 0; i < 10 && late.count(0) == 0; ++i) late = hear(0, 1, 2);
  EXPECT_EQ(late.count(0), 1U);
  scraper->reset();
  server->stop();
}

TEST_F(ScraperTest, APageThatSaysNothingOfItsNodeIsNoSignOfLife) {
  std::atomic<int> asked{0};
  serve([&asked](const std::shared_ptr<HttpExchange>& x) {
    const bool first = x->request().headers.at("host").rfind("127.1.0.1:", 0) == 0;
    // Node 0 shows its GPUs once, and then an empty page; node 1's target is node 2's exporter.
    x->respond({200, "text/plain", {}, !first ? page_of("node0002") : asked++ == 0 ? page_of("node0000") : std::string()});
  });
  write_targets(2);
  ScrapeOptions o;
  o.file = file;
  o.every = seconds(1);
  auto scraper = Scraper::start(mailbox, site, o);
  ASSERT_TRUE(scraper);
  std::set<std::uint32_t> alive;
  int dark = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (dark < 2 && std::chrono::steady_clock::now() < end) {
    Inbox inbox;
    mailbox.wait_for(std::chrono::milliseconds(100));
    mailbox.collect(Time{} + seconds(1000), inbox);
    for (const Sample& s : inbox.samples) {
      if (s.field == Field::up && s.value > 0) alive.insert(s.node.v);
      dark += s.field == Field::driver_answers && s.value == 0 && s.node == NodeId{0};
    }
  }
  EXPECT_GE(dark, 2) << "a page without GPUs after one with all of them";
  EXPECT_EQ(alive, std::set<std::uint32_t>{0});
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_NE((*scraper)->trouble().find("2 of 2 targets bring nothing"), std::string::npos) << (*scraper)->trouble();
  scraper->reset();
  server->stop();
}

TEST_F(ScraperTest, AFileThatIsNotThereIsAnErrorAtTheStart) {
  ScrapeOptions o;
  o.file = file + ".missing";
  const auto scraper = Scraper::start(mailbox, site, o);
  ASSERT_FALSE(scraper);
  EXPECT_EQ(scraper.error().code, Code::not_found);
}

}  // namespace
}  // namespace muster
