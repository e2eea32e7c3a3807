# The part of libsodium that encrypts on targets (target-collector/curve): X25519, Salsa20 and Poly1305, from its
# portable sources.
include("${CMAKE_CURRENT_LIST_DIR}/PerfleetSource.cmake")
set(PERFLEET_LIBSODIUM "" CACHE STRING "A source tree of libsodium 1.0.18; default: Debian's, by apt-get source; OFF: none")
set(perfleet_curve_sources target-collector/curve/curve_client.cpp target-collector/curve/secret_box.cpp)
set(perfleet_sodium_sources crypto_core/ed25519/ref10/ed25519_ref10.c crypto_core/hsalsa20/ref2/core_hsalsa20_ref2.c
    crypto_core/salsa/ref/core_salsa_ref.c crypto_verify/sodium/verify.c)

# perfleet_find_sodium(<variable>): the folder src/libsodium/; empty: there is none.
function(perfleet_find_sodium variable)
  perfleet_find_source(tree PACKAGE libsodium VERSION 1.0.18-1+deb12u1 FILE src/libsodium/include/sodium/private/ed25519_ref10.h
                       OPTION PERFLEET_LIBSODIUM FOR "keys on targets")
  set(${variable} "" PARENT_SCOPE)
  if(tree)
    set(${variable} "${tree}/src/libsodium" PARENT_SCOPE)
  endif()
endfunction()

# perfleet_sodium_flags(<variable> <C compiler> <src/libsodium/>): for machines of 64 bits.
function(perfleet_sodium_flags variable compiler sources)
  perfleet_source_flags(flags "${compiler}")
  set(${variable} ${flags} "-I${sources}" "-I${sources}/include/sodium" -DCONFIGURED -DNATIVE_LITTLE_ENDIAN -DHAVE_TI_MODE PARENT_SCOPE)
endfunction()

# perfleet_sodium_objects(<variable> FOLDER <name> COMPILER <C compiler> FLAGS …): as perfleet_lwip_objects()
# (PERFLEET_SODIUM_SOURCES).
function(perfleet_sodium_objects variable)
  cmake_parse_arguments(SODIUM "" "FOLDER;COMPILER" "FLAGS" ${ARGN})
  set(objects "")
  if(PERFLEET_SODIUM_SOURCES AND SODIUM_COMPILER)
    perfleet_sodium_flags(own_flags "${SODIUM_COMPILER}" "${PERFLEET_SODIUM_SOURCES}")
    list(TRANSFORM perfleet_sodium_sources PREPEND "${PERFLEET_SODIUM_SOURCES}/")
    perfleet_source_objects(objects FOLDER "${SODIUM_FOLDER}" COMPILER "${SODIUM_COMPILER}" FLAGS ${SODIUM_FLAGS}
                            OWN -O2 ${own_flags}
                            SOURCES ${perfleet_sodium_sources} "${PROJECT_SOURCE_DIR}/target-collector/curve/libsodium.c")
  endif()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
