#include "base/json_writer.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

#include "base/text.h"

namespace muster {

struct JsonWriter::Guts {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
};

JsonWriter::JsonWriter() : guts_(std::make_unique<Guts>()) {}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::object() {
  guts_->writer.StartObject();
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  guts_->writer.EndObject();
  return *this;
}
JsonWriter& JsonWriter::array() {
  guts_->writer.StartArray();
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  guts_->writer.EndArray();
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view k) {
  guts_->writer.Key(k.data(), static_cast<rapidjson::SizeType>(k.size()));
  return *this;
}
JsonWriter& JsonWriter::null() {
  guts_->writer.Null();
  return *this;
}
JsonWriter& JsonWriter::value(bool b) {
  guts_->writer.Bool(b);
  return *this;
}
JsonWriter& JsonWriter::value(std::int64_t i) {
  guts_->writer.Int64(i);
  return *this;
}
JsonWriter& JsonWriter::value(std::uint64_t u) {
  guts_->writer.Uint64(u);
  return *this;
}
JsonWriter& JsonWriter::value(double d) {
  if (!std::isfinite(d)) return null();
  const std::string s = render_number(d);
  guts_->writer.RawValue(s.data(), s.size(), rapidjson::kNumberType);
  return *this;
}
JsonWriter& JsonWriter::value(std::string_view s) {
  if (valid_utf8(s)) {
    guts_->writer.String(s.data(), static_cast<rapidjson::SizeType>(s.size()));
  } else {
    const std::string clean = to_valid_utf8(s);
    guts_->writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  guts_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType);
  return *this;
}
std::string_view JsonWriter::view() const { return {guts_->buffer.GetString(), guts_->buffer.GetSize()}; }
std::string JsonWriter::take_members() {
  const std::string json = take();
  return json.size() < 2 ? std::string() : json.substr(1, json.size() - 2);
}

std::string JsonWriter::take() {
  std::string s(view());
  clear();
  return s;
}
void JsonWriter::clear() {
  guts_->buffer.Clear();
  guts_->writer.Reset(guts_->buffer);
}

}  // namespace muster
