#include "ingest/cost_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/civil.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::size_t kCapitalMax = 200, kAssumptionsMax = 100;
constexpr std::string_view kFolder = "cost/", kEnding = ".yaml";

std::string wrong_order(const std::string& key) { return fmt::format("{}: low, likely and high must rise", key); }

// A number, or a mapping of low, likely and high.
bool read_estimate(Form& form, std::string_view file, const std::string& key, const std::string& path, const CostBounds& bounds,
                   Estimate& out) {
  const Value* v = form.any(key);
  if (v == nullptr) return false;
  if (v->object() == nullptr) {
    double d = 0;
    if (!form.number(key, d, bounds.min, bounds.max)) return false;
    out = Estimate(d);
    return true;
  }
  Form range(*v, file, path + ".");
  Estimate e;
  for (const auto& [name, to] : {std::pair{"low", &e.low}, {"likely", &e.likely}, {"high", &e.high}}) {
    range.need(name);
    range.number(name, *to, bounds.min, bounds.max);
  }
  if (range.ok() && (e.low > e.likely || e.likely > e.high)) range.error(*v, wrong_order(path));
  if (const auto done = range.finish(); !done) {
    form.adopt(done.error());
    return false;
  }
  out = e;
  return true;
}

class Reader {
 public:
  Reader(const Value& root, std::string_view file) : file_(file), form_(root, file) {}

  Result<CostSite> read() {
    heads();
    for (const char* group : {"use", "power", "facility", "people", "software", "repairs"}) {
      if (const Value* v = form_.object(group)) groups_.emplace(group, Form(*v, file_, std::string(group) + "."));
    }
    capital();
    visit_numbers(site_, [&](const std::string& key, Estimate& e, const CostBounds& bounds) { number(key, e, bounds); });
    if (Form* power = group("power")) optional(*power);
    if (Form* facility = group("facility")) facility->flag("includes_power", site_.hall_includes_power);
    for (auto& [name, form] : groups_) {
      if (auto done = form.finish(); !done) form_.adopt(done.error());
    }
    for (auto& [name, form] : items_) {
      if (auto done = form.finish(); !done) form_.adopt(done.error());
    }
    make_sense();
    if (auto done = form_.finish(); !done) return tl::unexpected(done.error());
    return std::move(site_);
  }

 private:
  Form* group(const std::string& name) {
    const auto it = groups_.find(name);
    return it == groups_.end() ? nullptr : &it->second;
  }

  void heads() {
    form_.need("name");
    form_.text("name", site_.name);
    form_.text("gpu", site_.gpu);
    form_.need("as_of");
    if (form_.text("as_of", site_.as_of) && (site_.as_of.size() != 10 || !parse_moment_utc(site_.as_of)))
      form_.error(*form_.any("as_of"), fmt::format("as_of must be a day such as 2026-11-01, is {}", quoted(site_.as_of)));
    std::string currency = "USD";
    if (form_.text("currency", currency) && currency != "USD") {
      form_.error(*form_.any("currency"), fmt::format("currency must be USD, is {}: clouds ask for dollars. Convert, and name "
                                                      "the rate under assumptions",
                                                      quoted(currency)));
    }
    const auto* said = form_.list("assumptions", kAssumptionsMax);
    for (std::size_t i = 0; said != nullptr && i < said->size(); ++i) {
      const std::string* text = (*said)[i].string();
      if (text == nullptr || text->empty() || text->size() > 1000) {
        form_.error((*said)[i], "assumptions: each must be text of 1 to 1000 bytes");
      } else {
        site_.assumptions.push_back(*text);
      }
    }
  }

  void capital() {
    const auto* list = form_.list("capital", kCapitalMax);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const Value& v = (*list)[i];
      Form form(v, file_, fmt::format("capital[{}].", i + 1));
      CapitalItem item;
      for (const char* key : {"name", "for", "usd"}) form.need(key);
      form.any("usd");
      form.text("name", item.name, 80);
      form.name("for", item.of);
      if (item.of != CostClass::network && item.of != CostClass::storage && item.of != CostClass::facility)
        form.error(v, fmt::format("capital[{}].for must be network, storage or facility: gpu_price buys the GPUs", i + 1));
      if (item.name.empty() || !form.ok()) {
        for (const char* key : {"quantity", "years", "residual", "spares"}) form.any(key);  // known all the same
        if (auto done = form.finish(); !done) form_.adopt(done.error());
        continue;
      }
      if (!items_.emplace(item.name, std::move(form)).second) {
        form_.error(v, fmt::format("capital: {} is there twice", quoted(item.name)));
        continue;
      }
      site_.capital.push_back(std::move(item));
    }
  }

  void number(const std::string& key, Estimate& e, const CostBounds& bounds) {
    Form* form = &form_;
    std::string word = key, path = key;
    if (const std::size_t dot = key.rfind('.'); dot != std::string::npos) {
      word = key.substr(dot + 1);
      const std::string outer = key.substr(0, dot);
      if (outer.starts_with("capital.")) {
        const auto it = items_.find(outer.substr(8));
        form = it == items_.end() ? nullptr : &it->second;
      } else {
        form = group(outer);
      }
    }
    if (form == nullptr) return;
    if (bounds.needed) form->need(word);
    read_estimate(*form, file_, word, path, bounds, e);
  }

  void optional(Form& power) {
    power.name("cooling", site_.cooling);
    Estimate e;
    if (read_estimate(power, file_, "load", "power.load", {0, 1}, e)) site_.load = e;
    if (read_estimate(power, file_, "pue", "power.pue", {1, 4}, e)) site_.pue = e;
  }

  // What each number allows, but not all of them together.
  void make_sense() {
    if (site_.busy_kw.likely < site_.idle_kw.likely)
      form_.error(1, fmt::format("power.busy_kw {} is below power.idle_kw {}", render_number(site_.busy_kw.likely),
                                 render_number(site_.idle_kw.likely)));
    if (site_.utilisation.likely > site_.availability.likely)
      form_.error(1, fmt::format("use.utilisation {} is above use.availability {}: both are shares of the hours owned",
                                 render_number(site_.utilisation.likely), render_number(site_.availability.likely)));
    if (site_.fans_kw.likely > site_.idle_kw.likely)
      form_.error(1, "power.fans_kw is part of power.idle_kw, and cannot be above it");
  }

  std::string_view file_;
  Form form_;
  std::map<std::string, Form> groups_, items_;
  CostSite site_;
};

// Each key there is, by itself and, where no other ends so, by its last word.
struct Known {
  std::map<std::string, std::string> full;  // what may be written, and what it means
  std::vector<std::string> words;

  explicit Known(const CostSite& site) {
    std::vector<std::string> keys = {"power.cooling", "power.pue", "power.load"};
    visit_numbers(site, [&](const std::string& key, const Estimate&, const CostBounds&) { keys.push_back(key); });
    std::map<std::string, int> ends;
    const auto end = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
    for (const std::string& key : keys) ends[end(key)] += key.starts_with("capital.") ? 0 : 1;
    for (const std::string& key : keys) {
      full[key] = key;
      if (!key.starts_with("capital.") && ends[end(key)] == 1) full[end(key)] = key;
    }
    for (const auto& [word, key] : full) words.push_back(word);
  }
};

Result<Estimate> estimate_of(const std::string& key, const std::string& text, const CostBounds& bounds) {
  const auto wrong = [&](std::string why) {
    return fail(Code::bad_input, std::move(why), fmt::format("--set {}=NUMBER, or LOW/LIKELY/HIGH", key));
  };
  std::vector<double> numbers;
  for (const std::string_view part : split(text, '/')) {
    const auto n = parse_double(trim(part));
    if (!n) return wrong(fmt::format("{} must be a number, is {}", key, quoted(text)));
    if (!(*n >= bounds.min && *n <= bounds.max))
      return wrong(fmt::format("{} must be {} to {}, is {}", key, render_number(bounds.min), render_number(bounds.max),
                               render_number(*n)));
    numbers.push_back(*n);
  }
  if (numbers.size() == 1) return Estimate(numbers[0]);
  if (numbers.size() != 3) return wrong(fmt::format("{} must be one number or three, is {}", key, quoted(text)));
  if (numbers[0] > numbers[1] || numbers[1] > numbers[2]) return wrong(wrong_order(key));
  return Estimate(numbers[0], numbers[1], numbers[2]);
}

Result<void> change_one(CostSite& site, const std::string& key, const std::string& text) {
  if (key == "power.cooling") {
    if (parse_name(text, site.cooling)) return {};
    const auto all = names(Cooling{});
    return fail(Code::bad_input,
                fmt::format("{} must be one of {}, is {}", key, join({all.begin(), all.end()}, ", "), quoted(text)));
  }
  Estimate* to = nullptr;
  CostBounds bounds{0, 1};
  visit_numbers(site, [&](const std::string& k, Estimate& e, const CostBounds& b) {
    if (k == key) to = &e, bounds = b;
  });
  if (key == "power.pue") to = &site.pue.emplace(), bounds = {1, 4};
  if (key == "power.load") to = &site.load.emplace();
  auto e = estimate_of(key, text, bounds);
  if (!e) return tl::unexpected(e.error());
  *to = *e;
  return {};
}

}  // namespace

Result<CostSite> parse_cost_site(std::string_view text, std::string_view file) {
  const auto root = parse_yaml(text, file);
  if (!root) return tl::unexpected(root.error());
  return Reader(*root, file).read();
}

std::vector<std::string> shipped_cost_site_names() {
  std::vector<std::string> all;
  for (const std::string_view path : embedded_files()) {
    if (path.starts_with(kFolder) && path.ends_with(kEnding))
      all.emplace_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnding.size()));
  }
  return all;
}

Result<CostSite> shipped_cost_site(std::string_view name) {
  const auto text = embedded_file(std::string(kFolder) + std::string(name) + std::string(kEnding));
  if (!text) {
    const auto known = shipped_cost_site_names();
    const auto near = nearest(name, known);
    return fail(
        Code::not_found, fmt::format("no site is called {}", quoted(name)),
        fmt::format("{}known: {}; or give a file (docs/cost.md)", near ? "did you mean " + *near + "? " : "", join(known, ", ")));
  }
  return parse_cost_site(*text, fmt::format("cost/{}.yaml", name));
}

Result<CostSite> change_cost_site(const CostSite& site, const std::vector<CostSetting>& settings) {
  CostSite out = site;
  const Known known(site);
  std::set<std::string> changed;
  for (const auto& [word, text] : settings) {
    const auto it = known.full.find(word);
    if (it == known.full.end()) {
      const auto near = nearest(word, known.words);
      return fail(Code::bad_input, fmt::format("no number of the site is called {}", quoted(word)),
                  near ? fmt::format("did you mean {}?", *near)
                       : "such as gpu_price, years, utilisation, pue, cooling; docs/cost.md lists all");
    }
    if (!changed.insert(it->second).second) return fail(Code::bad_input, fmt::format("{} is set twice", it->second));
    if (auto ok = change_one(out, it->second, text); !ok) return tl::unexpected(ok.error());
  }
  if (changed.contains("power.cooling") && !changed.contains("power.pue") && out.cooling != site.cooling) out.pue.reset();
  if (out.utilisation.likely > out.availability.likely) {
    return fail(Code::bad_input,
                fmt::format("utilisation {} is above availability {}: both are shares of the hours owned",
                            render_number(out.utilisation.likely), render_number(out.availability.likely)),
                "set both");
  }
  return out;
}

}  // namespace muster
