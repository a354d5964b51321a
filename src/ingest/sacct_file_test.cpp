#include "ingest/sacct_file.h"

#include <gtest/gtest.h>

#include "ingest/gres_text.h"

namespace muster {
namespace {

constexpr Time kNoon{1'782'907'200'000'000'000};  // 2026-07-01 12:00 UTC

// Berlin, around both changes of 2026.
const ZoneOffsets kBerlin = {{Time{0}, 3600}, {Time{1'774'746'000'000'000'000}, 7200}, {Time{1'792'890'000'000'000'000}, 3600}};

SacctFile read(const std::string& text, const ZoneOffsets& zone = {}) {
  auto r = parse_sacct_file(text, "jobs.txt", zone);
  EXPECT_TRUE(r) << (r ? "" : r.error().what);
  return r ? std::move(*r) : SacctFile{};
}

std::string refusal(const std::string& text) {
  const auto r = parse_sacct_file(text, "jobs.txt");
  return r ? "read" : r.error().what;
}

TEST(SacctFile, columns_are_found_by_name_in_any_order_and_with_any_mark) {
  const std::string rows[] = {
      "JobID|User|Account|Partition|State|Submit|Eligible|Start|End|NNodes|NodeList|AllocTRES\n"
      "17_3|ada|physics|gpu|COMPLETED|1782900000|1782900010|1782907200|1782910800|2|gpu[1-2]|cpu=64,gres/gpu:h200=16,gres/"
      "gpu=16,node=2\n",
      "AllocTRES\tNodeList\tEnd\tStart\tEligible\tSubmit\tState\tPartition\tAccount\tUser\tJobID\tNNodes\n"
      "cpu=64,gres/"
      "gpu:h200=16\tgpu[1-2]\t2026-07-01T13:00:00\t2026-07-01T12:00:00\t2026-07-01T10:00:10\t2026-07-01T10:00:"
      "00\tCOMPLETED\tgpu\tphysics\tada\t17_3\t2\n",
      "jobid#x9#USER#x9#account#x9#partition#x9#state#x9#submit#x9#eligible#x9#start#x9#end#x9#nnodes#x9#nodelist#x9#alloctres#"
      "x9#\r\n"
      "17_3#x9#ada#x9#physics#x9#gpu#x9#COMPLETED#x9#1782900000#x9#1782900010#x9#1782907200#x9#1782910800#x9#2#x9#gpu[1-2]#x9#"
      "gres/gpu:h200=16#x9#\r\n"};
  for (const std::string& text : rows) {
    const SacctFile f = read(text);
    ASSERT_EQ(f.jobs.size(), 1U) << text;
    const JobRecord& j = f.jobs[0];
    EXPECT_EQ(j.id.number, 17U);
    EXPECT_EQ(j.id.array_index, 3);
    EXPECT_EQ(j.user + "/" + j.account + "/" + j.partition + "/" + j.node_list, "ada/physics/gpu/gpu[1-2]") << text;
    EXPECT_EQ(j.gpus_milli, 16'000);
    EXPECT_EQ(j.gpu_type, "h200");
    EXPECT_EQ(j.started, kNoon);
    EXPECT_EQ(j.ended, kNoon + hours(1));
    EXPECT_EQ(j.nodes, 2U);
    EXPECT_EQ(j.state, RecordState::completed);
    EXPECT_EQ(j.line, 2U);
    EXPECT_EQ(f.counts.with_gpus, 1U);
  }
}

TEST(SacctFile, pieces_of_any_size_say_the_same) {
  std::string text = "JobID|State|Start|End|NodeList|AllocTRES\n";
  for (int i = 1; i < 200; ++i)
    text += std::to_string(i) + "|COMPLETED|1782907200|1782910800|n1|gres/gpu=" + std::to_string(i % 9) + "\n";
  const SacctFile whole = read(text);
  for (const std::size_t piece : {1U, 7U, 64U}) {
    std::vector<std::int64_t> gpus;
    const ZoneOffsets utc;
    SacctReader r("jobs.txt", utc, [&](const JobRecord& j) { gpus.push_back(*j.gpus_milli); });
    for (std::size_t at = 0; at < text.size(); at += piece) ASSERT_TRUE(r.feed(std::string_view(text).substr(at, piece)));
    ASSERT_TRUE(r.finish());
    ASSERT_EQ(gpus.size(), whole.jobs.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) ASSERT_EQ(gpus[i], whole.jobs[i].gpus_milli);
  }
}

TEST(SacctFile, gpus_that_are_not_said_are_not_none) {
  const SacctFile f = read(
      "JobID|State|Start|End|NodeList|AllocTRES|ReqTRES\n"
      "1|COMPLETED|1782907200|1782910800|n1|cpu=4,node=1|cpu=4,node=1\n"
      "2|COMPLETED|1782907200|1782910800|n1||cpu=4,gres/gpu=2\n"
      "3|COMPLETED|1782907200|1782910800|n1|cpu=4|cpu=4,gres/gpu=2\n"
      "4|PENDING|Unknown|Unknown|None assigned||cpu=4,gres/gpu=2\n"
      "5|COMPLETED|1782907200|1782910800|n1|cpu=4,gres/shard=3|cpu=4\n");
  EXPECT_EQ(f.jobs[0].gpus_milli, 0);
  EXPECT_FALSE(f.jobs[1].gpus_milli);
  EXPECT_FALSE(f.jobs[2].gpus_milli) << "it asked for GPUs: what it got is not said";
  EXPECT_EQ(f.jobs[3].gpus_milli, 2000);
  EXPECT_TRUE(f.jobs[3].gpus_requested);
  EXPECT_FALSE(f.jobs[4].gpus_milli);
  EXPECT_EQ(f.counts.of(SacctFault::shards), 1U);
}

TEST(SacctFile, older_forms_of_gpus_are_read) {
  EXPECT_EQ(
      read("JobID|State|Start|End|NodeList|NNodes|AllocGRES\n1|COMPLETED|1782907200|1782910800|n1|2|gpu:8\n").jobs[0].gpus_milli,
      8000);
  EXPECT_EQ(read("JobID|State|Start|End|NodeList|NNodes|AllocGRES\n1|COMPLETED|1782907200|1782910800|n1|2|PER_NODE:gpu:4\n")
                .jobs[0]
                .gpus_milli,
            8000);
  EXPECT_EQ(
      read("JobID|State|Start|End|NodeList|GresUsed\n1|COMPLETED|1782907200|1782910800|n1|gres:gpu:h100:8\n").jobs[0].gpu_type,
      "h100");
  EXPECT_EQ(parse_gres("gpu:h200:8(S:0-1),shard:h200:64").milli, 8000);
  EXPECT_EQ(parse_gres("gpu:8(IDX:0-7)").milli, 8000);
  EXPECT_EQ(parse_gres("gres/gpu:a100=4,gres/gpu:v100=2,gres/gpu=8").milli, 8000);
  EXPECT_EQ(parse_gres("gres/gpumem=80G,gres/gpuutil=4,gres/nic=8").milli, 0);
  EXPECT_EQ(parse_gres("gres/gpu:1g.10gb=7").milli, 7 * 142) << "a seventh of a GPU each, rounded down";
  EXPECT_EQ(parse_gres("gpu:h100_3g.40gb:2,gpu:h100:6").milli, 6000 + 2 * 428);
  EXPECT_EQ(parse_gres("gpu").milli, 1000);
  EXPECT_TRUE(parse_gres("gres/gpu=many").wrong);
}

TEST(SacctFile, local_times_that_come_twice_or_never_are_told) {
  const std::string head = "JobID|State|Start|End|ElapsedRaw|NodeList|AllocTRES\n";
  // 25 October 2026: from 03:00 back to 02:00.
  SacctFile f = read(head + "1|COMPLETED|2026-10-25T01:30:00|2026-10-25T02:30:00|7200|n1|gres/gpu=1\n", kBerlin);
  EXPECT_EQ(f.jobs[0].ended - f.jobs[0].started, hours(2)) << "two hours long: it ended in the second of both";
  EXPECT_EQ(f.counts.of(SacctFault::ambiguous_time), 1U);
  f = read(head + "1|COMPLETED|2026-10-25T01:30:00|2026-10-25T02:30:00|3600|n1|gres/gpu=1\n", kBerlin);
  EXPECT_EQ(f.jobs[0].ended - f.jobs[0].started, hours(1));
  f = read(head + "1|COMPLETED|2026-10-25T02:45:00|2026-10-25T02:15:00||n1|gres/gpu=1\n", kBerlin);
  EXPECT_EQ(f.jobs[0].ended - f.jobs[0].started, minutes(30)) << "it cannot end before it began";
  f = read(head + "1|COMPLETED|2026-03-29T01:30:00|2026-03-29T02:30:00||n1|gres/gpu=1\n", kBerlin);
  EXPECT_EQ(f.counts.of(SacctFault::skipped_time), 1U);
  f = read(head + "1|COMPLETED|2026-07-01T14:00:00|2026-07-01T14:00:00+0100||n1|gres/gpu=1\n", kBerlin);
  EXPECT_EQ(f.jobs[0].started, kNoon);
  EXPECT_EQ(f.jobs[0].ended, kNoon + hours(1));
  EXPECT_EQ(f.counts.of(SacctFault::time_without_zone), 1U);
}

TEST(SacctFile, times_that_are_none_are_not_said) {
  const SacctFile f = read(
      "JobID|State|Start|End|Elapsed|NodeList|AllocTRES\n"
      "1|CANCELLED by 1000|None|2026-07-01T12:00:00Z|00:00:00|None assigned|\n"
      "2|RUNNING|1782907200|Unknown|01:00:00|n1|gres/gpu=1\n"
      "3|COMPLETED|1782907200|Unknown|1-01:00:00|n1|gres/gpu=1\n"
      "4|COMPLETED|2026-02-30T00:00:00|yesterday|01:00:00|n1|gres/gpu=1\n");
  EXPECT_EQ(f.jobs[0].started.ns, 0);
  EXPECT_EQ(f.jobs[0].state, RecordState::cancelled);
  EXPECT_EQ(f.jobs[1].ended.ns, 0);
  EXPECT_EQ(f.jobs[2].ended, kNoon + hours(25)) << "its length says so";
  EXPECT_EQ(f.counts.of(SacctFault::wrong_time), 2U);
}

TEST(SacctFile, steps_only_say_what_their_job_does_not) {
  const SacctFile f = read(
      "JobID|State|Start|End|NodeList|AllocTRES|ConsumedEnergyRaw\n"
      "1|COMPLETED|1782907200|1782910800|n1||\n"
      "1.batch|COMPLETED|1782907200|1782910800|n1|gres/gpu=4|9000\n"
      "1.extern|COMPLETED|1782907200|1782910800|n1|gres/gpu=8|10000\n"
      "2|COMPLETED|1782907200|1782910800|n1|gres/gpu=2|18446744073709551614\n"
      "2.0|COMPLETED|1782907200|1782910800|n1|gres/gpu=1|0\n"
      "2|PREEMPTED|1782920000|1782930000|n1|gres/gpu=2|9223372036854775808\n");
  ASSERT_EQ(f.jobs.size(), 3U);
  EXPECT_EQ(f.counts.steps, 3U);
  EXPECT_EQ(f.jobs[0].gpus_milli, 4000) << "the first that says it";
  EXPECT_EQ(f.jobs[0].energy_j, 10'000) << "steps of one time are measured by the same meters";
  EXPECT_EQ(f.jobs[1].gpus_milli, 2000);
  EXPECT_FALSE(f.jobs[1].energy_j) << "Slurm's mark for none is no measurement";
  EXPECT_EQ(f.counts.of(SacctFault::wrong_energy), 2U);
}

TEST(SacctFile, a_name_with_the_mark_in_it_moves_no_other_cell) {
  const SacctFile f = read(
      "JobID|JobName|User|State|Start|End|NodeList|AllocTRES\n"
      "1|a|b|c|ada|COMPLETED|1782907200|1782910800|n1|gres/gpu=1\n"
      "2|line\n"
      "break|ada|COMPLETED|1782907200|1782910800|n1|gres/gpu=1\n");
  ASSERT_EQ(f.jobs.size(), 1U);
  EXPECT_EQ(f.jobs[0].name, "a|b|c");
  EXPECT_EQ(f.jobs[0].user, "ada");
  EXPECT_EQ(f.counts.of(SacctFault::name_with_mark), 1U);
  EXPECT_EQ(f.counts.of(SacctFault::cut_row), 2U);
  EXPECT_TRUE(f.counts.names_can_forge);
  EXPECT_EQ(read("JobID|JobName|Comment|Start|End|NodeList\n1|a|b|c|1|1|n1\n").counts.of(SacctFault::long_row), 1U)
      << "it is not clear which of the two has the mark in it";
}

TEST(SacctFile, ids_of_arrays_and_of_parts_of_a_job_are_told_apart) {
  RecordId id;
  EXPECT_TRUE(parse_record_id("1234", id));
  EXPECT_EQ(id.number, 1234U);
  EXPECT_TRUE(parse_record_id("1234+1", id));
  EXPECT_EQ(id.het_component, 1);
  EXPECT_TRUE(parse_record_id("1234_[1-9,12]", id));
  EXPECT_EQ(id.array_members, 10U);
  EXPECT_TRUE(parse_record_id("1234_[0-99:2%5]", id));
  EXPECT_EQ(id.array_members, 5U) << "no more may run at once";
  for (const char* none : {"", "0", "x", "12x", "12_", "12_[]", "12+", "12_x"}) EXPECT_FALSE(parse_record_id(none, id)) << none;
}

TEST(SacctFile, states_are_told_with_what_follows_them_and_cut_short) {
  EXPECT_EQ(parse_record_state("CANCELLED by 1000"), RecordState::cancelled);
  EXPECT_EQ(parse_record_state("OUT_OF_ME+"), RecordState::out_of_memory);
  EXPECT_EQ(parse_record_state("NODE_FAIL"), RecordState::node_fail);
  EXPECT_EQ(parse_record_state("WEIRD"), RecordState::unknown);
  EXPECT_EQ(parse_record_state(""), RecordState::unknown);
}

TEST(SacctFile, what_is_no_such_file_is_refused_with_what_to_do) {
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("JobID           Start                 End\n").find("no header line"), std::string::npos);
  EXPECT_NE(refusal("JobID,Start,End,NodeList\n").find("commas"), std::string::npos);
  EXPECT_NE(refusal("JobID|Start|End\n").find("NodeList"), std::string::npos);
  EXPECT_NE(refusal("User|Start|End|NodeList\n").find("JobID"), std::string::npos);
  EXPECT_NE(refusal("{\"jobs\": 3}").find("jobs"), std::string::npos);
  EXPECT_NE(refusal("{").find("jobs.txt"), std::string::npos);
}

TEST(SacctFile, json_says_the_same) {
  const SacctFile f = read(R"({"meta": {}, "jobs": [
    {"job_id": 20, "array": {"job_id": 17, "task_id": {"set": true, "infinite": false, "number": 3}}, "het": {"job_id": 0},
     "cluster": "c1", "account": "physics", "association": {"user": "ada"}, "user": "", "partition": "gpu", "qos": "normal",
     "nodes": "gpu[1-2]", "allocation_nodes": 2, "state": {"current": ["COMPLETED"], "reason": "None"}, "restart_cnt": 1,
     "time": {"submission": 1782900000, "eligible": 1782900010, "start": 1782907200, "end": 1782910800, "suspended": 0},
     "tres": {"allocated": [{"type": "cpu", "name": "", "count": 64}, {"type": "gres", "name": "gpu", "count": 16},
       {"type": "gres", "name": "gpu:h200", "count": 16}], "requested": []},
     "steps": [{"statistics": {"energy": {"consumed": {"set": true, "infinite": false, "number": 5000}}}},
       {"statistics": {"energy": {"consumed": 18446744073709551614}}}]},
    {"job_id": 21, "state": {"current": "PENDING"}, "nodes": "None assigned",
     "time": {"start": 0, "end": 0, "eligible": 1782900010},
     "tres": {"allocated": [], "requested": [{"type": "gres", "name": "gpu", "count": 4}]}}]})");
  ASSERT_EQ(f.jobs.size(), 2U);
  EXPECT_EQ(f.jobs[0].id.text, "17_3");
  EXPECT_EQ(f.jobs[0].user, "ada");
  EXPECT_EQ(f.jobs[0].gpus_milli, 16'000);
  EXPECT_EQ(f.jobs[0].gpu_type, "h200");
  EXPECT_EQ(f.jobs[0].ended - f.jobs[0].started, hours(1));
  EXPECT_EQ(f.jobs[0].energy_j, 5000);
  EXPECT_EQ(f.jobs[0].id.restarts, 1U);
  EXPECT_EQ(f.jobs[1].gpus_milli, 4000);
  EXPECT_TRUE(f.jobs[1].gpus_requested);
  EXPECT_TRUE(f.jobs[1].node_list.empty());
}

TEST(RecordTime, days_begin_when_clocks_of_the_zone_say) {
  // 29 March 2026 is 23 hours long in Berlin, 25 October 25.
  const auto starts = day_starts(Time{1'774'742'400'000'000'000}, Time{1'774'828'800'000'000'000}, kBerlin);
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_EQ(render_utc(starts[0]), "2026-03-28T23:00:00Z");
  EXPECT_EQ(starts[1] - starts[0], hours(23));
  EXPECT_EQ(day_starts(kNoon, kNoon + hours(1), {}).size(), 2U);
}

TEST(SacctFile, a_count_of_gpus_that_cannot_be_read_is_not_none) {
  const std::string head = "JobID|State|Start|End|NodeList|AllocTRES\n";
  const SacctFile f = read(head + "1|COMPLETED|1782907200|1782910800|n1|gres/gpu=4K\n" +
                           "2|COMPLETED|1782907200|1782910800|n1|gres/gpu:h200=-8,gres/gpu=-8\n" +
                           "3|COMPLETED|1782907200|1782910800|n1|cpu=4\n");
  EXPECT_FALSE(f.jobs[0].gpus_milli.has_value());
  EXPECT_FALSE(f.jobs[1].gpus_milli.has_value());
  EXPECT_EQ(f.jobs[2].gpus_milli, 0);
  EXPECT_EQ(f.counts.of(SacctFault::wrong_gpus), 2U);
  for (const std::string count : {"-2", "8.5", "\"8\"", R"({"set":true,"infinite":false,"number":-8})"}) {
    const SacctFile json =
        read(R"({"jobs":[{"job_id":1,"nodes":"n1","state":{"current":["COMPLETED"]},"time":{"start":1782907200,)"
             R"("end":1782910800},"tres":{"allocated":[{"type":"gres","name":"gpu","count":)" +
             count + "}]}}]}");
    ASSERT_EQ(json.jobs.size(), 1U) << count;
    EXPECT_FALSE(json.jobs[0].gpus_milli.has_value()) << count;
    EXPECT_EQ(json.counts.of(SacctFault::wrong_gpus), 1U) << count;
  }
}

TEST(SacctFile, a_start_that_is_missing_follows_from_the_end_and_the_length) {
  const std::string head = "JobID|State|Start|End|ElapsedRaw|NodeList|AllocTRES|Suspended\n";
  const SacctFile f = read(head + "1|TIMEOUT|Unknown|1782910800|3000|n1|gres/gpu=8|00:10:00\n" +
                           "2|CANCELLED|Unknown|1782910800|0|None assigned||00:00:00\n");
  EXPECT_EQ(f.jobs[0].started, kNoon);
  EXPECT_EQ(f.jobs[0].ended, kNoon + hours(1));
  EXPECT_EQ(f.jobs[1].started.ns, 0) << "it never began";
  EXPECT_EQ(f.counts.of(SacctFault::start_from_end), 1U);
  EXPECT_EQ(f.counts.of(SacctFault::other_length), 0U);
  const SacctFile json = read(R"({"jobs":[{"job_id":1,"nodes":"n1","state":{"current":["TIMEOUT"]},"time":{"start":0,)"
                              R"("end":1782910800,"elapsed":3600,"eligible":-5}}]})");
  EXPECT_EQ(json.jobs[0].started, kNoon);
  EXPECT_EQ(json.counts.of(SacctFault::start_from_end), 1U);
  EXPECT_EQ(json.counts.of(SacctFault::wrong_time), 1U);
}

TEST(SacctFile, a_length_that_start_and_end_do_not_have_is_told) {
  const std::string head = "JobID|State|Start|End|ElapsedRaw|NodeList|AllocTRES\n";
  const auto odd = [&](const std::string& length) {
    const SacctFile f = read(head + "1|COMPLETED|1782907200|1782910800|" + length + "|n1|gres/gpu=8\n");
    EXPECT_EQ(f.jobs[0].ended - f.jobs[0].started, hours(1));
    return f.counts.of(SacctFault::other_length);
  };
  EXPECT_EQ(odd("3600"), 0U);
  EXPECT_EQ(odd(""), 0U);
  EXPECT_EQ(odd("1800"), 1U);
  EXPECT_EQ(odd("999999999999999999"), 1U);
}

TEST(SacctFile, a_last_line_without_an_end_is_told) {
  const std::string text = "JobID|State|Start|End|NodeList|AllocTRES\n1|COMPLETED|1782907200|1782910800|n1|gres/gpu=16";
  EXPECT_EQ(read(text).counts.of(SacctFault::cut_end), 1U);
  EXPECT_EQ(read(text + "\n").counts.of(SacctFault::cut_end), 0U);
  EXPECT_EQ(read(text.substr(0, text.size() - 1)).jobs[0].gpus_milli, 1000) << "which is why";
}

}  // namespace
}  // namespace muster
