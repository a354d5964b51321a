#include "model/action.h"

namespace muster {

bool destroys_work(Verb v) {
  return v == Verb::requeue_job || v == Verb::restart_job || v == Verb::reset_gpu || v == Verb::reboot_node ||
         v == Verb::power_cycle_node || v == Verb::replace_node || v == Verb::reload_driver || v == Verb::bounce_link;
}

bool harmful(Verb v) { return v == Verb::drain_node || destroys_work(v); }

bool on_node(Verb v) {
  return v >= Verb::drain_node && v != Verb::restart_job && v != Verb::limit_power && v != Verb::pace_job;
}

}  // namespace muster
