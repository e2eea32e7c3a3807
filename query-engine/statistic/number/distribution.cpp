#include "query-engine/statistic/number/distribution.h"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

using Normal = boost::math::normal_distribution<long double>;
using Student = boost::math::students_t_distribution<long double>;

// Doubles stay doubles: Boost would calculate in extended precision and round.
using Quick = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace

long double normal_probability(long double z) { return cdf(Normal{}, z); }

long double normal_quantile(long double p) {
    PERFLEET_ASSERT(p > 0 && p < 1);
    return quantile(Normal{}, p);
}

long double incomplete_beta(long double x, long double a, long double b) {
    PERFLEET_ASSERT(a > 0 && b > 0 && x >= 0 && x <= 1);
    return boost::math::ibeta(a, b, x);
}

long double student_probability(long double t, long double degrees) {
    PERFLEET_ASSERT(degrees > 0);
    return cdf(Student{degrees}, t);
}

long double student_quantile(long double p, long double degrees) {
    PERFLEET_ASSERT(p > 0 && p < 1 && degrees > 0);
    return quantile(Student{degrees}, p);
}

double quick_student_quantile(double p, double degrees) {
    PERFLEET_ASSERT(p > 0 && p < 1 && degrees > 0);
    return quantile(boost::math::students_t_distribution<double, Quick>{degrees}, p);
}

double quick_beta_quantile(double p, double a, double b) {
    PERFLEET_ASSERT(a > 0 && b > 0 && p > 0 && p < 1);
    return boost::math::ibeta_inv(a, b, p, Quick{});
}

double quick_beta_upper_quantile(double p, double a, double b) {
    PERFLEET_ASSERT(a > 0 && b > 0 && p > 0 && p < 1);
    return boost::math::ibetac_inv(a, b, p, Quick{});
}

long double binomial_probability(std::uint64_t k, std::uint64_t n, long double p) {
    PERFLEET_ASSERT(p > 0 && p < 1);
    return k >= n ? 1 : incomplete_beta(1 - p, static_cast<long double>(n - k), static_cast<long double>(k) + 1);
}

}  // namespace perfleet
