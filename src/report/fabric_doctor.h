// What the doctor of fabrics found, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "diagnose/fabric_doctor.h"

namespace muster::report {

std::vector<std::string> say_examination(const diagnose::Examination& found);
std::string examination_json(const diagnose::Examination& found);

}  // namespace muster::report
