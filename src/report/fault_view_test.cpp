#include "report/fault_view.h"

#include <gtest/gtest.h>

#include "ingest/fault_catalog.h"
#include "report/explain.h"

namespace muster::report {
namespace {

std::vector<FaultView> views(std::string_view log, const Policy* policy = nullptr) {
  LogReader r;
  r.feed(log);
  r.finish();
  EventViews all(policy);
  std::vector<FaultView> out;
  for (const LogEvent& e : r.take()) out.push_back(all.view(e));
  return out;
}

std::string all_of(const Explanation& e) {
  std::string s = e.title;
  for (const auto& x : e.sentences) s += "\n" + x;
  return s;
}

Policy ours() {
  Policy p;
  p.name = "ours";
  p.faults = {{"Xid 94", "warning", "wait for the job's end", ""}};
  return p;
}

TEST(FaultView, EveryCodeOfTheCatalogueIsExplained) {
  for (const Fault& f : faults()) {
    const auto e = explain_fault(f.code);
    ASSERT_TRUE(e) << f.code;
    EXPECT_EQ(e->title.substr(0, f.code.size()), f.code);
    EXPECT_EQ(e->sentences[0], f.meaning);
  }
}

TEST(FaultView, UnknownCodesSaySo) {
  EXPECT_EQ(explain_fault("xid 999").error().what, "Xid 999 is not in the fault catalogue");
  EXPECT_EQ(explain_fault("SXid 99999").error().what, "SXid 99999 is not in the fault catalogue");
  EXPECT_FALSE(explain_fault("all is well"));
  const auto line = explain_fault("NVRM: Xid (PCI:0000:c3:00): 999, who knows");
  ASSERT_TRUE(line);
  EXPECT_NE(all_of(*line).find("Not in the catalogue"), std::string::npos);
}

TEST(FaultView, APolicysOwnWordIsShownWithWhatTheCatalogueSays) {
  const Policy p = ours();
  const FaultView v = view_of("Xid 94", &p);
  EXPECT_EQ(v.severity, "warning");
  EXPECT_EQ(v.action, "wait for the job's end");
  EXPECT_EQ(v.meaning, find_fault("Xid 94")->meaning);
  const auto e = explain_fault("xid 94", &p);
  ASSERT_TRUE(e);
  const std::string text = all_of(*e);
  EXPECT_NE(text.find("Overridden by policy ours; the catalogue says severity \"" + find_fault("Xid 94")->severity),
            std::string::npos)
      << text;
  EXPECT_TRUE(view_of("Xid 79", &p).overridden.empty());
  EXPECT_EQ(views("NVRM: Xid (PCI:0000:c3:00): 94, x", &p)[0].severity, "warning");
}

TEST(FaultView, TheLinesOwnWordsWin) {
  EXPECT_EQ(views("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 32 x")[0].severity, "fatal");
  EXPECT_EQ(views("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Non-fatal, Link 32 x")[0].severity, "warning");
  const FaultView nvlink = views(
      "NVRM: Xid (PCI:0008:01:00): 145, pid=1, name=t, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 "
      "0x00000001 0x00000000)")[0];
  EXPECT_EQ(nvlink.severity, "fatal") << "the table knows better than the line";
  EXPECT_NE(nvlink.action.find("RESET_GPU"), std::string::npos);
}

TEST(FaultView, TheStrongerOfVerdictAndCauseIsAdvised) {
  const std::string verdict =
      "NVRM: Xid (PCI:0000:c3:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n";
  EXPECT_EQ(views(verdict)[0].action, "RESET_GPU");
  const auto after = views("NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.\n" + verdict);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_TRUE(after[1].action.starts_with("REBOOT_NODE")) << after[1].action;
  const auto other = views("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n" + verdict);
  EXPECT_EQ(other[1].action, "RESET_GPU") << "another GPU's trouble";
}

TEST(FaultView, AnEventAsJsonHasItsKeysAndNoOthers) {
  LogReader r;
  r.feed("NVRM: Xid (PCI:0000:c3:00 GPU-I:05): 45, pid=7, name=p\xff\"x, Ch 00000009 caused by previous Xid 94\n");
  r.finish();
  const auto events = r.take();
  ASSERT_EQ(events.size(), 1u);
  const std::string json = event_json(events[0], EventViews(nullptr).view(events[0]));
  EXPECT_TRUE(json.starts_with(
      "{\"line_first\":1,\"line_last\":1,\"source\":\"kernel log NVRM\",\"code\":\"Xid 45\",\"pci\":\"0000:c3:00\","
      "\"mig\":\"GPU-I:05\",\"pid\":7,\"process\":\"p\xef\xbf\xbd\\\"x\",\"caused_by\":\"Xid 94\",\"meaning\":"))
      << json;
  EXPECT_NE(json.find("\"confidence\":0.6}"), std::string::npos) << json;
}

TEST(FaultView, FieldsOfDcgmAreExplained) {
  EXPECT_EQ(explain_fault("DCGM_FI_DEV_GPU_TEMP")->title, explain_fault("DCGM_FI_DEV_GPU_TEMP_CELSIUS")->title);
  EXPECT_FALSE(explain_fault("DCGM_FI_DEV_NOTHING"));
}

TEST(FaultView, WordsInTheMiddleOfALineAreMarked) {
  const auto e = explain_fault("somebody wrote: NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.");
  ASSERT_TRUE(e);
  EXPECT_NE(all_of(*e).find("anybody may have put them"), std::string::npos);
  EXPECT_NE(explain_fault("a[1]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so[7f00+10]")->title.find("libnccl"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::report
