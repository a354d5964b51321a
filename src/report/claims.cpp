#include "report/claims.h"

#include "model/fields.h"

namespace muster::report {

Table claims_table(std::span<const design::Claim> claims) {
  Table t;
  t.columns = {{"ID"}, {"VERDICT"}, {"CLAIM"}, {"FIGURE"}, {"BECAUSE", false, true}};
  for (const design::Claim& c : claims) {
    const Tone tone = c.verdict == design::Verdict::refuted        ? Tone::bad
                      : c.verdict == design::Verdict::not_measured ? Tone::dim
                                                                   : Tone::good;
    t.rows.push_back({Cell(c.id), Cell(std::string(name_of(c.verdict)), tone), Cell(c.claim), Cell(c.figure), Cell(c.because)});
  }
  return t;
}

}  // namespace muster::report
