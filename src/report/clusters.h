// Designs of whole clusters: compared, in words, and as files that other programs take.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/value.h"
#include "design/cluster.h"
#include "report/table.h"

namespace muster::report {

Table cluster_table(std::span<const design::ClusterDesign> designs);
// What one consists of, line by line.
std::vector<std::string> say_cluster(const design::ClusterDesign& d, double years);
// All of them for programs, with what each consists of in words. `front`: no other costs less in all its years and is faster too,
// by the days of the run or, where there is none, by what its GPUs compute at best. `best`: as the table has it.
Value clusters_value(const design::ClusterDesigns& found, double years);
// A cluster file that the twin runs as it is.
std::string render_cluster_file(const design::ClusterDesign& d);

}  // namespace muster::report
