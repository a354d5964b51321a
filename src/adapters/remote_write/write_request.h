// A page of /metrics as the body of a remote write: Prometheus' WriteRequest message in snappy's block format.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace muster {

struct WriteRequest {
  std::string bytes;  // protobuf, not yet in snappy's format
  std::size_t samples = 0;
  std::size_t unread = 0;  // lines that are no sample
};

// `page` is in the text format, `more` are labels for every series; a label that the page has itself stays the page's.
WriteRequest encode_write(std::string_view page, std::int64_t at_ms, const std::map<std::string, std::string>& more);
std::string to_snappy(std::string_view bytes);

}  // namespace muster
