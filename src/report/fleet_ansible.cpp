// The difference as an Ansible site.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "report/fleet_files.h"
#include "report/fleet_text.h"
#include "report/table.h"

namespace muster::report {
namespace {

using fleet::Change;
using fleet::ChangeSet;
using fleet::Repair;

std::string shipped(const char* path) {
  const auto text = embedded_file(path);
  MUSTER_CHECK(text.has_value());
  return std::string(*text);
}

std::string group(const Repair& r, const std::string& name, const std::vector<std::uint32_t>& nodes) {
  std::string out = fmt::format("    {}:\n      hosts:\n", name);
  for (const std::uint32_t n : nodes) out += fmt::format("        {}:\n", quoted(r.nodes[n]));
  return out;
}

std::string inventory(const Repair& r, std::string_view whence) {
  std::string out = "---\n" + headline(r, "ansible", whence);
  if (r.sets.empty()) return out + "all:\n  children: {}\n";
  out += "all:\n  children:\n";
  for (std::size_t w = 0; w < r.waves.size(); ++w) out += group(r, wave_name(r, w), r.waves[w].nodes);
  std::map<std::uint32_t, std::set<std::uint32_t>> cohorts;
  for (const ChangeSet& s : r.sets) cohorts[s.cohort].insert(s.nodes.begin(), s.nodes.end());
  for (const auto& [cohort, nodes] : cohorts) out += group(r, cohort_name(cohort), {nodes.begin(), nodes.end()});
  for (std::size_t i = 0; i < r.sets.size(); ++i) out += group(r, change_name(r, i), r.sets[i].nodes);
  return out;
}

// What has to happen after a change, as the role's handlers are called.
std::string notify(const Change& c) {
  if (c.by == RemedyBy::kernel_arg) return "Update the boot loader";
  if (c.by == RemedyBy::sysfs) return "Apply kernel settings";
  if (c.takes == RemedyTakes::reboot) return "Reboot";
  return c.restarts.empty() ? "Nothing to start again" : "Restart " + c.restarts;
}

// Lists of variables, each with its items as YAML.
using Lists = std::map<std::string, std::string>;

void add_file(Lists& lists, const Change& c) {
  const ChangeFile f = file_of(c);
  std::string& out = lists["muster_files"];
  out += fmt::format("  - path: {}\n    notify: {}\n    content: |\n", quoted(f.path), quoted(notify(c)));
  const std::string text = f.text.empty() ? "# not there\n" : f.text;
  for (const std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n'))
    out += fmt::format("      {}\n", line);
}

// What the running node shows once it runs with the change, of those that need a reboot: which is due until then, whoever wrote
// the files and when.
void add_running(Lists& lists, const Change& c) {
  if (c.takes != RemedyTakes::reboot) return;
  const auto [first, second] = halves(c.name);
  std::string path, pattern;
  bool there = true;
  if (c.by == RemedyBy::kernel_arg) {
    path = "/proc/cmdline";
    there = !c.absent;
    const std::string value = c.value.empty() ? "" : "=" + in_pattern(c.value);
    pattern = fmt::format("(^|\\s){}{}", in_pattern(c.name), c.absent ? "(=|\\s|$)" : value + "(\\s|$)");
  } else if (c.by == RemedyBy::package) {
    const std::string release = loaded_driver(c);
    if (release.empty()) return;
    path = "/sys/module/nvidia/version";
    pattern = fmt::format("^{}$", in_pattern(release));
  } else if (c.by == RemedyBy::link_mtu) {
    path = fmt::format("/sys/class/net/{}/mtu", c.name);
    pattern = fmt::format("^{}$", c.value);
  } else {
    return;
  }
  // In single quotes a backslash is itself, and no pattern holds a quote.
  lists["muster_running"] +=
      fmt::format("  - path: {}\n    pattern: '{}'\n    there: {}\n", quoted(path), pattern, there ? "true" : "false");
}

void add_change(Lists& lists, const ChangeSet& s, const Change& c) {
  const auto [first, second] = halves(c.name);
  const std::string value = quoted(c.value);
  switch (c.by) {
    case RemedyBy::sysctl: lists["muster_sysctl"] += fmt::format("  - name: {}\n    value: {}\n", quoted(c.name), value); break;
    case RemedyBy::kernel_arg:
      if (s.rpm) {
        const std::string argument = c.absent ? "" : c.name + (c.value.empty() ? "" : "=" + c.value);
        lists["muster_grubby"] += fmt::format("  - name: {}\n    argument: {}\n", quoted(c.name), quoted(argument));
        break;
      }
      add_file(lists, c);
      break;
    case RemedyBy::package:
      lists[s.rpm ? "muster_dnf" : "muster_apt"] +=
          fmt::format("  - name: {}\n    version: {}\n    notify: {}\n{}", quoted(s.rpm ? c.other : c.name), value,
                      quoted(notify(c)), c.at_boot ? "    at_boot: true\n" : "");
      break;
    case RemedyBy::service:
      lists["muster_services"] +=
          fmt::format("  - name: {}\n    state: {}\n{}", quoted(c.name), value, c.at_boot ? "    at_boot: true\n" : "");
      break;
    case RemedyBy::conf_line:
      lists["muster_lines"] +=
          fmt::format("  - path: {}\n    key: {}\n    value: {}\n    state: {}\n    notify: {}\n", quoted(first), quoted(second),
                      value, c.absent ? "absent" : "present", quoted(notify(c)));
      break;
    case RemedyBy::mount_option:
      lists["muster_mounts"] +=
          fmt::format("  - path: {}\n    option: {}\n    value: {}\n", quoted(first), quoted(second), value);
      break;
    case RemedyBy::redfish: break;  // muster fleet emit redfish
    default: add_file(lists, c);
  }
}

std::string variables(const Repair& r, std::size_t set) {
  std::string out = "---\n" + about_set(r, set);
  Lists lists;
  for (const Change& c : r.sets[set].changes) {
    add_change(lists, r.sets[set], c);
    add_running(lists, c);
  }
  const std::vector<Change>& changes = r.sets[set].changes;
  const auto felt = [](const Change& c) { return c.by != RemedyBy::redfish && fleet::disturbs(c); };
  if (std::any_of(changes.begin(), changes.end(), felt)) out += "muster_needs_drain: true\n";
  for (const auto& [name, items] : lists) out += name + ":\n" + items;
  if (lists.empty()) out += "# Firmware alone: muster fleet emit redfish\nmuster_files: []\n";
  return out;
}

constexpr std::string_view kMayGoOn =
    "ansible_check_mode or not (muster_live | bool) or not (muster_needs_drain | default(false) | bool) or (muster_drained | "
    "bool)";

std::string play(std::string_view name, std::string_view hosts, std::string_view serial) {
  return fmt::format(
      "- name: {}\n  hosts: {}\n  gather_facts: false\n  become: \"{{{{ muster_become | default(true) }}}}\"\n  serial: {}\n"
      "  max_fail_percentage: 0\n  pre_tasks:\n    - name: Refuse a node on which jobs may run\n      ansible.builtin.assert:\n"
      "        that:\n          - {}\n        quiet: true\n        fail_msg: >-\n"
      "          This change restarts what jobs use, or needs a reboot: drain {{{{ inventory_hostname }}}}, and say so with\n"
      "          -e muster_drained=true.\n  roles:\n    - role: muster\n",
      name, hosts, serial, kMayGoOn);
}

std::string site_file(const Repair& r) {
  std::string out =
      "---\n# Wave by wave; the first node that fails ends the run, so that a wrong change stays with the canaries.\n"
      "# A node whose change restarts what jobs use, or needs a reboot, is refused until it is drained: -e "
      "muster_drained=true.\n";
  constexpr std::string_view kSerial = "\"{{ muster_serial | default('25%') }}\"";
  if (r.waves.empty()) return out + play("Nothing is to be changed", "all", kSerial);
  for (std::size_t w = 0; w < r.waves.size(); ++w) {
    out +=
        play(fmt::format("Wave {}, {}", w + 1, w == 0 ? "canaries" : r.waves[w].name), wave_name(r, w), w == 0 ? "1" : kSerial);
    if (w + 1 < r.waves.size()) out += "\n";
  }
  return out;
}

std::string handlers(const Repair& r) {
  std::set<std::string> units;
  for (const ChangeSet& s : r.sets) {
    for (const Change& c : s.changes) {
      if (!c.restarts.empty()) units.insert(c.restarts);
    }
  }
  std::string out = shipped("emit/ansible/handlers.yaml");
  for (const std::string& unit : units) {
    out += fmt::format(
        "\n- name: Restart {0}\n  ansible.builtin.systemd:\n    name: {0}\n    state: restarted\n    daemon_reload: true\n"
        "  when: muster_live | bool\n",
        unit);
  }
  return out;
}

std::string readme(const Repair& r, std::string_view whence) {
  std::string out = fmt::format(
      "# The difference of {}\n\n"
      "    ansible-playbook site.yml --check --diff        what would change\n"
      "    ansible-playbook site.yml --limit {}     the canaries; look at them before going on\n"
      "    ansible-playbook site.yml                       all waves, one after the other\n\n"
      "Nodes are grouped by wave, by kind and by change: `group_vars/change_*.yml` say what each change is and why.\n"
      "Nothing here takes nodes out of a scheduler: drain them, then say `-e muster_drained=true`; without it the site refuses\n"
      "the nodes whose change jobs would feel. Nothing is rebooted unless `-e muster_reboot=true`, in this run or a later one:\n"
      "a node that does not run with the new command line or driver says so in each run until it is rebooted.\n"
      "After that a run with `--check` is to report no change; where it does, somebody changes the value back.\n",
      escape_markdown(printable(whence)), r.waves.empty() ? "wave_1_canary" : wave_name(r, 0));
  if (!r.by_hand.empty()) out += "\n## Not done here\n";
  for (const fleet::ByHand& b : r.by_hand) out += "- " + escape_markdown(printable(told(r, b))) + "\n";
  if (!r.notes.empty()) out += "\n## Left out\n";
  for (const std::string& note : r.notes) out += "- " + escape_markdown(printable(note)) + "\n";
  return out;
}

}  // namespace

std::vector<TextFile> ansible_site(const Repair& r, std::string_view whence) {
  std::vector<TextFile> out = {{"ansible.cfg", "[defaults]\ninventory = inventory.yml\n"},
                               {"inventory.yml", inventory(r, whence)},
                               {"site.yml", site_file(r)},
                               {"README.md", readme(r, whence)},
                               {"collections/requirements.yml", shipped("emit/ansible/requirements.yaml")},
                               {"group_vars/all.yml",
                                "---\n# Of this site: see roles/muster/defaults/main.yml for what can be said "
                                "here.\nmuster_live: true\nmuster_drained: false\n"},
                               {"roles/muster/tasks/main.yml", shipped("emit/ansible/tasks.yaml")},
                               {"roles/muster/handlers/main.yml", handlers(r)},
                               {"roles/muster/defaults/main.yml", shipped("emit/ansible/defaults.yaml")},
                               {"roles/muster/meta/main.yml", shipped("emit/ansible/meta.yaml")}};
  for (std::size_t i = 0; i < r.sets.size(); ++i)
    out.push_back({fmt::format("group_vars/{}.yml", change_name(r, i)), variables(r, i)});
  return out;
}

}  // namespace muster::report
