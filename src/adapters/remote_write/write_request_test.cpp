#include "adapters/remote_write/write_request.h"

#include <gtest/gtest.h>

#include <bit>

namespace muster {
namespace {

// Reads back what the encoder wrote, by the two formats' own rules.
std::uint64_t varint(std::string_view& s) {
  std::uint64_t v = 0;
  for (int shift = 0; !s.empty(); shift += 7) {
    const auto c = static_cast<unsigned char>(s.front());
    s.remove_prefix(1);
    v |= static_cast<std::uint64_t>(c & 0x7f) << shift;
    if (c < 0x80) break;
  }
  return v;
}
std::string_view piece(std::string_view& s, std::uint64_t tag) {
  EXPECT_EQ(varint(s), tag);
  const auto n = varint(s);
  const auto out = s.substr(0, n);
  s.remove_prefix(n);
  return out;
}
std::string from_snappy(std::string_view s) {
  const auto size = varint(s);
  std::string out;
  while (!s.empty()) {
    const auto tag = static_cast<unsigned char>(s.front());
    s.remove_prefix(1);
    EXPECT_EQ(tag & 3, 0) << "a literal";
    std::size_t n = tag >> 2;
    if (n == 61) {
      n = static_cast<unsigned char>(s[0]) | static_cast<std::size_t>(static_cast<unsigned char>(s[1])) << 8;
      s.remove_prefix(2);
    }
    out += s.substr(0, n + 1);
    s.remove_prefix(n + 1);
  }
  EXPECT_EQ(out.size(), size);
  return out;
}

TEST(RemoteWrite, APageBecomesSeriesWithSortedLabels) {
  const auto w = encode_write("# HELP a b\n# TYPE a gauge\na{z=\"1\",b=\"x\\\"\\\\\\ny\"} 2.5\nrubbish\nb 3\n", 1234567,
                              {{"job", "muster"}});
  EXPECT_EQ(w.samples, 2U);
  EXPECT_EQ(w.unread, 1U);
  std::string_view all = w.bytes;
  std::string_view first = piece(all, 1 << 3 | 2);
  std::vector<std::pair<std::string, std::string>> labels;
  for (int i = 0; i < 4; ++i) {
    std::string_view label = piece(first, 1 << 3 | 2);
    const std::string name(piece(label, 1 << 3 | 2));
    labels.emplace_back(name, piece(label, 2 << 3 | 2));
  }
  const std::vector<std::pair<std::string, std::string>> want = {
      {"__name__", "a"}, {"b", "x\"\\\ny"}, {"job", "muster"}, {"z", "1"}};
  EXPECT_EQ(labels, want);
  std::string_view sample = piece(first, 2 << 3 | 2);
  EXPECT_EQ(varint(sample), 1U << 3 | 1U);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(sample[i])) << (8 * i);
  EXPECT_EQ(std::bit_cast<double>(bits), 2.5);
  sample.remove_prefix(8);
  EXPECT_EQ(varint(sample), 2U << 3);
  EXPECT_EQ(varint(sample), 1234567U);
  EXPECT_TRUE(first.empty());
}

TEST(RemoteWrite, SnappyOfAnyLengthReadsBack) {
  for (const std::size_t n : {0, 1, 59, 60, 61, 62, 256, 65535, 65536, 65537, 200000}) {
    std::string text(n, 'x');
    for (std::size_t i = 0; i < n; i += 7) text[i] = static_cast<char>(i);
    EXPECT_EQ(from_snappy(to_snappy(text)), text) << n;
  }
}

TEST(RemoteWrite, LinesThatAreNoneAreCounted) {
  for (const char* bad : {"a{x=\"1\" 2\n", "a{x} 1\n", "a{=\"1\"} 1\n", "a\n", "a x\n", " 1\n", "a{x=\"1}\n"}) {
    const auto w = encode_write(bad, 1, {});
    EXPECT_EQ(w.samples, 0U) << bad;
    EXPECT_EQ(w.unread, 1U) << bad;
  }
}

}  // namespace
}  // namespace muster
