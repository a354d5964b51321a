// data/hardware/gpus.csv and stores.csv: GPUs and stores by their data sheets; data/hardware/prices.csv: what things cost;
// data/models.csv: transformers by their papers and configurations.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gpu_model.h"
#include "model/hardware_prices.h"
#include "model/store.h"
#include "model/transformer.h"

namespace muster {

Result<std::vector<GpuModel>> parse_gpu_models(std::string_view csv, std::string_view where = "gpus.csv");
Result<std::vector<Transformer>> parse_transformers(std::string_view csv, std::string_view where = "models.csv");
Result<std::vector<StoreKind>> parse_stores(std::string_view csv, std::string_view where = "stores.csv");

// Of what the table does not name, the price that ships is kept.
Result<HardwarePrices> parse_hardware_prices(std::string_view csv, std::string_view where = "prices.csv");

// Those that ship with the program; made once.
const HardwarePrices& hardware_prices();
const std::vector<GpuModel>& gpu_models();
const std::vector<StoreKind>& store_kinds();
const std::vector<Transformer>& transformers();
const GpuModel* find_gpu_model(std::string_view name);  // nullptr: none of that name
const Transformer* find_transformer(std::string_view name);

}  // namespace muster
