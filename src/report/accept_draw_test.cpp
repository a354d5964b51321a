#include "report/accept_draw.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

TEST(AcceptDraw, FoldedTextKeepsItsLinesAndNothingElseOfWhatItSays) {
  const std::string out = folded("a <title>", "one,two\n<b>\x1b[2J\nlast");
  EXPECT_NE(out.find("<summary>a &lt;title&gt;</summary>"), std::string::npos) << out;
  EXPECT_NE(out.find("one,two\n&lt;b&gt;\\x1b[2J\nlast\n</pre>"), std::string::npos) << out;
}

TEST(AcceptDraw, AVerdictHasAWordAndAMarkBesideItsColour) {
  for (const accept::Verdict v :
       {accept::Verdict::pass, accept::Verdict::degraded, accept::Verdict::could_not_run, accept::Verdict::fail}) {
    const std::string tag = verdict_tag(v);
    EXPECT_NE(tag.find(name_of(v)), std::string::npos);
    EXPECT_NE(tag.find(mark_of(v)), std::string::npos);
    EXPECT_EQ(verdict_class(v).find(' '), std::string_view::npos) << "a class of one word";
  }
}

TEST(AcceptDraw, AFactThatIsNotKnownIsLeftOut) {
  std::string out;
  fact(out, "cooling", "");
  EXPECT_EQ(out, "");
  fact(out, "cooling", "<air>");
  EXPECT_EQ(out, "<div><dt>cooling</dt><dd>&lt;air&gt;</dd></div>");
}

}  // namespace
}  // namespace muster::report
