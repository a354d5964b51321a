// Cables: which port of which switch each NIC is wired to, as a cluster file has it: listed in it, or in tables (CSV) of a site's
// cabling plan that it names. docs/formats/cluster.md is the format's page.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ingest/form.h"
#include "model/site.h"

namespace muster {

constexpr std::size_t kCablesMax = 1'048'576;

// The text of a file that the cluster file names: this room opens none itself.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

struct CableCounts {
  std::size_t read = 0;
  std::size_t of_no_gpu = 0;  // among them those of NICs that belong to no GPU: checked, and left aside
};

// Reads the key `cables` of a cluster file whose nodes are known. What is wrong is an error of the form, with the file and line
// where it stands.
void read_cables(Form& form, std::string_view file, const ReadText& read, Site& site, CableCounts& counts);

}  // namespace muster
