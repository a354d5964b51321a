// The only file that sees yaml-cpp. Its event interface is used, not its tree: the limits then hold while reading, not
// afterwards.
#include "ingest/yaml.h"

#include <charconv>
#include <cmath>
#include <istream>
#include <streambuf>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"

namespace muster {
namespace {

struct Refused {
  int line;
  std::string reason;
};

// Reads the text in place.
class View : public std::streambuf {
 public:
  explicit View(std::string_view s) {
    char* p = const_cast<char*>(s.data());  // streambuf wants it so; nothing writes
    setg(p, p, p + s.size());
  }
};

bool decimal(std::string_view s) {
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

Value plain_scalar(const std::string& s, int line) {
  if (s.empty() || s == "null" || s == "~" || s == "Null" || s == "NULL") {
    Value v;
    v.set_line(line);
    return v;
  }
  if (s == "true" || s == "True" || s == "TRUE") return Value(true, line);
  if (s == "false" || s == "False" || s == "FALSE") return Value(false, line);
  const char* first = s.data() + (s[0] == '+' ? 1 : 0);
  const char* last = s.data() + s.size();
  if (decimal(s)) {
    std::int64_t i = 0;
    if (std::from_chars(first, last, i).ec == std::errc()) return Value(i, line);
  }
  const bool numeric =
      s.find_first_not_of("+-.0123456789eE") == std::string::npos && s.find_first_of("0123456789") != std::string::npos;
  double d = 0;
  if (numeric) {
    const auto r = std::from_chars(first, last, d);
    if (r.ec == std::errc() && r.ptr == last && std::isfinite(d)) return Value(d, line);
  }
  return Value(s, line);
}

class Builder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, {}, anchor);
    Value v;
    v.set_line(mark.line + 1);
    add(std::move(v), {}, true);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark.line + 1, "aliases (*name) are not accepted"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const int line = begin(mark, tag == "!" || tag == "?" ? std::string() : tag, anchor);
    // yaml-cpp tags what was quoted "!" and what was plain "?".
    Value v = tag == "!" ? Value(text, line) : plain_scalar(text, line);
    add(std::move(v), text, false);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(begin(mark, tag == "?" ? std::string() : tag, anchor), false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(begin(mark, tag == "?" ? std::string() : tag, anchor), true);
  }
  void OnMapEnd() override { close(); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    throw Refused{mark.line + 1, "anchors (&name) are not accepted"};
  }

  Value take() { return std::move(root_); }

 private:
  struct Frame {
    int line = 0;
    bool map = false;
    bool has_key = false;
    std::string key;
    int key_line = 0;
    Value::Object members;
    Value::Array items;
    std::set<std::string> keys;
  };

  int begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const int line = mark.line + 1;
    if (anchor != YAML::NullAnchor) throw Refused{line, "anchors (&name) are not accepted"};
    if (!tag.empty()) throw Refused{line, "tags (!name) are not accepted"};
    if (++nodes_ > kYamlNodesMax) throw Refused{line, "too many values in one file"};
    return line;
  }

  void open(int line, bool map) {
    if (frames_.size() >= kYamlDepthMax) throw Refused{line, fmt::format("nested deeper than {}", kYamlDepthMax)};
    if (!frames_.empty() && frames_.back().map && !frames_.back().has_key)
      throw Refused{line, "a key must be a plain word"};
    Frame f;
    f.line = line;
    f.map = map;
    frames_.push_back(std::move(f));
  }

  void close() {
    Frame f = std::move(frames_.back());
    frames_.pop_back();
    Value v = f.map ? Value(std::move(f.members), f.line) : Value(std::move(f.items), f.line);
    add(std::move(v), {}, true);
  }

  // `text`: the scalar as written, which is what a key is made of.
  void add(Value v, const std::string& text, bool not_text) {
    if (frames_.empty()) {
      root_ = std::move(v);
      return;
    }
    Frame& f = frames_.back();
    if (!f.map) {
      f.items.push_back(std::move(v));
    } else if (!f.has_key) {
      if (not_text) throw Refused{v.line(), "a key must be a plain word"};
      if (!f.keys.insert(text).second)
        throw Refused{v.line(), fmt::format("the key \"{}\" is there twice", printable(text.substr(0, 64)))};
      f.key = text;
      f.key_line = v.line();
      f.has_key = true;
    } else {
      // yaml-cpp notices that nothing stands there when it comes to the next line.
      if (v.is_null()) v.set_line(f.key_line);
      f.members.push_back({std::move(f.key), std::move(v)});
      f.has_key = false;
    }
  }

  std::vector<Frame> frames_;
  Value root_;
  std::size_t nodes_ = 0;
};

// yaml-cpp recurses once per open bracket or indent before its events tell us: what cannot be legal is refused before.
int too_deep_line(std::string_view text) {
  constexpr int kBracketsMax = 256;
  int line = 1;
  int open = 0;
  int dashes = 0;  // "- - - -" opens a list each
  for (const char c : text) {
    if (c == '\n') ++line, dashes = 0;
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (c == '-' || c == '?' || c == ':') ++dashes;
    if (c != '-' && c != '?' && c != ':' && c != ' ' && c != '\t') dashes = 0;
    if (open > kBracketsMax || dashes > kBracketsMax) return line;
  }
  return 0;
}

}  // namespace

Result<Value> parse_yaml(std::string_view text, std::string_view file) {
  const auto refuse = [&](int line, std::string_view reason) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", printable(file), std::max(line, 1), reason));
  };
  if (text.size() > kYamlBytesMax) return refuse(1, fmt::format("larger than {} MB", kYamlBytesMax >> 20));
  if (!valid_utf8(text) || text.find('\0') != std::string_view::npos) {
    const std::size_t bad = text.find('\0');
    std::size_t good = 0;  // first line that is wrong
    int line = 1;
    while (good < text.size()) {
      const std::size_t end = std::min(text.find('\n', good), text.size());
      if (!valid_utf8(text.substr(good, end - good)) || bad < end) break;
      good = end + 1;
      ++line;
    }
    return refuse(line, "not UTF-8 text");
  }
  if (const int line = too_deep_line(text)) return refuse(line, "nested too deeply");
  try {
    View view(text);
    std::istream in(&view);
    YAML::Parser parser(in);
    Builder first;
    if (!parser.HandleNextDocument(first)) return refuse(1, "empty: nothing but comments or blank lines");
    Builder second;
    if (parser.HandleNextDocument(second)) return refuse(1, "more than one document in one file");
    return first.take();
  } catch (const Refused& r) {
    return refuse(r.line, r.reason);
  } catch (const YAML::Exception& e) {
    return refuse(e.mark.line + 1, printable(e.msg));
  } catch (const std::exception& e) {
    return refuse(1, printable(e.what()));
  }
}

}  // namespace muster
