// One wish turned into the change that a tool makes, or the reason why a person has to.
#pragma once
#include "base/result.h"
#include "fleet/repair.h"

namespace muster::fleet {

// Letters, digits and what settings are made of: nothing that a shell, YAML, Terraform or a template would take for its own.
bool plain_value(std::string_view text);
// What a host, interface, argument or unit may be called.
bool plain_name(std::string_view text);
// A name that stands for a group in an inventory, or for the machine that Ansible runs on.
bool taken_name(std::string_view text);
// By the os.id fact.
bool rules_by_rpm(std::string_view os);
// `r` is of a kind that a tool can do. An error's text is for the person.
Result<Change> change_of(const Wish& w, const Remedy& r,
                         const std::function<std::string(std::uint32_t, std::string_view)>& known);

}  // namespace muster::fleet
