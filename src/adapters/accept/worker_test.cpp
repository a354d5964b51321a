#include "adapters/accept/worker.h"

#include <gtest/gtest.h>

#include "adapters/accept/message.h"

namespace muster::bench {
namespace {

TEST(AcceptWorker, TheTestsAreLookedForBesideTheProgramThenWhereTheLoaderLooks) {
  EXPECT_EQ(library_places("", "/opt/muster/bin"),
            (std::vector<std::string>{"/opt/muster/bin/libmuster-accept-cuda.so",
                                      "/opt/muster/bin/../lib/libmuster-accept-cuda.so", "libmuster-accept-cuda.so"}));
  EXPECT_EQ(library_places("./mine.so", "/opt/muster/bin"), std::vector<std::string>{"./mine.so"}) << "nothing but what is named";
}

TEST(AcceptMessage, TextIsCutAtItsFieldAndReadableWhateverItIs) {
  Said s;
  put(s.name, std::string(1000, 'x'));
  EXPECT_EQ(get(s.name), std::string(sizeof s.name - 1, 'x'));
  std::memset(s.name, 0xff, sizeof s.name);  // not even an end
  EXPECT_TRUE(valid_utf8(get(s.name)));
  put(s.text, "a\nb\x1b[2J");
  EXPECT_EQ(get(s.text).find_first_of("\n\x1b"), std::string::npos);
  put(s.text, "");
  EXPECT_EQ(get(s.text), "");
}

}  // namespace
}  // namespace muster::bench
