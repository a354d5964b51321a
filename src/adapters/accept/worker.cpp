#include "adapters/accept/worker.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <accept_cuda/accept.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

#include "adapters/accept/child.h"
#include "adapters/accept/cpu_list.h"

namespace muster::bench {
namespace {

constexpr const char* kLibrary = "libmuster-accept-cuda.so";
constexpr double kProgressEvery = 0.05;

std::string program_folder() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string_view whole(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t slash = whole.rfind('/');
  return std::string(whole.substr(0, slash == std::string_view::npos ? 0 : slash));
}

// The library of the tests, and the GPU that it has opened.
class Tests {
 public:
  // Empty: it is there; else why it is not.
  std::string load(const std::string& named) {
    if (run != nullptr) return {};
    void* library = nullptr;
    std::string from;
    for (const std::string& place : library_places(named, program_folder())) {
      from = place;
      if (place.find('/') != std::string::npos && ::access(place.c_str(), F_OK) != 0 && place != named) continue;
      library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      break;
    }
    if (library == nullptr) {
      const char* why = ::dlerror();
      return fmt::format("the tests cannot be loaded: {}", why == nullptr ? from : why);
    }
    const auto abi = reinterpret_cast<decltype(&muster_accept_abi)>(::dlsym(library, "muster_accept_abi"));
    if (abi == nullptr) return fmt::format("{} holds no tests of muster", from);
    if (const int speaks = abi(); speaks != MUSTER_ACCEPT_ABI) {
      return fmt::format("{} is of another muster: its interface is {}, and {} is needed; install both of one release", from,
                         speaks, MUSTER_ACCEPT_ABI);
    }
    open = reinterpret_cast<decltype(&muster_accept_open)>(::dlsym(library, "muster_accept_open"));
    close = reinterpret_cast<decltype(&muster_accept_close)>(::dlsym(library, "muster_accept_close"));
    const auto found = reinterpret_cast<decltype(&muster_accept_run)>(::dlsym(library, "muster_accept_run"));
    if (open == nullptr || close == nullptr || found == nullptr) return fmt::format("{} lacks a function", from);
    run = found;
    return {};
  }

  decltype(&muster_accept_open) open = nullptr;
  decltype(&muster_accept_run) run = nullptr;
  decltype(&muster_accept_close) close = nullptr;
  void* gpu = nullptr;
};

Said spoken(Said::Kind kind, std::string_view name, std::string_view text) {
  Said s;
  s.kind = kind;
  put(s.name, name);
  put(s.text, text);
  return s;
}

// What a test is given to tell its figures with.
struct Telling {
  int socket;
  const std::atomic<int>* stop;
  double progress_at = 0;
};

void measured(void* self, const char* metric, double value) {
  Said s = spoken(Said::Kind::measured, metric, "");
  s.value[0] = value;
  say(static_cast<Telling*>(self)->socket, s);
}

void held(void* self, const char* metric, double value, double begun_s, double took_s, double mhz) {
  Said s = spoken(Said::Kind::held, metric, "");
  s.value[0] = value, s.value[1] = begun_s, s.value[2] = took_s, s.value[3] = mhz;
  say(static_cast<Telling*>(self)->socket, s);
}

void wrong(void* self, const char* place, std::uint64_t count, const char* detail) {
  Said s = spoken(Said::Kind::wrong, place, detail == nullptr ? "" : detail);
  s.count = count;
  say(static_cast<Telling*>(self)->socket, s);
}

void progress(void* self, double share) {
  auto* t = static_cast<Telling*>(self);
  const double now = steady_s();
  if (now < t->progress_at) return;
  t->progress_at = now + kProgressEvery;
  Said s = spoken(Said::Kind::progress, "", "");
  s.value[0] = share;
  say_if_heard(t->socket, s);
}

int stop(void* self) { return static_cast<Telling*>(self)->stop->load(std::memory_order_relaxed); }

Said take_gpu(Tests& tests, const WorkerSetup& setup) {
  std::string why = tests.load(setup.library);
  if (!why.empty()) return spoken(Said::Kind::broken, "", why);
  muster_accept_device device = {};
  char words[256] = {};
  if (const int r = tests.open(setup.device.c_str(), &device, words, sizeof words, &tests.gpu); r != MUSTER_ACCEPT_DONE) {
    why = get(words);
    if (why.empty()) why = fmt::format("the library of the tests answers {}", r);
    return spoken(Said::Kind::broken, "", "the GPU cannot be opened: " + why);
  }
  Said s = spoken(Said::Kind::opened, get(device.uuid), get(device.name));
  s.value[0] = device.sms;
  s.value[1] = static_cast<double>(device.memory_bytes);
  s.value[2] = device.driver, s.value[3] = device.runtime;
  s.value[4] = static_cast<double>(device.cublas);
  return s;
}

Said run_test(const Tests& tests, const WorkerSetup& setup, const Order& order, int socket) {
  Telling telling{socket, setup.stop};
  const muster_accept_host host{&telling, measured, held, wrong, progress, stop};
  const std::string test = get(order.test), plant = get(order.plant);
  const muster_accept_task task{test.c_str(), order.seconds, order.seed, plant.c_str()};
  char why[256] = {};
  const int r = tests.run(tests.gpu, &task, &host, why, sizeof why);
  Said s = spoken(Said::Kind::done, "", get(why));
  s.count = static_cast<std::uint64_t>(static_cast<std::int64_t>(r));
  return s;
}

}  // namespace

std::vector<std::string> library_places(const std::string& named, const std::string& program) {
  if (!named.empty()) return {named};
  return {program + "/" + kLibrary, program + "/../lib/" + kLibrary, kLibrary};
}

void work(int socket, const WorkerSetup& setup) {
  stay_near(setup.near_pci);
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);  // as NVML numbers them
  if (!setup.visible.empty()) ::setenv("CUDA_VISIBLE_DEVICES", setup.visible.c_str(), 1);
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/dev/null", 1);  // no server between the tests and the GPU
  for (const char* name : {"CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE"}) ::unsetenv(name);  // they change what is measured
  Tests tests;
  for (;;) {
    Order order;
    const ssize_t n = ::recv(socket, &order, sizeof order, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof order)) ::_exit(0);
    if (order.kind == Order::Kind::open) {
      say(socket, take_gpu(tests, setup));
    } else if (order.kind == Order::Kind::run && tests.gpu != nullptr) {
      say(socket, run_test(tests, setup, order, socket));
    } else {
      if (tests.gpu != nullptr) tests.close(tests.gpu);
      ::_exit(0);
    }
  }
}

}  // namespace muster::bench
