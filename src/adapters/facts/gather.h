// Runs one program for each of many nodes (ssh, srun), a bounded number at a time, each for a bounded time, and hands over what
// each printed. A node that does not answer holds nobody up.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::facts {

struct Errand {
  std::string node;
  std::vector<std::string> argv;  // looked up in PATH
};

struct Answer {
  std::string node;
  std::string out;
  std::string trouble;  // empty: it ended well; else why not, with the last line of what it complained of
};

struct GatherOptions {
  std::uint32_t at_once = 32;
  double deadline_s = 30;
  std::string_view input;  // what each gets on its standard input; must live on
};

// `told` is called once for each errand, in the order in which they end.
void gather(const std::vector<Errand>& errands, const GatherOptions& options, const std::function<void(Answer)>& told);

}  // namespace muster::facts
