// The client's side of CurveZMQ (ZeroMQ RFC 26) for one connection, message by message, as tests of the server need it;
// schemas/zmtp/curve_server.h shows the messages. It has the server's key beforehand: no other server can answer. One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/peers/key_file.h"
#include "schemas/zmtp/curve_session.h"

namespace perfleet::zmtp {

class CurveClient final : public CurveSession {
public:
    struct Keys {
        std::array<unsigned char, 32> own_public{};
        std::array<unsigned char, 32> own_secret{};
        std::array<unsigned char, 32> server{};
    };
    // Nothing: the own keys aren't a pair.
    [[nodiscard]] static std::optional<Keys> decode(const ConnectKeys& keys);

    // `keys` are borrowed.
    explicit CurveClient(const Keys& keys) : CurveSession{"CurveZMQMESSAGEC", "CurveZMQMESSAGES"}, keys_{keys} {}

    void append_hello(std::string& out);
    // `data` of the server's command. True: `out` got INITIATE with these properties of the own socket.
    [[nodiscard]] bool take_welcome(std::span<const std::byte> data, std::string_view properties, std::string& out);
    // The server's properties. Nothing: the connection is to be closed.
    [[nodiscard]] std::optional<std::string> take_ready(std::span<const std::byte> data);

private:
    const Keys& keys_;
    Key server_short_key_{};  // S'
};

}  // namespace perfleet::zmtp
