// The person's terminal as a screen of lines and a source of keys. No curses: what is needed of it is a dozen lines of output and
// the decoding of a few keys, and that is less to carry than a library with its own database of terminals. Every terminal of the
// last decades knows the sequences used here; others get `muster top --once`.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cmd {

struct Key {
  enum class Kind {
    text,  // one character
    enter,
    escape,
    tab,
    back_tab,
    backspace,
    up,
    down,
    left,
    right,
    page_up,
    page_down,
    home,
    end,
    erase_line,
    redraw,
    suspend,
    interrupt,
    paste,  // nobody typed it: it must never act
  };
  Kind kind = Kind::text;
  std::string text{};  // of text and paste, valid UTF-8
  bool operator==(const Key&) const = default;
};

// Bytes to keys. A sequence that means nothing here is swallowed whole: the letter at its end must not act.
class KeyReader {
 public:
  std::vector<Key> feed(std::string_view bytes);
  // An escape has come: the key of that name, or the beginning of a sequence. Which, is known when nothing more comes.
  bool in_doubt() const { return !pasting_ && !held_.empty(); }
  std::vector<Key> settle();

 private:
  std::size_t take(std::vector<Key>& out);
  std::size_t take_sequence(std::vector<Key>& out);
  std::size_t take_paste(std::vector<Key>& out);

  std::string held_;
  std::string pasted_;
  bool pasting_ = false;
};

struct TerminalSize {
  std::size_t width = 80, height = 24;
};
// Of the terminal at stdout; else what COLUMNS and LINES say; else `otherwise`.
TerminalSize terminal_size(TerminalSize otherwise);

// Takes the terminal at stdin and stdout over, and gives it back as it was: when closed, when a signal ends or stops the program,
// and when the program crashes. One at a time.
class Terminal {
 public:
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal() { close(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Writes what differs from what is there. Each line must fit; its colours end with it.
  void draw(const std::vector<std::string>& lines);
  // The next draw writes everything.
  void forget() { drawn_.clear(); }

  struct Happened {
    std::vector<Key> keys;
    bool resized = false;
    int ended_by = 0;  // a signal that wants us to end; SIGHUP too when the terminal has gone
  };
  Happened wait(std::chrono::milliseconds most);
  // Ends the wait, from any thread.
  void wake();
  // Gives the terminal back until the shell continues us.
  void suspend();
  // May be called twice.
  void close();

 private:
  Terminal() = default;
  std::vector<std::string> drawn_;
  KeyReader reader_;
  bool gone_ = false;
};

}  // namespace muster::cmd
