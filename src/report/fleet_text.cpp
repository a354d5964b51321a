#include "report/fleet_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ingest/slurm_text.h"
#include "report/table.h"

namespace muster::report {
namespace {

using fleet::Change;
using fleet::Repair;

std::string numbered(std::string_view word, std::size_t index, std::size_t count) {
  return fmt::format("{}_{:0{}}", word, index + 1, std::max<std::size_t>(2, std::to_string(count).size()));
}

// An argument is taken off the line wherever it stands, and put on it once, so that the file says the same however often it is
// read and whatever others set.
std::string kernel_arg_file(const Change& c) {
  std::string pattern;
  for (const char ch : c.name) pattern += ch == '.' ? std::string("[.]") : std::string(1, ch);
  const std::string without = fmt::format("sed -E ':again; s/ {}(=[^ ]*)? / /; t again; s/^ +//; s/ +$//'", pattern);
  std::string out;
  for (const char* line : {"GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_LINUX"})
    out += fmt::format("{0}=\"$(printf '%s' \" ${0} \" | {1})\"\n", line, without);
  if (!c.absent)
    out += fmt::format("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}{}{}\"\n", c.name, c.value.empty() ? "" : "=", c.value);
  return out;
}

}  // namespace

std::string change_name(const Repair& r, std::size_t set) { return numbered("change", set, r.sets.size()); }
std::string cohort_name(std::size_t cohort) { return numbered("cohort", cohort, 0); }
std::string wave_name(const Repair& r, std::size_t wave) {
  std::string name = r.waves[wave].name;
  if (name.ends_with(" %")) name.replace(name.size() - 2, 2, "_pct");
  std::replace(name.begin(), name.end(), ' ', '_');
  return fmt::format("wave_{}_{}", wave + 1, name);
}

std::size_t wave_of(const Repair& r, std::uint32_t node) {
  std::size_t w = 0;
  while (w + 1 < r.waves.size() && !std::binary_search(r.waves[w].nodes.begin(), r.waves[w].nodes.end(), node)) ++w;
  return w;
}

std::string comment(std::string_view text) {
  std::string out;
  const std::string lines = wrap(printable(text), 116, 2);
  for (const std::string_view line : split(lines, '\n')) out += fmt::format("# {}\n", line);
  return out;
}

std::string node_list(const Repair& r, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t n : nodes) names.push_back(printable(r.nodes[n]));
  return slurm::compress_names(std::move(names));
}

std::string told(const Repair& r, const fleet::ByHand& b) {
  std::string fact = b.fact;
  if (b.entities.size() > 1) {
    std::vector<std::string> parts;
    for (const std::string& e : b.entities) parts.push_back(printable(e));
    fact = fmt::format("{}:{}", slurm::compress_names(std::move(parts)), b.key);
  }
  return fmt::format("{}: {} {} {} on {}: {}", b.left_out ? "left out" : "by hand", fact,
                     b.left_out ? "is not brought to" : "should be", b.wanted.empty() ? "empty" : b.wanted, node_list(r, b.nodes),
                     b.what);
}

std::string headline(const Repair& r, std::string_view tool, std::string_view whence) {
  const std::string out =
      comment(fmt::format("Written by `muster fleet emit {}`: what differs, and nothing else; of {}.", tool, whence));
  return out + not_done(r);
}

std::string not_done(const Repair& r) {
  std::string out;
  for (const fleet::ByHand& b : r.by_hand) out += comment(told(r, b));
  for (const std::string& note : r.notes) out += comment(note);
  return out;
}

std::string about_set(const Repair& r, std::size_t set) {
  const fleet::ChangeSet& s = r.sets[set];
  std::string out = comment(fmt::format("{} of {}: {}", change_name(r, set),
                                        s.cohort < r.cohorts.size() ? r.cohorts[s.cohort] : "no kind", node_list(r, s.nodes)));
  for (const Change& c : s.changes) {
    const char* takes = c.takes == RemedyTakes::live      ? "takes effect at once"
                        : c.takes == RemedyTakes::restart ? "restarts a unit"
                                                          : "needs a reboot";
    if (c.at_boot) takes = "starts at the reboot, and not before";
    out += comment(fmt::format("{}: {} -> {}; {}; {}", join(c.facts, ", "), c.has.empty() ? "not looked at" : c.has,
                               c.absent ? "absent" : c.value, takes, c.why));
  }
  if (s.drain) out += comment("Jobs would feel it: drain the nodes first.");
  return out;
}

std::string version_pattern(std::string_view version) {
  std::string out = "^([0-9]+:)?";
  for (const char c : version) out += c == '.' || c == '+' || c == '*' ? fmt::format("[{}]", c) : std::string(1, c);
  return out + "([-+][^:]*)?$";
}

std::string loaded_driver(const Change& c) {
  const auto of_driver = [](const std::string& fact) { return fact == "driver.loaded" || fact == "driver.on_disk"; };
  if (c.by != RemedyBy::package || c.absent || std::none_of(c.facts.begin(), c.facts.end(), of_driver)) return "";
  std::string_view release = c.value;
  if (const std::size_t epoch = release.find(':'); epoch != std::string_view::npos) release.remove_prefix(epoch + 1);
  return std::string(release.substr(0, release.find_first_of("-+~")));
}

std::string in_pattern(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (std::string_view(".+*/").find(c) != std::string_view::npos) out += "\\";
    out += c;
  }
  return out;
}

std::string quoted(std::string_view plain) { return fmt::format("\"{}\"", plain); }

std::pair<std::string, std::string> halves(std::string_view name) {
  const std::size_t at = name.find(' ');
  if (at == std::string_view::npos) return {std::string(name), ""};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1))};
}

ChangeFile file_of(const Change& c) {
  const auto [first, second] = halves(c.name);
  switch (c.by) {
    case RemedyBy::sysctl:
      return {fmt::format("/etc/sysctl.d/90-muster-{}.conf", c.name), fmt::format("{} = {}\n", c.name, c.value)};
    case RemedyBy::kernel_arg: return {fmt::format("/etc/default/grub.d/90-muster-{}.cfg", c.name), kernel_arg_file(c)};
    case RemedyBy::module_option:
      return {fmt::format("/etc/modprobe.d/muster-{}-{}.conf", first, second),
              c.absent ? std::string() : fmt::format("options {} {}={}\n", first, second, c.value)};
    case RemedyBy::sysfs: {
      std::string name = c.name.substr(5);  // without "/sys/"
      std::replace_if(
          name.begin(), name.end(), [](char ch) { return ch == '/' || ch == '*'; }, '-');
      return {fmt::format("/etc/tmpfiles.d/muster-{}.conf", name), fmt::format("w {} - - - - {}\n", c.name, c.value)};
    }
    case RemedyBy::unit_setting:
      return {fmt::format("/etc/systemd/system/{}.d/90-muster-{}.conf", first, second),
              fmt::format("[Service]\n{}={}\n", second, c.value)};
    case RemedyBy::link_mtu:
      return {fmt::format("/etc/udev/rules.d/90-muster-mtu-{}.rules", c.name),
              fmt::format("ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{}\", ATTR{{mtu}}=\"{}\"\n", c.name, c.value)};
    default: return {};
  }
}

}  // namespace muster::report
