#include "report/top.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/describe.h"
#include "report/lists.h"
#include "report/top_map.h"
#include "report/units.h"

namespace muster::report {
namespace {

using namespace top;  // its own pieces

bool flag(const Value& v, std::string_view key) {
  const Value* x = v.find(key);
  return x != nullptr && x->boolean() != nullptr && *x->boolean();
}

const Value& part_of(const Value& v, std::string_view key) {
  static const Value kNone;
  const Value* x = v.find(key);
  return x != nullptr ? *x : kNone;
}

// Cells in proportion to the counts; what is there at all has one.
std::vector<std::size_t> shares(const std::vector<std::int64_t>& counts, std::size_t cells) {
  std::vector<std::size_t> out(counts.size(), 0);
  std::int64_t whole = 0;
  for (const auto n : counts) whole += n;
  if (whole == 0) return out;
  std::size_t given = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double exact = static_cast<double>(counts[i]) * static_cast<double>(cells) / static_cast<double>(whole);
    out[i] = counts[i] > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(exact + 0.5)) : 0;
    given += out[i];
  }
  auto most = std::max_element(out.begin(), out.end());
  if (given < cells) *most += cells - given;
  for (; given > cells && *most > 1; most = std::max_element(out.begin(), out.end()), --given) --*most;
  return out;
}

std::vector<Piece> gpu_pieces(const TopData& d, const TopView& v) {
  const Value& gpus = part_of(d.summary, "gpus");
  std::vector<std::int64_t> counts;
  for (const GpuState& s : kStates) counts.push_back(count_of(gpus, s.name));
  std::vector<Piece> out{words(v, "GPUs " + render_count(count_of(gpus, "installed")))};
  const auto cells = shares(counts, std::clamp<std::size_t>(v.width / 4, 8, 40));
  Piece bar;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string run;
    for (std::size_t k = 0; k < cells[i]; ++k) run += glyph(kStates[i].letter, v.blocks);
    bar.text += tint(run, kStates[i].tone, v.colour);
    bar.width += cells[i];
  }
  if (bar.width <= v.width) out.push_back(std::move(bar));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const auto said = words(v, fmt::format("{} {}", kStates[i].name, render_count(counts[i])), kStates[i].tone);
    out.push_back({tint(glyph(kStates[i].letter, v.blocks), kStates[i].tone, v.colour) + " " + said.text, said.width + 2});
  }
  return out;
}

std::vector<Piece> head_pieces(const TopData& d, const TopView& v) {
  const Value& s = d.summary;
  std::vector<Piece> out{words(v, "muster", Tone::dim)};
  if (s.is_null()) {
    out.push_back(d.trouble.empty() ? words(v, "asking the server") : badge(v, "NO ANSWER", Tone::bad));
    return out;
  }
  out.push_back(words(v, clip(printable(text_of(s, "cluster")), 32, v.blocks)));
  const auto simulation = text_of(s, "simulation");
  if (!simulation.empty()) out.push_back(badge(v, "SIM", Tone::warn));
  const bool silent = !d.trouble.empty() || d.age_s > std::max(3.0, 2 * d.every_s + 1);
  const std::string age = render_span(from_seconds(std::clamp(d.age_s, 0.0, 1e9)));
  out.push_back(v.past   ? badge(v, "PAST", Tone::warn)
                : silent ? badge(v, "NO ANSWER, data " + age + " old", Tone::bad)
                         : words(v, v.to_paper ? "" : "live", Tone::good));
  if (flag(s, "paused"))
    out.push_back(badge(v, "PAUSED by " + clip(printable(text_of(s, "paused_by")), 24, v.blocks), Tone::warn));
  if (flag(d.guard, "shadow")) out.push_back(badge(v, "SHADOW: nothing is done", Tone::warn));
  if (part_of(d.guard, "engine_away").object() != nullptr) out.push_back(badge(v, "ENGINE AWAY", Tone::bad));
  auto now = text_of(s, "now_utc").substr(0, 19);
  std::replace(now.begin(), now.end(), 'T', ' ');
  if (!now.empty()) out.push_back(words(v, now + " UTC"));
  if (!simulation.empty()) out.push_back(words(v, simulation, Tone::dim));
  for (const Value& cause : list_of(s, "frozen")) {
    if (cause.string() != nullptr) out.push_back(words(v, "frozen: " + *cause.string(), Tone::warn));
  }
  if (const auto trouble = text_of(s, "trouble"); !trouble.empty()) out.push_back(words(v, trouble, Tone::bad));
  return out;
}

std::int64_t waiting_approvals(const TopData& d) {
  std::int64_t n = 0;
  for (const Value& a : list_of(d.guard, "approvals")) n += text_of(a, "state") == "waiting" ? 1 : 0;
  return n;
}

std::vector<Piece> tile_pieces(const TopData& d, const TopView& v) {
  const Value& s = d.summary;
  const Value& jobs = part_of(s, "jobs");
  const Value& nodes = part_of(s, "nodes");
  const auto alarm = [](std::int64_t n) { return n > 0 ? Tone::warn : Tone::plain; };
  std::string work = fmt::format("jobs {} running", render_count(count_of(jobs, "running")));
  for (const std::string_view phase : {"starting", "queued", "broken"}) {
    const auto n = count_of(jobs, phase);
    if (n > 0 || phase == "queued") work += fmt::format(", {} {}", render_count(n), phase);
  }
  const auto open = count_of(part_of(s, "incidents"), "open");
  const auto found = count_of(part_of(s, "findings"), "open");
  const auto waiting = waiting_approvals(d);
  std::vector<Piece> out{words(v, "useful " + render_percent(number_of(s, "useful_share")), Tone::good), words(v, work),
                         words(v, fmt::format("incidents {} open", render_count(open)), alarm(open))};
  if (waiting > 0) out.push_back(words(v, fmt::format("approvals {} waiting", render_count(waiting)), Tone::warn));
  out.push_back(words(v, fmt::format("orders held back {}", render_count(count_of(part_of(s, "orders"), "refused")))));
  out.push_back(words(v, fmt::format("findings {} open", render_count(found)), alarm(found)));
  out.push_back(
      words(v, fmt::format("nodes {} of {} up", render_count(count_of(nodes, "up")), render_count(count_of(nodes, "total")))));
  return out;
}

Lines head_lines(const TopData& d, const TopView& v) {
  const std::size_t most = v.height >= 20 ? 3 : v.height >= 14 ? 2 : 1;
  Lines out = flow(head_pieces(d, v), v.width, most);
  if (!d.trouble.empty()) out.push_back(words(v, d.trouble, Tone::bad).text);
  if (d.summary.is_null()) return out;
  for (auto& line : flow(gpu_pieces(d, v), v.width, most)) out.push_back(std::move(line));
  for (auto& line : flow(tile_pieces(d, v), v.width, most)) out.push_back(std::move(line));
  return out;
}

Table approval_table(const Value::Array& items, std::optional<Time> now) {
  Table t{{{"ID", true}, {"STATE"}, {"ACT"}, {"NODE"}, {"JOB"}, {"INCIDENT", true}, {"ASKED"}, {"WHY"}, {"WHAT FOR"}, {"BY"}},
          {}};
  for (const Value& a : items) {
    const auto asked = time_of(a, "asked");
    Cell age = cell(asked && now ? render_span(*now - *asked) : text_of(a, "asked"));
    if (asked) age.key = -static_cast<double>(asked->ns);
    const auto state = text_of(a, "state");
    t.rows.push_back({cell(text_of(a, "id")), cell(state, state == "waiting" ? Tone::warn : Tone::plain),
                      cell(text_of(a, "verb")), cell(text_of(a, "node")), cell(text_of(a, "job")), cell(text_of(a, "incident")),
                      std::move(age), cell(text_of(a, "why")), cell(text_of(a, "sentence")), cell(text_of(a, "by"))});
  }
  return t;
}

struct Rows {
  Table table;
  Lines ids;
};

bool is_over(TopList list, const Value& item) {
  const auto phase = text_of(item, "phase");
  if (list == TopList::jobs) return phase == "completed" || phase == "failed" || phase == "cancelled";
  return list == TopList::approvals && text_of(item, "state") != "waiting";
}

Rows all_rows(const TopData& d, const TopView& v) {
  const auto now = time_of(d.summary, "now_utc");
  Rows out;
  if (v.list == TopList::nodes) {
    out.table = node_table(d.map, v);
    for (const Value& n : list_of(d.map, "names")) out.ids.push_back(n.string() != nullptr ? *n.string() : std::string());
    return out;
  }
  const bool approvals = v.list == TopList::approvals;
  const auto& items = approvals ? list_of(d.guard, "approvals") : list_of(d.list, "items");
  constexpr Noun kNouns[kTopLists] = {Noun::incidents, Noun::jobs, Noun::nodes, Noun::findings, Noun::queues};
  const Noun noun = kNouns[static_cast<std::size_t>(v.list)];
  Table whole = approvals ? approval_table(items, now) : list_table(noun, items, now);
  out.table.columns = std::move(whole.columns);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!v.all && is_over(v.list, items[i])) continue;
    out.table.rows.push_back(std::move(whole.rows[i]));
    out.ids.push_back(approvals ? text_of(items[i], "id") : name_of(noun, items[i]));
  }
  return out;
}

bool matches(const Table& t, const std::vector<Cell>& row, const std::vector<std::string>& wanted) {
  std::string text;
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    if (!t.columns[c].wide) text += lower(printable(row[c].text)) + ' ';
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& w) { return text.find(w) != std::string::npos; });
}

std::vector<std::string> words_of(std::string_view filter) {
  std::vector<std::string> out;
  for (const auto word : split(filter, ' ')) {
    if (!word.empty()) out.push_back(lower(word));
  }
  return out;
}

Rows chosen_rows(const TopData& d, const TopView& v) {
  Rows all = all_rows(d, v);
  if (const auto wanted = words_of(v.filter); !wanted.empty()) {
    Rows left{{std::move(all.table.columns), {}}, {}};
    for (std::size_t i = 0; i < all.ids.size(); ++i) {
      if (!matches(left.table, all.table.rows[i], wanted)) continue;
      left.table.rows.push_back(std::move(all.table.rows[i]));
      left.ids.push_back(std::move(all.ids[i]));
    }
    all = std::move(left);
  }
  if (const auto order = v.sort_by.empty() ? fail(Code::bad_input, "") : sort_order(all.table, v.sort_by); order) {
    all.table.rows = in_order(std::move(all.table.rows), *order);
    all.ids = in_order(std::move(all.ids), *order);
  }
  return all;
}

// Which columns there is room for, and how wide each is: from the left, long ones cut first.
std::vector<std::pair<std::size_t, std::size_t>> fit(const Table& t, std::size_t width) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::vector<std::size_t> wanted;
  const std::size_t cap = std::max<std::size_t>(8, width * 3 / 10);
  std::size_t used = 0;
  for (std::size_t c = 0; c < t.columns.size() && used + 4 < width; ++c) {
    if (t.columns[c].wide) continue;
    std::size_t natural = display_width(t.columns[c].name);
    for (const auto& row : t.rows) natural = std::max(natural, display_width(printable(row[c].text)));
    const std::size_t gap = out.empty() ? 0 : 2;
    const std::size_t has = std::min({natural, cap, width - used - gap});
    if (has < std::min<std::size_t>(natural, 4)) break;
    out.emplace_back(c, has);
    wanted.push_back(natural);
    used += gap + has;
  }
  for (std::size_t i = 0; i < out.size() && used < width; ++i) {
    const std::size_t more = std::min(wanted[i] - out[i].second, width - used);
    out[i].second += more;
    used += more;
  }
  return out;
}

Lines table_lines(const Rows& rows, const TopView& v, std::size_t first, std::size_t most, std::size_t selected) {
  const std::size_t margin = v.to_paper ? 0 : 2;
  const auto columns = fit(rows.table, v.width - std::min(v.width, margin));
  std::string heading(margin, ' ');
  for (const auto& [c, width] : columns) {
    const std::string name = clip(rows.table.columns[c].name, width, false);
    heading += rows.table.columns[c].right ? fmt::format("{:>{}}  ", name, width) : fmt::format("{:<{}}  ", name, width);
  }
  heading.erase(heading.find_last_not_of(' ') + 1);
  Lines out{tint(heading, Tone::dim, v.colour)};
  for (std::size_t i = first; i < std::min(first + most, rows.ids.size()); ++i) {
    const bool here = i == selected && !v.to_paper;
    std::string line = margin == 0 ? "" : here ? "> " : "  ";
    std::size_t owed = 0;  // blanks that are written only if something follows
    for (const auto& [c, width] : columns) {
      const Cell& cell = rows.table.rows[i][c];
      const std::string text = clip(printable(cell.text), width, v.blocks);
      const std::size_t gap = width - std::min(width, display_width(text));
      const bool right = rows.table.columns[c].right;
      line.append(owed + (right ? gap : 0), ' ').append(tint(text, cell.tone, v.colour && !here));
      owed = 2 + (right ? 0 : gap);
    }
    out.push_back(here && v.colour ? "\x1b[7m" + line + "\x1b[0m" : line);
  }
  return out;
}

std::string nothing_words(const TopData& d, const TopView& v) {
  const Value& from = v.list == TopList::nodes ? d.map : v.list == TopList::approvals ? d.guard : d.list;
  if (from.is_null()) return d.list_trouble.empty() ? "asking for the " + std::string(name_of(v.list)) : d.list_trouble;
  if (!v.filter.empty()) return fmt::format("none of the {} has \"{}\" in it: Esc shows all again", name_of(v.list), v.filter);
  if (v.all || v.list == TopList::nodes || v.list == TopList::queues) return fmt::format("there are no {}", name_of(v.list));
  constexpr std::string_view kNone[kTopLists] = {
      "no incident is open", "no job runs or waits", "", "no finding is open", "", "nothing waits for approval"};
  return std::string(kNone[static_cast<std::size_t>(v.list)]) + (v.to_paper ? "" : ": o shows those that are over");
}

Lines tab_lines(const TopData& d, const TopView& v, const std::string& range) {
  const Value& s = d.summary;
  const Value& jobs = part_of(s, "jobs");
  const std::array<std::int64_t, kTopLists> counts = {
      count_of(part_of(s, "incidents"), "open"),
      count_of(jobs, "running") + count_of(jobs, "starting") + count_of(jobs, "queued") + count_of(jobs, "broken"),
      count_of(part_of(s, "nodes"), "total"),
      count_of(part_of(s, "findings"), "open"),
      0,
      waiting_approvals(d)};
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < kTopLists; ++i) {
    const bool here = i == static_cast<std::size_t>(v.list);
    if (v.to_paper && !here) continue;
    std::string text = v.width >= 60 || here ? fmt::format("{} {}", i + 1, names(TopList{})[i]) : std::to_string(i + 1);
    if (counts[i] > 0 && (v.width >= 90 || here)) text += " " + render_count(counts[i]);
    if (v.to_paper) text = std::string(name_of(v.list));
    pieces.push_back(here && !v.to_paper ? badge(v, text, Tone::plain) : words(v, text, v.to_paper ? Tone::plain : Tone::dim));
  }
  if (v.typing || !v.filter.empty()) {
    const std::string text = clip(printable(v.filter), std::max<std::size_t>(8, v.width / 3), v.blocks);
    pieces.push_back(words(v, "/" + text + (v.typing ? "_" : ""), Tone::warn));
  }
  if (v.all && v.list != TopList::nodes && v.list != TopList::queues) pieces.push_back(words(v, "also those that are over"));
  if (!v.sort_by.empty()) pieces.push_back(words(v, "by " + v.sort_by));
  pieces.push_back(words(v, range, Tone::dim));
  return flow(pieces, v.width, 2);
}

std::string key_words(const TopView& v) {
  if (!v.question.empty()) return "y do it   any other key: no";
  if (v.typing) return "enter keep   esc clear";
  if (v.pane) return "esc back   j k scroll   q quit   ? help";
  std::string out = "? help   q quit   / filter   enter explain   1-6 lists   s sort";
  if (v.list == TopList::approvals) return out + "   a approve   r reject";
  if (v.list == TopList::nodes) out += "   d drain";
  return out + "   p pause";
}

constexpr std::size_t kSaidMax = 6;  // lines of a question or message

Lines foot_lines(const TopView& v) {
  Lines out;
  for (const std::string* text : {&v.question, &v.message}) {
    for (const auto line : split(*text, '\n')) {
      if (!line.empty()) add_cut(printable(line), v.width, out);
    }
  }
  if (out.size() > kSaidMax) out.resize(kSaidMax);
  for (auto& line : out) line = tint(line, Tone::warn, v.colour);
  const std::string command = "$ " + printable(v.pane && !v.pane->command.empty() ? v.pane->command : v.command);
  if (v.to_paper) {
    out.push_back(clip(command, v.width, v.blocks));
    return out;
  }
  const std::string keys = key_words(v);
  const std::size_t wide = display_width(command);
  // The command is what must not be missing; of the keys, help is the first.
  const std::size_t room = wide + 3 < v.width ? v.width - wide - 3 : 0;
  const std::string left = room >= 6 ? clip(keys, room, v.blocks) : "";
  const std::string gap(left.empty() ? 0 : v.width - wide - display_width(left), ' ');
  out.push_back(!v.question.empty()
                    ? tint(clip(keys, v.width, v.blocks), Tone::dim, v.colour)
                    : tint(left + gap, Tone::dim, v.colour) + tint(clip(command, v.width, v.blocks), Tone::good, v.colour));
  return out;
}

Lines pane_text(const TopData& d, const TopView& v) {
  const Page page{.colour = false, .width = std::max<std::size_t>(v.width, 24) - 4, .now = time_of(d.summary, "now_utc")};
  Lines out;
  const std::string text = v.pane->explanation ? render_explanation(*v.pane->explanation, page) : v.pane->text;
  for (const auto line : split(text, '\n')) add_cut(printable(line), v.width, out);
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

void add(Lines& to, Lines more) {
  for (auto& line : more) to.push_back(std::move(line));
}

// The pane in place of map and list.
void add_pane(const TopData& d, const TopView& v, std::size_t room, TopFrame& f) {
  const Lines text = pane_text(d, v);
  f.page = room > 1 ? room - 1 : 1;
  f.pane_first = std::min(v.pane->first, text.size() > f.page ? text.size() - f.page : 0);
  const std::size_t end = std::min(text.size(), f.pane_first + f.page);
  std::vector<Piece> title{badge(v, v.pane->title, Tone::plain)};
  if (end - f.pane_first < text.size())
    title.push_back(words(v, fmt::format("lines {}-{} of {}", f.pane_first + 1, end, text.size()), Tone::dim));
  add(f.lines, flow(title, v.width, 1));
  f.lines.insert(f.lines.end(), text.begin() + static_cast<std::ptrdiff_t>(f.pane_first),
                 text.begin() + static_cast<std::ptrdiff_t>(end));
}

void add_list(const TopData& d, const TopView& v, std::size_t room, TopFrame& f) {
  const Rows rows = chosen_rows(d, v);
  const auto range = [&](std::size_t from, std::size_t to) {
    return rows.ids.empty() ? "" : fmt::format("{}-{} of {}", from, to, rows.ids.size());
  };
  const std::size_t tabs = tab_lines(d, v, range(rows.ids.size(), rows.ids.size())).size();
  const std::size_t wanted = std::clamp<std::size_t>(rows.ids.size(), 1, 6) + 1 + tabs;
  if (v.height >= 20 && room > wanted) {
    Lines map = map_lines(d, v, std::min({room - wanted, (v.height - 8) / 4, std::size_t{12}}));
    room -= map.size();
    add(f.lines, std::move(map));
  }
  for (const Column& c : rows.table.columns) {
    if (!c.wide) f.columns.push_back(c.name);
  }
  f.page = room > tabs + 1 ? room - tabs - 1 : 1;
  const auto at = std::find(rows.ids.begin(), rows.ids.end(), v.selected);
  f.row = at != rows.ids.end() && !v.selected.empty() ? static_cast<std::size_t>(at - rows.ids.begin()) : v.row;
  f.row = rows.ids.empty() ? 0 : std::min(f.row, rows.ids.size() - 1);
  const std::size_t last = rows.ids.size() > f.page ? rows.ids.size() - f.page : 0;
  f.first = std::min({v.first, f.row, last});
  if (f.row >= f.first + f.page) f.first = f.row + 1 - f.page;
  add(f.lines, tab_lines(d, v, range(f.first + 1, std::min(rows.ids.size(), f.first + f.page))));
  if (rows.ids.empty()) {
    f.lines.push_back(words(v, nothing_words(d, v), Tone::dim).text);
  } else {
    add(f.lines, table_lines(rows, v, f.first, f.page, f.row));
  }
  f.ids = rows.ids;
}

}  // namespace

TopFrame top_frame(const TopData& data, const TopView& view) {
  TopFrame f;
  f.pane_first = view.pane ? view.pane->first : 0;
  if (view.width == 0 || view.height == 0) return f;
  const Lines foot = foot_lines(view);
  f.lines = head_lines(data, view);
  // On a low screen the list goes before the numbers.
  const std::size_t kept = view.height > foot.size() + 5 ? view.height - foot.size() - 5 : 1;
  if (f.lines.size() > kept) f.lines.resize(kept);
  const std::size_t room = view.height - std::min(view.height, f.lines.size() + foot.size());
  if (view.pane) {
    add_pane(data, view, room, f);
  } else {
    add_list(data, view, room, f);
  }
  const std::size_t body = view.height - std::min(view.height, foot.size());
  if (f.lines.size() > body || !view.to_paper) f.lines.resize(body);
  add(f.lines, foot);
  if (f.lines.size() > view.height) f.lines.erase(f.lines.begin(), f.lines.end() - static_cast<std::ptrdiff_t>(view.height));
  return f;
}

}  // namespace muster::report
