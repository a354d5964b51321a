#include "report/document.h"

#include <fmt/format.h>

#include "base/text.h"

namespace muster::report {
namespace {

// In canonical JSON these characters stand only inside strings, so replacing them by \uXXXX changes no meaning.
std::string escape_steering(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto at = [&](std::size_t k) { return i + k < json.size() ? static_cast<unsigned char>(json[i + k]) : 0U; };
    if (at(0) == 0x7F) {
      out += "\\u007f";
    } else if (at(0) == 0xC2 && at(1) >= 0x80 && at(1) < 0xA0) {  // C1 controls
      out += fmt::format("\\u{:04x}", at(1));
      i += 1;
    } else if (at(0) == 0xE2 && (at(1) == 0x80 || at(1) == 0x81)) {  // marks and overrides of direction
      const unsigned cp = 0x2000 + ((at(1) & 0x3F) << 6) + (at(2) & 0x3F);
      const bool steers = cp == 0x200E || cp == 0x200F || (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069);
      if (steers) {
        out += fmt::format("\\u{:04x}", cp);
        i += 2;
      } else {
        out += json[i];
      }
    } else {
      out += json[i];
    }
  }
  return out;
}

std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool inside = false;
  const auto new_line = [&] { out.append("\n").append(depth * 2, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (inside) {
      out += c;
      if (c == '\\')
        out += json[++i];
      else if (c == '"')
        inside = false;
      continue;
    }
    const bool opens = c == '{' || c == '[';
    if (opens && i + 1 < json.size() && (json[i + 1] == '}' || json[i + 1] == ']')) {
      out.append(1, c).append(1, json[++i]);
    } else if (opens) {
      out += c;
      ++depth;
      new_line();
    } else if (c == '}' || c == ']') {
      --depth;
      new_line();
      out += c;
    } else if (c == ',') {
      out += c;
      new_line();
    } else {
      out += c;
      if (c == ':') out += ' ';
      inside = c == '"';
    }
  }
  return out;
}

// Plain YAML text only where no reader could take it for anything but this string.
bool plain_in_yaml(std::string_view s) {
  if (s.empty() || s.size() > 200 || parse_double(s)) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(s[0])) return false;
  for (const char c : s) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '/' && c != '.') return false;
  }
  const std::string small = lower(s);
  for (const std::string_view word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf", "infinity"}) {
    if (small == word) return false;
  }
  return true;
}

// A JSON scalar is a YAML scalar.
std::string yaml_scalar(const Value& v) {
  if (const auto* s = v.string(); s && plain_in_yaml(*s)) return *s;
  return render_json_line(v);
}

std::string yaml_key(const std::string& key) { return plain_in_yaml(key) ? key : render_json_line(Value(key)); }

bool is_block(const Value& v) { return (v.array() && !v.array()->empty()) || (v.object() && !v.object()->empty()); }

void add_yaml(std::string& out, const Value& v, std::size_t depth);

void add_members(std::string& out, const Value::Object& members, std::size_t depth, bool first_inline) {
  for (const auto& m : members) {
    if (!first_inline) out.append(depth * 2, ' ');
    first_inline = false;
    out += yaml_key(m.key) + ":";
    if (is_block(m.value)) {
      out += "\n";
      add_yaml(out, m.value, depth + (m.value.object() ? 1 : 0));
    } else {
      out += " " + yaml_scalar(m.value) + "\n";
    }
  }
}

void add_yaml(std::string& out, const Value& v, std::size_t depth) {
  if (const auto* a = v.array(); a && !a->empty()) {
    for (const auto& item : *a) {
      out.append(depth * 2, ' ').append("- ");
      if (item.object() && !item.object()->empty()) {
        add_members(out, *item.object(), depth + 1, true);
      } else {
        out += (is_block(item) ? render_json_line(item) : yaml_scalar(item)) + "\n";
      }
    }
  } else if (const auto* o = v.object(); o && !o->empty()) {
    add_members(out, *o, depth, false);
  } else {
    out += yaml_scalar(v) + "\n";
  }
}

}  // namespace

void write_value(JsonWriter& w, const Value& value) {
  double number = 0;
  if (const auto* s = value.string()) {
    w.value(*s);
  } else if (const auto* i = value.integer()) {
    w.value(*i);
  } else if (value.number(number)) {
    w.value(number);
  } else if (const auto* b = value.boolean()) {
    w.value(*b);
  } else if (const auto* a = value.array()) {
    w.array();
    for (const auto& item : *a) write_value(w, item);
    w.end_array();
  } else if (const auto* o = value.object()) {
    w.object();
    for (const auto& m : *o) {
      w.key(m.key);
      write_value(w, m.value);
    }
    w.end_object();
  } else {
    w.null();
  }
}

std::string render_json_line(const Value& value) {
  JsonWriter w;
  write_value(w, value);
  return escape_steering(w.view());
}

std::string render_json(const Value& value) { return indented(render_json_line(value)) + "\n"; }

std::string render_yaml(const Value& value) {
  std::string out;
  add_yaml(out, value, 0);
  return out;
}

}  // namespace muster::report
