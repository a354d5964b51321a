// LP text out, Cbc's solution file in.
#include "program.h"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster::oracle {
namespace {

void add(std::string& out, const std::vector<Term>& terms) {
  std::size_t on_line = 0;
  for (const auto& [coefficient, variable] : terms) {
    out += fmt::format(" {} {:g} {}", coefficient < 0 ? '-' : '+', coefficient < 0 ? -coefficient : coefficient, variable);
    if (++on_line % 12 == 0) out += '\n';  // lines of LP files are short
  }
}

}  // namespace

void Program::constrain(std::vector<Term> terms, const char* relation, double right) {
  rows_.push_back({std::move(terms), relation, right});
}

std::string Program::render() const {
  std::string out = "Minimize\n obj:";
  add(out, objective_);
  out += "\nSubject To\n";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out += fmt::format(" c{}:", i);
    add(out, rows_[i].terms);
    out += fmt::format(" {} {:g}\n", rows_[i].relation, rows_[i].right);
  }
  out += "Bounds\n";
  for (const auto& [name, bound] : bounds_) out += fmt::format(" 0 <= {} <= {:g}\n", name, bound);
  out += "Generals\n";
  for (const auto& [name, bound] : bounds_) out += ' ' + name + '\n';
  return out + "End\n";
}

bool solver_installed() { return std::system("command -v cbc >/dev/null 2>&1") == 0; }

std::optional<std::map<std::string, double>> solve(const Program& program, const std::string& folder) {
  const std::string in = folder + "/program.lp", out = folder + "/solution.txt";
  std::ofstream(in) << program.render();
  const std::string command = fmt::format("cbc '{}' -seconds 100 -solve -solution '{}' >'{}/cbc.log' 2>&1", in, out, folder);
  if (std::system(command.c_str()) != 0) return std::nullopt;
  std::ifstream file(out);
  std::string line;
  if (!std::getline(file, line) || line.rfind("Optimal", 0) != 0) return std::nullopt;
  std::map<std::string, double> values;
  while (std::getline(file, line)) {  // "   12 x_3   2   0", "**" first where a value is out of bounds
    std::istringstream words(line);
    std::string index, name;
    double value = 0;
    if (words >> index >> name >> value) values[name] = value;
  }
  return values;
}

}  // namespace muster::oracle
