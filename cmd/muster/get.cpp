// `muster get`: lists from the API in the format asked for.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <thread>

#include "base/node_list.h"
#include "base/text.h"
#include "client.h"
#include "commands.h"
#include "report/document.h"
#include "report/lists.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Format;

bool of_fabric(Kind kind) { return kind == Kind::leaves || kind == Kind::links; }

std::string path_of(Kind kind) {
  return "/api/v1/" + std::string(of_fabric(kind) ? "fabric" : report::kNounNames[static_cast<std::size_t>(kind)]);
}

std::string singular(Kind kind) { return std::string(report::kNounSingular[static_cast<std::size_t>(kind)]); }

bool by_node(Kind kind) { return kind == Kind::nodes || kind == Kind::gpus; }

auto not_there(Kind kind, const std::string& name) {
  return fail(Code::not_found, fmt::format("there is no {} '{}'", singular(kind), name),
              fmt::format("`muster get {}` lists them", report::kNounNames[static_cast<std::size_t>(kind)]));
}

Client::Query query_of(const GetOptions& o) {
  Client::Query q;
  if (by_node(o.kind) && !o.names.empty()) q["name"] = join(o.names, ",");
  if (o.kind == Kind::gpus) q["figures"] = "1";
  if (!o.state.empty()) q["state"] = o.state;
  if (!o.rack.empty()) q["rack"] = o.rack;
  if (!o.phase.empty()) q["phase"] = o.phase;
  if (o.open) q["open"] = "1";
  if (!o.leaf.empty()) q["leaf"] = o.leaf;
  if (!o.job.empty()) q["job"] = o.job;
  // A GPU's limit counts GPUs, the server's counts nodes.
  const bool counts_alike = o.kind != Kind::gpus && !of_fabric(o.kind) && (by_node(o.kind) || o.names.empty());
  if (o.limit > 0 && counts_alike) q["limit"] = std::to_string(o.limit);
  return q;
}

// Every name asked for must be there: a typing error must not look like an empty cluster.
Result<void> check_node_names(const GetOptions& o, const Value::Array& items) {
  if (o.names.empty() || !o.state.empty() || !o.rack.empty() || o.limit > 0) return {};
  const auto wanted = expand_node_list(join(o.names, ","));
  if (!wanted) return tl::unexpected(wanted.error());
  std::set<std::string> there;
  for (const auto& item : items) there.insert(report::text_of(item, o.kind == Kind::gpus ? "node" : "name"));
  for (const auto& name : *wanted) {
    if (!there.contains(name)) return not_there(Kind::nodes, name);
  }
  return {};
}

// Ids given by hand, picked out of the whole list in the order given.
Result<Value::Array> pick(const GetOptions& o, const Value::Array& items) {
  Value::Array out;
  for (const auto& name : o.names) {
    const auto at = std::find_if(items.begin(), items.end(), [&](const Value& v) { return report::name_of(o.kind, v) == name; });
    if (at != items.end()) {
      out.push_back(*at);
      continue;
    }
    // An array, named whole: its members.
    const std::size_t before = out.size();
    for (const auto& v : items) {
      if (o.kind == Kind::jobs && report::name_of(o.kind, v).starts_with(name + "_")) out.push_back(v);
    }
    if (out.size() == before) return not_there(o.kind, name);
  }
  return out;
}

struct List {
  Value whole;         // as the server sent it
  Value::Array items;  // chosen
};

// One answer holds both lists of the fabric: the one that is not wanted goes, the other is `items`.
Value one_list(Kind kind, Value whole) {
  if (!of_fabric(kind) || whole.object() == nullptr) return whole;
  const std::string_view wanted = kind == Kind::leaves ? "leaves" : "items";
  Value::Object out;
  for (const auto& m : *whole.object()) {
    if (m.key == wanted)
      out.push_back({"items", m.value});
    else if (m.key != "items" && m.key != "leaves" && (m.key != "left_out" || kind == Kind::links))
      out.push_back(m);
  }
  return Value(std::move(out));
}

// Without a leaf or a job the server lists bad links alone: one that is named is looked for on the leaf of its node.
Result<void> add_named_links(const Client& client, const GetOptions& o, Value::Array& items) {
  std::set<std::string> looked;
  for (const std::string& name : o.names) {
    const auto is_it = [&](const Value& v) { return report::name_of(o.kind, v) == name; };
    if (std::any_of(items.begin(), items.end(), is_it)) continue;
    const std::string node_name = name.substr(0, name.find(':'));
    const auto node = client.get("/api/v1/nodes" + piece(node_name));
    if (!node && node.error().code == Code::not_found) return not_there(o.kind, name);
    if (!node) return tl::unexpected(node.error());
    const std::string leaf = report::text_of(*node, "leaf");
    if (!looked.insert(leaf).second) continue;
    const auto there = client.get(path_of(o.kind), {{"leaf", leaf}});
    if (!there) return tl::unexpected(there.error());
    for (const Value& v : report::list_of(*there, "items")) items.push_back(v);
  }
  return {};
}

Result<List> fetch(const Client& client, const GetOptions& o) {
  auto whole = client.get(path_of(o.kind), query_of(o));
  if (!whole) return tl::unexpected(whole.error());
  List list{one_list(o.kind, std::move(*whole)), {}};
  const auto& all = report::list_of(list.whole, "items");
  if (by_node(o.kind)) {
    if (auto ok = check_node_names(o, all); !ok) return tl::unexpected(ok.error());
    list.items = all;
  } else if (!o.names.empty()) {
    Value::Array known = all;
    if (o.kind == Kind::links && o.leaf.empty() && o.job.empty()) {
      if (auto ok = add_named_links(client, o, known); !ok) return tl::unexpected(ok.error());
    }
    auto picked = pick(o, known);
    if (!picked) return tl::unexpected(picked.error());
    list.items = std::move(*picked);
  } else {
    list.items = all;
  }
  if (o.limit > 0 && list.items.size() > o.limit) list.items.resize(o.limit);
  return list;
}

// The list as it came, with the chosen items in it.
Value with_items(const Value& whole, Value::Array items) {
  Value::Object out;
  for (const auto& m : whole.object() ? *whole.object() : Value::Object{}) {
    if (m.key != "items") out.push_back(m);
  }
  out.push_back({"items", Value(std::move(items))});
  return Value(std::move(out));
}

Result<std::string> render(const GetOptions& o, List list, std::optional<Time> now) {
  report::Table table = report::list_table(o.kind, list.items, now);
  if (!o.output.sort_by.empty()) {
    const auto order = report::sort_order(table, o.output.sort_by);
    if (!order) return tl::unexpected(order.error());
    table.rows = report::in_order(std::move(table.rows), *order);
    list.items = report::in_order(std::move(list.items), *order);
  }
  std::string out;
  switch (o.output.format) {
    case Format::table:
    case Format::wide:
      if (table.rows.empty()) return std::string();
      return render_table(table, {o.output.headers, o.output.format == Format::wide, colour_wanted()});
    case Format::csv: return render_csv(table, o.output.headers);
    case Format::json: return report::render_json(with_items(list.whole, std::move(list.items)));
    case Format::yaml: return report::render_yaml(with_items(list.whole, std::move(list.items)));
    case Format::jsonl:
      for (const auto& item : list.items) out += report::render_json_line(item) + "\n";
      return out;
    case Format::name:
      for (const auto& item : list.items) out += printable(report::name_of(o.kind, item)) + "\n";
      return out;
  }
  return out;
}

bool wants_ages(const GetOptions& o) {
  return o.output.format == Format::table || o.output.format == Format::wide || !o.output.sort_by.empty();
}

// In the plain table a common cause stands for the findings it explains: one thing to look at, not one a node. Returns how many
// were left out.
std::size_t fold_members(const GetOptions& o, Value::Array& items) {
  if (o.kind != Kind::findings || o.output.format != Format::table || !o.names.empty()) return 0;
  std::set<std::string> shown;
  for (const auto& i : items) shown.insert(report::text_of(i, "id"));
  return std::erase_if(items, [&](const Value& i) { return shown.count(report::text_of(i, "part_of")) != 0; });
}

Result<void> show_once(const Client& client, const GetOptions& o) {
  auto list = fetch(client, o);
  if (!list) return tl::unexpected(list.error());
  const std::size_t folded = fold_members(o, list->items);
  const bool empty = list->items.empty();
  const double left_out = report::number_of(list->whole, "left_out").value_or(0);
  const auto text = render(o, std::move(*list), wants_ages(o) ? client.cluster_now() : std::nullopt);
  if (!text) return tl::unexpected(text.error());
  put(*text);
  const bool for_people = o.output.format == Format::table || o.output.format == Format::wide;
  if (empty && for_people) say(fmt::format("no {} to show", report::kNounNames[static_cast<std::size_t>(o.kind)]));
  if (left_out > 0) say(fmt::format("{:.0f} more were left out: --leaf or --job asks for some of them", left_out));
  if (folded > 0) say(fmt::format("{} more are part of a common cause above: -o wide shows them", folded));
  return {};
}

// Again at each change. On a terminal it redraws; as JSON lines only what changed is printed; else the whole, a blank
// line between.
int watch(const Client& client, const GetOptions& o) {
  const bool redraw = stdout_is_terminal();
  const bool lines = o.output.format == Format::jsonl;
  std::map<std::string, std::string> last;
  for (bool first = true;; first = false) {
    auto list = fetch(client, o);
    if (!list) return say_error(list.error());
    fold_members(o, list->items);
    std::map<std::string, std::string> seen;
    Value::Array changed;
    for (const auto& item : list->items) {
      auto text = report::render_json_line(item);
      auto& mine = seen[report::name_of(o.kind, item)];
      const auto before = last.find(report::name_of(o.kind, item));
      if (before == last.end() || before->second != text) changed.push_back(item);
      mine = std::move(text);
    }
    const bool news = first || seen != last;
    if (lines) list->items = std::move(changed);
    if (news || (redraw && !lines)) {
      const auto text = render(o, std::move(*list), wants_ages(o) ? client.cluster_now() : std::nullopt);
      if (!text) return say_error(text.error());
      if (redraw && !lines)
        put("\x1b[H\x1b[2J");
      else if (!lines && !first)
        put("\n");
      put(*text);
      if (const int failed = finish_output(); failed != 0) return failed;
    }
    last = std::move(seen);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

int run_get(const GetOptions& options) {
  const auto client = Client::open(options.connection);
  if (!client) return say_error(client.error());
  if (options.watch) return watch(*client, options);
  const auto shown = show_once(*client, options);
  return shown ? 0 : say_error(shown.error());
}

}  // namespace muster::cmd
