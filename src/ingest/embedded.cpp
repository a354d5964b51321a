#include "ingest/embedded.h"

namespace muster {
namespace {

struct Entry {  // as cmake/data.cmake lays it out
  const char* name;
  std::size_t name_size;
  const char* bytes;
  std::size_t size;
};

}  // namespace

extern "C" const Entry muster_embedded_files[];
extern "C" const Entry muster_embedded_files_end[];

std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const Entry* e = muster_embedded_files; e != muster_embedded_files_end; ++e) {
    if (std::string_view(e->name, e->name_size) == path) return std::string_view(e->bytes, e->size);
  }
  return std::nullopt;
}

std::vector<std::string_view> embedded_files() {
  std::vector<std::string_view> all;
  for (const Entry* e = muster_embedded_files; e != muster_embedded_files_end; ++e)
    all.emplace_back(e->name, e->name_size);
  return all;
}

}  // namespace muster
