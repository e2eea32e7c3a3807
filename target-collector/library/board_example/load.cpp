// What is profiled: three functions that take 70, 20 and 10 % of the time.
namespace {

volatile unsigned long sum = 0;

[[gnu::noinline]] void heavy() {
    for (int i = 0; i < 70'000; ++i) {
        sum = sum + 1;
    }
}

[[gnu::noinline]] void medium() {
    for (int i = 0; i < 20'000; ++i) {
        sum = sum + 1;
    }
}

[[gnu::noinline]] void light() {
    for (int i = 0; i < 10'000; ++i) {
        sum = sum + 1;
    }
}

}  // namespace

void work() {
    heavy();
    medium();
    light();
}
