#include "model/acceptance.h"

#include <utility>

namespace muster {
namespace {

struct Adder {
  Acceptance& a;
  void operator()(accepting::Suite&& r) const { a.suite = std::move(r); }
  void operator()(accepting::Host&& r) const { a.host = std::move(r); }
  void operator()(accepting::Gpu&& r) const { a.gpus.push_back(std::move(r)); }
  void operator()(accepting::Ran&& r) const { a.ran.push_back(std::move(r)); }
  void operator()(accepting::Measured&& r) const { a.measured.push_back(std::move(r)); }
  void operator()(accepting::Wrong&& r) const { a.wrong.push_back(std::move(r)); }
  void operator()(accepting::Counter&& r) const { a.counters.push_back(std::move(r)); }
  void operator()(accepting::Reading&& r) const { a.readings.push_back(r); }
  void operator()(accepting::KernelWord&& r) const { a.kernel.push_back(std::move(r)); }
  void operator()(accepting::End&& r) const { a.end.push_back(r); }
};

}  // namespace

void Acceptance::add(accepting::Row row) { std::visit(Adder{*this}, std::move(row)); }

}  // namespace muster
