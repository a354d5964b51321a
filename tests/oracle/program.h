// Program: a mixed-integer program in words that Cbc reads, and what Cbc answers.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::oracle {

using Term = std::pair<double, std::string>;  // coefficient, variable

// Minimise the objective. All variables are integers from 0 to their bound.
class Program {
 public:
  void objective(double coefficient, const std::string& variable) { objective_.emplace_back(coefficient, variable); }
  void constrain(std::vector<Term> terms, const char* relation, double right);  // "<=", "=", ">="
  void variable(const std::string& name, double bound) { bounds_[name] = bound; }
  bool empty() const { return bounds_.empty(); }
  std::string render() const;  // CPLEX's LP format

 private:
  struct Row {
    std::vector<Term> terms;
    const char* relation;
    double right;
  };
  std::vector<Term> objective_;
  std::vector<Row> rows_;
  std::map<std::string, double> bounds_;
};

bool solver_installed();

// The values of the variables at an optimum, zeros left out. None when Cbc proves that there is no solution, or stops early.
std::optional<std::map<std::string, double>> solve(const Program& program, const std::string& folder);

}  // namespace muster::oracle
