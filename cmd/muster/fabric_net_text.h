// A network as a file or a program tells of it: in ibnetdiscover's words, or in LLDP's, which are an Ethernet network's.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/fabric_survey.h"

namespace muster::cmd {

struct NetText {
  FabricSurvey survey;
  bool ethernet = false;  // by LLDP
};

// `from`: the file or the program that it is from.
Result<NetText> net_in(std::string_view text, const std::string& from);
Result<Fabric> lldp_in(std::string_view text, const std::string& from);

// Where LLDP was asked of hosts alone, nothing is known of cables between switches: the design is left with what hosts see.
// False where nothing had to go.
bool leave_out_trunks(Fabric& design, const Fabric& found);
constexpr std::string_view kTrunksNotJudged =
    "only hosts tell of their neighbours: cables between switches are not judged; add what lldpctl prints on the switches";

}  // namespace muster::cmd
