#include "ingest/declared_file.h"

#include <fmt/core.h>

#include "base/node_list.h"
#include "ingest/fact_book.h"
#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::size_t kBlocksMax = 10'000, kBytesMax = 64u << 10;

// A whole number or a flag is a value like text. 13.0 is not: read as a number it would have lost its zero.
std::optional<std::string> scalar(const Value& v) {
  if (const std::string* s = v.string()) return *s;
  if (const bool* b = v.boolean()) return *b ? "true" : "false";
  if (const std::int64_t* i = v.integer()) return std::to_string(*i);
  return std::nullopt;
}

std::string not_scalar(const Value& v) {
  double d = 0;
  return v.number(d) ? "is a number with a point: write it in quotes" : fmt::format("must be a value, is {}", v.kind());
}

struct Block {
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, std::string>> where;
};

void read_where(Form& f, const Value& v, Block& into) {
  for (const Value::Member& m : *v.object()) {
    const auto value = scalar(m.value);
    if (!value) return f.error(m.value, fmt::format("where: {} {}", quoted(m.key), not_scalar(m.value)));
    into.where.emplace_back(m.key, *value);
  }
}

void read_facts_of(Form& f, const Value& v, std::string_view file, const Block& block, Declarations& into) {
  if (v.object()->empty()) return f.error(v, "facts: nothing is declared");
  for (const Value::Member& m : *v.object()) {
    Declaration d;
    const auto colon = m.key.find(':');
    if (colon != std::string::npos) d.entity = m.key.substr(0, colon);
    d.key = colon == std::string::npos ? m.key : m.key.substr(colon + 1);
    if (d.key.empty()) return f.error(m.value, fmt::format("facts: {} names no fact", quoted(m.key)));
    const FactMeaning* meaning = fact_book().find(d.key);
    if (meaning != nullptr && !meaning->of.empty() && d.entity.empty())
      return f.error(m.value, fmt::format("facts: {} is of each {}: write \"{}*:{}\"", quoted(d.key), meaning->of,
                                          meaning->of == "gpu" ? "gpu" : "", d.key));
    if (m.value.is_null()) {
      d.absent = true;
    } else if (auto value = scalar(m.value)) {
      d.value = std::move(*value);
    } else {
      return f.error(m.value, fmt::format("facts: {} {}", quoted(m.key), not_scalar(m.value)));
    }
    d.nodes = block.nodes;
    d.where = block.where;
    d.source = fmt::format("{}:{}", file, m.value.line());
    into.push_back(std::move(d));
  }
}

Result<void> read_block(const Value& v, std::string_view file, Declarations& into) {
  Form f(v, file, "declare[].");
  Block block;
  std::string nodes;
  if (f.text("nodes", nodes, kBytesMax)) {
    auto names = expand_node_list(nodes);
    if (names) {
      block.nodes = std::move(*names);
      if (block.nodes.empty()) f.error(v, "declare[].nodes: is empty");
    } else {
      f.error(v, fmt::format("declare[].nodes: {}", names.error().what));
    }
  }
  if (const Value* where = f.object("where"); where != nullptr) read_where(f, *where, block);
  f.need("facts");
  if (const Value* facts = f.object("facts"); facts != nullptr) read_facts_of(f, *facts, file, block, into);
  return f.finish();
}

}  // namespace

Result<Declarations> read_declared(std::string_view text, const std::string& file) {
  const auto v = parse_yaml(text, file);
  if (!v) return tl::unexpected(v.error());
  Form f(*v, file);
  Declarations out;
  f.need("declare");
  if (const auto* blocks = f.list("declare", kBlocksMax)) {
    for (const Value& b : *blocks) {
      if (auto ok = read_block(b, file, out); !ok) {
        f.adopt(ok.error());
        break;
      }
    }
  }
  if (auto ok = f.finish(); !ok) return tl::unexpected(ok.error());
  if (out.empty()) return fail(Code::bad_input, fmt::format("{}:1: nothing is declared", file), "docs/formats/fleet_declared.md");
  return out;
}

}  // namespace muster
