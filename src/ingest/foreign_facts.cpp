#include "ingest/foreign_facts.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "ingest/documents.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"
#include "ingest/json.h"
#include "ingest/nvidia_smi.h"
#include "ingest/nvidia_smi_text.h"
#include "ingest/pci.h"

namespace muster {
namespace {

enum class Form { own, ansible, ansible_printed, smi, smi_xml, none };

Form form_of(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Form::own;
  const std::string_view head = text.substr(first, kDocumentHeadMax);
  const std::string_view line = head.substr(0, head.find('\n'));
  if (line.starts_with("{\"node\"")) return Form::own;
  switch (recognise_document(head, true).value_or(DocumentKind::none)) {
    case DocumentKind::nvidia_smi_xml: return Form::smi_xml;
    case DocumentKind::nvidia_smi: return Form::smi;
    default: break;
  }
  if (line.find(" => {") != std::string_view::npos && line.find(" | ") != std::string_view::npos) return Form::ansible_printed;
  if (head.front() != '{') return Form::none;
  const bool refused =
      head.find("\"unreachable\": true") != std::string_view::npos || head.find("\"failed\": true") != std::string_view::npos;
  return refused || head.find("\"ansible_") != std::string_view::npos ? Form::ansible : Form::own;
}

// "gpu001" for "facts/gpu001.json": what stands behind its last dot is cut off where it names a kind of file.
std::string node_of(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  for (const std::string_view end : {".json", ".xml", ".txt", ".out", ".log"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return name;
}

// Numbers and truths as text; nothing for lists and objects.
std::optional<std::string> word_of(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (const std::string* s = v->string()) return *s;
  if (const bool* b = v->boolean()) return *b ? "on" : "off";
  double d = 0;
  if (v->number(d)) return render_number(d);
  return std::nullopt;
}

class AnsibleFacts {
 public:
  AnsibleFacts(const Value& facts, std::size_t node, FactTable& into) : facts_(facts), node_(node), into_(into) {}

  void all() {
    struct Row {
      const char *from, *key;
    };
    constexpr Row kRows[] = {
        {"product_name", "node.product"},   {"system_vendor", "node.vendor"},       {"board_name", "node.board"},
        {"product_serial", "node.serial"},  {"machine_id", "node.machine_id"},      {"bios_version", "bios.version"},
        {"bios_date", "bios.date"},         {"distribution_version", "os.version"}, {"kernel", "kernel.release"},
        {"kernel_version", "kernel.build"}, {"processor_count", "cpu.sockets"},     {"processor_vcpus", "cpu.cores"},
        {"architecture", "cpu.arch"}};
    for (const Row& r : kRows) put(r.key, word_of(find(r.from)));
    if (const auto id = word_of(find("distribution"))) put("os.id", lower(*id));
    processors();
    double mb = 0;
    if (const Value* m = find("memtotal_mb"); m != nullptr && m->number(mb) && mb >= 0 && mb < 1e12)
      put("memory.gib", std::to_string((static_cast<std::uint64_t>(mb) + 512) >> 10));
    const auto role = word_of(find("virtualization_role"));
    if (role) put("node.virt", *role == "guest" ? word_of(find("virtualization_type")) : "none");
    command_line();
    interfaces();
  }

 private:
  const Value* find(std::string_view name) const {
    if (const Value* v = facts_.find("ansible_" + std::string(name))) return v;
    return facts_.find(name);
  }
  // "NA" is what Ansible writes where it could not read.
  void put(std::string_view key, const std::optional<std::string>& value, std::string_view part = {}) {
    if (!value) return;
    *value == "NA" ? into_.put_unreadable(node_, part, key) : into_.put(node_, part, key, *value);
  }
  // ["0", "GenuineIntel", "Intel(R) Xeon(R) Platinum 8480C", "1", ...]
  void processors() {
    const Value* list = find("processor");
    if (list == nullptr || list->array() == nullptr || list->array()->size() < 3) return;
    put("cpu.model", word_of(&(*list->array())[2]));
  }
  void command_line() {
    const Value* all = find("cmdline");
    if (all == nullptr || all->object() == nullptr) return;
    constexpr std::string_view kArgument = "arg:";
    for (const FactMeaning& row : fact_book().rows) {
      if (!row.read.starts_with(kArgument)) continue;
      const Value* v = all->find(row.read.substr(kArgument.size()));
      if (v == nullptr) {
        into_.put_absent(node_, "", row.key);
      } else {
        put(row.key, v->boolean() != nullptr ? std::optional<std::string>("set") : word_of(v));
      }
    }
  }
  void interfaces() {
    const Value* list = find("interfaces");
    if (list == nullptr || list->array() == nullptr) return;
    for (const Value& name : *list->array()) {
      if (name.string() == nullptr) continue;
      std::string key = *name.string();  // "eth0.100" is ansible_eth0_100
      for (char& c : key) c = c == '.' || c == '-' || c == ':' ? '_' : c;
      const Value* about = find(key);
      // What has a module has hardware; bridges, loopback and the ends of containers have none.
      if (about == nullptr || about->find("module") == nullptr) continue;
      const std::string& part = *name.string();
      put("netif.mtu", word_of(about->find("mtu")), part);
      put("netif.driver", word_of(about->find("module")), part);
      put("netif.address", word_of(about->find("macaddress")), part);
      if (const Value* up = about->find("active"); up != nullptr && up->boolean() != nullptr)
        put("netif.state", *up->boolean() ? "up" : "down", part);
      if (const auto speed = word_of(about->find("speed")); speed && *speed != "-1") put("netif.speed", speed, part);
    }
  }

  const Value& facts_;
  std::size_t node_;
  FactTable& into_;
};

Result<void> put_ansible(const Value& v, std::string node, const std::string& file, FactTable& into) {
  const Value* facts = v.find("ansible_facts");
  const Value* why = v.find("msg");
  if (facts == nullptr && why != nullptr && why->string() != nullptr) {
    std::string said = *why->string();
    for (char& c : said) c = c == '\n' || c == '\r' ? ' ' : c;
    return fail(Code::bad_input, fmt::format("{}: no facts: Ansible says of {}: {}", file, node.empty() ? "a node" : node, said));
  }
  if (facts == nullptr) facts = &v;  // its cache of facts holds them alone
  if (facts->object() == nullptr) return fail(Code::bad_input, fmt::format("{}: ansible_facts must be an object", file));
  if (node.empty()) {
    for (const char* key : {"ansible_nodename", "ansible_hostname", "nodename", "hostname"}) {
      if (const Value* n = facts->find(key); node.empty() && n != nullptr && n->string() != nullptr) node = *n->string();
    }
  }
  if (node.empty())
    return fail(Code::bad_input, fmt::format("{}: does not say which node", file), "name the file after the node");
  const std::size_t at = into.node(to_valid_utf8(node));
  into.set_source(at, "ansible", {});
  AnsibleFacts(*facts, at, into).all();
  return {};
}

// `ansible all -m setup`: "gpu001 | SUCCESS => {" and the JSON until a line that is "}".
Result<void> read_printed(std::string_view text, const std::string& file, FactTable& into) {
  constexpr std::string_view kTo = " => {";
  int line = 0, begun = 0;
  std::string node;
  const char* from = nullptr;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line;
    const auto to = row.find(kTo);
    if (const auto bar = row.find(" | "); from == nullptr && to != std::string_view::npos && bar < to) {
      node = std::string(row.substr(0, bar));
      // Of a node that could not be reached nothing is known.
      from = row.substr(bar).starts_with(" | SUCCESS") ? row.data() + to + kTo.size() - 1 : nullptr;
      begun = line;
      if (trim(row).ends_with("{")) continue;
      // `ansible -o`: all of it on one line.
      const auto v = from == nullptr ? Result<Value>{} : parse_json(trim(row.substr(to + kTo.size() - 1)));
      if (!v) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, v.error().what));
      if (auto ok = from == nullptr ? Result<void>{} : put_ansible(*v, node, file, into); !ok) return ok;
      from = nullptr;
    } else if (from != nullptr && trim(row) == "}" && row.front() == '}') {
      const auto v = parse_json({from, static_cast<std::size_t>(row.data() + row.size() - from)});
      if (!v) return fail(Code::bad_input, fmt::format("{}:{}: {}", file, begun, v.error().what));
      if (auto ok = put_ansible(*v, node, file, into); !ok) return ok;
      from = nullptr;
    }
  }
  return {};
}

std::string rate_of(double generation) {
  constexpr std::array kRates = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
  const auto n = static_cast<std::size_t>(generation);
  return n < 1 || n > kRates.size() ? std::string() : fmt::format("{} GT/s PCIe", kRates[n - 1]);
}

class SmiFacts {
 public:
  SmiFacts(std::size_t node, std::string part, FactTable& into) : node_(node), part_(std::move(part)), into_(into) {}

  void all(const SmiGpu& g) {
    text("gpu.model", g.product);
    text("gpu.uuid", g.uuid);
    text("vbios.version", g.vbios);
    // "00000000:1B:00.0", where the kernel writes 0000:1b:00.0
    std::string pci = lower(g.pci);
    if (const auto colon = pci.find(':'); colon != std::string::npos && colon > 4) pci.erase(0, colon - 4);
    text("gpu.pci", pci);
    if (g.pcie_gen) text("gpu.link_speed", rate_of(*g.pcie_gen));
    if (g.pcie_gen_device_max) text("gpu.link_speed_max", rate_of(*g.pcie_gen_device_max));
    number("gpu.link_width", g.pcie_width);
    number("gpu.link_width_max", g.pcie_width_max);
    number("gpu.power_limit_w", g.power_limit_w);
    number("gpu.power_default_w", g.power_limit_default_w);
    number("gpu.sm_clock_max_mhz", g.sm_max_mhz);
    flag("gpu.ecc", g.ecc_on);
    flag("gpu.mig", g.mig_on);
    std::string fabric = lower(g.fabric_state);
    for (char& c : fabric) c = c == ' ' ? '_' : c;
    text("gpu.fabric_state", fabric);
  }

 private:
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) into_.put(node_, part_, key, value);
  }
  void number(std::string_view key, const std::optional<double>& value) {
    if (value) into_.put(node_, part_, key, render_number(*value));
  }
  void flag(std::string_view key, const std::optional<bool>& value) {
    if (value) into_.put(node_, part_, key, *value ? "on" : "off");
  }

  std::size_t node_;
  std::string part_;
  FactTable& into_;
};

Result<void> put_smi(const NvidiaSmi& smi, const std::string& file, FactTable& into) {
  if (!smi.complete && !smi.broken.empty()) return fail(Code::bad_input, fmt::format("{}: {}", file, smi.broken));
  const std::string node = node_of(file);
  if (node.empty() || node == "-")
    return fail(Code::bad_input, fmt::format("{}: nvidia-smi does not say which node it ran on", file),
                "put it into a file that is named after the node: gpu001.xml");
  const std::size_t at = into.node(node);
  into.set_source(at, "nvidia-smi", {});
  if (!smi.driver.empty()) into.put(at, "", "driver.loaded", smi.driver);
  if (!smi.cuda.empty()) into.put(at, "", "cuda.driver_max", smi.cuda);
  if (smi.attached) into.put(at, "", "gpu.count", render_number(*smi.attached));
  for (std::size_t i = 0; i < smi.gpus.size(); ++i) SmiFacts(at, "gpu" + std::to_string(i), into).all(smi.gpus[i]);
  return {};
}

}  // namespace

Result<std::string> read_any_facts(std::string_view text, const std::string& file, FactTable& into) {
  const auto whole = [](Result<void> ok) {
    return ok ? Result<std::string>(std::string()) : tl::unexpected(std::move(ok.error()));
  };
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  switch (form_of(text)) {
    case Form::own: return read_facts(text, file, into);
    case Form::smi_xml: return whole(put_smi(parse_nvidia_smi(text), file, into));
    case Form::smi: return whole(put_smi(parse_nvidia_smi_text(text), file, into));
    case Form::ansible_printed: {
      FactTable tried;
      if (auto ok = read_printed(text, file, tried); !ok) return whole(std::move(ok));
      return whole(read_printed(text, file, into));
    }
    case Form::ansible: {
      const auto v = parse_json(text);
      if (!v) return fail(Code::bad_input, fmt::format("{}: {}", file, v.error().what));
      return whole(put_ansible(*v, file == "-" ? "" : node_of(file), file, into));
    }
    case Form::none: break;
  }
  return fail(Code::bad_input,
              fmt::format("{}: no facts: neither lines of muster fleet probe, nor what ansible -m setup or "
                          "nvidia-smi -q writes",
                          file),
              "write them with muster fleet inventory --out FILE");
}

}  // namespace muster
