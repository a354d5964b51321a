#include "model/state.h"
namespace muster { void fold(State&, const Event&) {} void refresh(State&) {} void settle(State&) {} bool decided(const Body&){return false;} }
