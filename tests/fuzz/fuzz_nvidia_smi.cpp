// nvidia-smi's XML: whatever comes in, all that is kept is bounded, printable and finite; samples are about slots the node has
// and within their ranges; an XML that is broken says where.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/cluster_file.h"
#include "ingest/nvidia_smi.h"

namespace {
using muster::fuzz::expect;

void expect_text(const std::string& s) {
  expect(s.size() <= 8 * muster::kSmiTextMax && muster::printable(s) == s, "texts are short and printable");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static const Site site = *plain_cluster(16);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const NvidiaSmi smi = parse_nvidia_smi(text);
  expect(smi.gpus.size() <= kSmiGpusMax && smi.problems.size() <= kSmiProblemsMax, "lists are bounded");
  expect(smi.complete == smi.broken.empty(), "what is not complete says why");
  expect(smi.complete || smi.broken.rfind("line ", 0) == 0, "and where");
  expect_text(smi.driver);
  expect_text(smi.cuda);
  for (const SmiProblem& p : smi.problems) expect_text(p.text);
  for (const SmiGpu& g : smi.gpus) {
    expect(g.processes.size() <= kSmiProcessesMax && g.mig.size() <= kSmiMigMax, "lists of a GPU are bounded");
    for (const auto* s :
         {&g.product, &g.serial, &g.uuid, &g.vbios, &g.pci, &g.fabric_state, &g.fabric_status, &g.unreadable_text})
      expect_text(*s);
    for (const SmiProcess& p : g.processes) expect_text(p.name), expect_text(p.type);
    expect((g.unreadable == 0) == g.unreadable_text.empty(), "who could not be read says in which words");
  }
  std::vector<Sample> out;
  append_samples(smi, NodeId{1}, Time{7}, site, out);
  expect(out.size() <= smi.gpus.size() * 64, "few samples a GPU");
  for (const Sample& s : out) {
    expect(s.node == NodeId{1} && s.at == Time{7} && s.slot >= 0 && s.slot < 8,
           "node and time are the reader's, the slot exists");
    expect(std::isfinite(s.value), "values are finite");
  }
  return 0;
}
