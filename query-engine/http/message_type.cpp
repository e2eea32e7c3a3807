#include "query-engine/http/message_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "schemas/text/base64.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr std::size_t kJsonDepthMax = 32;
constexpr std::size_t kJsonMemorySizeBytesMax = 128U << 20;

Error malformed(const std::string& where, const std::string& what) {
    return {ErrorCode::kInvalid, where + ": " + what};
}

// proto3's rule: an underscore is left out, and the letter after it is a capital one.
std::string json_name_of(const std::string& name) {
    std::string result;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '_' && i + 1 < name.size()) {
            const char next = name[++i];
            result += next >= 'a' && next <= 'z' ? static_cast<char>(next - 'a' + 'A') : next;
        } else {
            result += name[i];
        }
    }
    return result;
}

bool is_bytes(FieldType type) { return type == FieldType::kBytes || type == FieldType::kHexBytes; }

bool is_packable(FieldType type) {
    return type != FieldType::kString && !is_bytes(type) && type != FieldType::kMessage;
}

protozero::pbf_wire_type wire_type_of(FieldType type) {
    return type == FieldType::kDouble || type == FieldType::kFixed64 ? protozero::pbf_wire_type::fixed64
           : is_packable(type)                                       ? protozero::pbf_wire_type::varint
                                                                     : protozero::pbf_wire_type::length_delimited;
}

Json number_of(FieldType type, std::uint64_t varint) {
    switch (type) {
        case FieldType::kInt64: return static_cast<std::int64_t>(varint);
        case FieldType::kInt32:
        case FieldType::kEnum: return static_cast<std::int32_t>(varint);
        case FieldType::kBool: return varint != 0;
        default: return varint;
    }
}

Result<Json> message_in(const MessageType& type, protozero::pbf_reader reader);

Result<Json> value_in(const MessageField& field, protozero::pbf_reader& reader) {
    switch (field.type) {
        case FieldType::kDouble: return Json(reader.get_double());
        case FieldType::kFixed64: return Json(reader.get_fixed64());
        case FieldType::kMessage: return message_in(*field.message, reader.get_message());
        case FieldType::kBytes:
        case FieldType::kHexBytes:
        case FieldType::kString: {
            const protozero::data_view view = reader.get_view();
            return Json(std::string{view.data(), view.size()});
        }
        default: return number_of(field.type, reader.get_uint64());
    }
}

// May throw protozero's exceptions.
Result<Json> message_in(const MessageType& type, protozero::pbf_reader reader) {
    Json message = Json::object();
    while (reader.next()) {
        const auto field = std::ranges::find(type.fields, reader.tag(), &MessageField::number);
        if (field == type.fields.end()) {
            reader.skip();
            continue;
        }
        if (reader.wire_type() == wire_type_of(field->type)) {
            auto value = PERFLEET_TRY(value_in(*field, reader));
            if (field->is_repeated) {
                message[field->json_name].push_back(std::move(value));
            } else {
                message[field->json_name] = std::move(value);
            }
        } else if (field->is_repeated && is_packable(field->type) &&
                   reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
            Json& values = message[field->json_name];
            if (field->type == FieldType::kDouble) {
                for (const double value : reader.get_packed_double()) {
                    values.push_back(value);
                }
            } else if (field->type == FieldType::kFixed64) {
                for (const std::uint64_t value : reader.get_packed_fixed64()) {
                    values.push_back(value);
                }
            } else {
                for (const std::uint64_t value : reader.get_packed_uint64()) {
                    values.push_back(number_of(field->type, value));
                }
            }
        } else {
            return malformed(field->name, "has another wire type");
        }
    }
    return message;
}

// Checks depth and memory before the text is parsed: it may be hostile, and a pass over its bytes costs a hundredth of
// parsing them. Up to the first error of syntax, where parsing ends, nothing is taken for what it isn't.
Result<Done> check_size(std::string_view text) {
    // Of Json, measured: a value in an array (which grows by doubling), a member's node, an object, an array.
    constexpr std::size_t kElementSizeBytes = 32;
    constexpr std::size_t kMemberSizeBytes = 96;
    constexpr std::size_t kObjectSizeBytes = 80;
    constexpr std::size_t kArraySizeBytes = 48;
    std::size_t depth = 0;
    std::size_t size_bytes = text.size();
    bool is_in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        switch (text[i]) {
            case '"': is_in_string = !is_in_string; continue;
            case '\\': ++i; continue;
            default: break;
        }
        if (is_in_string) {
            continue;
        }
        switch (text[i]) {
            case '{':
            case '[':
                size_bytes += text[i] == '{' ? kObjectSizeBytes : kArraySizeBytes;
                if (++depth > kJsonDepthMax) {
                    return malformed("body", "has more than " + std::to_string(kJsonDepthMax) + " levels");
                }
                break;
            case '}':
            case ']': depth -= depth > 0 ? 1 : 0; break;
            case ',': size_bytes += kElementSizeBytes; break;
            case ':': size_bytes += kMemberSizeBytes; break;
            default: break;
        }
        if (size_bytes > kJsonMemorySizeBytesMax) {
            return Error{ErrorCode::kTooLarge, "JSON that takes more than " +
                                                   std::to_string(kJsonMemorySizeBytesMax >> 20U) +
                                                   " MiB while it is read: send protobuf, or less at once"};
        }
    }
    return Done{};
}

template <class Number>
Result<Json> whole_number(const std::string& where, const Json& value) {
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        Number number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc{} && end == text.data() + text.size() ? Result<Json>{Json(number)}
                                                                        : malformed(where, "isn't a whole number");
    }
    if (value.is_number_unsigned() && std::in_range<Number>(value.get<std::uint64_t>())) {
        return Json(static_cast<Number>(value.get<std::uint64_t>()));
    }
    if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<Number>(value.get<std::int64_t>())) {
        return Json(static_cast<Number>(value.get<std::int64_t>()));
    }
    if (value.is_number_float() && std::abs(value.get<double>()) <= 0x1p53 &&
        std::trunc(value.get<double>()) == value.get<double>()) {
        return whole_number<Number>(where, Json(static_cast<std::int64_t>(value.get<double>())));
    }
    return malformed(where, "isn't a whole number");
}

// Arrays are emptied as they are read, so that a message isn't in memory twice.
Result<Json> typed_message(const MessageType& type, Json& json, const std::string& where);

Result<Json> typed_value(const MessageField& field, Json& value, const std::string& where) {
    switch (field.type) {
        case FieldType::kInt64: return whole_number<std::int64_t>(where, value);
        case FieldType::kFixed64:
        case FieldType::kUint64: return whole_number<std::uint64_t>(where, value);
        case FieldType::kInt32: return whole_number<std::int32_t>(where, value);
        case FieldType::kMessage: return typed_message(*field.message, value, where);
        case FieldType::kBool:
            return value.is_boolean() ? Result<Json>{value} : malformed(where, "isn't true or false");
        case FieldType::kDouble:
            return value.is_number() ? Result<Json>{Json(value.get<double>())} : malformed(where, "isn't a number");
        case FieldType::kString: return value.is_string() ? Result<Json>{value} : malformed(where, "isn't a string");
        case FieldType::kBytes:
        case FieldType::kHexBytes: {
            const std::string text = value.is_string() ? value.get<std::string>() : "?";
            auto bytes = field.type == FieldType::kBytes ? bytes_of_base64(text) : bytes_of_hex(text);
            return bytes ? Result<Json>{Json(*std::move(bytes))}
                         : malformed(where, field.type == FieldType::kBytes ? "isn't base64" : "isn't hexadecimal");
        }
        case FieldType::kEnum: {
            if (!value.is_string()) {
                return whole_number<std::int32_t>(where, value);
            }
            // A name that isn't known is that of a newer client: it counts as 0.
            const auto& name = value.get_ref<const std::string&>();
            const auto known = std::ranges::find(field.enum_names, name);
            return Json(known == field.enum_names.end() ? 0
                                                        : static_cast<std::int32_t>(known - field.enum_names.begin()));
        }
    }
    return malformed(where, "has no type");
}

Result<Json> typed_message(const MessageType& type, Json& json, const std::string& where) {
    if (!json.is_object()) {
        return malformed(where, "isn't an object");
    }
    Json message = Json::object();
    for (const auto& member : json.items()) {
        const std::string& name = member.key();
        Json& value = member.value();
        const auto field = std::ranges::find_if(
            type.fields, [&](const MessageField& one) { return one.json_name == name || one.name == name; });
        if (field == type.fields.end() || value.is_null()) {
            continue;
        }
        const std::string place = where + "." + name.substr(0, 64);
        if (!field->is_repeated) {
            message[field->json_name] = PERFLEET_TRY(typed_value(*field, value, place));
            continue;
        }
        if (!value.is_array()) {
            return malformed(place, "isn't an array");
        }
        Json& values = message[field->json_name] = Json::array();
        for (Json& one : value) {
            values.push_back(PERFLEET_TRY(typed_value(*field, one, place)));
            one = nullptr;
        }
    }
    return message;
}

void write_message(const MessageType& type, const Json& message, protozero::pbf_writer& writer);

void write_value(const MessageField& field, const Json& value, protozero::pbf_writer& writer) {
    switch (field.type) {
        case FieldType::kInt64: return writer.add_int64(field.number, value.get<std::int64_t>());
        case FieldType::kUint64: return writer.add_uint64(field.number, value.get<std::uint64_t>());
        case FieldType::kFixed64: return writer.add_fixed64(field.number, value.get<std::uint64_t>());
        case FieldType::kBytes:
        case FieldType::kHexBytes: return writer.add_bytes(field.number, value.get_ref<const std::string&>());
        case FieldType::kInt32: return writer.add_int32(field.number, value.get<std::int32_t>());
        case FieldType::kEnum: return writer.add_enum(field.number, value.get<std::int32_t>());
        case FieldType::kBool: return writer.add_bool(field.number, value.get<bool>());
        case FieldType::kDouble: return writer.add_double(field.number, value.get<double>());
        case FieldType::kString:
            return writer.add_string(field.number, valid_utf8(value.get_ref<const std::string&>()));
        case FieldType::kMessage: {
            std::string inner;  // protozero leaves out empty messages that are written in place
            protozero::pbf_writer inner_writer{inner};
            write_message(*field.message, value, inner_writer);
            return writer.add_message(field.number, inner);
        }
    }
}

void write_message(const MessageType& type, const Json& message, protozero::pbf_writer& writer) {
    for (const MessageField& field : type.fields) {
        const auto found = message.find(field.json_name);
        if (found == message.end()) {
            continue;
        }
        if (!field.is_repeated) {
            write_value(field, *found, writer);
        } else if (field.type == FieldType::kInt64) {
            protozero::packed_field_int64 packed{writer, field.number};
            for (const Json& value : *found) {
                packed.add_element(value.get<std::int64_t>());
            }
        } else if (field.type == FieldType::kInt32) {
            protozero::packed_field_int32 packed{writer, field.number};
            for (const Json& value : *found) {
                packed.add_element(value.get<std::int32_t>());
            }
        } else if (field.type == FieldType::kDouble) {
            protozero::packed_field_double packed{writer, field.number};
            for (const Json& value : *found) {
                packed.add_element(value.get<double>());
            }
        } else {
            for (const Json& value : *found) {
                write_value(field, value, writer);
            }
        }
    }
}

void append_json(const MessageType& type, const Json& message, std::string& text);

void append_json(const MessageField& field, const Json& value, std::string& text) {
    const auto dump = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
    switch (field.type) {
        case FieldType::kMessage: return append_json(*field.message, value, text);
        case FieldType::kBytes: text += '"' + base64_of(value.get_ref<const std::string&>()) + '"'; return;
        case FieldType::kHexBytes: text += '"' + hex_of(value.get_ref<const std::string&>()) + '"'; return;
        case FieldType::kInt64:
        case FieldType::kFixed64:
        case FieldType::kUint64: text += '"' + dump(value) + '"'; return;  // JavaScript's numbers are doubles
        default: text += dump(value);
    }
}

void append_json(const MessageType& type, const Json& message, std::string& text) {
    text += '{';
    const std::size_t start = text.size();
    for (const MessageField& field : type.fields) {
        const auto found = message.find(field.json_name);
        if (found == message.end()) {
            continue;
        }
        text += text.size() == start ? "\"" : ",\"";
        text += field.json_name + "\":";
        if (!field.is_repeated) {
            append_json(field, *found, text);
            continue;
        }
        text += '[';
        for (const Json& value : *found) {
            text += &value == &found->front() ? "" : ",";
            append_json(field, value, text);
        }
        text += ']';
    }
    text += '}';
}

}  // namespace

MessageType::MessageType(std::vector<MessageField> all) : fields{std::move(all)} {
    for (MessageField& field : fields) {
        field.json_name = json_name_of(field.name);
    }
}

Result<Json> read_protobuf(const MessageType& type, std::string_view bytes) {
    try {
        return message_in(type, protozero::pbf_reader{bytes.data(), bytes.size()});
    } catch (const protozero::exception& exception) {
        return malformed("protobuf", exception.what());
    }
}

Result<Json> read_json(const MessageType& type, std::string_view text) {
    PERFLEET_TRY(check_size(text));
    Json json = Json::parse(text, nullptr, false);
    return json.is_discarded() ? malformed("body", "isn't JSON") : typed_message(type, json, "body");
}

std::string write_protobuf(const MessageType& type, const Json& message) {
    std::string bytes;
    protozero::pbf_writer writer{bytes};
    write_message(type, message, writer);
    return bytes;
}

std::string write_json(const MessageType& type, const Json& message) {
    std::string text;
    append_json(type, message, text);
    return text;
}

}  // namespace perfleet
