// A network whose watch told how often it reads it, and is heard no more: faults that come now are not seen, and those that stand
// are not ended. One finding of the site; nothing is done to any node.
#pragma once
#include <map>
#include <string>

#include "detect/sign.h"

namespace muster::detect {

class FabricSilence {
 public:
  void take_over(const Finding& f);
  // `mono` is the time of the turn that brought the word.
  void on_heard(const FabricHeard& h, Time mono, Signs& out);
  void on_turn(Time utc, Time mono, Signs& out);
  // When it has to look again, mono.
  Time next() const;

 private:
  struct Network {
    Duration every;
    Time heard;         // mono
    bool said = false;  // that it is silent
  };
  std::map<std::string, Network, std::less<>> networks_;  // whose next word is awaited, by name
};

}  // namespace muster::detect
