#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/text.h"
#include "base/time.h"

namespace muster {
namespace {

TEST(Math, AgreesWithLibmToTwoUlp) {
  Prng p(7, "math");
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(p.unit() + 1e-9, static_cast<int>(p.below(120)) - 60);
    EXPECT_NEAR(det_log(x), std::log(x), 4e-16 * std::max(1.0, std::fabs(std::log(x)))) << x;
    const double y = 1400.0 * (p.unit() - 0.5);
    EXPECT_NEAR(det_exp(y) / std::exp(y), 1.0, 1e-15) << y;
    EXPECT_NEAR(det_sin(y), std::sin(y), 1e-12) << y;
  }
}

TEST(Prng, StreamsAreFixedForever) {
  Prng a(1, "weather");
  Prng b(1, "jobs");
  EXPECT_EQ(a.next(), 4963172413888598893ULL);
  EXPECT_NE(a.next(), b.next());
}

TEST(Prng, ExponentialHasItsMean) {
  Prng p(3, "x");
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += p.exponential(5.0);
  EXPECT_NEAR(sum / 100000, 5.0, 0.06);
}

TEST(Sha256, KnownAnswer) {
  EXPECT_EQ(render_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(parse_digest(render_hex(sha256("abc"))), sha256("abc"));
  EXPECT_FALSE(parse_digest("xyz"));
}

TEST(Json, IsCanonicalAndCleansBytes) {
  JsonWriter w;
  w.object().field("a", 1).field("b", 0.1).field("c", "x\xff\n").field("d", std::nan("")).end_object();
  EXPECT_EQ(w.view(), "{\"a\":1,\"b\":0.1,\"c\":\"x\xEF\xBF\xBD\\n\",\"d\":null}");
}

TEST(Text, PrintableDefusesTerminalSequences) {
  EXPECT_EQ(printable("a\x1b[31mb\xe2\x80\xae"), "a\\x1b[31mb\\u{202e}");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
}

TEST(Text, Durations) {
  EXPECT_EQ(parse_duration_ns("2h"), 7200'000'000'000);
  EXPECT_EQ(parse_duration_ns("250ms"), 250'000'000);
  EXPECT_EQ(parse_duration_ns("5"), 5'000'000'000);
  EXPECT_FALSE(parse_duration_ns("-5s"));
  EXPECT_FALSE(parse_duration_ns("5 parsecs"));
  EXPECT_EQ(render_duration(hours(76)), "3d 04h");
}

TEST(Text, NearestSuggests) {
  EXPECT_EQ(nearest("ndoes", {"nodes", "jobs"}), "nodes");
  EXPECT_EQ(nearest("jbos", {"nodes", "jobs"}), "jobs");
  EXPECT_FALSE(nearest("zzz", {"nodes", "jobs"}));
  EXPECT_FALSE(nearest("bogus", {"nodes", "jobs"}));
}

TEST(Time, RendersUtc) {
  EXPECT_EQ(render_utc(Time{0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(render_utc(Time{1'763'172'184'567'000'000}), "2025-11-15T02:03:04.567Z");
}

}  // namespace
}  // namespace muster
