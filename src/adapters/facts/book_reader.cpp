#include "adapters/facts/book_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/text.h"

namespace muster::facts {
namespace {

constexpr std::size_t kHashedMax = 4U << 20;

constexpr std::array kLibraryFolders = {
#if defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/",
#else
    "/usr/lib/x86_64-linux-gnu/",
#endif
    "/usr/lib64/",
    "/usr/lib/",
    "/usr/local/lib/",
    "/usr/local/cuda/lib64/",
    "/usr/local/nvidia/lib64/",
};

constexpr std::array kUnitFolders = {"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/",
                                     "/run/systemd/system/"};
constexpr std::array kSlices = {"/sys/fs/cgroup/system.slice/", "/sys/fs/cgroup/systemd/system.slice/"};

bool of_the_kernel(std::string_view path) { return path.starts_with("/proc/") || path.starts_with("/sys/"); }

// What several rows are read from, once.
struct Shared {
  Reading command_line, limits;
  std::string os_release;
};

Reading hash_of(const Host& host, const std::string& path) {
  Reading r = host.text(path, kHashedMax);
  if (r.ok()) r.text = short_hash(r.text);
  return r;
}

// KEY=VALUE or KEY="VALUE".
Reading release_word(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != '=') continue;
    std::string_view v = trim(line.substr(key.size() + 1));
    if (v.size() >= 2 && (v.front() == '"' || v.front() == '\'') && v.back() == v.front()) v = v.substr(1, v.size() - 2);
    return {Found::value, std::string(v)};
  }
  return {};
}

// Of files as Slurm has them: Key=Value anywhere in a line, # begins a remark.
Reading conf_word(const Host& host, const std::string& path, const std::string& key) {
  Reading r = host.text(path, 1U << 20);
  if (!r.ok()) return r;
  for (std::string_view line : split(r.text, '\n')) {
    line = line.substr(0, line.find('#'));
    for (const std::string_view word : split(line, ' ')) {
      const auto is = word.find('=');
      if (is != std::string_view::npos && lower(trim(word.substr(0, is))) == key)
        return {Found::value, std::string(trim(word.substr(is + 1)))};
    }
  }
  return {};
}

// The soft limit of "Max locked memory         unlimited            unlimited            bytes".
Reading limit_word(const Reading& limits, std::string_view name) {
  if (!limits.ok()) return limits;
  for (std::string_view line : split(limits.text, '\n')) {
    if (!line.starts_with(name)) continue;
    line = trim(line.substr(name.size()));
    return {Found::value, std::string(line.substr(0, line.find(' ')))};
  }
  return {Found::unreadable, {}};
}

Shared read_shared(const Host& host, Sheet& sheet) {
  Shared s;
  s.os_release = host.text("/etc/os-release").text;
  if (s.os_release.empty()) s.os_release = host.text("/usr/lib/os-release").text;
  if (!host.live()) return s;
  s.command_line = host.text("/proc/cmdline");
  std::string whose = "self";
  for (const char* unit : {"slurmd", "containerd"}) {
    const std::string pid = first_process(host, unit);
    if (pid.empty()) continue;
    whose = unit;
    s.limits = host.text("/proc/" + pid + "/limits");
    break;
  }
  if (whose == "self") s.limits = host.text("/proc/self/limits");
  sheet.put("limits.of", whose);
  return s;
}

void read_row(const Host& host, const FactMeaning& row, const Shared& shared, Sheet& sheet) {
  const auto colon = row.read.find(':');
  if (colon == std::string::npos) return;
  const std::string_view how = std::string_view(row.read).substr(0, colon);
  const std::string what = row.read.substr(colon + 1);
  if (!host.live() && (of_the_kernel(what) || how == "arg" || how == "limit")) return;
  if (how == "line") {
    Reading r = host.line(what);
    // "4096\t131072\t33554432": people write blanks.
    if (r.ok() && what.starts_with("/proc/sys/")) std::replace(r.text.begin(), r.text.end(), '\t', ' ');
    sheet.put(row.key, r);
  } else if (how == "selected") {
    Reading r = host.line(what);
    if (r.ok()) r.text = selected(r.text);
    sheet.put(row.key, r);
  } else if (how == "arg") {
    sheet.put(row.key, shared.command_line.ok() ? command_line_argument(shared.command_line.text, what) : shared.command_line);
  } else if (how == "osrelease") {
    sheet.put(row.key, release_word(shared.os_release, what));
  } else if (how == "hash") {
    sheet.put(row.key, hash_of(host, slurm_file(host, what)));
  } else if (how == "link") {
    sheet.put(row.key, library_version(host, what));
  } else if (how == "conf") {
    const auto second = what.rfind(':');
    sheet.put(row.key, conf_word(host, slurm_file(host, what.substr(0, second)), lower(what.substr(second + 1))));
  } else if (how == "unit") {
    const Reading state = unit_state(host, what);
    // In an image nothing runs: whether it will is another question.
    if (host.live() || !state.ok() || state.text == "masked") sheet.put(row.key, state);
  } else if (how == "limit") {
    sheet.put(row.key, limit_word(shared.limits, what));
  }
}

}  // namespace

std::string short_hash(std::string_view bytes) { return fmt::format("{:016x}", xxh64(bytes)); }

Reading command_line_argument(std::string_view command_line, std::string_view name) {
  Reading out;
  for (const std::string_view raw : split(command_line, ' ')) {
    const std::string_view word = trim(raw);
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (!rest.empty() && rest.front() != '=') continue;
    if (out.ok()) out.text += ',';
    out.found = Found::value;
    out.text += rest.empty() ? std::string_view("set") : rest.substr(1);
  }
  return out;
}

std::string selected(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::string(text);
  return std::string(text.substr(open + 1, close - open - 1));
}

std::string library_path(const Host& host, const std::string& name) {
  for (const char* folder : kLibraryFolders) {
    if (host.exists(folder + name)) return folder + name;
  }
  return {};
}

Reading library_version(const Host& host, const std::string& name) {
  for (const char* folder : kLibraryFolders) {
    const Reading link = host.link(folder + name);
    if (link.found == Found::absent) continue;
    std::string file = host.real(folder + name);  // there may be links to links
    if (file.empty()) file = link.text;           // which lead nowhere
    const auto so = file.rfind(".so.");
    const std::string version = so == std::string::npos ? "" : file.substr(so + 4);
    // "libcuda.so.1" is a file, not a link: it is there and does not say which one it is.
    if (version.find('.') == std::string::npos) return {Found::unreadable, {}};
    return {Found::value, version};
  }
  return {};
}

std::string first_process(const Host& host, const std::string& unit) {
  for (const char* slice : kSlices) {
    const Reading r = host.line(std::string(slice) + unit + ".service/cgroup.procs");
    if (r.ok() && !r.text.empty()) return r.text;
  }
  return {};
}

Reading unit_state(const Host& host, const std::string& unit) {
  const std::string file = unit + ".service";
  if (host.live()) {
    for (const char* slice : kSlices) {
      if (host.exists(slice + file)) return {Found::value, "active"};
    }
  }
  if (const Reading r = host.link(kUnitFolders[0] + file); r.ok() && r.text == "/dev/null") return {Found::value, "masked"};
  for (const char* folder : kUnitFolders) {
    if (host.exists(folder + file)) return {Found::value, "inactive"};
  }
  return {};
}

std::string slurm_file(const Host& host, const std::string& path) {
  constexpr std::string_view kUsual = "/etc/slurm/";
  if (!path.starts_with(kUsual) || host.exists(path)) return path;
  for (const char* folder : {"/run/slurm/conf/", "/opt/slurm/etc/", "/usr/local/etc/slurm/", "/etc/slurm-llnl/"}) {
    if (std::string other = folder + path.substr(kUsual.size()); host.exists(other)) return other;
  }
  return path;
}

void read_by_book(const Host& host, const FactBook& book, Sheet& sheet) {
  const Shared shared = read_shared(host, sheet);
  for (const FactMeaning& row : book.rows) {
    if (row.of.empty()) read_row(host, row, shared, sheet);
  }
}

void read_part_by_book(const Host& host, const FactBook& book, Sheet& sheet, std::string_view of, const std::string& part,
                       const std::string& folder) {
  constexpr std::string_view kLine = "line:";
  for (const FactMeaning& row : book.rows) {
    if (row.of == of && row.read.starts_with(kLine)) sheet.put(row.key, host.line(folder + row.read.substr(kLine.size())), part);
  }
}

}  // namespace muster::facts
