// Messages of protobuf APIs, described as data: one description reads and writes both of their encodings, protobuf and
// the JSON of proto3. In between a message is a JSON object whose members have the names that proto3's JSON gives them.
//
//   protobuf ─┐                        ┌─ protobuf
//             ├─▶ Json, by its type ─▶ ┤
//   JSON ─────┘                        └─ JSON
//
// What is read is untrusted: unknown fields are skipped, as in every protobuf reader; wrong types are errors that name
// the field. Depth is that of the description; JSON of more levels than kJsonDepthMax, or that takes more memory than
// kJsonMemorySizeBytesMax, is an error before it is parsed. Plain functions;
// vendor types stay in this folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

using Json = nlohmann::json;

// Bytes stay bytes in the object between; in JSON they are base64 or, for OTLP's ids, hexadecimal.
enum class FieldType : std::uint8_t {
    kInt64,
    kUint64,
    kFixed64,
    kInt32,
    kBool,
    kDouble,
    kString,
    kBytes,
    kHexBytes,
    kEnum,
    kMessage
};

struct MessageType;

struct MessageField {
    std::uint32_t number = 0;
    std::string name;  // as the .proto file has it
    FieldType type = FieldType::kString;
    bool is_repeated = false;
    const MessageType* message = nullptr;   // of kMessage
    std::vector<std::string> enum_names{};  // of kEnum, by number from 0 on
    std::string json_name{};                // made from `name`
};

struct MessageType {
    explicit MessageType(std::vector<MessageField> all);

    std::vector<MessageField> fields;
};

// Values of a message that was read, after defaults: absent fields are absent. Errors: kInvalid, kTooLarge.
[[nodiscard]] Result<Json> read_protobuf(const MessageType& type, std::string_view bytes_untrusted);
[[nodiscard]] Result<Json> read_json(const MessageType& type, std::string_view text_untrusted);

// `message` must fit the type.
[[nodiscard]] std::string write_protobuf(const MessageType& type, const Json& message);
[[nodiscard]] std::string write_json(const MessageType& type, const Json& message);

}  // namespace perfleet
