// The profiled load: three functions that take 70, 20 and 10 % of the time. Aligned, because QEMU runs a loop that lies
// on two pages more slowly.
namespace {

volatile unsigned long sum = 0;

[[gnu::noinline, gnu::aligned(64)]] void heavy() {
    for (int i = 0; i < 70'000; ++i) {
        sum = sum + 1;
    }
}

[[gnu::noinline, gnu::aligned(64)]] void medium() {
    for (int i = 0; i < 20'000; ++i) {
        sum = sum + 1;
    }
}

[[gnu::noinline, gnu::aligned(64)]] void light() {
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
