#include "report/code_spans.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::report {
namespace {

std::string shown(std::string_view text) {
  std::string out;
  for (const CodeSpan& s : code_spans(text)) out += (s.code ? "<" : "[") + std::string(s.text) + (s.code ? ">" : "]");
  return out;
}

TEST(CodeSpans, CommandsAreCutOutOfTheWords) {
  EXPECT_EQ(shown("see `muster get queues` and `muster explain queue`: work"),
            "[see ]<muster get queues>[ and ]<muster explain queue>[: work]");
  EXPECT_EQ(shown("`muster explain NODE` says why"), "<muster explain NODE>[ says why]");
  EXPECT_EQ(shown("nothing"), "[nothing]");
  EXPECT_EQ(shown(""), "");
}

TEST(CodeSpans, WhatIsNoCommandStaysText) {
  EXPECT_EQ(shown("a ` b"), "[a ` b]");
  EXPECT_EQ(shown("``"), "[``]");
  EXPECT_EQ(shown("`<script>`"), "[`<script>`]");
  EXPECT_EQ(shown("x`\"|y, see `muster top`"), "[x`\"|y, see ]<muster top>");
}

}  // namespace
}  // namespace muster::report
