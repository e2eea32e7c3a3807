// Compiled to a small shared library: symbols with sizes, a weak one and an alias, mangled names, a call through the
// PLT.
int imported(int);

namespace seed {

int counter = 3;

__attribute__((noinline)) int twice(int value) { return imported(value) + counter; }

__attribute__((weak)) int weak_one(int value) { return twice(value); }

}  // namespace seed

extern "C" int exported(int value) { return seed::weak_one(value) + imported(value); }
extern "C" int also_exported(int) __attribute__((alias("exported")));
