#include "adapters/intake/fabric_word.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "model/fields.h"

namespace muster {
namespace {

constexpr std::size_t kEndMax = 128, kWordsMax = 400;  // bytes

tl::unexpected<Error> nonsense(std::string what) {
  return fail(Code::bad_input, "fabric." + std::move(what), "docs/health/agent.md has the form of a batch");
}

Result<void> read_ends(const Value& fault, const std::string& where, FabricTold& out) {
  const Value* v = fault.find("ends");
  const Value::Array* all = v == nullptr ? nullptr : v->array();
  const std::size_t least = named_by_kind_alone(out.kind) ? 0 : 1;
  if (all == nullptr || all->size() < least || all->size() > kFabricEndsMax)
    return nonsense(fmt::format("{}.ends must be a list of {} to {}", where, least, kFabricEndsMax));
  for (const Value& end : *all) {
    const std::string* text = end.string();
    if (text == nullptr || text->empty() || text->size() > kEndMax || printable(*text) != *text)
      return nonsense(fmt::format("{}.ends: each must be 1 to {} bytes that can be printed", where, kEndMax));
    out.ends.push_back(*text);
  }
  return {};
}

Result<void> read_nodes(const Value& fault, const std::string& where, const NodeNames& known, FabricTold& out,
                        std::uint32_t& unknown) {
  const Value* v = fault.find("nodes");
  if (v == nullptr) return {};
  if (v->array() == nullptr) return nonsense(fmt::format("{}.nodes must be a list", where));
  std::set<NodeId> found;
  for (const Value& name : *v->array()) {
    if (name.string() == nullptr) return nonsense(fmt::format("{}.nodes must be names", where));
    const auto at = known.find(*name.string());
    if (at == known.end()) {
      ++unknown;
    } else {
      found.insert(at->second);
    }
  }
  out.nodes.assign(found.begin(), found.end());
  return {};
}

// What nobody is known by: cut, not refused.
Result<void> read_words(const Value& fault, const char* field, const std::string& where, std::string& out) {
  const Value* v = fault.find(field);
  if (v == nullptr) return {};
  if (v->string() == nullptr) return nonsense(fmt::format("{}.{} must be text", where, field));
  out = clipped(printable(clipped(*v->string(), kWordsMax)), kWordsMax);
  return {};
}

Result<FabricTold> read_fault(const Value& v, const std::string& where, const NodeNames& known, std::uint32_t& unknown) {
  FabricTold out;
  const Value *kind = v.find("kind"), *sure = v.find("confidence");
  if (kind == nullptr || kind->string() == nullptr || !parse_name(*kind->string(), out.kind)) {
    return nonsense(fmt::format("{}.kind must be one of {}", where, [] {
      std::vector<std::string> all;
      for (const std::string_view name : names(FabricFaultKind{})) all.emplace_back(name);
      return join(all, ", ");
    }()));
  }
  if (auto ok = read_ends(v, where, out); !ok) return tl::unexpected(ok.error());
  if (auto ok = read_words(v, "detail", where, out.detail); !ok) return tl::unexpected(ok.error());
  if (auto ok = read_words(v, "fix", where, out.fix); !ok) return tl::unexpected(ok.error());
  if (sure != nullptr && (!sure->number(out.confidence) || !(out.confidence >= 0 && out.confidence <= 1)))
    return nonsense(where + ".confidence must be 0 to 1");
  if (auto ok = read_nodes(v, where, known, out, unknown); !ok) return tl::unexpected(ok.error());
  return out;
}

// Whose network it is, and what of it could be judged: all, where nothing is said.
Result<void> read_head(const Value& fabric, FabricSaid& out) {
  if (const Value* name = fabric.find("name")) {
    if (name->string() == nullptr || !valid_fabric_name(*name->string()))
      return nonsense(fmt::format("name must be at most {} letters, digits, dots, dashes and underscores", kFabricNameMax));
    out.name = *name->string();
  }
  const Value* judged = fabric.find("judged");
  if (judged == nullptr) return {};
  out.rates = out.flaps = false;
  constexpr const char* kWrong = "judged must be a list of rates, flaps or both";
  if (judged->array() == nullptr) return nonsense(kWrong);
  for (const Value& v : *judged->array()) {
    const std::string* what = v.string();
    if (what == nullptr || (*what != "rates" && *what != "flaps")) return nonsense(kWrong);
    (*what == "rates" ? out.rates : out.flaps) = true;
  }
  return {};
}

}  // namespace

Result<FabricSaid> read_fabric(const Value& fabric, const NodeNames& nodes) {
  FabricSaid out;
  if (auto ok = read_head(fabric, out); !ok) return tl::unexpected(ok.error());
  const Value *complete = fabric.find("complete"), *faults = fabric.find("faults"), *left_out = fabric.find("left_out");
  if (complete == nullptr || complete->boolean() == nullptr) return nonsense("complete must be true or false");
  out.complete = *complete->boolean();
  if (left_out != nullptr && (left_out->integer() == nullptr || *left_out->integer() < 0 || *left_out->integer() > INT32_MAX))
    return nonsense("left_out must be a count");
  if (left_out != nullptr) out.left_out = static_cast<std::uint32_t>(*left_out->integer());
  if (out.left_out > 0) out.complete = false;
  if (faults == nullptr || faults->array() == nullptr || faults->array()->size() > kFabricFaultsMax)
    return nonsense(fmt::format("faults must be a list of at most {}", kFabricFaultsMax));
  for (const Value& v : *faults->array()) {
    auto fault = read_fault(v, fmt::format("faults[{}]", out.faults.size()), nodes, out.unknown_nodes);
    if (!fault) return tl::unexpected(fault.error());
    out.faults.push_back(std::move(*fault));
  }
  return out;
}

// What is longer than kEveryMax is taken for that: whoever waits for several of them waits long enough.
Result<Duration> read_fabric_interval(const Value& fabric) {
  constexpr double kEveryMax = 7 * 24 * 3600;  // seconds
  const Value* v = fabric.find("every_s");
  double every_s = 0;
  if (v == nullptr) return Duration{};
  if (!v->number(every_s) || !(every_s > 0)) return nonsense("every_s must be a number of seconds above 0");
  return from_seconds(std::min(every_s, kEveryMax));
}

void FabricKnown::remember(const State& s) {
  const std::lock_guard hold(lock_);
  networks_.clear();
  for (const auto& [id, f] : s.findings) {
    if (f.kind != FindingKind::fabric_fault || f.cleared.ns != 0) continue;
    const FaultSubject what = read_fault_subject(f.subject);
    if (what.fault == kUnwatched) continue;  // nobody told of that
    networks_[std::string(what.fabric)].faults.emplace(what.fault);
  }
}

FabricKnown::Last FabricKnown::last_of(const FabricSaid& said) {
  Last out{{}, said.complete, said.rates, said.flaps};
  for (const FabricTold& f : said.faults) out.faults.insert(name_of_fault(f.kind, f.ends));
  return out;
}

// A word that can judge more than the last one may end what that could not, though it tells of the same faults.
Result<bool> FabricKnown::news(const FabricSaid& said) {
  const Last now = last_of(said);
  const std::lock_guard hold(lock_);
  const auto it = networks_.find(said.name);
  const Last none, &before = it == networks_.end() ? none : it->second;
  const bool judges_more = (now.complete && !before.complete) || (now.rates && !before.rates) || (now.flaps && !before.flaps);
  if (now.faults == before.faults && !judges_more) return false;
  if (it == networks_.end() && networks_.size() >= kFabricNamesMax)
    return fail(Code::bad_input,
                fmt::format("fabric.name: faults of {} networks stand already, and this is none of them", kFabricNamesMax),
                "give each network one name and keep it: --name of `muster fabric watch`");
  networks_.try_emplace(said.name);
  return true;
}

void FabricKnown::taken(const FabricSaid& said) {
  Last now = last_of(said);
  const std::lock_guard hold(lock_);
  if (now == Last()) {
    networks_.erase(said.name);
  } else {
    networks_[said.name] = std::move(now);
  }
}

void FabricKnown::lost(const FabricSaid& said) {
  const std::lock_guard hold(lock_);
  const auto it = networks_.find(said.name);
  if (it != networks_.end() && it->second == Last()) networks_.erase(it);
}

}  // namespace muster
