// What is made of a judged recording of acceptance, whoever measured it: text, JSON, a page, what a vendor asks for.
#pragma once
#include <string>

#include "accept/judge.h"
#include "accept_options.h"
#include "base/result.h"
#include "model/gpu_model.h"

namespace muster::cmd {

struct Judged {
  const Acceptance& recording;
  const accept::Judgement& judgement;
  const accept::Limits& limits;
};

struct ShownAs {
  AcceptFormat format = AcceptFormat::text;
  std::string html, rma;  // file, folder; empty: none
};

Result<void> show_accepted(const Judged& j, const ShownAs& as);
// 0 for a pass, 6 where something was found, 5 where it could not be said.
int exit_code_of(accept::Verdict v);
// The GPU of the data sheets that a driver calls so; nullptr: none.
const GpuModel* sheet_of(const Acceptance& a);

}  // namespace muster::cmd
