#include "ingest/cables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/pci.h"

namespace muster {
namespace {

constexpr std::size_t kTextMax = 63;  // bytes, of each name, port and label
constexpr std::size_t kFilesMax = 256;

// One cable as it is written.
struct Line {
  std::string node, nic, to, port, label;
};

struct Row {
  std::uint32_t node = 0;
  std::uint32_t nic = 0;  // slot, or Cabling::kNicsMax + number of the device's name for NICs of no GPU
  std::uint32_t to = 0;   // switch
  std::uint32_t file = 0;
  int line = 0;
  std::string port, label;
};

class Plan {
 public:
  explicit Plan(const Site& site) : site_(site) {
    for (std::uint32_t n = 0; n < site.nodes.size(); ++n) nodes_.emplace_back(site.nodes[n].name, n);
    std::sort(nodes_.begin(), nodes_.end());
  }

  // What is added from now on stands in this file.
  void begin_file(std::string name) {
    if (files_.empty() || files_.back() != name) files_.push_back(std::move(name));
  }
  // Empty: taken. Otherwise what is wrong with it.
  std::string add(const Line& l, int line);
  // A NIC has one cable, and so has a port of a switch.
  Result<void> check() const;
  std::size_t size() const { return rows_.size(); }
  std::size_t of_gpus() const { return of_gpus_; }
  CableTable table();

 private:
  std::optional<std::uint32_t> find_node(std::string_view name) const {
    const auto it = std::lower_bound(nodes_.begin(), nodes_.end(), std::pair<std::string_view, std::uint32_t>(name, 0));
    return it != nodes_.end() && it->first == name ? std::optional(it->second) : std::nullopt;
  }
  static std::uint32_t number(std::map<std::string, std::uint32_t, std::less<>>& of, const std::string& name) {
    return of.try_emplace(name, static_cast<std::uint32_t>(of.size())).first->second;
  }
  std::string place(const Row& r) const { return fmt::format("{}:{}", printable(files_[r.file]), r.line); }
  template <class Key>
  const Row* twice(Key key, const Row*& first) const;

  const Site& site_;
  std::vector<std::pair<std::string_view, std::uint32_t>> nodes_;
  std::map<std::string, std::uint32_t, std::less<>> switches_, devices_;
  std::vector<std::string> files_;
  std::vector<Row> rows_;
  std::size_t of_gpus_ = 0;
};

std::string wrong_text(std::string_view what, const std::string& text) {
  if (text.empty()) return fmt::format("{} is empty", what);
  if (text.size() > kTextMax) return fmt::format("{} must be 1 to {} bytes of text, is {}", what, kTextMax, text.size());
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(text.begin(), text.end(), plain) && printable(text) != text)
    return fmt::format("{} has characters that cannot be shown: {}", what, quoted(text));
  return {};
}

std::string Plan::add(const Line& l, int line) {
  for (const auto& [what, text] : {std::pair<const char*, const std::string&>{"node", l.node},
                                   {"nic", l.nic},
                                   {"switch", l.to},
                                   {"port", l.port},
                                   {"cable", l.label}}) {
    if (&text == &l.label && text.empty()) continue;
    if (std::string wrong = wrong_text(what, text); !wrong.empty()) return wrong;
  }
  const auto node = find_node(l.node);
  if (!node) {
    const std::string_view host = std::string_view(l.node).substr(0, l.node.find('.'));
    const bool short_known = host.size() < l.node.size() && find_node(host);
    return fmt::format("no node is called {}{}", quoted(l.node), short_known ? "; is it " + quoted(host) + "?" : "");
  }
  Row r;
  r.node = *node;
  const std::string nic = lower(l.nic);
  if (l.nic.find_first_not_of("0123456789") == std::string::npos) {
    const auto slot = parse_uint(l.nic);
    if (!slot || *slot >= site_.gpus_per_node)
      return fmt::format("nic is {}, and a node has NICs 0 to {}", quoted(l.nic), site_.gpus_per_node - 1);
    r.nic = static_cast<std::uint32_t>(*slot);
  } else if (const int slot = slot_of_nic(nic, site_); slot >= 0) {
    r.nic = static_cast<std::uint32_t>(slot);
  } else {
    r.nic = Cabling::kNicsMax + number(devices_, nic);
  }
  of_gpus_ += r.nic < Cabling::kNicsMax ? 1 : 0;
  if (rows_.size() >= kCablesMax) return fmt::format("more than {} cables", kCablesMax);
  r.to = number(switches_, l.to);
  r.file = static_cast<std::uint32_t>(files_.size() - 1);
  r.line = line;
  r.port = l.port;
  r.label = l.label;
  rows_.push_back(std::move(r));
  return {};
}

// The earliest row whose key an earlier one has, and that one.
template <class Key>
const Row* Plan::twice(Key key, const Row*& first) const {
  std::vector<const Row*> all;
  all.reserve(rows_.size());
  for (const Row& r : rows_) all.push_back(&r);
  std::sort(all.begin(), all.end(), [&](const Row* a, const Row* b) {
    const auto ka = key(*a), kb = key(*b);
    return ka != kb ? ka < kb : a < b;
  });
  const Row* second = nullptr;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (key(*all[i]) != key(*all[i - 1]) || (second != nullptr && all[i] >= second)) continue;
    second = all[i];
    first = all[i - 1];
  }
  return second;
}

Result<void> Plan::check() const {
  const Row* first = nullptr;
  if (const Row* r = twice([](const Row& x) { return std::pair(x.node, x.nic); }, first)) {
    std::string nic = fmt::format("NIC {}", r->nic);
    for (const auto& [name, n] : devices_) {
      if (Cabling::kNicsMax + n == r->nic) nic = name;
    }
    return fail(Code::bad_input,
                fmt::format("{}: {} of {} has a cable already, at {}", place(*r), nic, site_.nodes[r->node].name, place(*first)));
  }
  if (const Row* r = twice([](const Row& x) { return std::pair(x.to, std::string_view(x.port)); }, first)) {
    std::string to;
    for (const auto& [name, n] : switches_) {
      if (n == r->to) to = name;
    }
    return fail(Code::bad_input,
                fmt::format("{}: port {} of {} has a cable already, at {}", place(*r), r->port, to, place(*first)));
  }
  return {};
}

// Cables of NICs that belong to no GPU have been checked, and are left out: no finding is about them.
CableTable Plan::table() {
  std::erase_if(rows_, [](const Row& r) { return r.nic >= Cabling::kNicsMax; });
  const auto nic_of = [](const Row& r) { return r.node * Cabling::kNicsMax + r.nic; };
  std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) { return nic_of(a) < nic_of(b); });
  CableTable t;
  t.switches.resize(switches_.size());
  for (const auto& [name, n] : switches_) t.switches[n] = name;
  for (Row& r : rows_) {
    t.nics.push_back(nic_of(r));
    t.far_ends.push_back(r.to);
    t.ports.push_back(std::move(r.port));
    t.labels.push_back(std::move(r.label));
  }
  return t;
}

// ---------------------------------------------------------------- tables

constexpr std::array<std::string_view, 5> kColumns = {"node", "nic", "switch", "port", "cable"};
constexpr std::size_t kLabel = 4;  // the one that may be missing

// Where each of kColumns stands in the header; -1: nowhere. Other columns of the plan are of no interest.
Result<std::array<int, kColumns.size()>> read_header(const std::vector<std::string>& cells, const std::string& at) {
  std::array<int, kColumns.size()> where;
  where.fill(-1);
  std::vector<std::string> others;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = lower(trim(cells[i]));
    const auto known = std::find(kColumns.begin(), kColumns.end(), name);
    if (known == kColumns.end()) {
      others.push_back(name);
      continue;
    }
    int& column = where[static_cast<std::size_t>(known - kColumns.begin())];
    if (column >= 0) return fail(Code::bad_input, fmt::format("{}: two columns are called {}", at, name));
    column = static_cast<int>(i);
  }
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    if (where[c] >= 0 || c == kLabel) continue;
    const auto near = nearest(kColumns[c], others);
    return fail(Code::bad_input,
                fmt::format("{}: no column is called {}{}", at, kColumns[c], near ? "; is it " + quoted(*near) + "?" : ""),
                "the header is node,nic,switch,port,cable in any order; cable may be left out");
  }
  return where;
}

// What stands between the cells of the header that begins at `i`: that by which most of its columns are known. Spreadsheets write
// ';' where the comma is a number's, and tabs where a table was copied.
char separator_of(std::string_view text, std::size_t i) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char separator : {',', ';', '\t'}) {
    std::size_t at = i;
    int line = 0;
    std::vector<std::string> cells;
    if (!read_csv_record(text, at, line, cells, separator)) continue;
    const auto known = std::count_if(cells.begin(), cells.end(), [](const std::string& c) {
      return std::find(kColumns.begin(), kColumns.end(), lower(trim(c))) != kColumns.end();
    });
    if (known > most) best = separator, most = known;
  }
  return best;
}

// "sep=;", which spreadsheets put before the header.
bool names_separator(std::string_view text, std::size_t i) {
  const std::string_view line = trim(text.substr(i, text.find('\n', i) - i));
  return line.size() <= 5 && lower(line).starts_with("sep=");
}

// In UTF-16 every other byte of a table in English is zero.
bool wide(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || text.substr(0, 64).find('\0') != std::string_view::npos;
}

Result<void> read_table(std::string_view text, const std::string& file, Plan& plan) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // spreadsheets begin their files with it
  const std::string name = printable(file);
  if (wide(text)) return fail(Code::bad_input, name + ":1: it is in UTF-16", "save it anew as CSV in UTF-8");
  std::size_t i = text.starts_with(kMark) ? kMark.size() : 0;
  int line = 1;
  char separator = ',';
  std::vector<std::string> cells;
  std::array<int, kColumns.size()> where{};
  std::size_t width = 0;
  const std::size_t before = plan.size(), of_gpus = plan.of_gpus();
  for (skip_csv_comments(text, i, line); i < text.size(); skip_csv_comments(text, i, line)) {
    const int first = line;
    const auto at = [&] { return fmt::format("{}:{}", name, first); };
    const bool separator_line = width == 0 && names_separator(text, i);
    if (width == 0) separator = separator_of(text, i);
    if (!read_csv_record(text, i, line, cells, separator)) return fail(Code::bad_input, at() + ": a quote is not closed");
    if (separator_line) continue;
    if (std::all_of(cells.begin(), cells.end(), [](const std::string& c) { return trim(c).empty(); })) continue;
    if (width == 0) {
      const auto header = read_header(cells, at());
      if (!header) return tl::unexpected(header.error());
      where = *header;
      width = cells.size();
      continue;
    }
    if (cells.size() != width)
      return fail(Code::bad_input, fmt::format("{}: {} cells, the header has {}", at(), cells.size(), width));
    const auto cell = [&](std::size_t c) {
      return where[c] < 0 ? std::string() : std::string(trim(cells[static_cast<std::size_t>(where[c])]));
    };
    const std::string wrong = plan.add({cell(0), cell(1), cell(2), cell(3), cell(4)}, first);
    if (!wrong.empty()) return fail(Code::bad_input, fmt::format("{}: {}", at(), wrong));
  }
  if (width == 0) return fail(Code::bad_input, fmt::format("{}:1: no header line", name));
  if (plan.size() == before) return fail(Code::bad_input, name + ":1: no cable in it", "each line after the header is one");
  if (plan.of_gpus() == of_gpus) {
    return fail(Code::bad_input, fmt::format("{}:1: none of its {} cables is of a GPU's NIC", name, plan.size() - before),
                "give nic as a slot (0, 1, ...) or as a device (mlx5_0, mlx5_1, ...)");
  }
  return {};
}

// Relative to the file that names it.
std::string beside(std::string_view file, const std::string& name) {
  const std::size_t slash = file.rfind('/');
  if (name.starts_with('/') || slash == std::string_view::npos) return name;
  return std::string(file.substr(0, slash + 1)) + name;
}

void read_named(Form& form, const Value& v, std::string_view file, const ReadText& read, Plan& plan) {
  const std::string& name = *v.string();
  if (name.empty() || name.find('\0') != std::string::npos) return form.error(v, "cables must name a file");
  if (!read) return form.error(v, fmt::format("cables are in {}, and no file can be read here", quoted(name)));
  const std::string path = beside(file, name);
  const auto text = read(path);
  if (!text) return form.error(v, "cables: " + printable(text.error().what));
  plan.begin_file(path);
  if (const auto r = read_table(*text, path, plan); !r) form.adopt(r.error());
}

void read_listed(Form& form, const Value& v, std::string_view file, Plan& plan) {
  Form f(v, file, "cables[].");
  Line l;
  for (const std::string_view key : kColumns) {
    if (key != kColumns[kLabel]) f.need(key);
  }
  f.text("node", l.node);
  f.text("nic", l.nic);
  f.text("switch", l.to);
  f.text("port", l.port);
  f.text("cable", l.label);
  if (const auto r = f.finish(); !r) return form.adopt(r.error());
  plan.begin_file(std::string(file));
  if (const std::string wrong = plan.add(l, v.line()); !wrong.empty()) form.error(v, wrong);
}

}  // namespace

void read_cables(Form& form, std::string_view file, const ReadText& read, Site& site, CableCounts& counts) {
  const Value* v = form.any("cables");
  if (v == nullptr || !form.ok()) return;
  Plan plan(site);
  if (v->string() != nullptr) {
    read_named(form, *v, file, read, plan);
  } else if (v->array() != nullptr) {
    std::size_t files = 0;
    for (const Value& item : *v->array()) {
      if (item.string() != nullptr && ++files > kFilesMax)
        return form.error(item, fmt::format("cables are in more than {} files", kFilesMax));
      if (item.string() != nullptr)
        read_named(form, item, file, read, plan);
      else
        read_listed(form, item, file, plan);
      if (!form.ok()) return;
    }
  } else {
    return form.error(*v, fmt::format("cables must be a file (CSV) or a list, is {}", v->kind()));
  }
  if (!form.ok()) return;
  if (const auto r = plan.check(); !r) return form.adopt(r.error());
  counts = {plan.size(), plan.size() - plan.of_gpus()};
  site.cables.set(plan.table());
}

}  // namespace muster
