// Logarithm, exponential and square root whose last bit is the same on every CPU and C library: what enters the twin's history
// uses these, because libm's last bit differs between machines. Accuracy: within 2 ulp of the true value.
#pragma once

namespace muster {
double det_log(double x);   // x > 0; -inf for 0, NaN below
double det_exp(double x);
double det_sqrt(double x);  // IEEE-exact
double det_pow(double x, double y);  // x > 0
double det_sin(double x);   // |x| up to 1e6; absolute error below 1e-12
}  // namespace muster
