// Switches that decide about communication, from each framework's own words for them.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"
#include "ingest/arguments.h"
#include "model/comm_settings.h"
#include "model/step_log.h"

namespace muster {

// The text of a setting by its name, or by the end of its path ("offload_optimizer.device"); none: it is not there.
using SettingText = std::function<std::optional<std::string>(std::string_view name)>;

// Of a tree as JSON, YAML and TOML give it: by the last parts of the path to a value.
SettingText settings_of(const Value& tree);
// Of a launch script. What is not there is as Megatron-LM has it.
SettingText settings_of(const Arguments& script);

CommSettings megatron_settings(const SettingText& text);
CommSettings deepspeed_settings(const SettingText& text);
CommSettings fsdp_settings(const SettingText& text);  // Accelerate's YAML, or the Trainer's JSON
CommSettings torchtitan_settings(const SettingText& text);
// What a log printed of its settings: Megatron's arguments, DeepSpeed's engine and its configuration.
CommSettings log_settings(const StepLog& log);

// What the first leaves open is taken from the second.
CommSettings merged(CommSettings first, const CommSettings& second);

}  // namespace muster
