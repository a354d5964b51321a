// NVIDIA's library leaves megabytes of pages that it wrote nothing but zeros to. The kernel can have those back: a page of
// private memory that is given back reads as zeros again.
#pragma once
#include <cstddef>

namespace muster::agent {

// Returns how many bytes were given back. Call while the process has one thread: nobody may write meanwhile.
std::size_t release_zero_pages();

}  // namespace muster::agent
