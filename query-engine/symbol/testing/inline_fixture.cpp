// A program with functions that are inlined into each other, once, twice, in a loop and from a library's templates. The
// tests look its addresses up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace fixture {

[[gnu::always_inline]] inline double innermost(double value) {
    double sum = value;
    for (int i = 0; i < 50; ++i) {
        sum = sum * 1.0000001 + 0.5;
    }
    return sum;
}

[[gnu::always_inline]] inline double middle(double value) { return innermost(value) + innermost(value + 1); }

struct Values {
    std::vector<double> values;
    [[nodiscard]] double sum() const {
        double sum = 0;
        for (const double value : values) {
            sum += middle(value);
        }
        return sum;
    }
};

[[gnu::noinline]] double outer(const Values& values) { return values.sum() * 2; }

template <class Function>
[[gnu::noinline]] double apply(const Function& function, int count) {
    double sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += function(i);
    }
    return sum;
}

}  // namespace fixture

int main(int count, char** words) {
    const int rounds = count > 1 ? std::atoi(words[1]) : 300;
    fixture::Values values;
    for (int i = 0; i < 1000; ++i) {
        values.values.push_back(i);
    }
    std::map<std::string, int> seen;
    double sum = 0;
    for (int i = 0; i < rounds; ++i) {
        sum += fixture::outer(values);
        sum += fixture::apply(
            [&](int k) {
                ++seen[std::to_string(k % 100)];
                return fixture::middle(k);
            },
            300);
        std::vector<int> numbers(2000);
        std::generate(numbers.begin(), numbers.end(), std::rand);
        std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 1000 < b % 1000; });
        sum += numbers[0];
    }
    std::printf("%f\n", sum);
}
