// The site that a person names for muster cost, changed as they ask.
#pragma once
#include "base/result.h"
#include "cost_options.h"
#include "model/cost_site.h"

namespace muster::cmd {

// One that ships, or a file.
Result<CostSite> named_site(const std::string& name);
// With what --set says.
Result<CostSite> chosen_site(const SiteChoice& choice);

}  // namespace muster::cmd
