// What a common cause is called that has struck nearly all nodes of a site: it explains what is wrong with each of them, and is
// no reason to start elsewhere, for there is no elsewhere.
#pragma once
#include <string_view>

namespace muster {

constexpr std::string_view kWholeSiteSubject = "the whole site: nearly all of its nodes have it";

}  // namespace muster
