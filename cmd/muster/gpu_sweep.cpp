#include "gpu_sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "files.h"
#include "ingest/embedded.h"

namespace muster::cmd {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "muster-sweep-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  bool made() const { return !path_.empty(); }
  std::string file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

 private:
  std::string path_;
};

// Its exit code, or 128 and the signal that ended it.
Result<int> run(std::vector<std::string> words, const std::string& in, const std::string& out) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return fail(Code::not_found, fmt::format("{} could not be started: {}", words[0], std::generic_category().message(failed)),
                "--python PROGRAM: the Python of the software that trains");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return fail(Code::internal, fmt::format("{} was lost", words[0]));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<std::string> sweep_gpu(const std::string& python, std::string_view shapes) {
  const TemporaryFolder folder;
  if (!folder.made()) return tl::unexpected(file_error("make", folder.file(""), errno));
  const std::string program = folder.file("gpu_sweep.py"), in = folder.file("shapes.csv"), out = folder.file("timings.csv");
  if (auto ok = write_file(program, embedded_file("sweep/gpu_sweep.py").value_or("")); !ok) return tl::unexpected(ok.error());
  if (auto ok = write_file(in, shapes); !ok) return tl::unexpected(ok.error());
  const auto code = run({python, "-B", program}, in, out);
  if (!code) return tl::unexpected(code.error());
  if (*code != 0)
    return fail(Code::unreachable, fmt::format("{} measured nothing (exit code {}; what it said is above)", python, *code),
                "a machine with a GPU, and --python PROGRAM with a PyTorch that sees it");
  return read_file(out);
}

}  // namespace muster::cmd
