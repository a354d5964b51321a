// The trial of acceptance in words and as JSON.
#pragma once
#include <string>

#include "trial/accept_trial.h"

namespace muster::trial {

std::string render_accept_trial(const AcceptTrial& t);
std::string accept_trial_json(const AcceptTrial& t);

}  // namespace muster::trial
