// Runbooks as YAML: in files of their own, or within a policy. docs/formats/runbook.md is the format's page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "ingest/form.h"
#include "model/runbook.h"

namespace muster {

// A runbook with its words for people.
struct RunbookText {
  Runbook book;
  std::string title;
  std::string why;     // these steps in this order
  std::string source;  // who says so
};

// What a mapping `runbooks: {NAME: {...}}` says, on top of `all`: what it does not mention stays. Errors go to `outer`.
void read_runbooks(Form& outer, const Value& mapping, std::string_view file, std::vector<RunbookText>& all);
// A file that has nothing but such a mapping.
Result<std::vector<RunbookText>> parse_runbooks(std::string_view text, std::string_view file, std::vector<RunbookText> all = {});
// Those in force under a policy file, which may have other things too: the shipped ones with what it changes of them.
Result<std::vector<RunbookText>> runbooks_of_policy(std::string_view text, std::string_view file);
// Those of data/runbooks.
const std::vector<RunbookText>& shipped_runbooks();

std::vector<Runbook> without_words(const std::vector<RunbookText>& all);

}  // namespace muster
