// Memory that a process has and does not need. NVIDIA's library leaves megabytes of pages that it wrote nothing but zeros to. The
// kernel can have those back: a page of private memory that is given back reads as zeros again.
#pragma once
#include <cstddef>

namespace muster::agent {

// Returns how many bytes were given back. Call while the process has one thread: nobody may write meanwhile.
std::size_t release_zero_pages();

// Lets go of code that has run and of tables that were read: what is needed again comes back from the file's cache. Most of what
// libraries need at their start is never needed again. May be called at any time.
void release_code();

}  // namespace muster::agent
