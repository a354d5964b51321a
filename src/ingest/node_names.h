// Which node of the cluster a name in a target, a label or a page means.
#pragma once
#include <map>
#include <string_view>

#include "model/site.h"

namespace muster {

class NodeNames {
 public:
  explicit NodeNames(const Site& site);  // must outlive this
  // "node0001", "node0001:9400", "node0001.example.org:9400"; none for what is no node's name.
  NodeId find(std::string_view host) const;

 private:
  std::map<std::string_view, NodeId> names_;
};

// The value of the first label Hostname or hostname (dcgm-exporter's two spellings) in a scrape; empty: there is none.
std::string_view hostname_in(std::string_view page);

}  // namespace muster
