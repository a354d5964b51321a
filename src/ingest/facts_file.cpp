#include "ingest/facts_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSecondsMax = 9'000'000'000;  // 2255; nanoseconds of it fit

// "gpu0:vbios.version", or the key alone.
void put_unreadable(std::string_view name, std::size_t node, FactTable& into) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return into.put_unreadable(node, "", name);
  into.put_unreadable(node, name.substr(0, colon), name.substr(colon + 1));
}

Result<void> put_members(const Value& v, std::string_view entity, std::size_t node, FactTable& into) {
  const Value::Object* object = v.object();
  if (object == nullptr) return fail(Code::bad_input, fmt::format("must be an object, is {}", v.kind()));
  for (const Value::Member& m : *object) {
    if (m.value.is_null()) {
      into.put_absent(node, entity, m.key);
    } else if (const std::string* s = m.value.string()) {
      into.put(node, entity, m.key, *s);
    } else {
      return fail(Code::bad_input, fmt::format("{} must be text or null, is {}", fact_name(entity, m.key), m.value.kind()));
    }
  }
  return {};
}

// Nothing or null: it does not say.
Result<Time> time_of(const Value* at) {
  if (at == nullptr || at->is_null()) return Time{};
  const auto seconds = at->integer();
  if (seconds != nullptr && *seconds >= 0 && *seconds <= kSecondsMax) return Time{*seconds * kSecond};
  return fail(Code::bad_input, "at must be whole seconds since 1970, and is none that a clock could show");
}

// One line of any form.
Result<void> read_line(std::string_view row, FactTable& into) {
  const auto v = parse_json(row);
  if (!v) return fail(Code::bad_input, v.error().what);
  const Value* name = v->find("node");
  if (name == nullptr || name->string() == nullptr || name->string()->empty()) return fail(Code::bad_input, "no node");
  const std::size_t node = into.node(*name->string());
  const auto at = time_of(v->find("at"));
  if (!at) return tl::unexpected(at.error());
  const Value* source = v->find("source");
  const bool named = source != nullptr && source->string() != nullptr;
  if (named && !into.begin_probe(node, *source->string(), *at)) return {};
  if (named || at->ns > 0) into.set_source(node, named ? *source->string() : std::string(), *at);
  if (const Value* facts = v->find("facts")) {
    if (auto ok = put_members(*facts, "", node, into); !ok) return ok;
  }
  if (const Value* parts = v->find("parts"); parts != nullptr && parts->object() != nullptr) {
    for (const Value::Member& m : *parts->object()) {
      if (auto ok = put_members(m.value, m.key, node, into); !ok) return ok;
    }
  }
  if (const Value* list = v->find("unreadable"); list != nullptr && list->array() != nullptr) {
    for (const Value& x : *list->array()) {
      if (x.string() == nullptr) return fail(Code::bad_input, "unreadable must be a list of names");
      put_unreadable(*x.string(), node, into);
    }
  }
  return {};
}

// Lines as render_facts writes them, with plain ASCII text: nearly all of a fleet's. Neighbours mostly have the same facts in the
// same order, so that a column is compared with the one expected and not looked up.
class QuickReader {
 public:
  explicit QuickReader(FactTable& into) : into_(into) {}

  // False: the line is of another form, for the other reader to take; what was put until then that one will put too.
  bool take(std::string_view row) {
    rest_ = row;
    ++line_;
    place_ = 0;
    parts_.clear();
    std::string_view name, source;
    if (!eat("{\"node\":\"") || !text(name) || name.empty()) return false;
    if (!eat(",\"source\":\"") || !text(source)) return false;
    std::uint64_t at = 0;
    if (eat(",\"at\":") && !whole(at)) return false;
    if (!eat(",\"facts\":")) return false;
    node_ = into_.node(name);
    const Time when{static_cast<std::int64_t>(at) * kSecond};
    // An older one is left to the other reader, which looks whether it is whole.
    if (const Time before = into_.nodes()[node_].at; when.ns > 0 && when < before) return false;
    into_.begin_probe(node_, source, when);
    into_.set_source(node_, source, when);
    if (!members("")) return false;
    if (eat(",\"parts\":") && !parts()) return false;
    if (eat(",\"unreadable\":[") && !names()) return false;
    return rest_ == "}";
  }

 private:
  struct Slot {
    std::string entity, key;
    std::size_t column = 0;
  };

  bool eat(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  // Behind its first quotation mark.
  bool text(std::string_view& out) {
    std::size_t n = 0;
    while (n < rest_.size() && rest_[n] >= 0x20 && rest_[n] < 0x7f && rest_[n] != '"' && rest_[n] != '\\') ++n;
    if (n == rest_.size() || rest_[n] != '"') return false;
    out = rest_.substr(0, n);
    rest_.remove_prefix(n + 1);
    return true;
  }
  bool whole(std::uint64_t& out) {
    std::size_t n = 0;
    for (out = 0; n < rest_.size() && n < 12 && rest_[n] >= '0' && rest_[n] <= '9'; ++n)
      out = out * 10 + static_cast<std::uint64_t>(rest_[n] - '0');
    const bool plain = n > 0 && n < 12 && (n == 1 || rest_[0] != '0') && out <= static_cast<std::uint64_t>(kSecondsMax);
    rest_.remove_prefix(n);
    return plain;
  }
  // Nothing: the line has it twice.
  std::optional<std::size_t> column(std::string_view entity, std::string_view key) {
    if (place_ == slots_.size()) slots_.emplace_back();
    Slot& s = slots_[place_++];
    if (s.key != key || s.entity != entity || key.empty()) s = {std::string(entity), std::string(key), into_.column(entity, key)};
    if (seen_.size() <= s.column) seen_.resize(s.column + 64);
    if (seen_[s.column] == line_) return std::nullopt;
    seen_[s.column] = line_;
    return s.column;
  }
  bool members(std::string_view entity) {
    if (!eat("{")) return false;
    if (eat("}")) return true;
    do {
      std::string_view key, value;
      if (!eat("\"") || !text(key) || !eat(":")) return false;
      const auto c = column(entity, key);
      if (!c) return false;
      if (eat("null")) {
        into_.put_absent(node_, *c);
      } else if (eat("\"") && text(value)) {
        into_.put(node_, *c, value);
      } else {
        return false;
      }
    } while (eat(","));
    return eat("}");
  }
  bool parts() {
    constexpr std::size_t kMost = 256;  // each is held against all before it
    if (!eat("{")) return false;
    if (eat("}")) return true;
    do {
      std::string_view name;
      if (!eat("\"") || !text(name) || !eat(":")) return false;
      if (parts_.size() >= kMost || std::find(parts_.begin(), parts_.end(), name) != parts_.end()) return false;
      parts_.push_back(name);
      if (!members(name)) return false;
    } while (eat(","));
    return eat("}");
  }
  bool names() {
    if (eat("]")) return true;
    do {
      std::string_view name;
      if (!eat("\"") || !text(name)) return false;
      put_unreadable(name, node_, into_);
    } while (eat(","));
    return eat("]");
  }

  FactTable& into_;
  std::string_view rest_;
  std::size_t node_ = 0, place_ = 0;
  std::uint64_t line_ = 0;
  std::vector<Slot> slots_;              // in the order of the line before
  std::vector<std::uint64_t> seen_;      // by column: the line that had it last
  std::vector<std::string_view> parts_;  // of this line
};

Result<void> read_all(std::string_view text, const std::string& file, FactTable& into, std::string& cut_off) {
  QuickReader quick(into);
  int line = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    // Whoever wrote it was killed, or leaves out the last line's end.
    if (end == std::string_view::npos && line > 0 && !trim(text).empty() && !parse_json(trim(text))) {
      cut_off = fmt::format("{}:{}", file, line + 1);
      break;
    }
    const std::string_view row = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line;
    if (row.empty() || quick.take(row)) continue;
    if (auto ok = read_line(row, into); !ok) return fail(ok.error().code, fmt::format("{}:{}: {}", file, line, ok.error().what));
  }
  return {};
}

}  // namespace

Result<std::string> read_facts(std::string_view text, const std::string& file, FactTable& into) {
  std::string cut_off;
  // Nothing of a file with an error stays: a table that held something is only touched once the whole file was tried.
  if (!into.nodes().empty()) {
    FactTable tried;
    if (auto ok = read_all(text, file, tried, cut_off); !ok) return tl::unexpected(ok.error());
  }
  const bool fresh = into.nodes().empty();
  if (auto ok = read_all(text, file, into, cut_off); !ok) {
    if (fresh) into = {};
    return tl::unexpected(ok.error());
  }
  return cut_off;
}

std::string render_facts(const FactTable& table, std::size_t node) {
  JsonWriter w;
  w.object().field("node", table.nodes()[node].name).field("source", table.nodes()[node].source);
  if (const Time at = table.nodes()[node].at; at.ns > 0) w.field("at", at.ns / kSecond);
  std::map<std::string, std::vector<const FactColumn*>> by_part;
  std::vector<std::string> unreadable;
  for (const FactColumn& c : table.columns()) {
    if (c.code(node) == kFactUnreadable) unreadable.push_back(fact_name(c.entity, c.key));
    if (c.code(node) == kFactAbsent || c.code(node) >= kFirstValue) by_part[c.entity].push_back(&c);
  }
  const auto members = [&](const std::vector<const FactColumn*>& columns) {
    w.object();
    for (const FactColumn* c : columns) {
      w.key(c->key);
      if (const std::string* s = c->value(node)) {
        w.value(*s);
      } else {
        w.null();
      }
    }
    w.end_object();
  };
  w.key("facts");
  members(by_part[""]);
  by_part.erase("");
  w.key("parts").object();
  for (const auto& [part, columns] : by_part) {
    w.key(part);
    members(columns);
  }
  w.end_object();
  w.key("unreadable").array();
  for (const std::string& u : unreadable) w.value(u);
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster
