// Exports of Nsight Systems: any SQLite database gives bounded traces or an error, and stays as it was.
#include <unistd.h>

#include <cstdlib>

#include "adapters/sqlite/nsys_file.h"
#include "check.h"

namespace {

// SQLite opens files by name: one in memory, written anew for each input.
struct File {
  std::string path = "/dev/shm/muster_fuzz_nsys_XXXXXX";
  int fd = ::mkstemp(path.data());
  ~File() {
    ::close(fd);
    ::unlink(path.c_str());
  }
};

void check(const muster::Trace& t) {
  using muster::kNone;
  using muster::fuzz::expect;
  for (const muster::GpuEvent& e : t.gpu) {
    expect(e.name < t.names.size(), "an event has a name");
    expect(e.span.length() >= 0, "no event ends before it begins");
    const std::size_t details = e.work == muster::GpuWork::communication ? t.exchanges.size() : t.launches.size();
    expect(e.detail == kNone || e.detail < details, "details are there");
    expect(e.external == kNone || e.external < t.ops.size(), "operators are there");
  }
  for (const muster::RuntimeCall& c : t.calls)
    expect(c.name < t.names.size() && c.thread < t.threads.size(), "a call has a name and a thread");
  for (const auto* marks : {&t.steps, &t.marks}) {
    for (const muster::Mark& m : *marks)
      expect(m.name < t.names.size() && m.thread < t.threads.size(), "a mark has a name and a thread");
  }
  for (const muster::HostOp& o : t.ops) {
    expect(o.name < t.names.size() && o.thread < t.threads.size(), "an operator has a name and a thread");
    expect(o.inputs == kNone || o.inputs < t.inputs.size(), "inputs are there");
  }
  expect(t.gpus.size() == t.units.size(), "each GPU has its units");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  muster::fuzz::expect(file.fd >= 0, "there is a file to write to");
  if (::ftruncate(file.fd, 0) != 0 || ::pwrite(file.fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  muster::sqlite::looks_like_sqlite({reinterpret_cast<const char*>(data), size});
  const auto all = muster::sqlite::read_nsys_file(file.path);
  if (!all) return 0;
  muster::fuzz::expect(!all->empty(), "there is a trace, or an error");
  for (const muster::Trace& t : *all) check(t);
  return 0;
}
