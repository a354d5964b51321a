#include "ingest/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>

#include "base/prng.h"

namespace muster {
namespace {

std::string gzip(std::string_view text) {
  z_stream z = {};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string noise(std::size_t n, std::uint64_t seed) {
  Prng r(seed, "gunzip-test");
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(r.next());
  return s;
}

TEST(Gunzip, GivesBackWhatWasPacked) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{65535}, std::size_t{65536}, std::size_t{300001}}) {
    const std::string text = noise(n, n + 1);
    const auto got = gunzip(gzip(text));
    ASSERT_TRUE(got.has_value()) << n << ": " << got.error().what;
    EXPECT_EQ(*got, text) << n;
  }
}

TEST(Gunzip, SeveralMembersAreOneText) {
  const auto got = gunzip(gzip("first,") + gzip("") + gzip("second"));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, "first,second");
}

TEST(Gunzip, EveryCutIsAnError) {
  const std::string packed = gzip("a,b\n1,2\n3,4\n");
  for (std::size_t n = 0; n < packed.size(); ++n) EXPECT_FALSE(gunzip(packed.substr(0, n)).has_value()) << n;
}

TEST(Gunzip, AFlippedBitIsNeverReadAsOtherText) {
  const std::string text = "name,cpu_milli\nnode,64000\n";
  const std::string packed = gzip(text);
  for (std::size_t i = 0; i < packed.size() * 8; ++i) {
    std::string bad = packed;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << (i % 8)));
    const auto got = gunzip(bad);  // header fields such as the time may change without harm
    if (got.has_value()) {
      EXPECT_EQ(*got, text) << i;
    }
  }
}

TEST(Gunzip, ForeignBytesAtTheEndAreAnError) {
  const auto got = gunzip(gzip("text") + "tail");
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().what.find("foreign bytes"), std::string::npos) << got.error().what;
}

TEST(Gunzip, StopsAtTheLimit) {
  const std::string packed = gzip(std::string(1'000'000, '0'));
  EXPECT_LT(packed.size(), 2000u);
  EXPECT_FALSE(gunzip(packed, 999'999).has_value());
  ASSERT_TRUE(gunzip(packed, 1'000'000).has_value());
  EXPECT_FALSE(gunzip(gzip("x"), 0).has_value());
  EXPECT_TRUE(gunzip(gzip(""), 0).has_value());
}

TEST(Gunzip, PlainTextPassesAndIsToldApartByContent) {
  EXPECT_EQ(gunzip_if_gzip("a,b\n").value(), "a,b\n");
  EXPECT_EQ(gunzip_if_gzip(gzip("a,b\n")).value(), "a,b\n");
  EXPECT_EQ(gunzip_if_gzip("").value(), "");
  EXPECT_FALSE(gunzip_if_gzip("abc", 2).has_value());
  EXPECT_FALSE(gunzip("a,b\n").has_value());
}

TEST(Gunzip, NoiseNeverHarms) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::string bytes = noise(seed % 200, seed);
    if (bytes.size() > 3) {
      bytes[0] = '\x1f';
      bytes[1] = '\x8b';
      bytes[2] = 8;
      bytes[3] = 0;
    }
    (void)gunzip(bytes, 1 << 20);
  }
}

TEST(Gunzip, PieceByPieceIsTheSame) {
  const std::string text = noise(300001, 5) + std::string(1'000'000, 'a');
  const std::string packed = gzip(text) + gzip("more");
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, packed.size()}) {
    std::string got;
    Gunzip zip;
    for (std::size_t i = 0; i < packed.size(); i += size)
      ASSERT_TRUE(zip.feed(std::string_view(packed).substr(i, size), [&](std::string_view s) { got += s; }));
    EXPECT_TRUE(zip.finish());
    EXPECT_TRUE(got == text + "more") << size;
  }
  Gunzip cut;
  ASSERT_TRUE(cut.feed(std::string_view(packed).substr(0, packed.size() - 1), [](std::string_view) {}));
  EXPECT_FALSE(cut.finish());
  Gunzip junk;
  EXPECT_FALSE(junk.feed(gzip("a") + "junk", [](std::string_view) {}));
}

TEST(Gzip, WhatIsPackedUnpacksToTheSame) {
  Prng random(7, "gzip");
  for (const std::size_t n : {0, 1, 1399, 65'535, 65'536, 1'000'000}) {
    std::string even(n, 'x'), odd(n, ' ');
    for (char& c : odd) c = static_cast<char>(random.below(256));
    EXPECT_EQ(gunzip(pack_gzip(even)).value(), even) << n;
    EXPECT_EQ(gunzip(pack_gzip(odd)).value(), odd) << n;
    if (n > 2000) {
      EXPECT_LT(pack_gzip(even).size(), n / 50);
    }
  }
}

}  // namespace
}  // namespace muster
