# lwIP, the TCP/IP of targets with a network card (target-collector/network).
include("${CMAKE_CURRENT_LIST_DIR}/PerfleetSource.cmake")
set(PERFLEET_LWIP "" CACHE STRING "A source tree of lwIP 2.1 (with src/include/lwip); default: Debian's, by apt-get source; OFF: none")

# perfleet_find_lwip(<variable>): the folder src/ of lwIP; empty: there is none.
function(perfleet_find_lwip variable)
  perfleet_find_source(tree PACKAGE lwip VERSION 2.1.3+dfsg1-2 FILE src/include/lwip/tcp.h OPTION PERFLEET_LWIP
                       FOR "a network on targets")
  set(${variable} "" PARENT_SCOPE)
  if(tree)
    set(${variable} "${tree}/src" PARENT_SCOPE)
  endif()
endfunction()

# The compiled files of lwIP, below src/.
set(perfleet_lwip_sources
    core/def.c core/inet_chksum.c core/init.c core/ip.c core/mem.c core/memp.c core/netif.c core/pbuf.c core/tcp.c core/tcp_in.c
    core/tcp_out.c core/timeouts.c core/udp.c core/ipv4/dhcp.c core/ipv4/etharp.c core/ipv4/icmp.c core/ipv4/ip4.c
    core/ipv4/ip4_addr.c netif/ethernet.c)

# perfleet_lwip_flags(<variable> <C compiler> <src/>): only the compiler's own headers and ours, no libc.
function(perfleet_lwip_flags variable compiler sources)
  perfleet_source_flags(flags "${compiler}")
  get_filename_component(shim "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../target-collector/network/lwip" ABSOLUTE)
  set(${variable} ${flags} "-I${shim}" "-I${sources}/include" PARENT_SCOPE)
endfunction()

# perfleet_lwip_objects(<variable> FOLDER <name> COMPILER <C compiler> FLAGS …): objects of lwIP (PERFLEET_LWIP_SOURCES) for
# another machine; none without lwIP or the compiler.
function(perfleet_lwip_objects variable)
  cmake_parse_arguments(LWIP "" "FOLDER;COMPILER" "FLAGS" ${ARGN})
  set(objects "")
  if(PERFLEET_LWIP_SOURCES AND LWIP_COMPILER)
    perfleet_lwip_flags(own_flags "${LWIP_COMPILER}" "${PERFLEET_LWIP_SOURCES}")
    list(TRANSFORM perfleet_lwip_sources PREPEND "${PERFLEET_LWIP_SOURCES}/")
    perfleet_source_objects(objects FOLDER "${LWIP_FOLDER}" COMPILER "${LWIP_COMPILER}" FLAGS ${LWIP_FLAGS} OWN -Os ${own_flags}
                            SOURCES ${perfleet_lwip_sources})
  endif()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
