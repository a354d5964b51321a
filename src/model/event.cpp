// What every file that handles events would compile for itself otherwise.
#include "model/event.h"

namespace muster {

Body::Body() = default;
Body::Body(const Body&) = default;
Body::Body(Body&&) noexcept = default;
Body& Body::operator=(const Body&) = default;
Body& Body::operator=(Body&&) noexcept = default;
Body::~Body() = default;

}  // namespace muster
