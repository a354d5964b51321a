#include "predict/nccl_cost.h"

#include <gtest/gtest.h>

namespace muster::predict {
namespace {

// As NCCL 2.28 printed them for four nodes over a slow network.
const std::vector<NcclBelief> kBeliefs = {
    {Collective::all_reduce, NcclAlgorithm::tree, NcclProtocol::ll, 26.8, 0.1},
    {Collective::all_reduce, NcclAlgorithm::tree, NcclProtocol::simple, 64.4, 0.5},
    {Collective::all_reduce, NcclAlgorithm::ring, NcclProtocol::ll, 36.6, 0.4},
    {Collective::all_reduce, NcclAlgorithm::ring, NcclProtocol::ll128, 65.0, 0.0},
    {Collective::all_reduce, NcclAlgorithm::ring, NcclProtocol::simple, 92.4, 0.8},
};
constexpr NcclShape kFour{4, 4, 2};

TEST(NcclCost, AStartAndARate) {
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[2], kFour, 4000), 36.6 + 10, 1e-9);
  EXPECT_FALSE(nccl_reckons_us(kBeliefs[3], kFour, 4000));
}

TEST(NcclCost, TreesAreCorrectedBySize) {
  // 64 KiB is 2^10 times 64 bytes: 0.6 of the rate.
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[1], kFour, 65536), 64.4 + 65536 / (1000 * 0.5 * 0.6), 1e-9);
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[1], kFour, 32), 64.4 + 32 / (1000 * 0.5), 1e-9);
}

TEST(NcclCost, RingsOverNodesHaveAPlateau) {
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[4], kFour, 8000), 92.4 * 1.4 + 10, 1e-9);
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[4], {1, 4, 2}, 8000), 92.4 + 10, 1e-9);
  EXPECT_NEAR(*nccl_reckons_us(kBeliefs[4], kFour, 80), 92.4 + 0.1, 1e-9);
}

TEST(NcclCost, ItsChoiceIsWorkedOutAgain) {
  EXPECT_EQ(nccl_takes(kBeliefs, Collective::all_reduce, kFour, 256)->algorithm, NcclAlgorithm::tree);
  EXPECT_EQ(nccl_takes(kBeliefs, Collective::all_reduce, kFour, 16384)->protocol, NcclProtocol::ll);
  EXPECT_EQ(nccl_takes(kBeliefs, Collective::all_reduce, kFour, 1 << 26)->protocol, NcclProtocol::simple);
  EXPECT_FALSE(nccl_takes(kBeliefs, Collective::broadcast, kFour, 256));
}

}  // namespace
}  // namespace muster::predict
