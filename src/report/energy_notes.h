// What a reader of an energy report must know before the figures are used: what was wrong with the readings, what is assumed.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "report/energy.h"

namespace muster::report {

std::vector<std::string> energy_notes(const EnergyReport& r, const EnergyRow& all);
// Peaks, gaps and how the ways to measure agree, as members of an object under way.
void write_energy_details(JsonWriter& w, const EnergyReport& r);
// By how much the samples differ from the counters, of all meters together; nothing where there are not both.
std::optional<double> disagreement(const account::EnergyBooks& books);

}  // namespace muster::report
