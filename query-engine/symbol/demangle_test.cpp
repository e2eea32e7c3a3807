#include "query-engine/symbol/demangle.h"

#include <gtest/gtest.h>

namespace perfleet::demangle_test {
namespace {

TEST(Demangle, LeavesOtherNamesAlone) {
    for (const char* name : {"", "main", "_", "_Z", "_start", "Z4mainv", "memcpy@plt", "foo.isra.0"}) {
        EXPECT_EQ(demangled_name(name), name);
    }
}

// What perf 6.1 shows for these symbols.
TEST(Demangle, GivesNameWithoutParametersAndReturnType) {
    EXPECT_EQ(demangled_name("_Z1fv"), "f");
    EXPECT_EQ(demangled_name("_ZN2ns3barEi"), "ns::bar");
    EXPECT_EQ(demangled_name("_ZNK2ns3FooIdE4workERKSt6vectorIdSaIdEE"), "ns::Foo<double>::work");
    EXPECT_EQ(demangled_name("_ZN2ns4retdIcEEiT_PFiiE"), "ns::retd<char>");
    EXPECT_EQ(demangled_name("_Z4callIiET_S0_"), "call<int>");
    EXPECT_EQ(demangled_name("_ZNK2ns3FooIdEcvbEv"), "ns::Foo<double>::operator bool");
    EXPECT_EQ(demangled_name("_ZNK2ns3FooIdEclEid"), "ns::Foo<double>::operator()");
    EXPECT_EQ(demangled_name("_ZdlPv"), "operator delete");
    EXPECT_EQ(demangled_name("_ZN2ns12_GLOBAL__N_14anonEd"), "ns::(anonymous namespace)::anon");
    EXPECT_EQ(demangled_name("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE12_M_constructEmc"),
              "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_construct");
    EXPECT_EQ(demangled_name("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"),
              "std::operator<< <std::char_traits<char> >");
    EXPECT_EQ(demangled_name("_Z3tagB5cxx11v"), "tag[abi:cxx11]");
}

TEST(Demangle, KeepsParametersOfEnclosingFunction) {
    EXPECT_EQ(demangled_name("_ZZN2ns1fEiENKUliE_clEi"), "ns::f(int)::{lambda(int)#1}::operator()");
}

TEST(Demangle, KeepsSpecialNamesWhole) {
    EXPECT_EQ(demangled_name("_ZTVN2ns3FooE"), "vtable for ns::Foo");
    EXPECT_EQ(demangled_name("_ZThn16_N2ns3Foo3barEi"), "non-virtual thunk to ns::Foo::bar(int)");
}

TEST(Demangle, DropsSuffixOfClones) {
    EXPECT_EQ(demangled_name("_ZN2ns3barEi.isra.0"), "ns::bar");
    EXPECT_EQ(demangled_name("_ZN2ns3barEi.cold"), "ns::bar");
}

// Pairs of the mangling's description: https://doc.rust-lang.org/rustc/symbol-mangling
TEST(Demangle, ReadsOlderRustWithoutHash) {
    EXPECT_EQ(demangled_name("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
    EXPECT_EQ(
        demangled_name(
            "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE"),
        "<Test + 'static as foo::Bar<Test>>::bar");
}

TEST(Demangle, ReadsNewerRust) {
    EXPECT_EQ(demangled_name("_RNvC6_123foo3bar"), "123foo::bar");
    EXPECT_EQ(demangled_name("_RINvNtC3std3mem8align_ofjdE"), "std::mem::align_of::<usize, f64>");
}

TEST(Demangle, LeavesBrokenNamesAlone) {
    for (const char* name : {"_R", "_ZN3foo", "_ZN99999999999999999999x", "_ZNK", "_ZZ", "_ZTV", "_ZN4core17hzz"}) {
        EXPECT_EQ(demangled_name(name), name);
    }
}

TEST(Demangle, LeavesOverlongNamesAlone) {
    const std::string name =
        "_Z" + std::to_string(kMangledNameSizeBytesMax) + std::string(kMangledNameSizeBytesMax, 'x') + "v";
    EXPECT_EQ(demangled_name(name), name);
}

// f<pair<int, int>, pair<that, that>, pair<that, that>, …>: each twice as long as the one before.
std::string doubling_name(int count) {
    const auto reference = [](int number) {
        constexpr std::string_view kDigits{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"};
        std::string text;
        for (int rest = number - 1; rest > 0 || text.empty(); rest /= 36) {
            text.insert(text.begin(), kDigits[static_cast<std::size_t>(rest % 36)]);
        }
        return "S" + text + "_";
    };
    std::string name = "_Z1fISt4pairIiiE";
    for (int i = 0; i < count; ++i) {
        name += "S0_I" + reference(2 + i) + reference(2 + i) + "E";
    }
    return name + "Evv";
}

TEST(Demangle, StopsAtNamesThatGrowWithoutEnd) {
    EXPECT_EQ(demangled_name(doubling_name(1)),
              "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> > >");
    for (const int count : {20, 40, 64}) {
        EXPECT_EQ(demangled_name(doubling_name(count)), doubling_name(count));
    }
}

}  // namespace
}  // namespace perfleet::demangle_test
