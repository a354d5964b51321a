// `muster design cluster` as a question with an answer: what the command line prints and what the page draws are the same.
#pragma once
#include "base/result.h"
#include "design/cluster.h"
#include "options.h"

namespace muster::cmd {

struct DesignAnswer {
  design::ClusterAsk ask;
  design::ClusterDesigns found;
};
Result<DesignAnswer> ask_designs(const DesignClusterOptions& options, design::GiveUp give_up = {});

}  // namespace muster::cmd
