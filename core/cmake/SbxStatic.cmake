# SPDX-License-Identifier: MIT
#
# Finds compilers for small static programs: musl's, wherever it is, and for the
# host's own architecture at last the C compiler. What a name promises is tried
# out: each candidate has to build a program.
#
# SBX_STATIC_CC_<arch> chooses one by hand ("aarch64-linux-musl-gcc", or a list
# with options). SBX_MUSL_ROOT: where Debian's musl-dev of another architecture
# was unpacked, when it is not installed.

set(SBX_MUSL_ROOT "" CACHE PATH "Before /usr/{include,lib}/<arch>-linux-musl")

# The kernel's headers; musl's own wrapper of gcc hides them.
set(SBX_UAPI "${CMAKE_CURRENT_BINARY_DIR}/uapi")
file(MAKE_DIRECTORY "${SBX_UAPI}")
foreach(name linux asm asm-generic)
  find_path(SBX_UAPI_${name} ${name}/types.h)
  mark_as_advanced(SBX_UAPI_${name})
  if(SBX_UAPI_${name})
    file(CREATE_LINK "${SBX_UAPI_${name}}/${name}" "${SBX_UAPI}/${name}"
         SYMBOLIC)
  endif()
endforeach()

set(SBX_STATIC_FLAGS -std=gnu11 -Os -fno-pie -fomit-frame-pointer
  -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fno-strict-aliasing -fno-ident -idirafter "${SBX_UAPI}")
set(SBX_STATIC_LINK -static -no-pie -s -Wl,--gc-sections -Wl,--build-id=none
  -Wl,-z,noexecstack)

# sbx_host_arch(<out>): in the engine's words
function(sbx_host_arch out)
  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" cpu)
  if(cpu MATCHES "^(x86_64|amd64)$")
    set(cpu amd64)
  elseif(cpu MATCHES "^(aarch64|arm64)$")
    set(cpu arm64)
  endif()
  set(${out} "${cpu}" PARENT_SCOPE)
endfunction()

# Can `cc` (a list) build a program, with `libs` (a list) at its end?
function(sbx_static_works out cc libs)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/probe.c")
  set(program "${CMAKE_CURRENT_BINARY_DIR}/probe")
  file(WRITE "${source}" "#include <linux/openat2.h>\n#include <sys/epoll.h>\n"
       "int main(void) { return epoll_create1(0) < 0 || RESOLVE_BENEATH == 0; }\n")
  execute_process(COMMAND ${cc} ${SBX_STATIC_FLAGS} "${source}"
                          ${SBX_STATIC_LINK} -o "${program}" ${libs}
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# sbx_find_static(<arch> <host>): sets SBX_CC, empty when there is none, and
# SBX_LIBS
function(sbx_find_static arch host)
  set(cpu x86_64)
  if(arch STREQUAL "arm64")
    set(cpu aarch64)
  elseif(NOT arch STREQUAL "amd64")
    set(cpu "${arch}")
  endif()
  set(lib "${SBX_MUSL_ROOT}/usr/lib/${cpu}-linux-musl")
  set(musl_gcc "${cpu}-linux-musl-gcc")
  set(musl_specs "${cpu}-linux-gnu-gcc" "-specs=${lib}/musl-gcc.specs")
  set(musl_clang clang "--target=${cpu}-linux-musl" -fuse-ld=lld -nostdinc
      -isystem "${SBX_MUSL_ROOT}/usr/include/${cpu}-linux-musl" -nostdlib
      -Wno-unused-command-line-argument)
  set(musl_clang_libs "${lib}/crt1.o" "${lib}/libc.a")
  if(cpu STREQUAL "aarch64")
    list(APPEND musl_clang -mno-outline-atomics)
  endif()
  set(host_musl musl-gcc)
  set(host_cc "${CMAKE_C_COMPILER}")
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND host_cc -Wno-unused-command-line-argument)
  endif()

  set(candidates musl_gcc musl_specs musl_clang)
  if(arch STREQUAL host)
    set(candidates host_musl musl_gcc musl_clang host_cc)
  endif()
  if(SBX_STATIC_CC_${arch})
    set(by_hand ${SBX_STATIC_CC_${arch}})
    set(candidates by_hand)
  endif()
  foreach(name ${candidates})
    sbx_static_works(works "${${name}}" "${${name}_libs}")
    if(works)
      set(SBX_CC "${${name}}" PARENT_SCOPE)
      set(SBX_LIBS "${${name}_libs}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(SBX_CC "" PARENT_SCOPE)
endfunction()
