// Reads untrusted protobuf messages: a field whose type differs from the one of its number throws an exception.
//
// Throws protozero::exception on malformed input; the caller catches it.
#pragma once

#include <cstdint>
#include <protozero/pbf_message.hpp>
#include <string_view>

namespace perfleet {

struct OtherWireType : protozero::exception {
    [[nodiscard]] const char* what() const noexcept override { return "a field of another type than its number has"; }
};

// The library trusts a field's type: reading a value as another type ends elsewhere than skip() does.
template <class Field>
class CheckedMessage : private protozero::pbf_message<Field> {
    using Base = protozero::pbf_message<Field>;

public:
    explicit CheckedMessage(protozero::data_view bytes_untrusted) : Base{bytes_untrusted} {}
    explicit CheckedMessage(std::string_view bytes_untrusted) : Base{bytes_untrusted.data(), bytes_untrusted.size()} {}
    using Base::next, Base::tag, Base::skip;

    [[nodiscard]] std::uint64_t get_uint64() { return as(protozero::pbf_wire_type::varint).get_uint64(); }
    [[nodiscard]] std::int64_t get_int64() { return as(protozero::pbf_wire_type::varint).get_int64(); }
    [[nodiscard]] bool get_bool() { return as(protozero::pbf_wire_type::varint).get_bool(); }
    [[nodiscard]] protozero::data_view get_view() { return as(protozero::pbf_wire_type::length_delimited).get_view(); }

    [[nodiscard]] std::uint64_t get_fixed64() { return as(protozero::pbf_wire_type::fixed64).get_fixed64(); }
    [[nodiscard]] double get_double() { return as(protozero::pbf_wire_type::fixed64).get_double(); }
    [[nodiscard]] std::string_view get_text() {
        const protozero::data_view view = get_view();
        return {view.data(), view.size()};
    }
    [[nodiscard]] protozero::pbf_wire_type type() const { return Base::wire_type(); }

    // Numbers of one field, packed or not.
    template <class Visit>
    void each_number(const Visit& visit) {
        if (Base::wire_type() != protozero::pbf_wire_type::length_delimited) {
            visit(get_uint64());
            return;
        }
        for (const std::uint64_t number : Base::get_packed_uint64()) {
            visit(number);
        }
    }

    template <class Visit>
    void each_fixed64(const Visit& visit) {
        if (Base::wire_type() != protozero::pbf_wire_type::length_delimited) {
            visit(get_fixed64());
            return;
        }
        for (const std::uint64_t number : Base::get_packed_fixed64()) {
            visit(number);
        }
    }

private:
    Base& as(protozero::pbf_wire_type type) {
        if (Base::wire_type() != type) {
            throw OtherWireType{};
        }
        return *this;
    }
};

}  // namespace perfleet
