// The shape of a transformer from the files that people train with: a Hugging Face config.json, or Megatron-LM's arguments.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/transformer.h"

namespace muster {

// JSON is a config.json (of a model with text and more: its text part); everything else is looked through for Megatron's
// arguments, so a launch script will do. Errors begin with `where` and say what is missing or cannot be.
Result<Transformer> parse_model_config(std::string_view text, std::string_view where);

}  // namespace muster
