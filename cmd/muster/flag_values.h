// Flags' values as text, checked: what is absurd is refused here with the flag's name, before anything starts.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::cmd {

// Whole number between min and max.
Result<std::uint64_t> parse_count(std::string_view flag, std::string_view text, std::uint64_t min, std::uint64_t max);
// Finite number between min and max.
Result<double> parse_quantity(std::string_view flag, std::string_view text, double min, double max, std::string_view unit = {});
constexpr std::uint32_t kPlainGpusMax = 1'048'576;
// 8 to `max`, in whole nodes of 8. `other_nodes`: whether the command takes a cluster file for nodes of another size.
Result<std::uint32_t> parse_gpus(std::string_view text, bool other_nodes = true, std::uint32_t max = kPlainGpusMax);
// "x200", "200" or "x0.5"; 0 to 100,000.
Result<double> parse_weather(std::string_view text);
// Simulated days up to ten years; zero only where it means "for ever".
Result<double> parse_days(std::string_view text, bool zero_allowed);
Result<double> parse_speed(std::string_view text);
Result<std::uint16_t> parse_port(std::string_view text);
// "http://HOST[:PORT]" or "https://..."; `unix_allowed`: also "unix:PATH".
Result<std::string> parse_server(std::string_view flag, std::string_view text, bool unix_allowed);
// "unix:PATH" or "127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT": only this machine.
Result<std::string> parse_listen(std::string_view text);
// "ADDRESS:PORT" with an IP address, or "none".
Result<std::string> parse_exporter_listen(std::string_view text);
// "30m", "1800", "0"; seconds, at most `max_s`.
Result<double> parse_duration_s(std::string_view flag, std::string_view text, double max_s);
// A length of time above 0.
Result<double> parse_some_time(std::string_view flag, std::string_view text, double max_s);
// "15T", "300B", "1.4e12": a number of things that are counted in millions and more.
Result<double> parse_tokens(std::string_view flag, std::string_view text);
// "2027-01-31": when that day begins, UTC.
Result<Time> parse_day(std::string_view flag, std::string_view text);
// "1GiB", "64MB", "4096": 1 byte to an exbibyte.
Result<double> parse_bytes(std::string_view flag, std::string_view text);
Result<std::int32_t> parse_signed(std::string_view flag, std::string_view text, std::int32_t min, std::int32_t max);
// A moment in UTC, to the second or finer: "2026-11-15T02:03:04Z"; also without the Z, without seconds, or a day alone.
Result<std::string> parse_moment(std::string_view flag, std::string_view text);
// Text of a person's choosing: not empty, valid UTF-8, at most `max_bytes`.
Result<std::string> parse_words(std::string_view flag, std::string_view text, std::size_t max_bytes = 500);
// What is written into files of other programs: letters, digits, '-', '_' and '.'; of a path also '/', which comes first.
Result<std::string> parse_plain_name(std::string_view flag, std::string_view text);
Result<std::string> parse_plain_path(std::string_view flag, std::string_view text);
// "mix:llm", or the name of a file.
Result<std::string> parse_jobs(std::string_view text);

}  // namespace muster::cmd
