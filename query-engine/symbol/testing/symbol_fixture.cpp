// A program whose symbols the tests look up. It is never run.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fixture {

template <class T>
struct Box {
    T value;
    [[gnu::noinline]] T work(const std::vector<T>& values) const {
        T sum{};
        for (const T& each : values) {
            sum += each * value;
        }
        return sum;
    }
    [[gnu::noinline]] explicit operator bool() const { return value != T{}; }
};

namespace {
[[gnu::noinline]] int hidden(int x) { return x * 3; }
}  // namespace

extern "C" [[gnu::noinline]] int fixture_plain(int x) { return hidden(x) + 1; }

}  // namespace fixture

int main(int count, char** words) {
    std::map<std::string, int> seen;
    for (int i = 0; i < count; ++i) {
        ++seen[words[i]];
    }
    std::vector<double> values(static_cast<std::size_t>(count), 1.0);
    std::sort(values.begin(), values.end(), [](double a, double b) { return a > b; });
    const fixture::Box<double> box{2.0};
    return box && box.work(values) > 0 ? fixture::fixture_plain(count) + static_cast<int>(std::strlen(words[0])) : 0;
}
