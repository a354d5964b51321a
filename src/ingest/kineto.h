// PyTorch's profiles (Kineto's JSON, of every generation, of NVIDIA and AMD), piece by piece: a trace of 20 GB is read in the
// memory that its GPU events need. Times are taken from their decimal text, to the nanosecond.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace muster {

constexpr std::size_t kKinetoEventBytesMax = std::size_t{64} << 20;

// Whether text begins as such a profile does: an object with one of its keys, or an array of events.
bool looks_like_kineto(std::string_view text);

class KinetoReader {
 public:
  // Kernels whose name has one of `exchanges` in it move data between GPUs, beside those that are known to.
  explicit KinetoReader(std::vector<std::string> exchanges = {});
  ~KinetoReader();
  KinetoReader(KinetoReader&&) noexcept;
  KinetoReader& operator=(KinetoReader&&) noexcept;

  // Pieces of any size, in order. After an error no more may be fed.
  Result<void> feed(std::string_view text);
  // A file that ends in the middle is a trace with `cut` set; one without events is an error.
  Result<Trace> finish();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

}  // namespace muster
