#include "adapters/facts/driver.h"

#include <array>
#include <cstring>

#include "adapters/facts/elf.h"
#include "base/text.h"

namespace muster::facts {
namespace {

struct OnDisk {
  Reading version, vermagic;
};

constexpr std::array kModuleFolders = {"updates/dkms/",
                                       "updates/",
                                       "extra/",
                                       "extra/nvidia/",
                                       "kernel/drivers/video/",
                                       "kernel/nvidia/",
                                       "kernel/drivers/video/nvidia/",
                                       "misc/"};

// "/var/lib/dkms/nvidia/580.159.04/6.8.0-45-generic": built there by DKMS.
std::string dkms_version(const Host& host, const std::string& release) {
  for (const char* name : {"nvidia", "nvidia-srv", "nvidia-open"}) {
    const std::string folder = std::string("/var/lib/dkms/") + name + "/";
    for (const std::string& version : host.entries(folder)) {
      if (!version.empty() && version[0] >= '0' && version[0] <= '9' && host.exists(folder + version + "/" + release))
        return version;
    }
  }
  return {};
}

// Ubuntu has its signed modules in a folder named after the branch: kernel/nvidia-580srv-open.
std::string module_file(const Host& host, const std::string& modules, bool& packed) {
  std::vector<std::string> folders(kModuleFolders.begin(), kModuleFolders.end());
  for (const std::string& name : host.entries(modules + "kernel")) {
    if (name.starts_with("nvidia-")) folders.insert(folders.begin(), "kernel/" + name + "/");
  }
  for (const std::string& folder : folders) {
    for (const char* file : {"nvidia.ko", "nvidia.ko.zst", "nvidia.ko.xz", "nvidia.ko.gz"}) {
      if (!host.exists(modules + folder + file)) continue;
      packed = std::strlen(file) > std::strlen("nvidia.ko");
      return modules + folder + file;
    }
  }
  return {};
}

OnDisk module_on_disk(const Host& host, const std::string& release) {
  bool packed = false;
  const std::string file = module_file(host, "/lib/modules/" + release + "/", packed);
  if (!file.empty() && !packed) {
    const auto words = elf_section(host, file, ".modinfo", 64 << 10);
    if (!words) return {{Found::unreadable, {}}, {Found::unreadable, {}}};
    const std::string magic = module_info(*words, "vermagic");
    return {{Found::value, module_info(*words, "version")}, {Found::value, magic.substr(0, magic.find(' '))}};
  }
  if (const std::string built = dkms_version(host, release); !built.empty())
    return {{Found::value, built}, {Found::value, release}};
  if (file.empty()) return {};
  return {{Found::unreadable, {}}, {Found::value, release}};
}

// GSP firmware lies in a folder of the driver's version.
Reading firmware_of(const Host& host, const std::string& version) {
  Found why = Found::value;
  for (const std::string& name : host.entries("/lib/firmware/nvidia/" + version, &why)) {
    if (name.starts_with("gsp")) return {Found::value, version};
  }
  return {why == Found::unreadable ? why : Found::absent, {}};
}

// "Model: \t\t NVIDIA H200" in /proc/driver/nvidia/gpus/ADDRESS/information.
Reading word_of(const Reading& text, std::string_view key) {
  if (!text.ok()) return {Found::unreadable, {}};  // the GPU is there: that nothing is said of it is no value
  for (const std::string_view line : split(text.text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    const std::string_view v = trim(line.substr(key.size() + 1));
    // "??.??.??.??.??": nobody has opened the GPU since the driver was loaded.
    if (v.empty() || v.find('?') != std::string_view::npos) return {Found::unreadable, {}};
    return {Found::value, v == "N/A" ? "" : std::string(v)};
  }
  return {};
}

}  // namespace

std::string_view cuda_of_driver(std::string_view version) {
  struct Row {
    std::string_view branch, cuda;
  };
  // "CUDA Version" in nvidia-smi of each branch; CUDA Toolkit release notes, table of driver versions.
  constexpr Row kRows[] = {{"450", "11.0"}, {"455", "11.1"}, {"460", "11.2"}, {"465", "11.3"}, {"470", "11.4"}, {"495", "11.5"},
                           {"510", "11.6"}, {"515", "11.7"}, {"520", "11.8"}, {"525", "12.0"}, {"530", "12.1"}, {"535", "12.2"},
                           {"545", "12.3"}, {"550", "12.4"}, {"555", "12.5"}, {"560", "12.6"}, {"565", "12.7"}, {"570", "12.8"},
                           {"575", "12.9"}, {"580", "13.0"}, {"590", "13.1"}};
  const std::string_view branch = version.substr(0, version.find('.'));
  for (const Row& r : kRows) {
    if (r.branch == branch) return r.cuda;
  }
  return {};
}

void probe_driver(const Host& host, Sheet& sheet) {
  // In an image the newest kernel is the one that will run.
  const std::string* release = sheet.value(host.live() ? "kernel.release" : "kernel.installed");
  const OnDisk disk = release == nullptr ? OnDisk{} : module_on_disk(host, *release);
  sheet.put("driver.on_disk", disk.version);
  sheet.put("driver.vermagic", disk.vermagic);
  if (!host.live()) return;
  const std::string* loaded = sheet.value("driver.loaded");
  if (loaded == nullptr) {
    sheet.absent("driver.flavour");
    sheet.absent("driver.gsp");
    sheet.absent("cuda.driver_max");
    return sheet.absent("driver.profiling_admin_only");
  }
  const Reading admin = word_of(host.text("/proc/driver/nvidia/params"), "RmProfilingAdminOnly");
  admin.ok() ? sheet.flag("driver.profiling_admin_only", admin.text != "0") : sheet.put("driver.profiling_admin_only", admin);
  const Reading says = host.line("/proc/driver/nvidia/version");
  if (says.ok()) {
    sheet.put("driver.flavour", says.text.find("Open Kernel Module") != std::string::npos ? "open" : "proprietary");
  } else {
    const Reading licence = host.line("/sys/module/nvidia/taint");
    licence.ok() ? sheet.put("driver.flavour", licence.text.find('P') == std::string::npos ? "open" : "proprietary")
                 : sheet.unreadable("driver.flavour");
  }
  sheet.put("driver.gsp", firmware_of(host, *loaded));
  // A branch that this program does not know: unknown, which is not nothing.
  if (const std::string_view cuda = cuda_of_driver(*loaded); !cuda.empty()) sheet.put("cuda.driver_max", cuda);
}

void probe_gpu_words(const Host& host, const std::vector<PciGpu>& gpus, Sheet& sheet) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string part = "gpu" + std::to_string(i);
    const Reading text = host.text("/proc/driver/nvidia/gpus/" + gpus[i].address + "/information");
    sheet.put("gpu.model", word_of(text, "Model"), part);
    sheet.put("gpu.uuid", word_of(text, "GPU UUID"), part);
    sheet.put("vbios.version", word_of(text, "Video BIOS"), part);
    const Reading firmware = word_of(text, "GPU Firmware");
    sheet.put("gpu.firmware", firmware.ok() && firmware.text.empty() ? Reading{} : firmware, part);
  }
}

}  // namespace muster::facts
