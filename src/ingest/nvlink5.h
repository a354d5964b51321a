// NVLink 5 errors, Xid 144 to 150: the register words the driver prints, and what they mean (data/nvlink5_decode.csv).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008 ...)", as it stands behind the code and the process.
struct NvlinkWords {
  std::string_view unit;  // one name, or several joined by '/'
  bool fatal = false;     // the driver's word
  int link = -1;          // -1: the line names none
  std::uint32_t info = 0;
  std::uint32_t status = 0;
};
std::optional<NvlinkWords> parse_nvlink5(std::string_view text);

struct NvlinkRow {
  int xid = 0;
  std::string unit;
  std::string info_before_r575, info_from_r575;  // 32 of '0', '1', '-', the highest bit first
  std::string status;                            // "0x00000008", two joined by '/', or empty: any
  std::string action, look_at, severity, side;
};

struct NvlinkMeaning {
  std::vector<const NvlinkRow*> rows;  // one a status bit, as they stand in the table; empty: the words are not in it
  bool from_r575 = false;              // which layout fits; the sub-code is then in bits 6:0, else in 9:5
  unsigned sub_code = 0;
};
NvlinkMeaning decode_nvlink5(int xid, const NvlinkWords& w);
// The meaning in one sentence, for people.
std::string say_nvlink5(const NvlinkWords& w, const NvlinkMeaning& m);
// The strongest action the rows ask for, in NVIDIA's words; empty without rows.
std::string action_of(const NvlinkMeaning& m);

}  // namespace muster
