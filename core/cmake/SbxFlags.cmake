# SPDX-License-Identifier: MIT
#
# Compiler flags of everything in the tree.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)

add_compile_definitions(_GNU_SOURCE SBX_VERSION="${PROJECT_VERSION}")
set(SBX_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
  -Wvla)
add_compile_options(${SBX_WARNINGS} -fno-strict-aliasing)
if(SBX_WERROR)
  add_compile_options(-Werror)
endif()

set(sanitizers "")
if(SBX_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SBX_FUZZ needs clang")
  endif()
  set(sanitizers -fsanitize=fuzzer-no-link,address,undefined)
elseif(SBX_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined)
elseif(SBX_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(SBX_SANITIZE)
  message(FATAL_ERROR "SBX_SANITIZE: '${SBX_SANITIZE}' is not known")
endif()
if(sanitizers)
  add_compile_options(${sanitizers} -fno-omit-frame-pointer -g)
  add_link_options(${sanitizers})
  if(NOT SBX_SANITIZE STREQUAL "thread")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
