#include "ingest/fault_catalog.h"

#include <gtest/gtest.h>

#include <set>

#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

TEST(FaultCatalog, HasEveryXidFrom1To176) {
  for (int i = 1; i <= 176; ++i) {
    const Fault* f = find_fault("Xid " + std::to_string(i));
    ASSERT_NE(f, nullptr) << i;
    EXPECT_EQ(f->code, "Xid " + std::to_string(i));
  }
}

TEST(FaultCatalog, EveryRowIsWholeAndItsCodeUnique) {
  EXPECT_GE(faults().size(), 839u);
  std::set<std::string> codes;
  const std::set<std::string> scopes = {"app", "gpu", "node", "fabric"};
  for (const Fault& f : faults()) {
    EXPECT_TRUE(codes.insert(f.code).second) << f.code;
    EXPECT_FALSE(f.meaning.empty()) << f.code;
    EXPECT_FALSE(f.severity.empty()) << f.code;
    EXPECT_FALSE(f.action.empty()) << f.code;
    EXPECT_FALSE(f.source.empty()) << f.code;
    EXPECT_TRUE(scopes.contains(f.scope)) << f.code << " " << f.scope;
  }
}

TEST(FaultCatalog, FindsCodesAsPeopleWriteThem) {
  const Fault* f = find_fault("Xid 79");
  for (const char* word : {"xid79", "XID: 79", "79", " 79 ", "xid-79", "off_bus"}) EXPECT_EQ(find_fault(word), f) << word;
  EXPECT_EQ(find_fault("sxid 12028")->code, "SXid 12028");
  EXPECT_EQ(find_fault("xid 177"), nullptr);
  EXPECT_EQ(find_fault(""), nullptr);
  EXPECT_EQ(find_fault("node0001"), nullptr);
  EXPECT_EQ(find_fault(std::string(100000, '7')), nullptr);
  EXPECT_FALSE(similar_faults("Xid 17").empty());
}

TEST(Csv, ReadsQuotesCommentsAndLineEnds) {
  const auto c = parse_csv("# why\r\na,b\r\n1,\"x, \"\"y\"\"\nz\"\n\n2,\n", "t.csv");
  ASSERT_TRUE(c) << c.error().what;
  ASSERT_EQ(c->rows.size(), 2u);
  EXPECT_EQ(c->rows[0][1], "x, \"y\"\nz");
  EXPECT_EQ(c->lines[1], 6);
  EXPECT_EQ(c->column("b"), 1);
  EXPECT_EQ(c->column("c"), -1);
}

TEST(Csv, SaysWhichLineIsWrong) {
  EXPECT_EQ(parse_csv("a,b\n1\n", "t.csv").error().what, "t.csv:2: 1 cells, the header has 2");
  EXPECT_EQ(parse_csv("a\n\"1\n", "t.csv").error().what, "t.csv:2: a quote is not closed");
  EXPECT_EQ(parse_csv("", "t.csv").error().what, "t.csv:1: no header line");
}

TEST(Embedded, HoldsTheFilesOfData) {
  EXPECT_TRUE(embedded_file("faults.csv"));
  EXPECT_FALSE(embedded_file("nothing.csv"));
  EXPECT_FALSE(embedded_files().empty());
}

}  // namespace
}  // namespace muster
