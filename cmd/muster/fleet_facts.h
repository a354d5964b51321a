// The facts that a command of muster fleet works on, from whatever holds them.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet_options.h"
#include "model/fact_table.h"

namespace muster::cmd {

// From files and folders (ours, of ansible -m setup, of nvidia-smi -q) and --set. A node of which two files say different things
// has what the later one says. A bad file of a folder is named on stderr and left out; one that is named itself is an error.
Result<FactTable> load_facts(const FactsChoice& choice, bool may_be_empty = false);
// The same for a gate, where of several lines of one node the newest alone counts: what it was before it was installed again says
// nothing of it. `another`: when it was last told of under another installation or boot; 0: never.
Result<FactTable> load_facts_newest(const FactsChoice& choice, const std::string& node, Time& another);
// --set of its nodes: "KEY=VALUE" of all, "NODES:KEY=VALUE", "PART:KEY=VALUE" (gpu0) of all that have it, "NODES:PART:KEY=VALUE".
// Nothing behind the =: absent.
Result<void> set_facts(const std::vector<std::string>& set, FactTable& table);
// What a command ends with that would end with `code`: where files were left out, all is not well.
int facts_exit(int code);
std::string host_name();

}  // namespace muster::cmd
