// Exact products, one after the other, and the check of each while the next ones run: results go to three places in turn, so that
// the check of one need not be done before the product after next wants to begin.
#pragma once
#include "clocks.cuh"
#include "exact_data.cuh"
#include "matmul.cuh"

namespace muster_accept {

// Where checks run. Behind: on a stream that comes last, in the SMs that the last tiles of a product leave idle.
enum class Way : std::uint8_t { serial, beside, behind };
constexpr const char* kWayNames[] = {"serial", "beside", "behind"};
constexpr Way kWay = Way::behind;

// Alters results between the product and its check.
class Planter {
 public:
  Planter(Run& run, Fault fault, const Exact& kind);
  // Those of a product, `count` of them; to be called before it is launched, and no product with others may be under way.
  void plan(std::uint32_t product, std::uint32_t count);
  void launch(void* results, cudaStream_t stream) const;
  const std::vector<Flip>& flips() const { return flips_; }

 private:
  Run& run_;
  const Fault fault_;
  const Exact kind_;
  std::vector<Flip> flips_;
  Memory<Flip> there_;
};

class Pipeline {
 public:
  Pipeline(Run& run, Number number, Way way = kWay);

  // New data; then, the first time, the algorithm is chosen.
  void prepare(std::uint64_t seed);
  // Puts a product on its stream, and its check with it. `planter`: may be null.
  void verified(const Planter* planter = nullptr);
  void unchecked();
  // The products' stream goes on only when all checks are done.
  void join();
  // Keeps the GPU busy with nothing for so long, before the next product.
  void idle(double idle_s);
  // All that was found since the last call; waits for what is under way. Throws if not every row that should have been checked
  // was.
  Checked collect(std::size_t closer = kWrongMax);

  cudaStream_t stream() const { return products_; }
  const Matmul& matmul() const { return matmul_; }
  const Exact& kind() const { return data_.kind; }
  Number number() const { return data_.kind.number; }
  std::uint32_t next() const { return next_; }
  // What cuBLASLt proposes for them, timed.
  std::vector<Choice> compared() { return matmul_.compared(data_.x(), data_.y(), places_[0].data(), products_); }
  // How many products take so long, one at least.
  std::uint32_t products_in(double duration_s) const;

 private:
  static constexpr std::uint32_t kPlaces = 3;

  Run& run_;
  Stream products_, checks_;
  ExactData data_;
  Matmul matmul_;
  std::vector<Memory<unsigned char>> places_;
  std::vector<Event> done_, checked_;
  Way way_;
  std::uint32_t next_ = 0, checks_asked_ = 0;
};

}  // namespace muster_accept
