// Loop: one controller over one cluster. Whoever owns it calls turn() until it says stop; everything else is behind the ports.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "control/books.h"
#include "ports/actuator.h"
#include "ports/clock.h"
#include "ports/journal.h"
#include "ports/observatory.h"

namespace muster::detect {
class Detectors;
}

namespace muster::control {

class Judge;

struct LoopConfig {
  Site site;
  Policy policy;
  std::string journal_id;  // for a new journal; an old one keeps its own
  std::string simulation;  // what a simulated cluster says of itself, for the record; empty: a real one
  std::uint64_t snapshot_every = 20'000;  // events; 0: never
  Duration turn_max = seconds(30);        // a turn at least this often
  std::function<Result<Value>(std::string_view)> parse_json;  // reads snapshots; needed only with a journal that has any
};

struct Turn {
  std::uint64_t seq = 0;  // of the last event
  Now now;
  std::uint64_t samples = 0;
  std::uint64_t events = 0;  // journaled in this turn
  Time wake_at;              // steady: nothing to do before, unless something comes in
};

class Loop {
 public:
  // Takes over what the journal holds, or begins a new one, and marks the start of this run in it.
  static Result<std::unique_ptr<Loop>> start(Clock&, Observatory&, Actuator&, Journal&, LoopConfig);
  // Goes on from given books over a twin of that cluster, in a new journal: what would have happened.
  static Result<std::unique_ptr<Loop>> fork(Clock&, Observatory&, Actuator&, Journal&, LoopConfig, Books);

  ~Loop();

  // An error is final: the journal could not be written, and nothing may be done any more.
  Result<Turn> turn();
  // A last snapshot, for a quick start next time.
  Result<void> stop();

  const State& state() const { return books_.state; }
  const Accounts& accounts() const { return books_.accounts; }
  const Inbox& inbox() const { return inbox_; }  // what the last turn was given
  // Called with every event once it is durable and folded.
  std::function<void(const Event&)> on_event;

 private:
  Loop(Clock&, Observatory&, Actuator&, Journal&, LoopConfig);
  Result<void> begin();
  Result<void> append(const std::vector<Event>& events);
  std::vector<Event> take_in(const Now& now);
  bool answer_repeat(const CommandGiven& c, Arrival& a);
  Result<void> carry_out(const std::vector<Event>& decided);
  void inquire();
  Time next_inquiry();  // mono; when an order without an outcome is to be asked about, even if nothing happens
  Result<void> snapshot();
  Time wake_at(const Now& now, bool busy) const;

  Clock& clock_;
  Observatory& observatory_;
  Actuator& actuator_;
  Journal& journal_;
  LoopConfig config_;
  Books books_;
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<detect::Detectors> detectors_;
  Inbox inbox_;
  std::vector<Arrival> late_;                 // outcomes of submissions that failed at once
  std::map<std::string, Time> inquired_;      // key -> mono of the last inquiry
  static constexpr std::uint64_t kNoSeq = UINT64_MAX;
  std::uint64_t inquiry_seq_ = kNoSeq;        // of the state for which inquiry_at_ was worked out
  Time inquiry_at_;
  std::vector<std::size_t> acks_;             // of inbox_.events: those in the batch, in order
  std::uint64_t snapshot_seq_ = 0;
};

}  // namespace muster::control
