// What the kernel says of the GPUs while they are tested. Where its log may not be read (it needs CAP_SYSLOG on most nodes), the
// Xids that NVML tells take its place.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "adapters/agent/kernel_source.h"
#include "ingest/pci.h"
#include "model/acceptance.h"

namespace muster::bench {

class KernelWords {
 public:
  // `all`: every GPU of the node by its address; words of those not in `tested` are somebody else's.
  KernelWords(const std::string& path, std::map<PciAddress, int> all, std::vector<int> tested);

  const std::string& unreadable() const { return unreadable_; }  // why; empty: it is read
  int fd() const { return source_ ? source_->wake_fd() : -1; }
  // What came since the last time, at most so many records.
  void read(double at_s, const std::function<void(accepting::KernelWord)>& sink);
  std::uint64_t left_out() const { return left_out_; }  // words beyond kWordsMax

  static constexpr std::uint64_t kWordsMax = 1000;

 private:
  void record(std::string_view bytes, double at_s, const std::function<void(accepting::KernelWord)>& sink);

  std::unique_ptr<agent::KernelSource> source_;
  std::map<PciAddress, int> all_;
  std::vector<int> tested_;
  std::string unreadable_;
  std::uint64_t words_ = 0, left_out_ = 0;
};

}  // namespace muster::bench
