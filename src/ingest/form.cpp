#include "ingest/form.h"

#include <cmath>

#include <fmt/core.h>

#include "base/text.h"

namespace muster {

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const bool cut = text.size() > kShown;
  return "\"" + printable(to_valid_utf8(text.substr(0, kShown))) + (cut ? "...\"" : "\"");
}

Form::Form(const Value& v, std::string_view file, std::string where)
    : v_(v), file_(printable(file)), where_(printable(where)) {
  if (v_.object() == nullptr) {
    const std::string what = where_.empty() ? "the file" : where_.substr(0, where_.size() - 1);
    error(v_, fmt::format("{} must be a mapping (key: value), is {}", what, v_.kind()));
  }
}

std::string Form::path(std::string_view key) const { return where_ + std::string(key); }

void Form::error(int line, std::string reason) {
  if (error_) return;
  error_ = Error{Code::bad_input, fmt::format("{}:{}: {}", file_, std::max(line, 1), reason), {}};
}
void Form::error(const Value& at, std::string reason) { error(at.line(), std::move(reason)); }

void Form::adopt(Error e) {
  if (!error_) error_ = std::move(e);
}

const Value* Form::ask(std::string_view key) {
  known_.emplace_back(key);
  return v_.find(key);
}

const Value* Form::any(std::string_view key) { return ask(key); }

void Form::need(std::string_view key) {
  if (v_.find(key) == nullptr) error(v_, fmt::format("{} is missing", path(key)));
}

void Form::wrong_kind(std::string_view key, const Value& v, std::string_view wanted) {
  error(v, fmt::format("{} must be {}, is {}", path(key), wanted, v.kind()));
}

void Form::wrong_name(std::string_view key, const std::string& word, std::vector<std::string> all) {
  const auto near = nearest(word, all);
  const std::string hint = near ? fmt::format("; did you mean {}?", *near) : std::string();
  error(*v_.find(key), fmt::format("{} must be one of {}, is {}{}", path(key), join(all, ", "), quoted(word), hint));
}

bool Form::text(std::string_view key, std::string& out, std::size_t bytes_max) {
  const Value* v = ask(key);
  if (v == nullptr) return false;
  std::string s;
  if (const auto* t = v->string()) {
    s = *t;
  } else if (const auto* i = v->integer()) {
    s = std::to_string(*i);  // a name such as 17 needs no quotes
  } else {
    wrong_kind(key, *v, "text");
    return false;
  }
  if (s.empty() || s.size() > bytes_max) {
    error(*v, fmt::format("{} must be 1 to {} bytes of text, is {}", path(key), bytes_max, s.size()));
    return false;
  }
  out = std::move(s);
  return true;
}

bool Form::number(std::string_view key, double& out, double min, double max) {
  const Value* v = ask(key);
  if (v == nullptr) return false;
  double d = 0;
  if (!v->number(d)) {
    wrong_kind(key, *v, "a number");
    return false;
  }
  if (!(d >= min && d <= max)) {
    error(*v, fmt::format("{} must be {} to {}, is {}", path(key), render_number(min), render_number(max),
                          render_number(d)));
    return false;
  }
  out = d;
  return true;
}

bool Form::whole(std::string_view key, std::uint64_t& out, std::uint64_t min, std::uint64_t max) {
  const Value* v = ask(key);
  if (v == nullptr) return false;
  const std::int64_t* i = v->integer();
  if (i == nullptr) {
    wrong_kind(key, *v, "a whole number");
    return false;
  }
  if (*i < 0 || static_cast<std::uint64_t>(*i) < min || static_cast<std::uint64_t>(*i) > max) {
    error(*v, fmt::format("{} must be {} to {}, is {}", path(key), min, max, *i));
    return false;
  }
  out = static_cast<std::uint64_t>(*i);
  return true;
}

bool Form::whole(std::string_view key, std::uint32_t& out, std::uint32_t min, std::uint32_t max) {
  std::uint64_t wide = 0;
  if (!whole(key, wide, std::uint64_t{min}, std::uint64_t{max})) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

bool Form::flag(std::string_view key, bool& out) {
  const Value* v = ask(key);
  if (v == nullptr) return false;
  const bool* b = v->boolean();
  if (b == nullptr) {
    wrong_kind(key, *v, "true or false");
    return false;
  }
  out = *b;
  return true;
}

bool Form::duration(std::string_view key, Duration& out, Duration min, Duration max) {
  const Value* v = ask(key);
  if (v == nullptr) return false;
  std::optional<std::int64_t> ns;
  double s = 0;
  if (const auto* t = v->string()) {
    ns = parse_duration_ns(*t);
  } else if (v->number(s) && s >= 0 && s < 9e9) {
    ns = from_seconds(s).ns;
  }
  if (!ns) {
    error(*v, fmt::format("{} must be a length of time such as 90s, 10m, 2h or 7d", path(key)));
    return false;
  }
  if (*ns < min.ns || *ns > max.ns) {
    error(*v, fmt::format("{} must be {} to {}, is {}", path(key), render_duration(min), render_duration(max),
                          render_duration(Duration{*ns})));
    return false;
  }
  out = Duration{*ns};
  return true;
}

const Value::Array* Form::list(std::string_view key, std::size_t items_max) {
  const Value* v = ask(key);
  if (v == nullptr) return nullptr;
  const auto* a = v->array();
  if (a == nullptr) {
    wrong_kind(key, *v, "a list");
  } else if (a->size() > items_max) {
    error(*v, fmt::format("{} has {} items, at most {} are allowed", path(key), a->size(), items_max));
    return nullptr;
  }
  return a;
}

const Value* Form::object(std::string_view key) {
  const Value* v = ask(key);
  if (v == nullptr) return nullptr;
  if (v->object() == nullptr) {
    wrong_kind(key, *v, "a mapping (key: value)");
    return nullptr;
  }
  return v;
}

Result<void> Form::finish() {
  if (const auto* o = v_.object()) {
    for (const auto& m : *o) {
      if (std::find(known_.begin(), known_.end(), m.key) != known_.end()) continue;
      const auto near = nearest(m.key, known_);
      const std::string hint = near ? fmt::format("; did you mean {}?", *near) : std::string();
      return fail(Code::bad_input, fmt::format("{}:{}: unknown key {}{}", file_, std::max(m.value.line(), 1),
                                               quoted(where_ + m.key), hint));
    }
  }
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

}  // namespace muster
