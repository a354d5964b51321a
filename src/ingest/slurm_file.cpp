#include "ingest/slurm_file.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/form.h"
#include "ingest/slurm_json.h"
#include "ingest/yaml.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kWordsMost = 64;
constexpr std::size_t kPathMost = 4096;

// What Slurm itself does, or nobody but a job's owner.
bool by_program(Verb v) { return on_node(v) && v != Verb::drain_node && v != Verb::undrain_node; }

constexpr std::string_view kMarks = "{node}, {slot}, {key}, {version}";

// The first word in braces that no order fills in; empty: none. Other braces are the program's business.
std::string strange_mark(std::string_view word) {
  for (auto at = word.find('{'); at != std::string_view::npos; at = word.find('{', at + 1)) {
    const auto end = word.find('}', at);
    if (end == std::string_view::npos) return {};
    const std::string_view mark = word.substr(at, end + 1 - at);
    const std::string_view inside = mark.substr(1, mark.size() - 2);
    const bool letters = std::all_of(inside.begin(), inside.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (letters && !inside.empty() && kMarks.find(mark) == std::string_view::npos) return std::string(mark);
  }
  return {};
}

void read_hand(Form& outer, const Value& of, Verb verb, Settings& s) {
  const Value::Array* words = of.array();
  if (words == nullptr || words->empty() || words->size() > kWordsMost) {
    return outer.error(of, fmt::format("hands.{}: a list of words, the program first", name_of(verb)));
  }
  std::vector<std::string> argv;
  for (const Value& w : *words) {
    if (w.string() == nullptr || w.string()->find('\0') != std::string::npos)
      return outer.error(w, fmt::format("hands.{}: each word is text; numbers in quotes", name_of(verb)));
    if (const std::string mark = strange_mark(*w.string()); !mark.empty()) {
      return outer.error(
          w, fmt::format("hands.{}: {} is nothing that is replaced; what is: {}", name_of(verb), quoted(mark), kMarks));
    }
    argv.push_back(*w.string());
  }
  if (argv[0].empty() || argv[0].front() != '/')
    return outer.error(
        of, fmt::format("hands.{}: the program must be an absolute path, is \"{}\"", name_of(verb), printable(argv[0])));
  s.hands[verb] = std::move(argv);
}

void read_hands(Form& outer, Settings& s) {
  const Value* v = outer.object("hands");
  if (v == nullptr || v->object() == nullptr) return;
  for (const auto& [key, of] : *v->object()) {
    Verb verb{};
    if (!parse_name(key, verb) || !by_program(verb)) {
      std::vector<std::string> all;
      for (std::size_t i = 0; i < names(Verb{}).size(); ++i) {
        if (by_program(static_cast<Verb>(i))) all.emplace_back(names(Verb{})[i]);
      }
      return outer.error(
          of, fmt::format("hands.{}: no act on a node that a program does; one of {}", printable(key), join(all, ", ")));
    }
    read_hand(outer, of, verb, s);
  }
}

// Where slurmrestd is: a path, or an address without anything behind it.
bool is_rest_url(const std::string& url) {
  if (url.find_first_of(" \t\r\n@#?\"\\<>") != std::string::npos) return false;
  if (url.rfind("unix:/", 0) == 0) return url.size() > 6;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.rfind(scheme, 0) == 0) return url.size() > scheme.size() && url.find('/', scheme.size()) == std::string::npos;
  }
  return false;
}

void read_rest(Form& outer, const std::string& file, Settings& s) {
  const Value* v = outer.object("rest");
  if (v == nullptr) return;
  Form f(*v, file, "rest.");
  f.need("url");
  f.text("url", s.rest.url, kPathMost);
  f.text("user", s.rest.user);
  f.text("token_file", s.rest.token_file, kPathMost);
  f.text("version", s.rest.version);
  if (f.ok() && !is_rest_url(s.rest.url))
    f.error(*v, fmt::format("rest.url is unix:/path or http://host:port, is \"{}\"", printable(s.rest.url)));
  const auto& known = kRestVersions;
  if (f.ok() && !s.rest.version.empty() && std::find(known.begin(), known.end(), s.rest.version) == known.end())
    f.error(*v, fmt::format("rest.version \"{}\" is not read here; one of {}", printable(s.rest.version),
                            join({known.begin(), known.end()}, ", ")));
  if (const auto ok = f.finish(); !ok) outer.adopt(ok.error());
}

void read_partitions(Form& outer, Settings& s) {
  const Value* v = outer.object("partitions");
  if (v == nullptr || v->object() == nullptr) return;
  for (const auto& [key, of] : *v->object()) {
    Mode mode{};
    if (of.string() == nullptr || !parse_name(*of.string(), mode))
      return outer.error(of, fmt::format("partitions.{}: one of advise, place, off", printable(key)));
    s.partitions[key] = mode;
  }
}

}  // namespace

Result<Settings> parse_settings(const std::string& text, const std::string& file) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected(root.error());
  Settings s;
  Form f(*root, file);
  f.text("conf", s.conf, kPathMost);
  f.text("tools", s.tools, kPathMost);
  if (f.ok() && !s.tools.empty() && s.tools.front() != '/')
    f.error(*root, fmt::format("tools must be an absolute path, is \"{}\"", printable(s.tools)));
  f.text("heartbeat", s.heartbeat, kPathMost);
  f.name("otherwise", s.otherwise);
  f.duration("poll", s.poll, milliseconds(100), minutes(1));
  f.number("poll_share", s.poll_share, 0.001, 1);
  read_rest(f, file, s);
  read_partitions(f, s);
  read_hands(f, s);
  const bool places =
      std::any_of(s.partitions.begin(), s.partitions.end(), [](const auto& p) { return p.second == Mode::place; });
  if (f.ok() && (places || s.otherwise == Mode::place) && s.heartbeat.empty())
    f.error(*root, "a partition in mode place needs `heartbeat`, the file that the gate in job_submit.lua looks at");
  if (const auto r = f.finish(); !r) return tl::unexpected(r.error());
  return s;
}

}  // namespace muster::slurm
