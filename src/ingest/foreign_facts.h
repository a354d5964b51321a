// Facts of nodes as other programs tell them: `ansible -m setup` and `nvidia-smi -q`, with and without -x.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/fact_table.h"

namespace muster {

// Facts of any form we read, recognised by what the text begins with. `file` names the node where the text does not: gpu001 for
// out/gpu001.xml. Errors name the file, and then nothing of it is in the table. The result is that of read_facts.
Result<std::string> read_any_facts(std::string_view text, const std::string& file, FactTable& into);

}  // namespace muster
