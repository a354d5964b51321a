#include "ingest/cost_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/civil.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/form.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::size_t kCapitalMax = 200, kAssumptionsMax = 100;
constexpr double kGpuKwMax = 10;                   // far above any GPU with its share of the host, and far below its watts
constexpr double kRateMin = 1e-6, kRateMax = 1e3;  // USD for a unit of a currency
constexpr std::string_view kFolder = "cost/", kEnding = ".yaml";

std::string wrong_order(const std::string& key) { return fmt::format("{}: low, likely and high must rise", key); }

bool is_money(std::string_view key) {
  const std::string_view word = key.substr(key.rfind('.') + 1);
  return word == "gpu_price" || word.find("usd") != std::string_view::npos;
}

// Keys say their unit: "power.usd_per_kwh" is "power.eur_per_kwh" in a file that is in euros.
std::string in_words_of(const ExchangeRate& file, std::string key) {
  if (file.dollars() || !is_money(key)) return key;
  const std::size_t word = key.rfind('.') + 1, at = key.find("usd", word);
  return at == std::string::npos ? key : key.replace(at, 3, lower(file.currency));
}

CostBounds in_money_of(const ExchangeRate& file, const std::string& key, CostBounds bounds) {
  if (is_money(key)) bounds.max /= file.usd;
  return bounds;
}

Estimate in_dollars(const ExchangeRate& file, const std::string& key, const Estimate& e) {
  return is_money(key) ? Estimate(e.low * file.usd, e.likely * file.usd, e.high * file.usd) : e;
}

// What the numbers of a site allow, but not all of them together.
std::optional<std::string> nonsense(const CostSite& s) {
  const auto number = [](const Estimate& e) { return render_number(e.likely); };
  if (s.busy_kw.likely < s.idle_kw.likely)
    return fmt::format("power.busy_kw {} is below power.idle_kw {}", number(s.busy_kw), number(s.idle_kw));
  if (s.nameplate_kw.likely > 0 && s.nameplate_kw.likely < s.busy_kw.likely)
    return fmt::format("power.nameplate_kw {} is below power.busy_kw {}", number(s.nameplate_kw), number(s.busy_kw));
  if (std::max(s.nameplate_kw.likely, s.busy_kw.likely) > kGpuKwMax * s.node_gpus.likely)
    return fmt::format("{} kW for a node of {} GPUs: no GPU takes {} kW with its share of the host; are these watts?",
                       number(s.nameplate_kw.likely > s.busy_kw.likely ? s.nameplate_kw : s.busy_kw), number(s.node_gpus),
                       render_number(kGpuKwMax));
  if (s.utilisation.likely > s.availability.likely)
    return fmt::format("use.utilisation {} is above use.availability {}: both are shares of the hours owned",
                       number(s.utilisation), number(s.availability));
  if (s.fans_kw.likely > s.idle_kw.likely) return "power.fans_kw is part of power.idle_kw, and cannot be above it";
  if (s.gpus.certain() && s.gpus.likely != std::floor(s.gpus.likely)) return "gpus must be a whole number";
  return std::nullopt;
}

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
    if (const auto why = nonsense(site_)) form_.error(1, *why);
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
    currency();
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

  // Another currency than dollars takes a rate with its day: none is known here.
  void currency() {
    const Value* at = form_.any("currency");
    form_.text("currency", site_.file.currency);
    if (at != nullptr && form_.ok() && !is_currency(site_.file.currency))
      form_.error(*at, fmt::format("currency must be three letters such as EUR, is {}", quoted(site_.file.currency)));
    const Value* rate = form_.object("exchange");
    if (!form_.ok()) return;
    if (site_.file.dollars()) {
      if (rate != nullptr) form_.error(*rate, "exchange: the file is in USD; currency names another one");
      return;
    }
    if (rate == nullptr) {
      const std::string& c = site_.file.currency;
      form_.error(
          *at,
          fmt::format("a file in {} needs `exchange: {{usd: ..., as_of: ...}}`: what one {} was worth in USD, and on which day",
                      c, c));
      return;
    }
    Form form(*rate, file_, "exchange.");
    form.need("usd");
    form.need("as_of");
    form.number("usd", site_.file.usd, kRateMin, kRateMax);
    if (form.text("as_of", site_.file.day) && (site_.file.day.size() != 10 || !parse_moment_utc(site_.file.day)))
      form.error(*form.any("as_of"),
                 fmt::format("exchange.as_of must be a day such as 2026-11-01, is {}", quoted(site_.file.day)));
    if (auto done = form.finish(); !done) form_.adopt(done.error());
  }

  void capital() {
    const std::string price = in_words_of(site_.file, "usd");
    const auto* list = form_.list("capital", kCapitalMax);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const Value& v = (*list)[i];
      Form form(v, file_, fmt::format("capital[{}].", i + 1));
      CapitalItem item;
      for (const std::string& key : {std::string("name"), std::string("for"), price}) form.need(key);
      form.any(price);
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
    const ExchangeRate& of = site_.file;
    const std::string ours = in_words_of(of, word);
    if (const Value* dollars = ours == word ? nullptr : form->any(word); dollars != nullptr) {
      form->error(*dollars, fmt::format("{} is in USD, and the file in {}: {}", path, of.currency, in_words_of(of, path)));
      return;
    }
    if (bounds.needed) form->need(ours);
    if (read_estimate(*form, file_, ours, in_words_of(of, path), in_money_of(of, key, bounds), e)) e = in_dollars(of, key, e);
  }

  void optional(Form& power) {
    power.name("cooling", site_.cooling);
    Estimate e;
    if (read_estimate(power, file_, "load", "power.load", {0, 1}, e)) site_.load = e;
    if (read_estimate(power, file_, "pue", "power.pue", {1, 4}, e)) site_.pue = e;
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
      const std::string ours = in_words_of(site.file, key);
      full[ours] = key;
      if (!key.starts_with("capital.") && ends[end(key)] == 1) full[end(ours)] = key;
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
  auto e = estimate_of(in_words_of(site.file, key), text, in_money_of(site.file, key, bounds));
  if (!e) return tl::unexpected(e.error());
  *to = in_dollars(site.file, key, *e);
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
  if (const auto why = nonsense(out)) return fail(Code::bad_input, *why, "check its unit, or set what it is held against too");
  return out;
}

}  // namespace muster
