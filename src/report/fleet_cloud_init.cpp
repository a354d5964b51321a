// The difference as cloud-init's user-data, and as what goss asserts.
#include <fmt/core.h>

#include <map>
#include <set>

#include "base/text.h"
#include "report/fleet_files.h"
#include "report/fleet_text.h"

namespace muster::report {
namespace {

using fleet::Change;
using fleet::Repair;

std::string indented(std::string_view text, std::string_view blanks) {
  std::string out;
  for (const std::string_view line : split(text.substr(0, text.empty() ? 0 : text.size() - 1), '\n'))
    out += fmt::format("{}{}\n", blanks, line);
  return out;
}

// A pattern of unattended-upgrades for what must not move while a package stays: Python's, from the beginning of the name.
std::set<std::string> not_unattended(const std::string& package) {
  // Of a driver its libraries too, which other packages of it do not hold, and the kernel: a new one has no modules of a driver
  // that stays behind.
  for (const char* begin : {"nvidia-", "libnvidia-", "cuda-drivers"}) {
    if (package.starts_with(begin))
      return {"(lib)?nvidia-", "cuda-drivers", "linux-(generic|nvidia|image|headers|modules|objects|signatures)"};
  }
  std::string name;
  for (const char c : package) name += c == '.' || c == '+' ? fmt::format("[{}]", c) : std::string(1, c);
  return {name + "$"};
}

// There once all commands have succeeded; gone after the reboot.
constexpr std::string_view kDone = "/run/muster-user-data-done";

struct UserData {
  std::string files, mounts, commands;
  std::vector<std::string> held;  // names, of apt
  bool rpm = false;
  bool sysctl = false, sysfs = false, units = false, boot_loader = false, reboot = false;

  void add_package(const Change& c) {
    const std::string& name = rpm ? c.other : c.name;
    if (c.absent) return command(fmt::format("{}, -y, remove, {}", rpm ? "dnf" : "apt-get", quoted(name)));
    held.push_back(name);
    // By a command, which ends the rest where it fails: `packages:` would not.
    const bool exact = c.value.find_first_of("-~:") != std::string::npos;
    if (rpm)
      return command(fmt::format("dnf, -y, install, {}", quoted(fmt::format("{}-{}{}", name, c.value, exact ? "" : "-*"))));
    if (exact) return command(fmt::format("apt-get, -y, --allow-downgrades, install, {}", quoted(name + "=" + c.value)));
    // Only apt knows of which epoch and revision it is; where it knows none, or several, that is an error and no guess.
    command(fmt::format(
        "sh, -c, {}",
        quoted(fmt::format("v=$(apt-cache madison {0} | cut -d'|' -f2 | tr -d ' ' | grep -E '{1}' | sort -u); "
                           "test $(echo $v | wc -w) = 1 || {{ echo {0} {2} is not offered once, but: $v >&2; exit 1; }}; "
                           "apt-get -y --allow-downgrades install {0}=$v",
                           name, version_pattern(c.value), c.value))));
  }

  void add_kernel_arg(const Change& c) {
    if (!rpm) {
      boot_loader = true;
      return;
    }
    const std::string with =
        c.absent ? "" : fmt::format(", {}", quoted("--args=" + c.name + (c.value.empty() ? "" : "=" + c.value)));
    command(fmt::format("grubby, --update-kernel=ALL, {}{}", quoted("--remove-args=" + c.name), with));
  }

  void add(const Change& c) {
    const auto [first, second] = halves(c.name);
    const bool grubby = rpm && c.by == RemedyBy::kernel_arg;
    if (const ChangeFile f = file_of(c); !grubby && !f.path.empty() && !f.text.empty()) {
      files +=
          fmt::format("  - path: {}\n    permissions: \"0644\"\n    content: |\n{}", quoted(f.path), indented(f.text, "      "));
    }
    sysctl |= c.by == RemedyBy::sysctl;
    sysfs |= c.by == RemedyBy::sysfs;
    units |= c.by == RemedyBy::unit_setting;
    if (c.by == RemedyBy::kernel_arg) add_kernel_arg(c);
    reboot |= c.takes == RemedyTakes::reboot && c.by != RemedyBy::redfish;
    if (c.by == RemedyBy::package) add_package(c);
    if (c.by == RemedyBy::mount_option)
      mounts += fmt::format("  - [tmpfs, {}, tmpfs, {}, \"0\", \"0\"]\n", quoted(first),
                            quoted(fmt::format("nosuid,nodev,{}={}", second, c.value)));
    if (c.by == RemedyBy::service) {
      const char* word = c.value == "active" ? "enable" : c.value == "masked" ? "mask" : "disable";
      command(fmt::format("systemctl, {}, {}{}", word, c.at_boot ? "" : "--now, ", quoted(c.name)));
    }
    if (c.by == RemedyBy::conf_line) {
      const std::string put = c.absent ? "" : fmt::format("; echo '{}={}' >> {}", second, c.value, first);
      command(
          fmt::format("sh, -c, {}", quoted(fmt::format("touch {0}; sed -i -E '/^[ ]*{1}[ ]*=/Id' {0}{2}", first, second, put))));
    }
  }
  void command(const std::string& words) { commands += fmt::format("  - [{}]\n", words); }

  // By itself a system would bring pinned packages to what its archive has by then.
  void hold() {
    if (held.empty() || rpm) return;
    std::set<std::string> patterns;
    std::string names;
    for (const std::string& package : held) {
      patterns.merge(not_unattended(package));
      names += ", " + quoted(package);
    }
    files +=
        "  # unattended-upgrades would move a driver's libraries under a module that stays loaded until the reboot: NVML then\n"
        "  # fails on the node (\"Driver/library version mismatch\"). What is pinned here, and the kernel that a driver's "
        "modules\n"
        "  # are of, are yours to update.\n"
        "  - path: \"/etc/apt/apt.conf.d/90-muster-held\"\n    permissions: \"0644\"\n    content: |\n"
        "      Unattended-Upgrade::Package-Blacklist {\n";
    for (const std::string& pattern : patterns) files += fmt::format("        \"{}\";\n", pattern);
    files += "      };\n";
    commands += "  # Nor does apt-get upgrade move them.\n";
    command("apt-mark, hold" + names);
  }

  // `base`: what is said of every node asks what apt offers already.
  std::string render(bool base) {
    const bool asks_apt = !held.empty() && !rpm && !base;
    hold();
    if (sysctl) command("sysctl, -e, --system");
    if (sysfs) command("systemd-tmpfiles, --create, --prefix=/sys");
    if (units) command("systemctl, daemon-reload");
    if (boot_loader) command("update-grub");
    std::string out;
    if (rpm && !held.empty())
      out +=
          "# Nothing holds these versions: where dnf-automatic runs, leave them out of it (excludepkgs in "
          "/etc/dnf/automatic.conf),\n"
          "# or libraries move under a driver's module that stays loaded.\n";
    if (asks_apt) out += "package_update: true\n";
    const bool may_fail = !commands.empty();
    if (may_fail) {
      commands = "  # The first that fails ends it: then nothing is held, and nothing rebooted.\n  - [set, -e]\n" + commands;
      if (reboot) command(fmt::format("touch, {}", kDone));
    }
    for (const auto& [key, text] :
         {std::pair("write_files", &files), std::pair("mounts", &mounts), std::pair("runcmd", &commands)}) {
      if (!text->empty()) out += fmt::format("{}:\n{}", key, *text);
    }
    if (!reboot) return out;
    out += "power_state:\n  mode: reboot\n  message: takes effect after a reboot\n";
    return may_fail ? out + fmt::format("  condition: test -e {}\n", kDone) : out;
  }
};

// By goss's kinds of resources: the name and what is asserted of it. Lines of a file are gathered, since a file stands there
// once.
struct Assertions {
  bool rpm = false;
  std::map<std::string, std::map<std::string, std::string>> resources;
  std::map<std::string, std::vector<std::string>> lines;  // patterns by file

  void add(const Change& c) {
    const auto [first, second] = halves(c.name);
    const std::string value = in_pattern(c.value), name = in_pattern(c.name);
    switch (c.by) {
      case RemedyBy::sysctl: resources["kernel-param"][c.name] = fmt::format("    value: {}\n", quoted(c.value)); break;
      case RemedyBy::kernel_arg:
        lines["/proc/cmdline"].push_back(c.absent        ? fmt::format("!/(^|\\s){}(=|\\s|$)/", name)
                                         : value.empty() ? fmt::format("/(^|\\s){}(\\s|$)/", name)
                                                         : fmt::format("/(^|\\s){}={}(\\s|$)/", name, value));
        break;
      case RemedyBy::sysfs: {
        std::string path = c.name;
        if (const std::size_t star = path.find('*'); star != std::string::npos) path.replace(star, 1, "0");
        lines[path].push_back(fmt::format("/(^|\\[){}($|\\])/", value));
        break;
      }
      case RemedyBy::package:
        if (const std::string release = loaded_driver(c); !release.empty())
          lines["/sys/module/nvidia/version"].push_back(fmt::format("/^{}$/", in_pattern(release)));
        resources["package"][rpm ? c.other : c.name] =
            c.absent ? std::string("    installed: false\n")
                     : fmt::format("    installed: true\n    versions:\n      contain-element:\n        match-regexp: {}\n",
                                   quoted(version_pattern(c.value)));
        break;
      case RemedyBy::service:
        resources["service"][c.name] =
            fmt::format("    enabled: {0}\n    running: {0}\n", c.value == "active" ? "true" : "false");
        break;
      case RemedyBy::conf_line:
        lines[first].push_back(fmt::format("{}/(?i)^\\s*{}\\s*=\\s*{}/", c.absent ? "!" : "", in_pattern(second), value));
        break;
      case RemedyBy::unit_setting: lines[file_of(c).path].push_back(fmt::format("/^{}={}$/", second, value)); break;
      case RemedyBy::module_option:
        lines[fmt::format("/sys/module/{}/parameters/{}", first, second)].push_back(fmt::format("/^{}$/", value));
        break;
      case RemedyBy::link_mtu: resources["interface"][c.name] = fmt::format("    exists: true\n    mtu: {}\n", c.value); break;
      case RemedyBy::mount_option:
        if (second == "size")
          resources["command"]["df -B1 --output=size " + first] =
              fmt::format("    exit-status: 0\n    stdout:\n      - \"/^ *{}$/\"\n", value);
        break;
      default: break;
    }
  }

  std::string render() {
    for (const auto& [path, patterns] : lines) {
      std::string text = "    exists: true\n    contents:\n";
      // In single quotes a backslash is itself, and no pattern holds a quote.
      for (const std::string& p : patterns) text += fmt::format("      - '{}'\n", p);
      resources["file"][path] = std::move(text);
    }
    std::string out;
    for (const auto& [kind, named] : resources) {
      out += kind + ":\n";
      for (const auto& [name, text] : named) out += fmt::format("  {}:\n{}", quoted(name), text);
    }
    return out.empty() ? "{}\n" : out;
  }
};

}  // namespace

std::vector<TextFile> cloud_init_files(const Repair& r, std::string_view whence, std::string_view base) {
  std::vector<TextFile> out;
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    UserData data;
    data.rpm = r.sets[i].rpm;
    for (const Change& c : r.sets[i].changes) data.add(c);
    std::string text = "#cloud-config\n";
    text += base.empty()
                ? headline(r, "cloud-init", whence)
                : comment(fmt::format("Written by `muster fleet provision`: all that these nodes get, what every node gets "
                                      "and what is declared for them; of {}.",
                                      whence)) +
                      not_done(r);
    text += about_set(r, i);
    text += comment(fmt::format("waves: {}", [&] {
      std::vector<std::vector<std::uint32_t>> by(r.waves.size());
      for (const std::uint32_t n : r.sets[i].nodes) by[wave_of(r, n)].push_back(n);
      std::string waves;
      for (std::size_t w = 0; w < by.size(); ++w) {
        if (!by[w].empty()) waves += fmt::format("{}{} {}", waves.empty() ? "" : "; ", r.waves[w].name, node_list(r, by[w]));
      }
      return waves;
    }()));
    const std::string body = std::string(base) + data.render(!base.empty());
    out.push_back({change_name(r, i) + ".user-data.yaml", text + (body.empty() ? "{}\n" : body)});
  }
  return out;
}

std::vector<TextFile> goss_files(const Repair& r, std::string_view whence) {
  std::vector<TextFile> out;
  for (std::size_t i = 0; i < r.sets.size(); ++i) {
    Assertions a;
    a.rpm = r.sets[i].rpm;
    for (const Change& c : r.sets[i].changes) a.add(c);
    out.push_back({change_name(r, i) + ".goss.yaml", headline(r, "goss", whence) + about_set(r, i) + a.render()});
  }
  return out;
}

}  // namespace muster::report
