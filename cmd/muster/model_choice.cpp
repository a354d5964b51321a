#include "model_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text.h"
#include "files.h"
#include "ingest/hardware_file.h"
#include "ingest/model_config.h"

namespace muster::cmd {
namespace {

template <class T>
Result<const T*> named(const char* what, const std::string& name, const std::vector<T>& all) {
  std::vector<std::string> names;
  for (const T& x : all) {
    if (x.name == lower(name)) return &x;
    names.push_back(x.name);
  }
  const auto meant = nearest(lower(name), names);
  return fail(Code::not_found, fmt::format("no {} is called \"{}\"", what, printable(name)),
              meant ? "did you mean " + *meant + "?" : "there are " + join(names, ", "));
}

}  // namespace

Result<Transformer> chosen_model(const std::string& name) {
  std::error_code ignored;
  if (find_transformer(lower(name)) == nullptr && std::filesystem::is_regular_file(name, ignored)) {
    const auto text = read_file(name);
    if (!text) return tl::unexpected(text.error());
    return parse_model_config(*text, name);
  }
  const auto found = named("model", name, transformers());
  if (!found) {
    Error e = found.error();
    e.next += "; a config.json or a file with Megatron's arguments will do too";
    return tl::unexpected(e);
  }
  return **found;
}

Result<const Transformer*> shipped_model(const std::string& name) { return named("model", name, transformers()); }

Result<const GpuModel*> chosen_gpu(const std::string& name) { return named("GPU", name, gpu_models()); }

const GpuModel* gpu_that_calls_itself(const std::string& name) {
  std::string words = lower(name);
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
  for (const std::string_view word : split(words, ' ')) {
    if (const GpuModel* g = find_gpu_model(word)) return g;
  }
  return nullptr;
}

Result<HardwarePrices> chosen_prices(const std::string& file) {
  if (file.empty()) return hardware_prices();
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  return parse_hardware_prices(*text, file);
}

}  // namespace muster::cmd
