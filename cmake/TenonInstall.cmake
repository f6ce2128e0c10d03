# Installs the headers and a package, so that find_package(tenon) works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tenon EXPORT tenon_targets)
install(DIRECTORY include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tenon_targets NAMESPACE tenon:: FILE tenonTargets.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tenon)
target_include_directories(tenon INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

configure_package_config_file(cmake/tenonConfig.cmake.in tenonConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tenon)
write_basic_package_version_file(tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenonConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenonConfigVersion.cmake
              cmake/FindPCRE2.cmake DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/tenon)
