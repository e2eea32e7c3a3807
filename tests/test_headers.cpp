// Owns the precompiled headers of the tests (cmake/PerfleetModules.cmake). A program, because tests are compiled as
// such.
int main() {}
