#include "fleet/remedied.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::fleet {
namespace {

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// One blank for each run of them: the kernel shows tcp_rmem with tabs.
std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const char c : trim(text)) {
    const char plain = c == '\t' ? ' ' : c;
    if (plain != ' ' || !out.ends_with(' ')) out += plain;
  }
  return out;
}

// systemd's words for what /proc/PID/limits shows: "unlimited", or soft and hard.
std::string unit_limit(std::string_view value) {
  std::string out;
  const std::string words = with_single_blanks(value);
  for (const std::string_view word : split(words, ' ')) {
    if (word == "bytes" || word == "files" || word == "processes") continue;
    out += (out.empty() ? "" : ":") + (word == "unlimited" ? std::string("infinity") : std::string(word));
  }
  return out;
}

bool rules_by_apt(std::string_view os) { return os == "ubuntu" || os == "debian"; }

tl::unexpected<Error> person(std::string what) { return fail(Code::refused, std::move(what)); }

bool can_be_taken_away(RemedyBy by) {
  return by == RemedyBy::kernel_arg || by == RemedyBy::module_option || by == RemedyBy::package || by == RemedyBy::conf_line;
}

Result<void> name_it(Change& c, const Wish& w, const Remedy& r,
                     const std::function<std::string(std::uint32_t, std::string_view)>& known) {
  if ((r.by == RemedyBy::package || r.by == RemedyBy::kernel_arg) && known) {
    const std::string os = known(w.node, "os.id");
    if (os.empty()) return person("os.id is not known, and with it not by which tool");
    if (!rules_by_apt(os) && !rules_by_rpm(os))
      return person(fmt::format("{} has tools that are not spoken here", printable(os)));
  }
  c.name = r.target;
  if (r.target == "*") c.name = w.key.substr(r.key.size() - 1);
  if (r.by == RemedyBy::link_mtu) c.name = w.entity;
  if (r.by == RemedyBy::redfish && !w.entity.empty()) c.name += fmt::format(" {}", w.entity);
  if (r.by == RemedyBy::package) {
    const auto names = split(r.target, ' ');
    c.name = names.front();
    c.other = names.back();
    const std::string own = known && w.key == "fabricmanager.version" ? known(w.node, "fabricmanager.package") : "";
    if (plain_name(own)) c.name = c.other = own;
  }
  if (r.by == RemedyBy::unit_setting) {
    const std::string of = known ? known(w.node, "limits.of") : "slurmd";
    if (of != "slurmd" && of != "containerd")
      return person(fmt::format("whose limit it is is not known, so no unit can be told: set {} where it belongs", r.target));
    c.name = of + ".service " + r.target;
    c.restarts = of + ".service";
  }
  for (const std::string_view part : split(c.name, ' ')) {
    const bool path = !part.empty() && part.front() == '/';
    if (path ? !plain_value(part) : !plain_name(part)) return person("its name cannot be written into a file safely");
  }
  return {};
}

Result<void> value_it(Change& c, const Wish& w, const Remedy& r) {
  if (w.absent) {
    if (!can_be_taken_away(r.by)) return person("it should not be there at all: look where it comes from");
    if (r.by == RemedyBy::package && !w.declared)
      return person("most have none, and nobody declared that: remove it, or declare it");
    c.absent = true;
    c.restarts.clear();
    if (c.takes == RemedyTakes::restart) c.takes = RemedyTakes::live;
    return {};
  }
  c.value = r.by == RemedyBy::unit_setting ? unit_limit(w.value) : with_single_blanks(w.value);
  if (!plain_value(c.value)) return person("its value cannot be written into a file safely");
  const bool empty_allowed = r.by == RemedyBy::kernel_arg;
  if (c.value.empty() && !empty_allowed) return person("an empty value is wanted: look at a node of its kind");
  const bool one_word = r.by != RemedyBy::sysctl && r.by != RemedyBy::conf_line;
  if (one_word && c.value.find(' ') != std::string::npos) return person("its value is more than one word");
  const bool known_state = c.value == "active" || c.value == "inactive" || c.value == "masked";
  if (r.by == RemedyBy::service && !known_state) return person(fmt::format("no tool brings a service to {}", c.value));
  const bool number = parse_uint(c.value).has_value();
  if ((r.by == RemedyBy::link_mtu || r.by == RemedyBy::mount_option) && !number) return person("a whole number is needed");
  return {};
}

}  // namespace

bool plain_value(std::string_view text) {
  return text.size() <= 1000 && std::all_of(text.begin(), text.end(), [](char c) {
           return letter_or_digit(c) || std::string_view(" ._:/+=,@*~-").find(c) != std::string_view::npos;
         });
}

bool plain_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool taken_name(std::string_view text) {
  constexpr std::string_view kWords[] = {"all", "ungrouped", "localhost", "127.0.0.1", "yes", "no",
                                         "on",  "off",       "true",      "false",     "null"};
  constexpr std::string_view kGroups[] = {"change_", "cohort_", "wave_", "gpu_", "rack_", "localhost."};
  return std::find(std::begin(kWords), std::end(kWords), lower(text)) != std::end(kWords) ||
         std::any_of(std::begin(kGroups), std::end(kGroups), [&](std::string_view g) { return text.starts_with(g); });
}

bool rules_by_rpm(std::string_view os) {
  constexpr std::string_view kSuch[] = {"rhel", "rocky", "almalinux", "centos", "fedora", "ol", "amzn", "azurelinux"};
  return std::find(std::begin(kSuch), std::end(kSuch), os) != std::end(kSuch);
}

Result<Change> change_of(const Wish& w, const Remedy& r,
                         const std::function<std::string(std::uint32_t, std::string_view)>& known) {
  Change c;
  c.by = r.by;
  c.takes = r.takes;
  c.restarts = r.restarts;
  c.facts = {fact_name(w.entity, w.key)};
  c.has = w.has;
  c.why = w.why;
  if (auto ok = name_it(c, w, r, known); !ok) return tl::unexpected(ok.error());
  if (auto ok = value_it(c, w, r); !ok) return tl::unexpected(ok.error());
  return c;
}

}  // namespace muster::fleet
