#!/usr/bin/env python3
"""Plants a wrong place of each kind in a layout and shows that the check names it."""

import unittest

from check_wire_layout import differences, places_in_layout, places_in_schema

SCHEMA = """struct Envelope @0xbf71 {  # 8 bytes, 1 ptrs
  union {  # tag bits [16, 32)
    hello @1 :Hello;  # ptr[0], union tag = 0
  }
  checksum @13 :UInt32;  # bits[32, 64)
}
struct SeqRange @0xf1c3 {  # 8 bytes, 1 ptrs
  first @0 :Int32 = -1;  # bits[0, 32)
  isLast @1 :Bool;  # bits[33, 34)
  name @2 :Text;  # ptr[0]
}
"""
LAYOUT = """enum class MessageTag : std::uint16_t {
    kHello = 0,
};
namespace envelope {
inline constexpr Shape kShape{1, 1};
inline constexpr Field<std::uint16_t> kTag{2};
inline constexpr Field<std::uint32_t> kChecksum{4};
inline constexpr PointerField kBody{0};
}
namespace seq_range {
inline constexpr Shape kShape{1, 1};
inline constexpr Field<std::int32_t> kFirst{0};
inline constexpr BitField kIsLast{33};
inline constexpr PointerField kName{0};
}
"""


class WireLayoutTest(unittest.TestCase):
    def found(self, before, after):
        self.assertIn(before, LAYOUT)
        return differences(places_in_schema(SCHEMA), places_in_layout(LAYOUT.replace(before, after)))

    def test_accepts_what_the_compiler_says(self):
        self.assertEqual(self.found("kFirst", "kFirst"), [])

    def test_names_each_wrong_place_and_its_line(self):
        for before, after, word in (
                ("kHello = 0", "kHello = 1", ":2: Envelope.hello: message 1"),
                ("kTag{2}", "kTag{0}", ":6: Envelope.tag: bits 0 to 16"),
                ("kShape{1, 1};\ninline constexpr Field<std::int32", "kShape{2, 1};\ninline constexpr Field<std::int32",
                 ":11: SeqRange: 2 words"),
                ("std::int32_t> kFirst", "std::int64_t> kFirst", ":12: SeqRange.first: bits 0 to 64"),
                ("kIsLast{33}", "kIsLast{32}", ":13: SeqRange.isLast: bits 32 to 33"),
                ("kName{0}", "kName{1}", ":14: SeqRange.name: pointer 1"),
                ("kName", "kNames", "SeqRange.name of schemas/wire/collector.capnp is missing")):
            with self.subTest(after):
                self.assertTrue(any(word in text for text in self.found(before, after)), self.found(before, after))


if __name__ == "__main__":
    unittest.main()
