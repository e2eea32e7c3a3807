# cmake -D INPUT=file -D NAME=kName -D OUTPUT=file.cpp -P EmbedFile.cmake: a file's bytes as perfleet::kName and kNameBytes.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include <cstddef>
namespace perfleet {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}Bytes;
alignas(8) const unsigned char ${NAME}[] = {
${bytes}};
const std::size_t ${NAME}Bytes = sizeof(${NAME});
}  // namespace perfleet
")
