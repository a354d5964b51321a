#include "ingest/plain_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/prng.h"
#include "ingest/json.h"
#include "model/codec.h"

namespace muster {
namespace {

using namespace accepting;

// The general way alone: what every line was read by before there was a quick one.
Result<Row> by_tree(std::string_view line) {
  const auto value = parse_json(line, 8);
  if (!value) return tl::unexpected(value.error());
  return decode_row(*value);
}

// Fields of a row, as bits: 0 and -0 are different here, and NaN is itself.
struct Bits {
  std::string out;
  template <class T>
  void operator()(std::string_view name, const T& t) {
    out += name;
    if constexpr (std::is_same_v<T, std::string>) {
      out += "=" + t;
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      out.append(reinterpret_cast<const char*>(&t), sizeof t);
    } else {
      for (const auto& each : t) (*this)("each", each);
    }
  }
};

std::string bits(Row row) {
  Bits b;
  b.out = kRowNames[row.index()];
  std::visit([&b](auto& r) { fields(b, r); }, row);
  return b.out;
}

// Whether the quick way took the line; if it did, the general way must say the same.
bool is_plain(const std::string& line) {
  const auto quick = parse_plain_row(line);
  if (!quick) return false;
  const auto slow = by_tree(line);
  EXPECT_TRUE(slow) << line << ": " << slow.error().what;
  if (slow) {
    EXPECT_EQ(bits(*quick), bits(*slow)) << line;
  }
  return true;
}

std::vector<Row> one_of_each() {
  return {Suite{"1", "0123456789abcdef", AcceptProfile::quick, "0.1.0", 7, {AcceptTest::hbm}},
          Host{"gpu0001", Time{1'800'000'000'000'000'000}, "6.8.0", "580.159.04", "13.0", "13.1.0", "air"},
          Gpu{3, "GPU-1", "165", "NVIDIA H200", "00000000:1B:00.0", "96.00", "692", 132, 143771, 700, 700, 5, 16},
          Ran{3, AcceptTest::hbm, 1, TestState::could_not_run, "out of memory", 2.0, 1.4},
          Measured{3, AcceptTest::hbm, 0, "hbm_read", 4693.0123456789012, 2.0, 0.1, -1},
          Wrong{3, AcceptTest::march, 0, "address 0x40", 2, "0x1 instead of 0x0"},
          Counter{3, "ecc_uncorrected", 0, 1},
          Reading{3, 1.5, 690.25, 1484, 62, 54, 4},
          KernelWord{-1, 79, 3.5, "NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus."},
          End{41.5, true, 2, 17}};
}

TEST(PlainRow, EveryKindOfRowReadsTheSameBothWays) {
  const std::vector<Row> rows = one_of_each();
  ASSERT_EQ(rows.size(), std::variant_size_v<Row>);
  for (const Row& row : rows) {
    const bool has_list = std::holds_alternative<Suite>(row);
    EXPECT_EQ(is_plain(encode_row(row)), !has_list) << encode_row(row);
    EXPECT_EQ(bits(*by_tree(encode_row(row))), bits(row));
  }
}

// Changes every field of a row to a value that a row may have, or could have.
struct Scramble {
  Prng& draw;
  void operator()(std::string_view, std::string& s) {
    constexpr std::string_view kLetters = "abz019 _:>.{},[]/\"\\\n\x7f\x01\xc3\xa4";
    s.clear();
    // Most are plain.
    const std::size_t letters = draw.below(8) == 0 ? kLetters.size() : kLetters.find('"');
    for (std::size_t n = draw.below(24); n > 0; --n) s += kLetters[draw.below(letters)];
  }
  void operator()(std::string_view, double& d) {
    std::uint64_t any = draw.next();
    switch (draw.below(6)) {
      case 0: d = static_cast<double>(any >> draw.below(64)); break;
      case 1: d = -static_cast<double>(any >> 11) / 4096; break;
      case 2: std::memcpy(&d, &any, sizeof d); break;  // subnormal, huge, no number at all
      case 3: d = 0.1 * static_cast<double>(draw.below(100000)); break;
      case 4: d = -0.0; break;
      default: d = draw.normal();
    }
  }
  void operator()(std::string_view, bool& b) { b = draw.below(2) == 0; }
  void operator()(std::string_view, Time& t) { t.ns = static_cast<std::int64_t>(draw.next()); }
  template <std::integral T>
  void operator()(std::string_view, T& i) {
    i = static_cast<T>(draw.next() >> draw.below(64));
  }
  template <NamedEnum E>
  void operator()(std::string_view, E& e) {
    e = static_cast<E>(draw.below(names(E{}).size()));
  }
  template <class T>
  void operator()(std::string_view, std::vector<T>& all) {
    all.resize(draw.below(3));
    for (T& each : all) (*this)("each", each);
  }
};

TEST(PlainRow, WhateverIsInARowItReadsTheSameBothWays) {
  Prng draw(1, "plain rows");
  std::size_t plain = 0, others = 0;
  for (int i = 0; i < 4000; ++i) {
    for (Row row : one_of_each()) {
      std::visit(
          [&](auto& r) {
            Scramble s{draw};
            fields(s, r);
          },
          row);
      (is_plain(encode_row(row)) ? plain : others) += 1;
    }
  }
  EXPECT_GT(plain, others) << "most is read quickly";
  EXPECT_GT(others, 2000U);
}

TEST(PlainRow, ALineThatIsBrokenAnywhereIsLeftToTheGeneralWay) {
  Prng draw(2, "broken rows");
  constexpr std::string_view kBytes = "\"\\{}[],:-+.eE0123456789 \t\x80nulltruefalse";
  for (const Row& row : one_of_each()) {
    const std::string line = encode_row(row);
    for (std::size_t at = 0; at < line.size(); ++at) {
      EXPECT_FALSE(is_plain(line.substr(0, at)));
      is_plain(line.substr(0, at) + line.substr(at + 1));
      for (int i = 0; i < 8; ++i) {
        std::string changed = line;
        changed[at] = kBytes[draw.below(kBytes.size())];
        is_plain(changed);
        is_plain(changed.insert(at, 1, kBytes[draw.below(kBytes.size())]));
      }
    }
  }
}

std::string counter(std::string_view before) {
  return "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":" + std::string(before) + ",\"after\":0}";
}

TEST(PlainRow, NumbersAreThoseOfTheGeneralWay) {
  for (const char* n : {"0", "-0", "-0.0", "0.0", "1e5", "1E+5", "1.5e-7", "-1", "4693.0123456789012", "5e-324", "1e-320",
                        "1.7976931348623157e308", "9223372036854775807", "-9223372036854775808", "9007199254740993",
                        "0.1000000000000000055511151231257827021181583404541015625"})
    EXPECT_TRUE(is_plain(counter(n))) << n;
  for (const char* n : {"01",
                        "-01",
                        ".5",
                        "1.",
                        "1e",
                        "1e+",
                        "+1",
                        "--1",
                        "-",
                        "",
                        "nan",
                        "NaN",
                        "inf",
                        "-inf",
                        "null",
                        "0x10",
                        "1e400",
                        "-1e400",
                        "1e-400",
                        "9223372036854775808",
                        "100000000000000000000000",
                        "true",
                        "\"1\"",
                        "[1]",
                        "1 ",
                        " 1",
                        "1,",
                        "1_000",
                        "1f"})
    EXPECT_FALSE(is_plain(counter(n))) << n;
}

TEST(PlainRow, WholeNumbersKeepWithinTheirFields) {
  const auto ran = [](std::string_view gpu, std::string_view turn) {
    return "{\"row\":\"ran\",\"gpu\":" + std::string(gpu) + ",\"test\":\"hbm\",\"turn\":" + std::string(turn) +
           ",\"state\":\"done\",\"why\":\"\",\"begun_s\":0,\"took_s\":0}";
  };
  EXPECT_TRUE(is_plain(ran("0", "0")));
  EXPECT_TRUE(is_plain(ran("-2147483648", "4294967295")));
  for (const char* gpu : {"2147483648", "-2147483649", "1.0", "1e0", "99999999999999999999"})
    EXPECT_FALSE(is_plain(ran(gpu, "0"))) << gpu;
  for (const char* turn : {"-1", "4294967296"}) EXPECT_FALSE(is_plain(ran("0", turn))) << turn;
}

TEST(PlainRow, OtherSpellingsAreLeftToTheGeneralWay) {
  for (const char* line :
       {"", "{}", "[]", "null", "{\"row\":\"counter\"}", "{\"row\":\"aura\",\"gpu\":0}", "{\"row\":7}",
        // Another order, a field too few, one too many, one twice, what stands around.
        "{\"gpu\":0,\"row\":\"counter\",\"name\":\"x\",\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"name\":\"x\",\"gpu\":0,\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0,\"more\":1}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0,\"gpu\":1}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0,}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0}}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0}\r",
        "{\"row\": \"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0}",
        " {\"row\":\"counter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0}",
        // Text that does not stand for itself, or is not whole.
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"\\u0078\",\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"\xc3\xa4\",\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"\xff\",\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":\"\t\",\"before\":0,\"after\":0}",
        "{\"row\":\"counter\",\"gpu\":0,\"name\":null,\"before\":0,\"after\":0}", "{\"row\":\"counter\",\"gpu\":0,\"name\":\"x",
        "{\"row\":\"c\\u006funter\",\"gpu\":0,\"name\":\"x\",\"before\":0,\"after\":0}",
        "{\"row\":\"end\",\"at_s\":1,\"stopped\":1,\"left\":0,\"memory_left_mib\":0}",
        "{\"row\":\"ran\",\"gpu\":0,\"test\":\"magic\",\"turn\":0,\"state\":\"done\",\"why\":\"\",\"begun_s\":0,\"took_s\":0}"})
    EXPECT_FALSE(is_plain(line)) << line;
}

}  // namespace
}  // namespace muster
