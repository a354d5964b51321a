#include "accept/counters.h"

namespace muster::accept {
namespace {

constexpr std::string_view kReturn = "the board is to be returned: its spare rows are used up, or its memory fails";
constexpr std::string_view kReset = "reset the GPU, so that the row is remapped; then test again";
constexpr std::string_view kAgain = "reset the GPU and test again; if it comes again, return the board";
constexpr std::string_view kReseat = "reseat the board or riser, look at the slot, and test again";

// PCIe counters of healthy cards are not zero, and stand still: recoveries and bad packets since the boot say nothing.
constexpr CounterRule kRules[] = {
    {"ecc_uncorrected", "uncorrected memory errors", 0, -1, Verdict::fail, Class::memory, Part::memory, kAgain, true},
    {"remapped_uncorrectable", "rows remapped for uncorrected errors", 0, -1, Verdict::fail, Class::memory, Part::memory, kAgain},
    {"remap_pending", "a row waits to be remapped", -1, 0, Verdict::fail, Class::memory, Part::memory, kReset},
    {"remap_failure", "a row could not be remapped", -1, 0, Verdict::fail, Class::memory, Part::memory, kReturn},
    {"sram_exceeded", "too many errors in SRAM", -1, 0, Verdict::fail, Class::memory, Part::sms, kReturn},
    {"recovery_action", "the driver asks for a recovery", -1, 0, Verdict::fail, Class::wrong_results, Part::driver,
     "do what the driver asks (nvidia-smi -q: GPU Recovery Action), then test again"},
    {"ecc_corrected", "corrected memory errors", 100, -1, Verdict::degraded, Class::memory, Part::memory, kAgain},
    {"remapped_correctable", "rows remapped for corrected errors", 0, -1, Verdict::degraded, Class::memory, Part::memory, kAgain},
    {"pcie_replays", "PCIe replays", 100, -1, Verdict::degraded, Class::link, Part::host_link, kReseat},
    {"pcie_corrected", "corrected PCIe errors", 100, -1, Verdict::degraded, Class::link, Part::host_link, kReseat},
};

}  // namespace

std::span<const CounterRule> counter_rules() { return kRules; }

}  // namespace muster::accept
