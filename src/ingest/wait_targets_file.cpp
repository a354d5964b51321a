#include "ingest/wait_targets_file.h"

#include <fmt/core.h>

#include <optional>

#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::uint32_t kGpusMax = 1'000'000;

// A number of GPUs, or any.
void read_gpus(Form& f, const Value& of, std::uint32_t& out) {
  const Value* v = f.any("gpus");
  if (v == nullptr) return;
  if (v->string() != nullptr && *v->string() == "any") {
    out = kAnyGpus;
    return;
  }
  const std::int64_t* n = v->integer();
  if (n == nullptr || *n < 1 || *n > kGpusMax)
    return f.error(v->line() > 0 ? *v : of, fmt::format("gpus must be a whole number from 1 to {}, or any", kGpusMax));
  out = static_cast<std::uint32_t>(*n);
}

Result<WaitTarget> read_class(const Value& v, std::string_view file, const std::string& where) {
  Form f(v, file, where);
  WaitTarget t;
  f.need("gpus");
  f.need("wait");
  read_gpus(f, v, t.gpus_max);
  f.duration("wait", t.wait, seconds(1), kTargetWaitMax);
  double percent = 100 * t.share;
  f.number("percent", percent, 1, 100);
  t.share = percent / 100;
  if (auto ok = f.finish(); !ok) return tl::unexpected(ok.error());
  return t;
}

}  // namespace

Result<WaitTargets> parse_wait_targets(std::string_view text, std::string_view file) {
  const auto tree = parse_yaml(text, file);
  if (!tree) return tl::unexpected(tree.error());
  Form f(*tree, file);
  WaitTargets out;
  f.text("name", out.name);
  f.need("targets");
  if (const Value::Array* list = f.list("targets", kWaitTargetsMax); list != nullptr) {
    if (list->empty()) f.error(1, "targets is empty: name one class at least");
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto t = read_class((*list)[i], file, fmt::format("targets[{}].", i));
      if (!t) {
        f.adopt(t.error());
        break;
      }
      if (!out.classes.empty() && out.classes.back().gpus_max >= t->gpus_max)
        f.error((*list)[i], "gpus must grow from one class to the next: the smallest first, any last");
      out.classes.push_back(*t);
    }
  }
  if (auto ok = f.finish(); !ok) return tl::unexpected(ok.error());
  return out;
}

}  // namespace muster
