# lwIP, the TCP/IP of targets with a network card (target-collector/network). Its source isn't part of this repository: it
# comes from Debian's source packages, with Debian's patches, through a sources file and lists of its own below the build
# folder; what apt knows of this machine stays as it is. Without it there is no network on targets, and all else is built.
set(PERFLEET_LWIP "" CACHE STRING "A source tree of lwIP 2.1 (with src/include/lwip); default: Debian's, by apt-get source; OFF: none")
set(perfleet_lwip_version 2.1.3+dfsg1-2)

# perfleet_find_lwip(<variable>): the folder src/ of lwIP; empty: there is none, and a message says why.
function(perfleet_find_lwip variable)
  set(${variable} "" PARENT_SCOPE)
  if(PERFLEET_LWIP STREQUAL "OFF")
    return()
  elseif(PERFLEET_LWIP)
    if(NOT EXISTS "${PERFLEET_LWIP}/src/include/lwip/tcp.h")
      message(FATAL_ERROR "PERFLEET_LWIP: ${PERFLEET_LWIP} is no source tree of lwIP (src/include/lwip/tcp.h is missing)")
    endif()
    set(${variable} "${PERFLEET_LWIP}/src" PARENT_SCOPE)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/lwip")
  set(tree "${folder}/lwip-${perfleet_lwip_version}")
  if(NOT EXISTS "${tree}/src/include/lwip/tcp.h" AND NOT EXISTS "${folder}/failed")
    perfleet_fetch_lwip("${folder}" "${tree}")
  endif()
  if(EXISTS "${tree}/src/include/lwip/tcp.h")
    set(${variable} "${tree}/src" PARENT_SCOPE)
    return()
  endif()
  message(STATUS "Without a network on targets: lwIP ${perfleet_lwip_version} couldn't be fetched (${folder}/failed says why; "
                 "remove it to try again, or give -DPERFLEET_LWIP=DIR)")
endfunction()

function(perfleet_fetch_lwip folder tree)
  find_program(APT_GET_PROGRAM apt-get)
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}/lists/partial" "${folder}/cache/archives/partial")
  if(NOT APT_GET_PROGRAM)
    file(WRITE "${folder}/failed" "apt-get isn't installed\n")
    return()
  endif()
  # From where this machine has its packages, if they are Debian's.
  set(mirror "http://deb.debian.org/debian")
  foreach(list IN ITEMS /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list)
    if(EXISTS "${list}")
      file(STRINGS "${list}" lines REGEX "^(URIs:|deb ).*/debian/?( |$)")
      if(lines MATCHES "([a-z]+:/[^ ;]*/debian)/?( |;|$)")
        set(mirror "${CMAKE_MATCH_1}")
        break()
      endif()
    endif()
  endforeach()
  file(WRITE "${folder}/sources.list"
       "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} bookworm main\n")
  execute_process(COMMAND id -un OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(apt "${APT_GET_PROGRAM}" -q -o "Dir::Etc::SourceList=${folder}/sources.list" -o Dir::Etc::SourceParts=/dev/null
          -o "Dir::State::Lists=${folder}/lists" -o "Dir::Cache=${folder}/cache" -o "APT::Sandbox::User=${user}"
          -o Acquire::Retries=0 -o Acquire::http::Timeout=5 -o Acquire::https::Timeout=5 -o APT::Update::Error-Mode=any)
  message(STATUS "Fetching lwIP ${perfleet_lwip_version} (Debian's source package)")
  execute_process(COMMAND ${apt} update
                  TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(result EQUAL 0)
    execute_process(COMMAND ${apt} source "lwip=${perfleet_lwip_version}" WORKING_DIRECTORY "${folder}"
                    TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  file(GLOB unpacked "${folder}/lwip-*")
  file(REMOVE_RECURSE "${folder}/lists" "${folder}/cache")
  if(result EQUAL 0 AND IS_DIRECTORY "${unpacked}")
    file(RENAME "${unpacked}" "${tree}")
  else()
    file(WRITE "${folder}/failed" "${result}\n${said}")
  endif()
endfunction()

# What of lwIP is compiled, below src/.
set(perfleet_lwip_sources
    core/def.c core/inet_chksum.c core/init.c core/ip.c core/mem.c core/memp.c core/netif.c core/pbuf.c core/tcp.c core/tcp_in.c
    core/tcp_out.c core/timeouts.c core/udp.c core/ipv4/dhcp.c core/ipv4/etharp.c core/ipv4/icmp.c core/ipv4/ip4.c
    core/ipv4/ip4_addr.c netif/ethernet.c)

# perfleet_lwip_flags(<variable> <C compiler> <src/>): it sees no libc, but the compiler's own headers and ours.
function(perfleet_lwip_flags variable compiler sources)
  execute_process(COMMAND "${compiler}" -print-file-name=include OUTPUT_VARIABLE own_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(shim "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../target-collector/network/lwip")
  get_filename_component(shim "${shim}" ABSOLUTE)
  set(${variable} -ffreestanding -nostdinc -isystem "${own_headers}" "-I${shim}" "-I${shim}/libc" "-I${sources}/include"
      PARENT_SCOPE)
endfunction()

# perfleet_lwip_objects(<variable> FOLDER <name> COMPILER <C compiler> FLAGS …): objects of lwIP (PERFLEET_LWIP_SOURCES) for
# another machine, with those of its C++ code's flags that C has; none without lwIP or the compiler.
function(perfleet_lwip_objects variable)
  cmake_parse_arguments(LWIP "" "FOLDER;COMPILER" "FLAGS" ${ARGN})
  set(objects "")
  if(PERFLEET_LWIP_SOURCES AND LWIP_COMPILER)
    perfleet_lwip_flags(own_flags "${LWIP_COMPILER}" "${PERFLEET_LWIP_SOURCES}")
    list(FILTER LWIP_FLAGS EXCLUDE REGEX "^-(std=|O|W|I|D|flto|fno-(exceptions|rtti|threadsafe-statics)$)")
    list(TRANSFORM perfleet_lwip_sources PREPEND "${PERFLEET_LWIP_SOURCES}/")
    perfleet_cross_objects(objects FOLDER "${LWIP_FOLDER}" COMPILER "${LWIP_COMPILER}" FLAGS ${LWIP_FLAGS} -Os ${own_flags}
                           SOURCES ${perfleet_lwip_sources})
  endif()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
