// The arithmetic that the GPU tests of `muster accept` stand on, proven without a GPU: the headers are those that nvcc compiles.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "exact.h"
#include "patterns.h"
#include "plants.h"
#include "units.h"

namespace muster_accept {
namespace {

constexpr Number kEvery[kNumbers] = {Number::bf16, Number::fp16, Number::fp8, Number::tf32, Number::int8};
constexpr std::uint64_t kSeed = 20260601;

// The same data, fewer of them.
Exact small(Number n) {
  Exact e = exact_of(n);
  e.rows = 32, e.columns = 64, e.depth = 256;
  return e;
}

std::int64_t most_of(std::uint32_t reach) { return reach == kAllBytes ? 128 : reach; }

std::vector<std::int64_t> row_of(const Exact& e, const Keys& keys, std::uint32_t row) {
  std::vector<std::int64_t> out;
  for (std::uint32_t c = 0; c < e.columns; ++c) out.push_back(result_of(e, keys, row, c));
  return out;
}

// As the GPU does it: columns of Y weighed first, then a row of X with them. Nothing of the product itself is needed.
std::uint64_t expected_of(const Exact& e, const Keys& keys, std::uint32_t row) {
  std::uint64_t sum = 0;
  for (std::uint32_t g = 0; g < e.depth / kGroup; ++g) {
    const std::uint64_t x = group_of(keys.x, row, g);
    for (std::uint32_t j = 0; j < kGroup; ++j) {
      std::uint64_t column = 0;
      for (std::uint32_t c = 0; c < e.columns; ++c)
        column += weighed(weight_of(keys.weights, c), member_of(e, Matrix::y, group_of(keys.y, c, g), g, j));
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(member_of(e, Matrix::x, x, g, j))) * column;
    }
  }
  return sum;
}

std::uint32_t in_memory(Number n, std::int64_t value) {
  if (n == Number::int8) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return bits_of(static_cast<float>(value));
}

// What the check of a row finds: whether all are integers, and how far the weighted sum is off.
struct Look {
  bool whole = true;
  std::uint64_t off = 0;
  bool bad() const { return !whole || off != 0; }
};
Look look_at(Number n, const std::vector<std::uint32_t>& row, std::uint64_t weights, std::uint64_t expected) {
  Look out;
  for (std::uint32_t c = 0; c < row.size(); ++c) {
    auto value = static_cast<std::int32_t>(row[c]);
    if (n != Number::int8) out.whole &= is_whole(float_of(row[c]), &value);
    out.off += weighed(weight_of(weights, c), value);
  }
  out.off -= expected;
  return out;
}

TEST(ExactProducts, NoPartialSumIsBeyondWhatItsFormatHoldsExactly) {
  for (const Number n : kEvery) {
    const Exact e = exact_of(n);
    const std::int64_t most = most_of(e.reach_x) * most_of(e.reach_y) * e.depth;
    EXPECT_LT(most, n == Number::int8 ? std::int64_t{1} << 31 : std::int64_t{kWhole}) << kNumberNames[static_cast<int>(n)];
  }
  // A mantissa of 8 bits holds 255, one of 11 2047, one of e4m3 15.
  EXPECT_LE(exact_of(Number::bf16).reach_x, 255u);
  EXPECT_LE(exact_of(Number::fp16).reach_x, 2047u);
  EXPECT_LE(exact_of(Number::tf32).reach_x, 2047u);
  EXPECT_LE(exact_of(Number::fp8).reach_x, 15u);
}

TEST(ExactProducts, SumsOfEightBitFloatsFitTheAccumulatorsOfFourteenBits) {
  const Exact e = exact_of(Number::fp8);
  const std::int64_t most = most_of(e.reach_x) * most_of(e.reach_y);
  EXPECT_LT(most * 512, 1 << 13);  // four times as many terms as any kernel adds up before it hands them on
  // And if it handed on nothing: a term has variance 25, and nine standard deviations stay below.
  EXPECT_LT(9 * 5 * std::sqrt(static_cast<double>(e.depth)), 1 << 13);
}

TEST(ExactProducts, ResultsOfFloatsAreOddAndSoNeverZero) {
  for (const Number n : kEvery) {
    if (n == Number::int8) continue;
    const Exact e = small(n);
    const Keys keys = keys_of(kSeed);
    for (std::uint32_t r = 0; r < e.rows; ++r) {
      for (const std::int64_t v : row_of(e, keys, r)) ASSERT_EQ(v & 1, 1);
    }
  }
}

TEST(ExactProducts, DataUseEveryValueOfTheirReach) {
  for (const Number n : kEvery) {
    const Exact e = exact_of(n);
    std::set<std::int32_t> seen;
    for (std::uint32_t g = 0; g < 2000; ++g) {
      const std::uint64_t bytes = group_of(keys_of(kSeed).y, 3, g);
      for (std::uint32_t j = 0; j < kGroup; ++j) seen.insert(member_of(e, Matrix::y, bytes, g, j));
    }
    EXPECT_EQ(seen.size(), e.reach_y == kAllBytes ? 256u : e.reach_y + 1);
    EXPECT_LE(*seen.rbegin(), most_of(e.reach_y));
    EXPECT_GE(*seen.begin(), -most_of(e.reach_y));
  }
}

TEST(Checksum, IsThatOfTheProductWithoutComputingIt) {
  for (const Number n : kEvery) {
    const Exact e = small(n);
    const Keys keys = keys_of(kSeed + 1);
    for (std::uint32_t r = 0; r < e.rows; ++r) {
      std::vector<std::uint32_t> row;
      for (const std::int64_t v : row_of(e, keys, r)) row.push_back(in_memory(n, v));
      EXPECT_FALSE(look_at(n, row, keys.weights, expected_of(e, keys, r)).bad()) << kNumberNames[static_cast<int>(n)] << " " << r;
    }
  }
}

TEST(Checksum, FindsEverySingleBitFlip) {
  for (const Number n : kEvery) {
    const Exact e = small(n);
    const Keys keys = keys_of(kSeed + 2);
    for (std::uint32_t r = 0; r < 4; ++r) {
      std::vector<std::uint32_t> row;
      for (const std::int64_t v : row_of(e, keys, r)) row.push_back(in_memory(n, v));
      const std::uint64_t expected = expected_of(e, keys, r);
      for (std::uint32_t c = 0; c < e.columns; ++c) {
        for (int bit = 0; bit < 32; ++bit) {
          row[c] ^= 1u << bit;
          ASSERT_TRUE(look_at(n, row, keys.weights, expected).bad()) << r << " " << c << " bit " << bit;
          ASSERT_FALSE(is_right(n, row[c], result_of(e, keys, r, c)));
          row[c] ^= 1u << bit;
        }
      }
    }
  }
}

TEST(Checksum, FindsAFlipInAnyResultThatAProductCanHave) {
  // Not the row but the value: whatever odd integer below 2^24 a bit is flipped in, another integer or none comes out.
  for (std::int64_t v = -kWhole + 1; v < kWhole; v += 2 * 997) {
    const std::uint32_t bits = in_memory(Number::bf16, v);
    for (int bit = 0; bit < 32; ++bit) {
      std::int32_t whole = 0;
      const bool is = is_whole(float_of(bits ^ 1u << bit), &whole);
      ASSERT_TRUE(!is || whole != v) << v << " bit " << bit;
    }
  }
}

TEST(Checksum, OfOneWrongResultIsNeverRightByChance) {
  // Weights are odd: times any difference below 2^32 they are not 0 modulo 2^64.
  for (std::uint32_t c = 0; c < 8192; ++c) ASSERT_EQ(weight_of(keys_of(kSeed).weights, c) & 1, 1);
  for (int shift = 0; shift < 32; ++shift) {
    for (std::uint32_t c = 0; c < 100; ++c)
      ASSERT_NE(static_cast<std::uint64_t>(weight_of(7, c)) * (std::uint64_t{1} << shift), 0u);
  }
}

TEST(Checksum, FindsWhatIsNoInteger) {
  std::int32_t whole = 0;
  const float limit = std::numeric_limits<float>::infinity();
  for (const float v : {std::nanf(""), limit, -limit, 0.5f, 1e-30f, 16777218.0f, -3e9f, 2147483648.0f})
    EXPECT_FALSE(is_whole(v, &whole)) << v;
  EXPECT_TRUE(is_whole(16777215.0f, &whole));
  EXPECT_EQ(whole, 16777215);
}

TEST(Checksum, FindsTwoResultsThatHaveChangedPlaces) {
  const Exact e = small(Number::bf16);
  const Keys keys = keys_of(kSeed + 3);
  std::vector<std::uint32_t> row;
  for (const std::int64_t v : row_of(e, keys, 5)) row.push_back(in_memory(Number::bf16, v));
  const std::uint64_t expected = expected_of(e, keys, 5);
  for (std::size_t c = 1; c < row.size(); ++c) {
    if (row[0] == row[c]) continue;
    std::swap(row[0], row[c]);
    EXPECT_TRUE(look_at(Number::bf16, row, keys.weights, expected).bad());
    std::swap(row[0], row[c]);
  }
}

TEST(Checksum, FindsARowThatIsAnother) {
  const Exact e = small(Number::int8);
  const Keys keys = keys_of(kSeed + 4);
  for (std::uint32_t r = 0; r + 1 < e.rows; ++r) {
    std::vector<std::uint32_t> row;
    for (const std::int64_t v : row_of(e, keys, r + 1)) row.push_back(in_memory(Number::int8, v));
    EXPECT_TRUE(look_at(Number::int8, row, keys.weights, expected_of(e, keys, r)).bad());
  }
}

TEST(Plants, AreReadAsTheyAreWritten) {
  Plant p;
  EXPECT_TRUE(parse_plant("", &p));
  EXPECT_EQ(p.fault, Fault::none);
  EXPECT_TRUE(parse_plant("slow_sm:12", &p));
  EXPECT_EQ(p.fault, Fault::slow_sm);
  EXPECT_EQ(p.count, 12u);
  for (const char* wrong :
       {"bit", "bit:", ":3", "bit:0", "bit:-1", "bit:1000001", "bit:99999999999999999999", "bits :3", "none:1", "bit:3x"})
    EXPECT_FALSE(parse_plant(wrong, &p)) << wrong;
}

TEST(Plants, InOneProductAreInDifferentRows) {
  for (const Fault f : {Fault::bit, Fault::bits, Fault::nan, Fault::repeat, Fault::row}) {
    for (std::uint32_t product = 0; product < 20; ++product) {
      std::set<std::uint32_t> rows;
      for (std::uint32_t i = 0; i < 4096; ++i) {
        const Flip flip = flip_of(f, kSeed, product, i, 8192, 8192);
        ASSERT_LT(flip.row, 8192u);
        ASSERT_LT(flip.column, 8192u);
        ASSERT_TRUE(f != Fault::row || flip.row % 2 == 0);
        rows.insert(flip.row);
      }
      ASSERT_EQ(rows.size(), 4096u);
    }
  }
}

TEST(Plants, AreOfTheirKind) {
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const std::uint32_t bit = flip_of(Fault::bit, kSeed, 1, i, 8192, 8192).mask,
                        bits = flip_of(Fault::bits, kSeed, 1, i, 8192, 8192).mask;
    ASSERT_TRUE(bit != 0 && (bit & (bit - 1)) == 0);
    ASSERT_TRUE((bits & (bits - 1)) != 0);
    ASSERT_TRUE(std::isnan(float_of(flip_of(Fault::nan, kSeed, 1, i, 8192, 8192).mask)));
  }
}

TEST(Plants, InMemoryAreInDifferentWords) {
  const std::uint64_t words = 37379637248;  // of a GPU with 149.5 GB
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const WordFlip f = word_flip_of(kSeed, i, 5000, words);
    ASSERT_LT(f.word, words);
    seen.insert(f.word);
  }
  EXPECT_EQ(seen.size(), 5000u);
  EXPECT_GT(*seen.rbegin(), words / 100 * 99);
}

TEST(Plants, InOneSweepAreInDifferentUnits) {
  for (const std::uint32_t sms : {1u, 6u, 108u, 132u, 148u}) {
    for (std::uint64_t sweep = 0; sweep < 10; ++sweep) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      for (std::uint32_t i = 0; i < sms * kUnits; ++i) {
        const Spot s = spot_of(kSeed, sweep, i, sms, kUnits);
        ASSERT_LT(s.sm, sms);
        ASSERT_LT(s.unit, static_cast<std::uint32_t>(kUnits));
        seen.insert({s.sm, s.unit});
      }
      ASSERT_EQ(seen.size(), sms * kUnits);
    }
  }
}

template <int kPattern>
void visit(std::uint64_t index, std::vector<Sixteen>* out) {
  out->push_back(pattern_of<kPattern>(index, kSeed));
  if constexpr (kPattern + 1 < kPatterns) visit<kPattern + 1>(index, out);
}

TEST(March, WritesEachBitAsBothAndUnlikeItsNeighbours) {
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{77}, std::uint64_t{9346654207}}) {
    std::vector<Sixteen> all;
    visit<0>(index, &all);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kPatterns));
    std::uint64_t zeros = 0, ones = 0, unlike = 0;
    for (const Sixteen& s : all) {
      zeros |= ~s.low & ~s.high;
      ones |= s.low & s.high;
      unlike |= s.low ^ s.low >> 1;
    }
    EXPECT_EQ(zeros, ~0ull);
    EXPECT_EQ(ones, ~0ull);
    EXPECT_EQ(unlike | 1ull << 63, ~0ull);
  }
}

TEST(March, TellsEachPlaceFromEveryOther) {
  std::set<std::uint64_t> addresses, random;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const std::uint64_t index = i * 93466;
    addresses.insert(pattern_of<2>(index, kSeed).low);
    addresses.insert(pattern_of<2>(index, kSeed).high);
    random.insert(pattern_of<6>(index, kSeed).low);
    ASSERT_NE(pattern_of<6>(index, kSeed).low, pattern_of<6>(index, kSeed + 1).low);
    ASSERT_EQ(pattern_of<2>(index, kSeed).low, ~pattern_of<3>(index, kSeed).low);
    ASSERT_EQ(pattern_of<4>(index, kSeed).high, ~pattern_of<5>(index, kSeed).high);
  }
  EXPECT_EQ(addresses.size(), 200000u);
  EXPECT_EQ(random.size(), 100000u);
}

TEST(Sweep, KnowsAnswersThatDependOnTheSeedAndOnEachUnit) {
  std::set<std::uint64_t> answers;
  for (const std::uint64_t seed : {kSeed, kSeed + 1}) {
    answers.insert(tensor_answer(seed));
    answers.insert(chains_answer<double, kFp64Steps>(seed, Unit::fp64));
    answers.insert(chains_answer<float, kFp32Steps>(seed, Unit::fp32));
    answers.insert(chains_answer<std::uint32_t, kIntSteps>(seed, Unit::integer));
    answers.insert(shared_answer(seed, 57344));
  }
  EXPECT_EQ(answers.size(), 10u);
}

// A lane's chains with one bit wrong in one value; -1: none.
template <class T, class Bits, int kSteps>
std::uint32_t chains_with(Unit unit, std::uint32_t lane, int wrong_step, int wrong_chain, int wrong_bit) {
  T x[kChains];
  for (std::uint32_t c = 0; c < kChains; ++c) begin(&x[c], start_of(kSeed, unit, lane, c));
  std::uint32_t hash = lane, sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int c = 0; c < kChains; ++c) {
      x[c] = next_of(x[c]);
      if (step == wrong_step && c == wrong_chain) {
        Bits bits;
        std::memcpy(&bits, &x[c], sizeof bits);
        bits ^= Bits{1} << wrong_bit;
        std::memcpy(&x[c], &bits, sizeof bits);
      }
      sum += bits_of(x[c]);
    }
    if (step % kHashEvery == kHashEvery - 1) hash = hashed(hash, sum), sum = 0;
  }
  return hash;
}

template <class T, class Bits>
void finds_every_bit(Unit unit) {
  constexpr int kSteps = 64;
  const std::uint32_t sound = chains_of<T, kSteps>(kSeed, unit, 5);
  ASSERT_EQ((chains_with<T, Bits, kSteps>(unit, 5, -1, 0, 0)), sound);
  for (int step = 0; step < kSteps; ++step) {
    for (int bit = 0; bit < static_cast<int>(8 * sizeof(Bits)); ++bit)
      ASSERT_NE((chains_with<T, Bits, kSteps>(unit, 5, step, step % kChains, bit)), sound) << "step " << step << ", bit " << bit;
  }
}

TEST(Sweep, FindsOneWrongBitInAnyStepOfAnyUnitThatTheHostCanRepeat) {
  finds_every_bit<float, std::uint32_t>(Unit::fp32);
  finds_every_bit<double, std::uint64_t>(Unit::fp64);
  finds_every_bit<std::uint32_t, std::uint32_t>(Unit::integer);
}

TEST(Sweep, ChainsStayInTheirRangeAndNeverSettle) {
  float x = static_cast<float>(fraction_of(start_of(kSeed, Unit::fp32, 3, 1)));
  std::set<float> seen;
  for (int i = 0; i < 2000; ++i) {
    x = next_of(x);
    ASSERT_LE(std::fabs(x), 1.0f);
    seen.insert(x);
  }
  EXPECT_GT(seen.size(), 500u);
}

TEST(Sweep, SumsOfTilesAreExact) {
  // 16 products of at most 9 in each step.
  EXPECT_LT(std::int64_t{kTensorSteps} * 16 * 9, std::int64_t{kWhole});
}

}  // namespace
}  // namespace muster_accept
