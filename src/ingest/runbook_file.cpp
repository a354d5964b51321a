#include "ingest/runbook_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::size_t kStepsMax = 8;
constexpr std::size_t kCodesMax = 64;
constexpr std::size_t kWordsMax = 2000;
constexpr std::uint32_t kXidMax = 999;

// Kinds that are a program's word, or are nobody's node: acting on a node for them would be acting on hearsay.
bool never_acted_on(FindingKind k) {
  return k == FindingKind::hearsay || k == FindingKind::app_error || k == FindingKind::job_failed ||
         k == FindingKind::common_cause || k == FindingKind::sdc_suspected || k == FindingKind::storage_stall ||
         k == FindingKind::row_hot || k == FindingKind::fabric_fault;
}
bool about_links(FindingKind k) {
  return k == FindingKind::link_down || k == FindingKind::link_flap || k == FindingKind::ib_degraded;
}

std::string suggest(std::string_view word, const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return near ? "; did you mean " + *near + "?" : "; known: " + join(known, ", ");
}

template <class Range>
std::vector<std::string> words_of(const Range& all) {
  std::vector<std::string> out;
  for (const auto& x : all) out.emplace_back(x);
  return out;
}

void read_steps(Form& f, const Value::Array& list, Runbook& r) {
  r.steps.clear();
  std::vector<std::string> known;
  for (const Verb v : kRepairs) known.emplace_back(name_of(v));
  for (const Value& item : list) {
    const std::string word = item.string() != nullptr ? *item.string() : std::string(item.kind());
    Verb verb{};
    if (!parse_name(word, verb) || !is_repair(verb)) {
      const auto near = nearest(word, known);
      return f.error(item, fmt::format("a step must be one of {}, is {}{}", join(known, ", "), quoted(word),
                                       near ? "; did you mean " + *near + "?" : std::string()));
    }
    const auto strength = [](Verb v) { return std::find(kRepairs.begin(), kRepairs.end(), v) - kRepairs.begin(); };
    if (!r.steps.empty() && strength(verb) <= strength(r.steps.back())) {
      return f.error(item, fmt::format("{} after {}: steps go from mild to strong ({}), each once", word, name_of(r.steps.back()),
                                       join(known, ", ")));
    }
    if (verb == Verb::bounce_link && !about_links(r.kind)) {
      return f.error(item, fmt::format("bounce_link mends links; {} is about something else", name_of(r.kind)));
    }
    r.steps.push_back(verb);
  }
}

void read_codes(Form& f, const Value::Array& list, Runbook& r) {
  r.codes.clear();
  for (const Value& item : list) {
    const std::int64_t* code = item.integer();
    if (code == nullptr || *code < 1 || *code > kXidMax)
      return f.error(item, fmt::format("codes are Xid numbers, or those of the kind, from 1 to {}", kXidMax));
    r.codes.push_back(static_cast<std::int32_t>(*code));
  }
}

// Another runbook for the same finding: one of them would never be used.
const Runbook* rival(const std::vector<RunbookText>& all, const Runbook& mine) {
  for (const RunbookText& x : all) {
    if (x.book.name == mine.name || x.book.kind != mine.kind || x.book.codes.empty() != mine.codes.empty()) continue;
    const auto shared = [&](std::int32_t c) { return std::find(mine.codes.begin(), mine.codes.end(), c) != mine.codes.end(); };
    if (mine.codes.empty() || std::any_of(x.book.codes.begin(), x.book.codes.end(), shared)) return &x.book;
  }
  return nullptr;
}

void check(Form& f, const Value& at, const std::vector<RunbookText>& all, const Runbook& r) {
  if (r.act && r.steps.empty())
    return f.error(at, fmt::format("runbooks.{} acts but has no steps: give some, or act: false", printable(r.name)));
  if (r.act && never_acted_on(r.kind)) {
    return f.error(
        at, fmt::format("runbooks.{} may not act: {} is no proof of a fault of a node", printable(r.name), name_of(r.kind)));
  }
  if (const Runbook* other = rival(all, r))
    f.error(at, fmt::format("runbooks.{} and runbooks.{} are for the same findings", printable(r.name), printable(other->name)));
}

void read_runbook(Form& outer, const Value::Member& m, std::string_view file, std::vector<RunbookText>& all) {
  auto at = std::find_if(all.begin(), all.end(), [&](const RunbookText& x) { return x.book.name == m.key; });
  RunbookText t;
  if (at != all.end()) t = *at;
  Form f(m.value, file, "runbooks." + m.key + ".");
  t.book.name = m.key;
  const bool kind_given = f.name("kind", t.book.kind);
  if (at == all.end() && !kind_given && f.ok() && !parse_name(m.key, t.book.kind)) {
    const std::vector<std::string> known = words_of(names(FindingKind{}));
    return outer.error(m.value, fmt::format("runbooks.{} is no kind of finding, nor a runbook that ships: say its kind{}",
                                            printable(m.key.substr(0, 60)), suggest(m.key, known)));
  }
  f.whole("version", t.book.version, 1, 1'000'000);
  f.text("title", t.title, kWordsMax);
  f.text("why", t.why, kWordsMax);
  f.text("source", t.source, kWordsMax);
  f.flag("act", t.book.act);
  f.name("job", t.book.job);
  f.flag("test_first", t.book.test_first);
  f.flag("window", t.book.window);
  f.whole("skip_7d", t.book.skip_7d, 0, 1000);
  f.whole("last_28d", t.book.last_28d, 0, 1000);
  if (const auto* codes = f.list("codes", kCodesMax)) read_codes(f, *codes, t.book);
  if (const auto* steps = f.list("steps", kStepsMax)) read_steps(f, *steps, t.book);
  if (f.ok()) check(f, m.value, all, t.book);
  if (const auto r = f.finish(); !r) return outer.adopt(r.error());
  if (at != all.end()) {
    *at = std::move(t);
  } else {
    all.push_back(std::move(t));
  }
}

}  // namespace

void read_runbooks(Form& outer, const Value& mapping, std::string_view file, std::vector<RunbookText>& all) {
  for (const auto& m : *mapping.object()) {
    if (outer.ok()) read_runbook(outer, m, file, all);
  }
}

Result<std::vector<RunbookText>> parse_runbooks(std::string_view text, std::string_view file, std::vector<RunbookText> all) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected<Error>(std::move(root.error()));
  Form f(*root, file);
  f.need("runbooks");
  if (const Value* v = f.object("runbooks")) read_runbooks(f, *v, file, all);
  if (const auto r = f.finish(); !r) return tl::unexpected<Error>(r.error());
  return all;
}

Result<std::vector<RunbookText>> runbooks_of_policy(std::string_view text, std::string_view file) {
  auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected<Error>(std::move(root.error()));
  std::vector<RunbookText> all = shipped_runbooks();
  Form f(*root, file);
  if (const Value* v = f.object("runbooks")) read_runbooks(f, *v, file, all);
  for (const auto& m : *root->object()) f.any(m.key);  // the rest is the policy's
  if (const auto r = f.finish(); !r) return tl::unexpected<Error>(r.error());
  return all;
}

const std::vector<RunbookText>& shipped_runbooks() {
  static const std::vector<RunbookText> all = [] {
    std::vector<RunbookText> read;
    constexpr std::string_view kFolder = "runbooks/";
    for (const std::string_view path : embedded_files()) {
      if (path.substr(0, kFolder.size()) != kFolder) continue;
      auto more = parse_runbooks(*embedded_file(path), path, std::move(read));
      MUSTER_CHECK(more.has_value());  // a test reads each of them
      read = std::move(*more);
    }
    // In the order of the kinds, those of all codes first.
    std::stable_sort(read.begin(), read.end(), [](const RunbookText& a, const RunbookText& b) {
      return std::pair(a.book.kind, !a.book.codes.empty()) < std::pair(b.book.kind, !b.book.codes.empty());
    });
    return read;
  }();
  return all;
}

std::vector<Runbook> without_words(const std::vector<RunbookText>& all) {
  std::vector<Runbook> out;
  for (const RunbookText& x : all) out.push_back(x.book);
  return out;
}

}  // namespace muster
