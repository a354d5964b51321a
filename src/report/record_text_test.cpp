#include "report/record_text.h"

#include <gtest/gtest.h>

#include "ingest/json.h"

namespace muster::report {
namespace {

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

const char* const kWindow = R"({"from_utc":"2026-11-15T00:00:00Z","to_utc":"2026-11-15T06:00:00Z","nodes":["n0","n1"],
  "attempts":1,"merged":false,"ends":["completed","node_failed"],
  "jobs":[["17",1,0,60000,[[0,2]],0,0,8],["18",2,0,30000,[[1,1]],1,1,8],["19",1,0,null,[[1,1]],null,1,8]],
  "job_names":[["pre\u001b[2Jtrain","a","ada"],["tune","a","bob"]],
  "incidents":[[7,1,3,"gpu_lost",1000,null,""]],"holds":[[1,2000,3000,"muster","muster","a lost GPU"]],"down":[]})";

TEST(TimelineText, ListsIncidentsEndsAndNodesThatWereOut) {
  const std::string text = render_timeline_text(parse_json(kWindow).value(), {});
  EXPECT_TRUE(has(text, "2 nodes, 1 attempt of jobs in and around it, 1 of which ended badly, 1 incident.")) << text;
  EXPECT_TRUE(has(text, "n1 GPU 3")) << text;
  EXPECT_TRUE(has(text, "goes on")) << text;
  EXPECT_LT(text.find("node_failed"), text.find("completed")) << "what ended badly comes first\n" << text;
  EXPECT_FALSE(has(text, "19")) << "it still runs\n" << text;
  EXPECT_TRUE(has(text, "held: muster")) << text;
  EXPECT_FALSE(has(text, "\x1b")) << "names are anybody's";
}

const char* const kAudit = R"({"chain":{"ok":true,"events":1,"digest":"abc"},"items":[
  {"at_utc":"2026-11-15T02:03:04Z","kind":"command","who":"ada","verb":"drain","on":"n1","reason":"noise","came_of":"done",
   "seq":9},
  {"at_utc":"2026-11-15T01:03:04Z","kind":"run","who":"","verb":"run_started","on":"muster 1","reason":"","came_of":"","seq":1}],
  "older":0})";

TEST(AuditText, SaysWhoDidWhatAndWhatCameOfIt) {
  const Value audit = parse_json(kAudit).value();
  const std::string all = render_audit_text(audit, "", {});
  EXPECT_TRUE(has(all, "2026-11-15 02:03:04  ada")) << all;
  EXPECT_TRUE(has(all, "not recorded")) << all;
  EXPECT_TRUE(has(all, "chain of 1 event verified")) << all;
  const std::string some = render_audit_text(audit, "ADA drain", {});
  EXPECT_TRUE(has(some, "noise")) << some;
  EXPECT_FALSE(has(some, "run_started")) << some;
  EXPECT_TRUE(has(render_audit_text(audit, "nobody", {}), "Nothing of that is on record."));
  EXPECT_EQ(filter_audit(audit, "drain").find("items")->array()->size(), 1u);
}

}  // namespace
}  // namespace muster::report
