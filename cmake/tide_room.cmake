# tide_room(NAME SOURCES … LINK … [TESTS …])
# One room of the architecture: a static library tide_NAME from src/NAME, and, where unit tests
# are given and wanted, one test program tide_NAME_tests known to ctest as NAME.
function(tide_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;TESTS;TEST_LINK" ${ARGN})
  add_library(tide_${name} STATIC ${ARG_SOURCES})
  target_include_directories(tide_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tide_${name} PUBLIC ${ARG_LINK})
  if(TIDE_TESTS AND ARG_TESTS)
    find_package(GTest REQUIRED)
    add_executable(tide_${name}_tests ${ARG_TESTS})
    target_link_libraries(tide_${name}_tests PRIVATE tide_${name} ${ARG_TEST_LINK} GTest::gtest_main
                                                     GTest::gmock)
    # What tests do costs little, but to compile it does.
    target_compile_options(tide_${name}_tests PRIVATE $<IF:$<BOOL:${TIDE_SANITIZE}>,-O0,-O1>)
    set_target_properties(tide_${name}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                        ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND tide_${name}_tests)
  endif()
endfunction()
