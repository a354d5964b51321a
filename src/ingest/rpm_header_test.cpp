#include "ingest/rpm_header.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"

namespace muster {
namespace {

std::string word(std::uint32_t v) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(v >> shift & 0xff);
  return out;
}

struct Tag {
  std::uint32_t tag, type;
  std::string bytes;  // as they lie in the store
};

std::string header(const std::vector<Tag>& tags) {
  std::string index, store;
  for (const Tag& t : tags) {
    while (t.type == 4 && store.size() % 4 != 0) store += '\0';
    index += word(t.tag) + word(t.type) + word(static_cast<std::uint32_t>(store.size())) + word(1);
    store += t.bytes;
  }
  return word(static_cast<std::uint32_t>(tags.size())) + word(static_cast<std::uint32_t>(store.size())) + index + store;
}

std::string text(const std::string& s) { return s + '\0'; }

std::string whole() {
  return header({{63, 7, std::string(16, '\xff')},
                 {100, 8, text("C")},
                 {1000, 6, text("nvidia-fabricmanager")},
                 {1001, 6, text("580.95.05")},
                 {1002, 6, text("1.el9")},
                 {1003, 4, word(3)},
                 {1004, 9, text("Fabric manager")},
                 {1022, 6, text("x86_64")},
                 {1117, 8, std::string("\x01\x00\x80 anything", 12)}});
}

TEST(RpmHeader, SaysWhichPackageItIs) {
  const auto p = parse_rpm_header(whole());
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->name, "nvidia-fabricmanager");
  EXPECT_EQ(p->version, "580.95.05");
  EXPECT_EQ(p->release, "1.el9");
  EXPECT_EQ(p->arch, "x86_64");
  EXPECT_EQ(p->epoch, 3U);
}

TEST(RpmHeader, NeedsANameAndAVersionAlone) {
  const auto p = parse_rpm_header(header({{1000, 6, text("munge")}, {1001, 6, text("0.5.13")}}));
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->release.empty() && p->arch.empty() && !p->epoch);
  EXPECT_FALSE(parse_rpm_header(header({{1000, 6, text("munge")}})));
  EXPECT_FALSE(parse_rpm_header(header({{1001, 6, text("0.5.13")}})));
  EXPECT_FALSE(parse_rpm_header(header({})));
}

TEST(RpmHeader, RefusesWhatCannotBeAWord) {
  const auto with = [](const Tag& version) { return parse_rpm_header(header({{1000, 6, text("munge")}, version})); };
  EXPECT_FALSE(with({1001, 6, text("")}));
  EXPECT_FALSE(with({1001, 6, "0.5.13"})) << "no end within the store";
  EXPECT_FALSE(with({1001, 4, word(5)})) << "a number";
  EXPECT_FALSE(with({1001, 6, text("1.0\x1b]0;x")}));
  EXPECT_FALSE(with({1001, 6, text("1 0")}));
  EXPECT_FALSE(with({1001, 6, text(std::string(kRpmWordMax + 1, '1'))}));
  EXPECT_TRUE(with({1001, 6, text(std::string(kRpmWordMax, '1'))}));
}

TEST(RpmHeader, RefusesEveryHeaderThatIsCutOffOrTooLong) {
  const std::string all = whole();
  for (std::size_t n = 0; n < all.size(); ++n) EXPECT_FALSE(parse_rpm_header(all.substr(0, n))) << n;
  EXPECT_FALSE(parse_rpm_header(all + '\0'));
  EXPECT_FALSE(parse_rpm_header(word(0xffffffff) + word(0xffffffff) + std::string(64, '\0')));
  EXPECT_FALSE(parse_rpm_header(word(0x10000000) + word(0) + std::string(64, '\0'))) << "more tags than 32 bits have bytes for";
}

// Values point where the damage says: whatever comes out of it is words, or an error.
TEST(RpmHeader, GivesWordsOrAnErrorForDamagedBytes) {
  const std::string all = whole();
  Prng random(7, "headers");
  std::size_t refused = 0, taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = all;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const std::size_t at = random.below(damaged.size());
      damaged[at] = static_cast<char>(random.below(256));
    }
    const auto p = parse_rpm_header(damaged);
    p ? ++taken : ++refused;
    if (!p) continue;
    for (const std::string* s : {&p->name, &p->version, &p->release, &p->arch}) {
      ASSERT_LE(s->size(), kRpmWordMax);
      for (const char c : *s) ASSERT_TRUE(c > ' ' && c < 0x7f);
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(taken, 100U);
}

}  // namespace
}  // namespace muster
