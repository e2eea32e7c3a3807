#include "query-engine/symbol/demangle.h"

#include <gtest/gtest.h>

namespace perfleet {
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

TEST(Demangle, LeavesNewerRustAndBrokenNamesAlone) {
    for (const char* name :
         {"_RNvC6_123foo3bar", "_ZN3foo", "_ZN99999999999999999999x", "_ZNK", "_ZZ", "_ZTV", "_ZN4core17hzz"}) {
        EXPECT_EQ(demangled_name(name), name);
    }
}

TEST(Demangle, LeavesOverlongNamesAlone) {
    const std::string name =
        "_Z" + std::to_string(kDemangledNameSizeBytesMax) + std::string(kDemangledNameSizeBytesMax, 'x') + "v";
    EXPECT_EQ(demangled_name(name), name);
}

}  // namespace
}  // namespace perfleet
