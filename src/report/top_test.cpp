#include "report/top.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"
#include "report/table.h"

namespace muster::report {
namespace {

// An escape, a line feed, an override of the reading direction, wide characters, a byte that is no UTF-8.
const std::string kHostile = "\x1b[2J\x1b]0;owned\x07\n\u202e日本🔥\u0301x";

Value json(const std::string& text) {
  auto v = parse_json(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : Value();
}

std::string quoted(const std::string& text) {
  JsonWriter w;
  w.value(text);
  return w.take();
}

Value summary(const std::string& more = "", const std::string& cluster = "alpha") {
  return json(fmt::format(
      R"({{"cluster":{},"simulation":"weather x1, speed x60, seed 1","now_utc":"2026-11-15T02:03:04.5Z","seq":9,
      "gpus":{{"installed":64,"busy":40,"idle":15,"suspect":1,"repairing":0,"drained":0,"down":8}},
      "nodes":{{"total":8,"up":7,"drained":0,"down":1}},"jobs":{{"running":3,"queued":2,"starting":0,"broken":1}},
      "incidents":{{"open":2,"total":7}},"findings":{{"open":3}},"orders":{{"total":9,"refused":4}},"useful_share":0.831{}}})",
      quoted(cluster), more));
}

Value map_of(std::size_t racks, std::size_t per_rack, const std::string& gpus, const std::string& odd_name = "") {
  JsonWriter w;
  w.object().field("gpus_per_node", gpus.size()).key("racks").array();
  for (std::size_t r = 0; r < racks; ++r) {
    w.object().field("name", fmt::format("rack{:02}", r + 1)).key("nodes").array();
    for (std::size_t n = 0; n < per_rack; ++n) w.value(r * per_rack + n);
    w.end_array().end_object();
  }
  w.end_array().key("names").array();
  const std::size_t nodes = racks * per_rack;
  for (std::size_t n = 0; n < nodes; ++n) w.value(n == 1 && !odd_name.empty() ? odd_name : fmt::format("node{:03}", n + 1));
  std::string states;
  for (std::size_t n = 0; n < nodes; ++n) states += n == 2 ? std::string(gpus.size(), 'x') : gpus;
  if (!states.empty()) states[gpus.size()] = 's';
  w.end_array().field("gpu_state", states).key("node_job").array();
  for (std::size_t n = 0; n < nodes; ++n) w.value(n % 2 == 0 ? "17" : "");
  w.end_array().key("node_incident").array();
  for (std::size_t n = 0; n < nodes; ++n) w.value(n == 1 ? 5 : 0);
  w.end_array().end_object();
  return json(w.take());
}

Value incidents(const std::string& node, std::size_t count) {
  std::string items;
  for (std::size_t i = 0; i < count; ++i) {
    items += fmt::format(R"({}{{"id":{},"node":{},"gpu_slot":3,"cause":"gpu_lost","stage":"draining","job":"17",
                         "opened_utc":"2026-11-15T01:03:04Z","closed_utc":null,"resolution":""}})",
                         i == 0 ? "" : ",", count - i, quoted(i == 0 ? node : fmt::format("node{:03}", i)));
  }
  return json("{\"items\":[" + items + "]}");
}

Value jobs() {
  return json(R"({"items":[
    {"id":"3","name":"eval","user":"bo","phase":"completed","nodes_wanted":1,"gpus":8,"progress":1,"restarts":0},
    {"id":"17","name":"train","user":"ada","phase":"running","nodes_wanted":4,"gpus":32,"progress":0.5,"restarts":1},
    {"id":"18","name":"sweep","user":"cy","phase":"queued","nodes_wanted":1,"gpus":8,"progress":0,"restarts":0}]})");
}

Value guard() {
  return json(R"({"shadow":false,"engine_away":null,"approvals":[
    {"id":1,"verb":"reboot_node","node":"node002","job":"","incident":5,"why":"two jobs","sentence":"it hangs",
     "asked":"2026-11-15T02:00:04Z","state":"waiting","by":""},
    {"id":2,"verb":"drain_node","node":"node003","job":"","incident":0,"why":"x","sentence":"y",
     "asked":"2026-11-15T01:00:04Z","state":"granted","by":"ada"}]})");
}

TopData cluster(const std::string& name = "node002") {
  return {.summary = summary(), .map = map_of(2, 4, "bbbbiiii", name), .guard = guard(), .list = incidents(name, 3)};
}

// Without the escapes of colour; anything else that starts with an escape is left in.
std::string bare(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t end = line.find_first_not_of("0123456789;", i + 2);
    if (line.substr(i, 2) == "\x1b[" && end != std::string_view::npos && line[end] == 'm') {
      i = end;
    } else {
      out += line[i];
    }
  }
  return out;
}

std::string whole(const TopFrame& f) {
  std::string out;
  for (const auto& line : f.lines) out += bare(line) + "\n";
  return out;
}

bool has(const TopFrame& f, std::string_view text) { return whole(f).find(text) != std::string::npos; }

std::string line_with(const TopFrame& f, std::string_view text) {
  for (const auto& line : f.lines) {
    if (bare(line).find(text) != std::string::npos) return bare(line);
  }
  return "";
}

void expect_fits(const TopFrame& f, const TopView& v) {
  ASSERT_EQ(f.lines.size(), v.height);
  for (const auto& line : f.lines) {
    const std::string text = bare(line);
    EXPECT_TRUE(valid_utf8(text)) << text;
    EXPECT_LE(display_width(text), v.width) << text;
    EXPECT_EQ(printable(text), text) << "something in it steers the terminal";
    EXPECT_TRUE(v.colour || text == line) << line;
  }
}

TEST(Top, FitsEveryTerminal) {
  TopData d = cluster(kHostile);
  d.summary = summary(",\"paused\":true,\"paused_by\":" + quoted(kHostile) + ",\"trouble\":" + quoted(kHostile), kHostile);
  TopView v{.command = "muster get incidents --open --server http://127.0.0.1:7070"};
  for (v.width = 40; v.width <= 250; ++v.width) {
    for (const std::size_t height : {1, 2, 5, 8, 14, 24, 50}) {
      v.height = height;
      v.colour = v.width % 2 == 0;
      v.blocks = v.width % 3 != 0;
      v.list = static_cast<TopList>(v.width % kTopLists);
      d.trouble = v.width % 5 == 0 ? kHostile : "";
      v.question = v.width % 7 == 0 ? "Drain " + kHostile + "?" : "";
      v.filter = v.width % 11 == 0 ? "0" : "";
      expect_fits(top_frame(d, v), v);
    }
  }
}

TEST(Top, AHostileNameStaysText) {
  TopView v{.list = TopList::nodes, .width = 120, .height = 30, .colour = true};
  const auto f = top_frame(cluster(kHostile), v);
  EXPECT_TRUE(has(f, "\\x1b[2J\\x1b]0;owned\\x07\\x0a\\u{202e}日本🔥"));
  EXPECT_EQ(f.ids[1], kHostile) << "what is asked about is the name itself";
  expect_fits(f, v);
}

TEST(Top, ALetterUnderAHeapOfMarksIsCut) {
  std::string heap = "a";
  for (int i = 0; i < 5000; ++i) heap += "\u0301";
  TopView v{.list = TopList::nodes};
  for (const auto& line : top_frame(cluster(heap), v).lines) EXPECT_LT(line.size(), 2000U);
}

TEST(Top, TheHeadSaysWhichClusterWhenAndThatItIsASimulation) {
  const TopView v{.width = 120};
  const auto f = top_frame(cluster(), v);
  const auto head = bare(f.lines[0]);
  for (const auto* said : {"alpha", "[SIM]", "live", "2026-11-15 02:03:04 UTC", "weather x1"}) {
    EXPECT_NE(head.find(said), std::string::npos) << head;
  }
  for (const auto* said : {"GPUs 64", "busy 40", "down 8", "useful 83.1 %", "jobs 3 running, 2 queued, 1 broken",
                           "incidents 2 open", "orders held back 4", "approvals 1 waiting", "nodes 7 of 8 up"}) {
    EXPECT_TRUE(has(f, said)) << said;
  }
}

TEST(Top, WhatIsNotAsUsualIsSaid) {
  TopData d = cluster();
  const TopView v{.width = 120};
  d.summary = summary(R"(,"paused":true,"paused_by":"ada","frozen":["gpu_lost"])");
  d.guard = json(R"({"shadow":true,"engine_away":{"since":"x"}})");
  for (const auto* said : {"PAUSED by ada", "SHADOW", "ENGINE AWAY", "frozen: gpu_lost"}) {
    EXPECT_TRUE(has(top_frame(d, v), said)) << said;
  }
}

TEST(Top, OldDataIsShownWithItsAge) {
  TopData d = cluster();
  d.trouble = "no Muster answers at http://127.0.0.1:1";
  d.age_s = 75;
  const auto f = top_frame(d, {.width = 100});
  EXPECT_TRUE(has(f, "NO ANSWER, data 1m 15s old"));
  EXPECT_TRUE(has(f, "no Muster answers at http://127.0.0.1:1"));
  EXPECT_TRUE(has(f, "node002")) << "what was known last stays";
  EXPECT_FALSE(has(f, "live"));
  d.trouble.clear();  // asked, and no answer yet
  EXPECT_TRUE(has(top_frame(d, {}), "NO ANSWER"));
  d.every_s = 60;
  EXPECT_TRUE(has(top_frame(d, {}), "live")) << "it is asked for once a minute only";
}

TEST(Top, TheBarHasACellForWhateverIsThere) {
  TopData d = cluster();
  d.summary = json(R"({"gpus":{"installed":100000,"busy":99997,"suspect":1,"drained":1,"down":1}})");
  const auto line = line_with(top_frame(d, {.width = 100, .blocks = false}), "GPUs 100,000");
  EXPECT_NE(line.find("GPUs 100,000  " + std::string(22, '#') + "sdx  # busy 99,997"), std::string::npos) << line;
}

TEST(Top, TheMapHasACellForEachNode) {
  TopData d = cluster();
  EXPECT_NE(line_with(top_frame(d, {.width = 80, .height = 30, .blocks = false}), "rack01").find("#sx# ####"), std::string::npos);
  EXPECT_FALSE(has(top_frame(d, {.width = 80, .height = 12}), "rack01")) << "on a low screen the list needs the room";
}

TEST(Top, AHundredThousandGpusFit) {
  TopData d = cluster();
  d.map = map_of(250, 50, "bbbbbbbb");
  for (const std::size_t width : {40, 80, 200}) {
    for (const bool colour : {false, true}) {
      TopView v{.list = TopList::nodes, .row = 12'499, .width = width, .height = 50, .colour = colour};
      const auto f = top_frame(d, v);
      expect_fits(f, v);
      EXPECT_TRUE(has(f, "> node12500"));
      EXPECT_EQ(f.ids.size(), 12'500U);
      EXPECT_TRUE(width != 200 || has(f, "nodes: the worst GPU of them")) << whole(f);
      EXPECT_TRUE(width != 200 || !colour || has(f, "▀")) << whole(f);
    }
  }
}

TEST(Top, TheStateOfANodeIsToldByItsGpus) {
  const auto f = top_frame(cluster(), {.list = TopList::nodes, .width = 100, .height = 30, .blocks = false});
  EXPECT_NE(line_with(f, "node002").find("suspect  s###...."), std::string::npos);
  EXPECT_NE(line_with(f, "node003").find("down     xxxxxxxx"), std::string::npos);
  EXPECT_NE(line_with(f, "node008").find("busy     ####...."), std::string::npos);
}

TEST(Top, ASelectedThingStaysSelectedWhenOthersCome) {
  TopData d = cluster();
  TopView v{.height = 40};
  v.selected = "2";
  EXPECT_EQ(top_frame(d, v).row, 1U);
  d.list = incidents("node002", 5);
  const auto f = top_frame(d, v);
  EXPECT_EQ(f.ids[f.row], "2");
  EXPECT_EQ(f.row, 3U);
  v.selected = "99";  // gone: the place stays
  v.row = 1;
  EXPECT_EQ(top_frame(d, v).row, 1U);
  v.row = 70;
  EXPECT_EQ(top_frame(d, v).row, 4U);
}

TEST(Top, TheSelectedRowIsOnTheScreen) {
  TopData d = cluster();
  d.list = incidents("node002", 100);
  TopView v{.height = 24};
  for (v.row = 0; v.row < 100; ++v.row) {
    const auto f = top_frame(d, v);
    EXPECT_LE(f.first, v.row);
    EXPECT_LT(v.row, f.first + f.page);
    EXPECT_TRUE(has(f, "> ")) << whole(f);
    EXPECT_TRUE(has(f, fmt::format("{}-{} of 100", f.first + 1, f.first + f.page)));
    v.first = f.first;
  }
}

TEST(Top, FiltersByEveryWordAndSaysWhenNothingIsLeft) {
  TopView v{.list = TopList::nodes, .filter = "RACK02  busy", .height = 30};
  auto f = top_frame(cluster(), v);
  EXPECT_EQ(f.ids, (std::vector<std::string>{"node005", "node006", "node007", "node008"}));
  EXPECT_TRUE(has(f, "/RACK02  busy"));
  v.filter = "nowhere";
  f = top_frame(cluster(), v);
  EXPECT_TRUE(f.ids.empty());
  EXPECT_TRUE(has(f, "none of the nodes has \"nowhere\" in it"));
}

TEST(Top, SortsByAColumnOfTheList) {
  TopView v{.list = TopList::nodes, .sort_by = "-NAME", .height = 30};
  const auto f = top_frame(cluster(), v);
  EXPECT_EQ(f.ids.front(), "node008");
  EXPECT_EQ(f.columns, (std::vector<std::string>{"NAME", "STATE", "GPUS", "JOB", "INCIDENT", "RACK"}));
  v.sort_by = "NO SUCH";  // of the list before
  EXPECT_EQ(top_frame(cluster(), v).ids.front(), "node001");
}

TEST(Top, WhatIsOverIsShownOnlyOnRequest) {
  TopData d = cluster();
  d.list = jobs();
  TopView v{.list = TopList::jobs};
  EXPECT_EQ(top_frame(d, v).ids, (std::vector<std::string>{"17", "18"}));
  v.list = TopList::approvals;
  EXPECT_EQ(top_frame(d, v).ids, (std::vector<std::string>{"1"}));
  v.all = true;
  EXPECT_EQ(top_frame(d, v).ids, (std::vector<std::string>{"1", "2"}));
  v.list = TopList::jobs;
  EXPECT_EQ(top_frame(d, v).ids.size(), 3U);
}

TEST(Top, BeforeTheFirstAnswerAndInAnEmptyCluster) {
  TopView v;
  EXPECT_TRUE(has(top_frame({}, v), "asking the server"));
  EXPECT_TRUE(has(top_frame({}, v), "asking for the incidents"));
  TopData d{.summary = json("{}"), .map = json("{}"), .guard = json("{}"), .list = json("{\"items\":[]}")};
  EXPECT_TRUE(has(top_frame(d, v), "no incident is open"));
  EXPECT_TRUE(has(top_frame(d, v), "useful -"));
  for (std::size_t i = 0; i < kTopLists; ++i) {
    v.list = static_cast<TopList>(i);
    expect_fits(top_frame(d, v), v);
  }
  d.list = Value();
  d.list_trouble = "there is no /api/v1/queues";
  v.list = TopList::queues;
  EXPECT_TRUE(has(top_frame(d, v), "there is no /api/v1/queues"));
}

TEST(Top, AnswersOfTheWrongShapeBreakNothing) {
  for (const auto* odd :
       {"[]", "7", "{\"items\":7}", "{\"items\":[7,null,{}],\"approvals\":[1]}",
        "{\"names\":[1,{}],\"racks\":[{\"nodes\":[-1,0,9,\"x\"]}],\"gpus_per_node\":-8,\"gpu_state\":\"zz\"}"}) {
    TopData d{.summary = json(odd), .map = json(odd), .guard = json(odd), .list = json(odd)};
    for (std::size_t i = 0; i < kTopLists; ++i) {
      TopView v{.list = static_cast<TopList>(i), .height = 40};
      expect_fits(top_frame(d, v), v);
    }
  }
}

TEST(Top, APaneStandsInPlaceOfTheListAndScrolls) {
  TopView v{.width = 60, .height = 20};
  v.pane = TopPane{.title = "incident 9", .command = "muster explain incident 9"};
  v.pane->explanation =
      json(R"({"title":"incident 9: GPU lost","sentences":["It fell off the bus.","A\u001b[2J"],"evidence":[]})");
  auto f = top_frame(cluster(), v);
  EXPECT_TRUE(has(f, "It fell off the bus.")) << whole(f);
  EXPECT_TRUE(has(f, "$ muster explain incident 9"));
  EXPECT_FALSE(has(f, "node002"));
  expect_fits(f, v);
  v.pane = TopPane{.title = "help"};
  for (int i = 0; i < 100; ++i) v.pane->text += fmt::format("line {}\n", i);
  v.pane->first = 40;
  f = top_frame(cluster(), v);
  EXPECT_TRUE(has(f, "line 40\n"));
  EXPECT_FALSE(has(f, "line 39\n"));
  v.pane->first = 4000;
  f = top_frame(cluster(), v);
  EXPECT_TRUE(has(f, "line 99\n"));
  EXPECT_EQ(f.pane_first, 100 - f.page);
}

TEST(Top, AQuestionSaysHowToAnswer) {
  TopView v{.question = "Drain node002?\nJob 17 runs there."};
  const auto f = top_frame(cluster(), v);
  EXPECT_TRUE(has(f, "Drain node002?\nJob 17 runs there.\ny do it"));
}

TEST(Top, TheBottomLineHasTheCommandAtEveryWidth) {
  TopView v{.command = "muster get incidents --open"};
  for (v.width = 40; v.width < 250; ++v.width) {
    const auto f = top_frame(cluster(), v);
    EXPECT_NE(f.lines.back().find("$ muster get incidents --open"), std::string::npos);
    EXPECT_TRUE(f.lines.back().starts_with("? help")) << v.width;
  }
}

TEST(Top, OnPaperThereAreNoKeysAndNoEmptyLines) {
  const auto f = top_frame(cluster(), {.command = "muster get incidents --open", .width = 100, .height = 40, .to_paper = true});
  EXPECT_LT(f.lines.size(), 20U);
  EXPECT_EQ(f.lines.back(), "$ muster get incidents --open");
  EXPECT_FALSE(has(f, "help") || has(f, "> ") || has(f, "live"));
  for (const auto& line : f.lines) EXPECT_FALSE(line.empty());
}

}  // namespace
}  // namespace muster::report
