// The process in which the tests of a GPU run: it alone loads the library of the tests and touches CUDA.
#pragma once
#include <atomic>
#include <string>
#include <vector>

namespace muster::bench {

struct WorkerSetup {
  std::string library;                    // of the tests; empty: where it is installed
  std::string device;                     // that the library opens: a UUID, or a PCI address
  std::string visible;                    // UUIDs of all GPUs that CUDA is to see; empty: whatever it sees
  std::string near_pci;                   // of the GPU beside whose processors it runs; empty: of none
  const std::atomic<int>* stop = nullptr; // shared with the bench: not 0 asks to come back at once
};

// Takes orders until it is told to end, or nobody is there to tell.
[[noreturn]] void work(int socket, const WorkerSetup& setup);

// Where the library is looked for, in this order; the last is left to the loader.
std::vector<std::string> library_places(const std::string& named, const std::string& program);

}  // namespace muster::bench
