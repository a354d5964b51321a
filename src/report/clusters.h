// Designs of whole clusters: compared, in words, and as files that other programs take.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "design/cluster.h"
#include "report/table.h"

namespace muster::report {

Table cluster_table(std::span<const design::ClusterDesign> designs);
// What one consists of, line by line.
std::vector<std::string> say_cluster(const design::ClusterDesign& d, double years);
// A cluster file that the twin runs as it is.
std::string render_cluster_file(const design::ClusterDesign& d);

}  // namespace muster::report
