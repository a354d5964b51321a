// What a vendor's support desk asks for when a board is returned, as the files of one folder.
#pragma once
#include <string>
#include <vector>

#include "report/accept_parts.h"

namespace muster::report {

struct BundleFile {
  std::string name;  // ours, never of a recording
  std::string text;
};

// summary.txt, report.html, troubles.csv and recording.jsonl. `recording`: the bytes it was read from; empty: they are written
// anew from its rows.
std::vector<BundleFile> accept_bundle(const AcceptedNode& node, std::string recording);
// A folder's name that any file system takes: "rma-gpu0001-20261026T073420Z". Names of nodes are untrusted: what is left of them
// are letters, digits, '-' and '_'.
std::string bundle_folder(const Acceptance& a);

}  // namespace muster::report
