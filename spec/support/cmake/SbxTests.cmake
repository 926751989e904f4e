# SPDX-License-Identifier: MIT
#
# How tests are found, built and registered. Nothing here names a single test:
# a new file in the right place is a new test.

set(SBX_SPEC "${PROJECT_SOURCE_DIR}/spec")
set(SBX_SUPPORT "${SBX_SPEC}/support")
find_program(SBX_BASH bash REQUIRED)
find_program(SBX_LUA NAMES lua5.4 lua54 lua REQUIRED)

# Sanitizers of older compilers want an address space that is not shuffled too
# far; where that can be switched off, it is.
set(SBX_LAUNCH "")
if(SBX_SANITIZE OR SBX_FUZZ)
  find_program(SBX_SETARCH setarch)
  if(SBX_SETARCH)
    execute_process(COMMAND "${SBX_SETARCH}" -R true RESULT_VARIABLE status
                    OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(SBX_LAUNCH "${SBX_SETARCH}" -R)
    endif()
  endif()
endif()

set(SBX_TEST_ENV
  "LUA_PATH=${PROJECT_SOURCE_DIR}/lua/?.lua\\;${PROJECT_SOURCE_DIR}/lua/?/init.lua\\;${PROJECT_SOURCE_DIR}/?.lua\\;\\;"
  "LUA_CPATH=${PROJECT_BINARY_DIR}/lua/?.so\\;\\;"
  "SBX_BUILD=${PROJECT_BINARY_DIR}"
  "SBX_SOURCE=${PROJECT_SOURCE_DIR}"
  "SBX_SANITIZE=${SBX_SANITIZE}"
  "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:check_initialization_order=1:handle_abort=1:allocator_may_return_null=1"
  "LSAN_OPTIONS=suppressions=${SBX_SUPPORT}/lsan.supp:print_suppressions=0"
  "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
  "TSAN_OPTIONS=suppressions=${SBX_SUPPORT}/tsan.supp:second_deadlock_stack=1:history_size=4")
if(SBX_MATRIX)
  list(APPEND SBX_TEST_ENV "SBX_MATRIX=1")
endif()

# sbx_add_test(<name> <timeout> <command...>)
function(sbx_add_test name timeout)
  if(SBX_SANITIZE)
    math(EXPR timeout "${timeout} * 3")
  endif()
  add_test(NAME "${SBX_TEST_PREFIX}${name}" COMMAND ${SBX_LAUNCH} ${ARGN}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties("${SBX_TEST_PREFIX}${name}" PROPERTIES
    TIMEOUT ${timeout} ENVIRONMENT "${SBX_TEST_ENV}")
endfunction()

# sbx_add_engine_test(<name> <timeout> <command...>): has an engine for itself,
# because it counts what is left there. How many there are, the run says (see
# engines.sh). The others go on beside these, so these come first.
function(sbx_add_engine_test name timeout)
  sbx_add_test(${name} ${timeout} "${SBX_BASH}" "${SBX_SUPPORT}/on_engine.sh"
               ${ARGN})
  set_tests_properties("${SBX_TEST_PREFIX}${name}" PROPERTIES
    RESOURCE_GROUPS engines:1 LABELS docker COST 2000)
endfunction()

# Links a C test with the layers whose headers it includes, by itself or by a
# header that lies beside it.
function(sbx_link_layers target source)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/core" "${SBX_SPEC}/core")
  set(includes "")
  set(read "")
  set(queue "${source}")
  while(queue)
    list(POP_FRONT queue file)
    list(APPEND read "${file}")
    file(STRINGS "${file}" lines REGEX "^#include \"")
    list(APPEND includes ${lines})
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"(.*)\".*" "${SBX_SPEC}/core/\\1" header "${line}")
      if(EXISTS "${header}" AND NOT header IN_LIST read)
        list(APPEND queue "${header}")
      endif()
    endforeach()
  endwhile()
  foreach(layer bind proc http io os wire base)
    if(includes MATCHES "#include \"${layer}/" AND TARGET sbx_${layer})
      target_link_libraries(${target} PRIVATE sbx_${layer})
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${read})
  target_link_libraries(${target} PRIVATE sbx::uv sbx::cjson sbx::lua m)
endfunction()

function(sbx_add_core_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${SBX_SPEC}/core/test_*.c")
  foreach(source ${sources})
    get_filename_component(target "${source}" NAME_WE)
    string(REGEX REPLACE "^test_" "" name "${target}")
    add_executable(${target} "${source}")
    sbx_link_layers(${target} "${source}")
    sbx_add_test(core.${name} 120 "$<TARGET_FILE:${target}>")
    # those that need root, or a supervisor, say that they could not be run
    set_tests_properties("${SBX_TEST_PREFIX}core.${name}" PROPERTIES
                         SKIP_RETURN_CODE 77)
    if(name MATCHES "^supervisor")
      add_dependencies(${target} sbx_supervisor)
    endif()
  endforeach()
endfunction()

# The supervisors for other architectures do the same, where an emulator is found.
# Not those tests that measure: they would measure the emulator.
function(sbx_add_emulated_tests)
  get_property(archs GLOBAL PROPERTY SBX_SUPERVISORS_ELSEWHERE)
  foreach(arch ${archs})
    string(REPLACE "arm64" "aarch64" cpu "${arch}")
    string(REPLACE "amd64" "x86_64" cpu "${cpu}")
    find_program(SBX_QEMU_${arch} NAMES "qemu-${cpu}" "qemu-${cpu}-static")
    if(NOT SBX_QEMU_${arch} OR SBX_SANITIZE)
      continue()
    endif()
    foreach(test supervisor supervisor_files supervisor_watch)
      set(name "core.${test}.${arch}")
      sbx_add_test("${name}" 300 "$<TARGET_FILE:test_${test}>")
      set_property(TEST "${SBX_TEST_PREFIX}${name}" APPEND PROPERTY ENVIRONMENT
        "SBX_SUPERVISOR_PROGRAM=${SBX_SUPPORT}/emulated.sh"
        "SBX_EMULATOR=${SBX_QEMU_${arch}}"
        "SBX_EMULATED=${PROJECT_BINARY_DIR}/core/supervisor/supervisor-${arch}")
      set_tests_properties("${SBX_TEST_PREFIX}${name}" PROPERTIES
                           SKIP_RETURN_CODE 77)
    endforeach()
  endforeach()
endfunction()

function(sbx_add_corpus_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${SBX_SPEC}/fuzz/fuzz_*.c")
  foreach(source ${sources})
    get_filename_component(target "${source}" NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name "${target}")
    add_executable(replay_${name} "${source}" "${SBX_SPEC}/fuzz/replay.c")
    sbx_link_layers(replay_${name} "${source}")
    sbx_add_test(corpus.${name} 120 "$<TARGET_FILE:replay_${name}>"
                 "${SBX_SPEC}/fuzz/corpus/${name}")
  endforeach()
endfunction()

# Benchmarks are built, so that they stay alive, and run by `./run bench`.
function(sbx_add_benches)
  file(GLOB sources CONFIGURE_DEPENDS "${SBX_SPEC}/bench/bench_*.c")
  foreach(source ${sources})
    get_filename_component(target "${source}" NAME_WE)
    add_executable(${target} "${source}")
    sbx_link_layers(${target} "${source}")
  endforeach()
endfunction()

function(sbx_add_fuzz_targets)
  file(GLOB sources CONFIGURE_DEPENDS "${SBX_SPEC}/fuzz/fuzz_*.c")
  foreach(source ${sources})
    get_filename_component(target "${source}" NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name "${target}")
    add_executable(${target} "${source}")
    sbx_link_layers(${target} "${source}")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    # 3700 s: the time asked for, with a margin, ends it much earlier
    sbx_add_test(fuzz.${name} 3700 "${SBX_BASH}" "${SBX_SUPPORT}/fuzz.sh"
                 "$<TARGET_FILE:${target}>" "${SBX_SPEC}/fuzz/corpus/${name}"
                 "${PROJECT_BINARY_DIR}/found/${name}")
    set_tests_properties("${SBX_TEST_PREFIX}fuzz.${name}" PROPERTIES
                         LABELS fuzz COST 1000)
  endforeach()
endfunction()

# A sanitizer wants to be in the program before the module is loaded. Its
# builds get an interpreter of their own, found first in PATH by the tests and
# by whatever they start, so that nothing needs LD_PRELOAD and the engine's
# client is left alone.
macro(sbx_add_lua_host)
  if(SBX_SANITIZE)
    add_executable(sbx_lua_host "${SBX_SUPPORT}/lua_host.c")
    target_link_libraries(sbx_lua_host PRIVATE sbx::lua m dl)
    set_target_properties(sbx_lua_host PROPERTIES
      OUTPUT_NAME lua5.4 ENABLE_EXPORTS ON
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
    set(SBX_LUA "${PROJECT_BINARY_DIR}/bin/lua5.4")
    list(APPEND SBX_TEST_ENV "PATH=${PROJECT_BINARY_DIR}/bin:$ENV{PATH}")
  endif()
  list(APPEND SBX_TEST_ENV "SBX_LUA=${SBX_LUA}")
endmacro()

# sbx_columns(<out> <spec>): how a spec that needs an engine is run, as
# <engine>.<runner>: the release build takes the engine's client and the portable
# runner, the sanitizers take the API and the supervisor, which is what users get.
# With -DSBX_MATRIX=ON the release build runs all specs in all four ways.
# Specs say in a line what is otherwise: "-- engine: any" and "-- runner: any" when
# they choose for themselves or do not care, the runner that they are about, or
# "-- runner: both".
function(sbx_columns out spec)
  get_property(supervisor GLOBAL PROPERTY SBX_SUPERVISOR_HERE)
  file(STRINGS "${spec}" any_engine REGEX "^-- engine: any")
  file(STRINGS "${spec}" runner REGEX "^-- runner: [a-z]+")
  string(REGEX REPLACE "^-- runner: ([a-z]+).*" "\\1" runner "${runner}")
  set(columns cli.exec)
  if(SBX_SANITIZE AND supervisor)
    set(columns api.supervisor)
  elseif(SBX_SANITIZE)
    set(columns api.exec)
  elseif(SBX_MATRIX)
    list(APPEND columns api.exec)
    if(supervisor)
      list(APPEND columns cli.supervisor api.supervisor)
    endif()
  endif()
  if(runner STREQUAL "both" AND supervisor)
    list(TRANSFORM columns REPLACE "[a-z]+$" "supervisor" OUTPUT_VARIABLE others)
    list(TRANSFORM columns REPLACE "[a-z]+$" "exec")
    list(APPEND columns ${others})
  elseif(runner STREQUAL "supervisor")
    list(FILTER columns INCLUDE REGEX "supervisor$")
  elseif(runner STREQUAL "exec")
    list(TRANSFORM columns REPLACE "supervisor$" "exec")
  elseif(runner STREQUAL "any")
    list(TRANSFORM columns REPLACE "[a-z]+$" "any")
  endif()
  if(any_engine)
    list(TRANSFORM columns REPLACE "^[a-z]+" "any")
  endif()
  list(REMOVE_DUPLICATES columns)
  set(${out} "${columns}" PARENT_SCOPE)
endfunction()

# sbx_add_spec(<kind> <name> <column>): the column is empty without an engine
function(sbx_add_spec kind name column)
  string(REPLACE ".any" "" suffix ".${column}")
  string(REGEX REPLACE "\\.$" "" suffix "${suffix}")
  set(test "${kind}.${name}${suffix}")
  set(command "${SBX_LUA}" "${SBX_SUPPORT}/busted.lua" --ignore-lua
      -o plainTerminal "spec/${kind}/${name}_spec.lua")
  if(column STREQUAL "")
    sbx_add_test(${test} 600 ${command})
    return()
  endif()
  sbx_add_engine_test(${test} 600 ${command})
  string(REGEX MATCH "^(cli|api)" engine "${column}")
  string(REGEX MATCH "(exec|supervisor)$" runner "${column}")
  if(engine)
    set_property(TEST "${SBX_TEST_PREFIX}${test}" APPEND
                 PROPERTY ENVIRONMENT "SBX_ENGINE=${engine}")
  endif()
  if(runner)
    set_property(TEST "${SBX_TEST_PREFIX}${test}" APPEND
                 PROPERTY ENVIRONMENT "SBX_RUNNER=${runner}")
  endif()
endfunction()

# With the thread sanitizer, the specs of the binding are run, and of the others
# those that say so in a line "-- tsan: yes": most have nothing to do with
# threads, and all take long.
function(sbx_add_specs)
  foreach(kind unit binding integration regress)
    file(GLOB specs CONFIGURE_DEPENDS "${SBX_SPEC}/${kind}/*_spec.lua")
    foreach(spec ${specs})
      get_filename_component(name "${spec}" NAME_WE)
      string(REGEX REPLACE "_spec$" "" name "${name}")
      set(engine FALSE)
      if(kind MATCHES "integration|regress")
        set(engine TRUE)
      endif()
      if(SBX_SANITIZE STREQUAL "thread" AND NOT kind STREQUAL "binding")
        file(STRINGS "${spec}" wanted REGEX "^-- tsan: yes")
        if(NOT wanted)
          continue()
        endif()
      endif()
      set(columns "")
      if(engine)
        sbx_columns(columns "${spec}")
      endif()
      foreach(column IN LISTS columns)
        sbx_add_spec("${kind}" "${name}" "${column}")
      endforeach()
      if(NOT engine)
        sbx_add_spec("${kind}" "${name}" "")
      endif()
    endforeach()
  endforeach()
endfunction()

# The examples take the image from here; the one in their text is a large one
# that the engine would have to fetch.
function(sbx_add_example name)
  sbx_add_engine_test(example.${name} 120 ${ARGN})
  set_property(TEST "${SBX_TEST_PREFIX}example.${name}" APPEND
               PROPERTY ENVIRONMENT "ANVIA_SANDBOX_IMAGE=anvia-test/debian:1")
endfunction()

function(sbx_add_examples)
  file(GLOB examples CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/examples/[0-9]*.lua")
  foreach(example ${examples})
    get_filename_component(name "${example}" NAME_WE)
    sbx_add_example(${name} "${SBX_LUA}" "examples/${name}.lua")
  endforeach()
  if(TARGET embed)
    sbx_add_example(embed "$<TARGET_FILE:embed>")
  endif()
endfunction()

function(sbx_add_checks)
  file(GLOB checks CONFIGURE_DEPENDS "${SBX_SUPPORT}/check_*.sh")
  foreach(check ${checks})
    get_filename_component(name "${check}" NAME_WE)
    string(REGEX REPLACE "^check_" "" name "${name}")
    sbx_add_test(check.${name} 600 "${SBX_BASH}" "${check}")
  endforeach()
endfunction()
