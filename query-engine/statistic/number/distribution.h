// The distributions behind intervals and tests: normal, Student's t, binomial.
//
// Pure functions, in extended precision, over Boost.Math. Arguments outside the stated ranges are bugs.
#pragma once

#include <cstdint>

namespace perfleet {

// P(Z ≤ z) and its inverse, 0 < p < 1.
[[nodiscard]] long double normal_probability(long double z);
[[nodiscard]] long double normal_quantile(long double p);

// Student's t with `degrees` > 0 degrees of freedom (not always a whole number: Welch).
[[nodiscard]] long double student_probability(long double t, long double degrees);
[[nodiscard]] long double student_quantile(long double p, long double degrees);

// The regularised incomplete beta function I_x(a, b); a, b > 0, 0 ≤ x ≤ 1.
[[nodiscard]] long double incomplete_beta(long double x, long double a, long double b);

// The same two inverses in double precision, accurate to ten digits and five to twenty times as fast: for searches that
// call them repeatedly.
[[nodiscard]] double quick_student_quantile(double p, double degrees);
[[nodiscard]] double quick_beta_quantile(double p, double a, double b);
// The x with 1 − I_x(a, b) = p.
[[nodiscard]] double quick_beta_upper_quantile(double p, double a, double b);

// P(B ≤ k) of a binomial with n trials of probability p; 0 < p < 1.
[[nodiscard]] long double binomial_probability(std::uint64_t k, std::uint64_t n, long double p);

}  // namespace perfleet
