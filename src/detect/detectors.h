// Detectors: all of them together, and the merging of their signs into findings.
#pragma once
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "detect/clocks.h"
#include "detect/collectives.h"
#include "detect/drift.h"
#include "detect/driver.h"
#include "detect/ecc.h"
#include "detect/fabric_said.h"
#include "detect/fabric_silence.h"
#include "detect/gauges.h"
#include "detect/heat_row.h"
#include "detect/host.h"
#include "detect/infiniband.h"
#include "detect/jobs.h"
#include "detect/leaf_hangs.h"
#include "detect/links.h"
#include "detect/nvlink.h"
#include "detect/outbreaks.h"
#include "detect/pcie.h"
#include "detect/sdc.h"
#include "detect/silence.h"
#include "detect/slow.h"
#include "detect/surroundings.h"
#include "detect/thermal.h"
#include "detect/trend.h"
#include "detect/visible.h"
#include "detect/xid.h"
#include "model/event.h"

namespace muster::detect {

class Detectors {
 public:
  // `s` must have its site. Open findings of a state that was restored are taken over.
  explicit Detectors(const State& s);

  // Everything that came in with one turn, at utc/mono. `events` are the engine's, not yet folded into `s`. Returns
  // FindingOpened, FindingGrew and FindingCleared bodies in a fixed order.
  std::vector<Body> look(std::span<const Sample> samples, std::span<const KernelRecord> kernel, std::span<const StepReport> steps,
                         std::span<const Body> events, const State& s, Time utc, Time mono,
                         std::span<const JobLogRecord> logs = {}, std::span<const FabricHeard> heard = {});
  // When a detector has to look again even if nothing comes in, mono.
  Time next(const State& s) const;

 private:
  using Key = std::tuple<FindingKind, NodeId, std::int16_t, JobId, std::string>;  // the last: the subject
  struct Open {
    FindingId id;
    std::uint32_t witnesses = 0;  // bit set
    std::uint32_t signs = 0;
    Time last;  // mono, of the newest sign
  };
  void on_sample(const Sample& m, const State& s, Time mono);
  void on_log(const JobLogRecord& r, const State& s, Time mono);
  void forget_strangers(Time mono);
  void name_strangers();
  // Signs that another finding explains.
  void drop_explained(const State& s);
  void let_pass(Time mono);
  void end(const Relief& r, const State& s, std::vector<Body>& out);
  void merge(const Sign& sign, const State& s, Time utc, Time mono, std::uint64_t& next_id, std::vector<Body>& out);

  Gauges gauges_;
  Visible visible_;
  Ecc ecc_;
  Pcie pcie_;
  Nvlink nvlink_;
  Infiniband infiniband_;
  Thermal thermal_;
  Clocks clocks_;
  Trend trend_;
  Driver driver_;
  Host host_;
  Drift drift_;
  Xids xids_;
  Collectives collectives_;
  Sdc sdc_;
  HeatRow heat_;
  Silence silence_;
  Links links_;
  Slow slow_;
  Jobs jobs_;
  LeafHangs leaf_hangs_;
  FabricFaults fabric_;
  FabricSilence fabric_silence_;
  Outbreaks outbreaks_;
  Surroundings surroundings_;
  Signs signs_;
  std::deque<std::pair<Time, Key>> passing_;  // findings that nothing ever clears, with the mono time of their last sign
  std::map<Key, Open> open_;
  struct Stranger {
    JobId job;
    Time heard;  // mono
  };
  std::map<std::string, Stranger, std::less<>> strangers_;  // jobs that the state does not know, by label
  std::map<std::uint32_t, std::string> labels_;             // the same, by number
  std::uint32_t next_stranger_ = 0;
};

}  // namespace muster::detect
