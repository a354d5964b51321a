#include "report/tune.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/json.h"
#include "ingest/nccl_sweep.h"

namespace muster::report {
namespace {

const TuneKey kKey{Collective::all_reduce, 4, 1, 1, false};
const NcclWay kRingLl128{false, NcclAlgorithm::ring, NcclProtocol::ll128, 0, 0};
const NcclWay kRingFour{false, NcclAlgorithm::ring, NcclProtocol::simple, 4, 0};

// NCCL's own is twice as slow as it could be from 4 KiB on, and right below.
TuneView made() {
  std::vector<TuneTime> times;
  for (std::uint32_t run = 0; run < 8; ++run) {
    const double wobble = 1 + 0.002 * (run % 3);
    for (double bytes = 1024; bytes <= (1 << 20); bytes *= 4) {
      const double best = 50 + bytes / 2048;
      times.push_back({kKey, bytes, {}, run, best * wobble * (bytes < 4096 ? 1 : 2)});
      times.push_back({kKey, bytes, kRingLl128, run, best * wobble * (bytes < 4096 ? 1.5 : bytes < 262144 ? 1 : 1.4)});
      times.push_back({kKey, bytes, kRingFour, run, best * wobble * (bytes < 262144 ? 1.4 : 1)});
    }
  }
  TuneView v;
  v.tuned = design::tune(times, v.rules);
  v.picks = {{kKey, 1024, {false, NcclAlgorithm::tree, NcclProtocol::ll, 1, 0}}};
  v.beliefs = {{Collective::all_reduce, NcclAlgorithm::ring, NcclProtocol::ll, 30, 0.4}};
  return v;
}

TEST(TuneReport, ATableThatSaysWhy) {
  const TuneView v = made();
  const std::string text = render_table(tune_table(v, v.tuned.at(0)), {});
  EXPECT_NE(text.find("tree/ll x1"), std::string::npos) << text;
  EXPECT_NE(text.find("ring/ll (reckoned)"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing was faster"), std::string::npos) << text;
  EXPECT_NE(text.find("on launches that had no part in choosing"), std::string::npos) << text;
  EXPECT_NE(text.find("ring/simple x4"), std::string::npos) << text;
  const std::string summary = tune_summary(v.tuned[0], v.rules);
  EXPECT_NE(summary.find("all_reduce, 4 nodes of 1 rank"), std::string::npos) << summary;
  EXPECT_NE(summary.find("5 get another way, and nothing is left"), std::string::npos) << summary;
  EXPECT_EQ(text.find("COLLECTIVE"), std::string::npos) << text;
}

TEST(TuneReport, CsvTellsShapesApartAndHasNothingWhereThereIsNoNumber) {
  const TuneView v = made();
  const std::string csv = render_csv(tune_table(v, v.tuned.at(0)), true);
  EXPECT_TRUE(csv.starts_with("collective,nodes,ranks_per_node,nvlink_domain,registered,size,")) << csv;
  EXPECT_NE(csv.find("\nall_reduce,4,1,1,0,1024,tree/ll x1,"), std::string::npos) << csv;
  const std::string all = csv + render_csv(tuner_entries(tuner_table(v.tuned, v.rules)), true);
  for (const char* none : {",-,", ",-\n", ",'-"}) EXPECT_EQ(all.find(none), std::string::npos) << all;
}

TEST(TuneReport, TooFewLaunchesAreNoFastestWay) {
  TuneView v;
  const NcclWay lucky{false, NcclAlgorithm::ring, NcclProtocol::simple, 0, 0};
  for (const std::uint32_t launches : {1U, 8U}) {
    std::vector<TuneTime> times;
    for (std::uint32_t run = 0; run < launches; ++run) {
      times.push_back({kKey, 1024, {}, run, 100});
      times.push_back({kKey, 1024, kRingLl128, run, 110});
    }
    times.push_back({kKey, 1024, lucky, 0, 60});
    v.tuned = design::tune(times, v.rules);
    const Table t = tune_table(v, v.tuned.at(0));
    const std::string text = render_table(t, {});
    EXPECT_NE(text.find("too few launches"), std::string::npos) << text;
    EXPECT_EQ(text.find("nothing was faster"), std::string::npos) << text;
    EXPECT_EQ(t.rows.at(0).at(8).text, launches == 1 ? "too few launches" : "NCCL's own") << text;
    EXPECT_EQ(t.rows.at(0).at(9).text, launches == 1 ? "-" : "100.0") << text;
  }
  EXPECT_EQ(tune_environment(v, {}).find("NCCL_ALGO"), std::string::npos) << "one launch sets nothing";
}

TEST(TuneReport, WhatHasOneWayInNcclInstallsNoPlugin) {
  TuneView v = made();
  v.tuned.at(0).key.op = Collective::all_to_all;
  std::vector<TuneTime> times;
  for (std::uint32_t run = 0; run < 8; ++run) {
    for (const NcclWay& way : {NcclWay{}, kRingFour}) times.push_back({v.tuned[0].key, 1024, way, run, way.own ? 100.0 : 50.0});
  }
  v.tuned = design::tune(times, v.rules);
  const std::string env = tune_environment(v, {"/t", "0123456789abcdef", ""});
  EXPECT_EQ(env.find("NCCL_TUNER_PLUGIN"), std::string::npos) << env;
  EXPECT_NE(env.find("NCCL has one way to do it"), std::string::npos) << env;
  EXPECT_NE(env.find("# Nothing to set"), std::string::npos) << env;
  EXPECT_EQ(tune_environment(v, {}).find("NCCL_ALGO"), std::string::npos);
  EXPECT_TRUE(tuner_table(v.tuned, v.rules).entries.empty());
  const std::string text = render_table(tune_table(v, v.tuned.at(0)), {});
  EXPECT_NE(text.find("NCCL has one way to do all_to_all"), std::string::npos) << text;
}

TEST(TuneReport, TheTableAsJson) {
  const TuneView v = made();
  const auto json = parse_json(tuner_json(tuner_table(v.tuned, v.rules), "0123456789abcdef"));
  ASSERT_TRUE(json);
  EXPECT_EQ(*json->find("hash")->string(), "0123456789abcdef");
  const Value& shape = json->find("shapes")->array()->at(0);
  EXPECT_EQ(*shape.find("collective")->string(), "all_reduce");
  bool found = false;
  for (const Value& s : *shape.find("spans")->array()) {
    const Value* choice = s.find("choice");
    found = found || (choice->find("protocol") != nullptr && *choice->find("protocol")->string() == "ll128");
  }
  EXPECT_TRUE(found);
}

TEST(TuneReport, TheCommandOfASweepReadsBack) {
  const std::string line = sweep_command_line(std::vector<std::string>{"mpirun", "-x", "A=1", "it's a b", ""});
  EXPECT_EQ(line, "# command: mpirun -x A=1 'it'\\''s a b' ''\n");
  EXPECT_EQ(sweep_command(line + sweep_header()) + "\n", line);
  const SweepRun run{kKey, kRingFour, 0, 1, "", {{1024, 50}}};
  EXPECT_TRUE(looks_like_sweep(line + sweep_header()));
  EXPECT_TRUE(parse_sweep(line + sweep_header() + sweep_rows(run), "s.csv"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const std::string odd = sweep_command_line(std::vector<std::string>{"a\nb,\x1b["});
  EXPECT_EQ(std::count(odd.begin(), odd.end(), '\n'), 1) << "a word of several lines stays in the comment";
}

TEST(TuneReport, JsonOfTheSame) {
  const TuneView v = made();
  const auto json = parse_json(tune_json(v));
  ASSERT_TRUE(json);
  const Value& shape = json->find("shapes")->array()->at(0);
  double overridden = 0;
  ASSERT_TRUE(shape.find("overridden")->number(overridden));
  EXPECT_EQ(overridden, 5);
  const Value::Array& sizes = *shape.find("sizes")->array();
  ASSERT_EQ(sizes.size(), 6u);
  EXPECT_NE(sizes[0].find("choice"), nullptr);
  EXPECT_EQ(*sizes[5].find("verdict")->string(), "overridden");
}

TEST(TuneReport, TheTableChoosesAsWasTuned) {
  const TuneView v = made();
  const TunerTable table = tuner_table(v.tuned, v.rules);
  ASSERT_EQ(table.entries.size(), 1u);
  const auto bytes = encode_tuner_table(table);
  ASSERT_TRUE(bytes) << bytes.error().what;
  const auto again = decode_tuner_table(*bytes, "t");
  ASSERT_TRUE(again) << again.error().what;
  const TunerKey key = table.entries[0].key;
  for (const design::TunedSize& s : v.tuned[0].sizes) {
    const TunerChoice c = tuner_choice(*again, key, static_cast<std::uint64_t>(s.bytes));
    EXPECT_EQ(c.own(), s.choice.own) << s.bytes;
    if (s.choice.own) continue;
    EXPECT_EQ(c.algorithm, static_cast<int>(s.choice.algorithm));
    EXPECT_EQ(c.protocol, static_cast<int>(s.choice.protocol));
    EXPECT_EQ(c.channels, s.choice.channels);
  }
  EXPECT_FALSE(tuner_entries(*again).rows.empty());
}

TEST(TuneReport, CsvForTheExamplePlugins) {
  const TuneView v = made();
  const std::string csv = tuner_csv(tuner_table(v.tuned, v.rules));
  EXPECT_TRUE(csv.starts_with("# collective_type,"));
  EXPECT_NE(csv.find(",ring,ll128,-1,4,4,-1,0\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",ring,simple,4,4,4,-1,0\n"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("18446744073709551615"), std::string::npos) << csv;  // beyond what was measured it is NCCL's own
}

TEST(TuneReport, SettingsWithTheirReasons) {
  TuneView v = made();
  const std::string env = tune_environment(v, {"/etc/muster/tuner.table", "0123456789abcdef", "/shared/meet"});
  EXPECT_NE(env.find("NCCL_TUNER_PLUGIN=libnccl-tuner-muster.so\n"), std::string::npos) << env;
  EXPECT_NE(env.find("MUSTER_TUNER_HASH=0123456789abcdef\n"), std::string::npos);
  EXPECT_NE(env.find("MUSTER_TUNER_MEET=/shared/meet\n"), std::string::npos);
  EXPECT_NE(env.find("set -a; . ./nccl.env; set +a\n"), std::string::npos) << env;
  EXPECT_NE(tune_environment(v, {"/t", "", "", "/etc/b=1 $(x)"}).find(". ./nccl.env;"), std::string::npos);
  EXPECT_NE(tune_environment(v, {"/t", "", "", "/etc/job.env"}).find(". ./job.env;"), std::string::npos);
  // Over several nodes it is needed, and its absence is told.
  EXPECT_NE(tune_environment(v, {"/t", "0123456789abcdef", ""}).find("must name a folder"), std::string::npos);
  // Each setting has a line before it that says why.
  std::string before;
  for (std::size_t at = 0; at < env.size();) {
    const std::string line = env.substr(at, env.find('\n', at) - at);
    if (!line.starts_with('#')) {
      EXPECT_TRUE(before.starts_with('#')) << line;
    }
    if (line.starts_with('#')) {
      EXPECT_EQ(line.find('='), std::string::npos) << line;  // files of NCCL would take it for a setting
    }
    before = line;
    at += line.size() + 1;
  }
  v.buffers[kKey] = {8388608, 0.11, 6};
  EXPECT_NE(tune_environment(v, {}).find("NCCL_BUFFSIZE=8388608\n"), std::string::npos);
  EXPECT_EQ(tune_environment(v, {}).find("NCCL_TUNER_PLUGIN"), std::string::npos);
  v.tuned.clear();
  EXPECT_NE(tune_environment(v, {}).find("# Nothing to set"), std::string::npos);
}

// Eight launches of NCCL's own and of one way that is faster.
std::vector<TuneTime> faster(const TuneKey& key, const NcclWay& way, double us, std::vector<double> sizes) {
  std::vector<TuneTime> out;
  for (const double bytes : sizes) {
    for (std::uint32_t run = 0; run < 8; ++run) {
      out.push_back({key, bytes, {}, run, 100 + 0.1 * run});
      out.push_back({key, bytes, way, run, us + 0.1 * run});
    }
  }
  return out;
}

TEST(TuneReport, SettingsOfSeveralShapesDoNotContradictEachOther) {
  const NcclWay trees{false, NcclAlgorithm::nvls_tree, NcclProtocol::simple, 0, 0};
  const NcclWay rings{false, NcclAlgorithm::ring, NcclProtocol::ll128, 0, 0};
  const TuneKey reduce{Collective::all_reduce, 2, 8, 8, false}, larger{Collective::all_reduce, 4, 8, 8, false};
  const TuneKey gather{Collective::all_gather, 2, 8, 8, false};
  const std::vector<double> sizes = {1024, 65536};
  const auto settings = [&](std::vector<std::pair<TuneKey, NcclWay>> shapes) {
    TuneView v;
    double us = 50;
    for (const auto& [key, way] : shapes) {
      const auto one = design::tune(faster(key, way, us += 10, sizes), v.rules);
      v.tuned.insert(v.tuned.end(), one.begin(), one.end());
      v.buffers[key] = {us > 65 ? std::uint64_t{1} << 20 : std::uint64_t{1} << 22, 0.1, 2};
    }
    return tune_environment(v, {});
  };
  const auto times = [](const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  const std::string two = settings({{reduce, trees}, {gather, rings}});
  EXPECT_EQ(times(two, "\nNCCL_ALGO="), 1U) << two;
  EXPECT_EQ(times(two, "\nNCCL_ALGO=allreduce:nvlstree\n"), 1U) << "the one that gains more, as NCCL spells it: " << two;
  EXPECT_EQ(times(two, "# all_gather would gain by ring/ll128 too"), 1U) << two;
  EXPECT_EQ(times(two, "\nNCCL_BUFFSIZE="), 0U) << "4 MiB for one and 1 MiB for the other: " << two;
  const std::string apart = settings({{reduce, trees}, {larger, rings}});
  EXPECT_EQ(times(apart, "\nNCCL_ALGO="), 0U) << "what is best on 2 nodes is not on 4: " << apart;
  EXPECT_EQ(times(settings({{reduce, rings}, {larger, rings}}), "\nNCCL_ALGO=allreduce:ring\n"), 1U);
  EXPECT_EQ(times(settings({{reduce, rings}}), "\nNCCL_BUFFSIZE=4194304\n"), 1U);
}

TEST(TuneReport, SizesWithinOneByteAreOne) {
  const auto tuned =
      design::tune(faster(kKey, {false, NcclAlgorithm::ring, NcclProtocol::ll, 0, 0}, 60, {1024.2, 1024.6, 4096}), {});
  EXPECT_TRUE(encode_tuner_table(tuner_table(tuned, {})));
}

TEST(TuneReport, ASweepReadsBackAsItWas) {
  const SweepRun well{kKey, kRingFour, 3, 12.5, "", {{1024, 50.25}, {2048, 60}}};
  const SweepRun failed{kKey, kRingLl128, 0, 300, "exit code 3: \"a, b\"\nc", {}};
  NcclWay buffers;
  buffers.buffer_bytes = 1 << 21;
  const SweepRun own{kKey, buffers, 1, 2, "", {{1024, 70}}};
  const auto in = parse_sweep(sweep_header() + sweep_rows(well) + sweep_rows(failed) + sweep_rows(own), "s.csv");
  ASSERT_TRUE(in) << in.error().what;
  ASSERT_EQ(in->runs.size(), 3u);
  EXPECT_EQ(in->runs[0].way, well.way);
  EXPECT_EQ(in->runs[0].run, 3u);
  EXPECT_EQ(in->runs[0].times, well.times);
  EXPECT_DOUBLE_EQ(in->runs[0].seconds, 12.5);
  EXPECT_TRUE(in->runs[1].failure.starts_with("exit code 3: \"a, b\""));
  EXPECT_TRUE(in->runs[1].times.empty());
  EXPECT_EQ(in->runs[2].way, buffers);
}

TEST(TuneReport, CurvesBehindTheTimes) {
  std::vector<TuneTime> times;
  for (double bytes = 1024; bytes <= (1 << 26); bytes *= 2) times.push_back({kKey, bytes, {}, 0, 50 + bytes / 2000});
  const Table t = tune_fits(times, kKey);
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_LT(*t.rows[0].back().key, 6);
  EXPECT_NEAR(*t.rows[0][7].key, 2.0, 0.2);  // behind the shape, the way and its start
}

}  // namespace
}  // namespace muster::report
