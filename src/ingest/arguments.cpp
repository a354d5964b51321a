#include "ingest/arguments.h"

#include <cctype>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace muster {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

bool is_name(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s.front())) != 0) return false;
  for (const char c : s) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

std::string_view unquoted(std::string_view word) {
  while (!word.empty() && (word.back() == '\\' || word.back() == ')' || word.back() == '"' || word.back() == '\''))
    word.remove_suffix(1);
  while (!word.empty() && (word.front() == '(' || word.front() == '"' || word.front() == '\'')) word.remove_prefix(1);
  return word;
}

// "$TP", "${TP}" and "${TP:-8}"; anything else as it is.
std::string resolved(std::string_view word, const Variables& known) {
  if (!word.starts_with('$')) return std::string(word);
  std::string_view name = word.substr(1), otherwise;
  if (name.starts_with('{') && name.ends_with('}')) {
    name = name.substr(1, name.size() - 2);
    const auto colon = name.find(":-");
    if (colon != std::string_view::npos) {
      otherwise = name.substr(colon + 2);
      name = name.substr(0, colon);
    }
  }
  const auto it = known.find(name);
  if (it != known.end()) return it->second;
  return std::string(otherwise.empty() ? word : otherwise);
}

// A pattern such as ([0]*3+[1]*58) keeps its brackets: only quotes around it go.
std::string_view word_of(std::string_view word) {
  if (word.find("[0]") != std::string_view::npos || word.find("[1]") != std::string_view::npos) return word;
  if (word.starts_with("${") && word.find('}') != std::string_view::npos) return word.substr(0, word.find('}') + 1);
  return unquoted(word);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r') continue;
    if (i > from) out.push_back(line.substr(from, i - from));
    from = i + 1;
  }
  return out;
}

}  // namespace

Arguments::Arguments(std::string_view script) {
  Variables known;
  std::vector<std::string> words;
  for (const std::string_view line : split(script, '\n')) {
    const std::string_view plain = trim(line);
    if (plain.starts_with('#')) continue;
    for (const std::string_view raw : words_of(plain)) {
      if (raw.starts_with('#')) break;
      const auto equals = raw.find('=');
      if (equals != std::string_view::npos && is_name(raw.substr(0, equals))) {
        const std::string value = resolved(unquoted(raw.substr(equals + 1)), known);
        if (!value.empty() && !value.starts_with('-')) {
          known.insert_or_assign(std::string(raw.substr(0, equals)), value);
          continue;
        }
        words.emplace_back(unquoted(raw.substr(equals + 1)));  // ARGS="--first ...
        continue;
      }
      if (const std::string_view word = word_of(raw); !word.empty()) words.push_back(resolved(word, known));
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with("--")) continue;
    const auto equals = word.find('=');
    std::string value = equals == std::string_view::npos ? std::string() : resolved(word.substr(equals + 1), known);
    if (value.empty() && i + 1 < words.size() && !words[i + 1].starts_with("--")) value = words[i + 1];
    all_.emplace(word.substr(2, equals == std::string_view::npos ? equals : equals - 2), std::move(value));
  }
}

std::string Arguments::text(std::string_view name) const {
  const auto it = all_.find(std::string(name));
  return it == all_.end() ? std::string() : it->second;
}

std::optional<double> Arguments::number(std::string_view name) const {
  const auto it = all_.find(std::string(name));
  return it == all_.end() ? std::nullopt : std::optional(parse_double(it->second).value_or(NAN));
}

}  // namespace muster
